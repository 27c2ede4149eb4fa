# SPDX-License-Identifier: MIT
"""lldb and interpreters that are copies of a template, beside one that has started: breakpoints, frames and values in
each of them, of a program that lldb starts, of one to which it attaches, and in a core."""

import os
import re
import sys
import tempfile

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

WALK = os.path.join(harness.ROOT, "tests", "modules", "walk.cc")
CALL, AFTER, WAIT = (harness.source_line(WALK, f"// {text}") for text in
                     ("the line of the call", "the line after the call", "where attached sessions find it"))
LINE = f"walk.cc:{AFTER}"
TEMPLATE = f"import sys; sys.path.insert(0, {harness.MODULES!r}); import walk"
STARTED, *COPIES = ALL = [4, 5, 6, 7]  # the template's own interpreters had the numbers 0 to 3
BREAK = ["gorgon symbols auto", "gorgon break walk_step", f"gorgon break {LINE}", session.DRIVER]
AT_STOP = ["bt 2", "frame variable number local"]
DRIVE = session.drive({"walk_step": AT_STOP, LINE: AT_STOP, "host_created": ["gorgon list"]})


def host(rounds=1, pause=0, wait=0):
    """Four interpreters, with a command line without a second line, because lldb takes no others."""
    return [harness.HOST, "-n", "4", "-t", TEMPLATE,
            f"import gorgon, sys, time; sys.path.insert(0, {harness.MODULES!r}); import walk; "
            f"[(walk.go(gorgon.interpreter + 1, {wait}), time.sleep({pause})) for _ in range({rounds})]"]


@harness.needs_lldb
@harness.needs_templates
class Copies(session.Case):
    def assert_listed(self, output):
        self.assertEqual(harness.copies_listed(output), {STARTED: "-", **dict.fromkeys(COPIES, f"template: {TEMPLATE}"[:63])})

    def assert_stops(self, output):
        self.assert_clean(output)
        for place, line in ("walk_step", CALL), (LINE, AFTER):
            found = {int(re.search(r"\[interp (\d)\]`walk_step", stop.output["bt 2"])[1]): stop.output for stop in session.stops(output, place)}
            self.assertEqual(sorted(found), ALL, output)
            for interp, said in found.items():
                number = interp + 1
                self.assertRegex(said["bt 2"], rf"walk\.so \[interp {interp}\]`walk_step\(number={number}, local={number}0, seconds=0\) "
                                 rf"at walk\.cc:{line}:.*\n.*walk\.so \[interp {interp}\]`walk_go\(")
                self.assertRegex(said["frame variable number local"], rf"^\(int\) number = {number}\n\(int\) local = {number}0\n")

    def test_live(self):
        output = harness.lldb(["breakpoint set -n host_created", *BREAK, "run", DRIVE], *host(), script=True)
        self.assertTrue(session.ended(output), output)
        self.assert_stops(output)
        self.assert_listed(session.stops(output, "host_created")[0].output["gorgon list"])

    def test_attached(self):
        with harness.Background(*host(rounds=10000, pause=0.05), until=r"(?s)(walk: number.*){8}") as process:
            output = harness.lldb([*BREAK, "continue", DRIVE, "kill"], script=True, options=["-p", str(process.pid)])
        self.assert_stops(output)

    def test_core(self):
        with tempfile.TemporaryDirectory() as folder:
            with harness.Background(*host(wait=600), until=r"(?s)(walk: number.*){4}", asleep=4) as process:
                made = harness.run("gcore", "-o", f"{folder}/core", process.pid)
            self.assertEqual(made.returncode, 0, made.stderr)
            output = harness.lldb([f"target create {harness.HOST} --core {folder}/core.{process.pid}", "gorgon list", "gorgon symbols all walk",
                                   "gorgon apply all frame variable number local", "gorgon apply all bt"], script=True)
        self.assert_clean(output)
        self.assert_listed(output)
        for interp in ALL:
            self.assertRegex(output, rf"(?m)^interp {interp}, thread .*\n\(int\) number = {interp + 1}\n\(int\) local = {interp + 1}0\n")
            self.assertRegex(output, rf"walk\.so \[interp {interp}\]`walk_step\(number={interp + 1}, .*at walk\.cc:{WAIT}")
