# SPDX-License-Identifier: MIT
"""gdb and interpreters that are copies of a template, beside one that has started: breakpoints, frames and values in
each of them, of a program that gdb starts, of one to which it attaches, and in a core."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

CALL, AFTER, WAIT = (harness.source_line(session.WALK, f"// {text}") for text in
                     ("the line of the call", "the line after the call", "where attached sessions find it"))
LINE = f"walk.cc:{AFTER}"
TEMPLATE = f"import sys; sys.path.insert(0, {harness.MODULES!r}); import walk"
MODE = ("-t", TEMPLATE)
STARTED, *COPIES = ALL = [4, 5, 6, 7]  # the template's own interpreters had the numbers 0 to 3
FOREVER = f"""
import gorgon, sys, time
sys.path.insert(0, {harness.MODULES!r})
import walk
while True:
    walk.go(gorgon.interpreter + 1)
    time.sleep(0.05)
"""
AT_STOP = ["backtrace 2", "print number", "print local", "print walk_static"]


def interp(stop):
    """Whose frame it is, by what the program has computed."""
    number = int(session.value(stop.output["print number"]))
    return (number // 10 if number >= 50 else number) - 1


class Case(unittest.TestCase):
    def assert_stops(self, output, labels=True):
        """All interpreters stop at each breakpoint, with arguments, locals and lines."""
        for breakpoint, line in ("walk_step", CALL), (LINE, AFTER):
            stops = session.stops(output, breakpoint)
            self.assertEqual(sorted({interp(stop) for stop in stops}), ALL, output)
            for stop in stops:
                label = rf"from walk\.so \[interp {interp(stop)}\] " if labels else ""
                number = session.value(stop.output["print number"])
                self.assertEqual(session.value(stop.output["print local"]), f"{number}0")
                self.assertRegex(stop.output["backtrace 2"], rf"^#0  .*walk_step {label}\(number={number}, local={number}0, seconds=0\) "
                                 rf"at \S*walk\.cc:{line}\n#1  0x\w+ in walk_go {label}\(")
        self.assertEqual(session.complaints(output), [])

    def assert_listed(self, output):
        self.assertEqual(harness.copies_listed(output), {STARTED: "-", **dict.fromkeys(COPIES, f"template: {TEMPLATE}"[:63])})


@harness.needs_gdb
@harness.needs_templates
class Live(Case):
    def session(self, **options):
        return harness.gdb(["break host_created", "break walk_step", f"break {LINE}", session.LOOP, "run",
                            f"python drive({{'walk_step': {AT_STOP!r}, {LINE!r}: {AT_STOP!r}, 'host_created': ['gorgon list']}})"],
                           harness.HOST, *MODE, "-n", 4, session.walk(), **options)

    def test_breakpoints_by_function_and_by_line(self):
        output = self.session(script=True)
        self.assert_stops(output)
        self.assertIn("exited normally", output)
        self.assert_listed(session.stops(output, "host_created")[0].output["gorgon list"])
        for stop in session.stops(output, "walk_step"):
            number = int(session.value(stop.output["print number"]))
            added = number if number < 50 else number + number // 10  # the first step was on the main thread
            self.assertEqual(session.value(stop.output["print walk_static"]), str(7 + 2 * added))

    def test_plain_gdb(self):
        output = self.session()
        self.assert_stops(output, labels=False)
        self.assertIn("exited normally", output)


@harness.needs_gdb
@harness.needs_templates
class Afterwards(session.WaitingWalk, Case):
    """Attached, and from a core, while all threads wait in their steps."""

    count, waiting, mode = 4, 8, MODE
    commands = ["gorgon list", *session.in_each_step(["frame", *AT_STOP, "gorgon whose $pc"])]

    def check(self, output):
        self.assert_listed(output)
        stops = session.stops(output, 1)
        self.assertEqual(sorted(interp(stop) for stop in stops), sorted(2 * ALL), output)
        for stop in stops:
            (step,) = self.steps[stop.lwp]
            self.assertEqual([session.value(stop.output[f"print {name}"]) for name in ("number", "local")],
                             [step["number"], step["local"]])
            self.assertRegex(stop.output["frame"], rf"^#\d+ .* in walk_step \(number={step['number']}, .*walk\.cc:{WAIT}\n")
            self.assertRegex(stop.output["gorgon whose $pc"], rf"interpreter {interp(stop)}, walk\.so, walk_step\(")
        self.assertEqual(session.complaints(output), [])


@harness.needs_gdb
@harness.needs_templates
class Attached(Case):
    def test_breakpoints_by_function_and_by_line(self):
        with harness.Background(harness.HOST, *MODE, "-n", 4, FOREVER, until=r"(?s)(walk: number.*){8}") as host:
            output = harness.gdb(["break walk_step", f"break {LINE}", session.LOOP, "continue",
                                  f"python drive({{'walk_step': {AT_STOP!r}, {LINE!r}: {AT_STOP!r}}}, limit=40)", "kill"],
                                 script=True, options=["-p", str(host.pid)])
        self.assert_stops(output)


if __name__ == "__main__":
    unittest.main()
