# SPDX-License-Identifier: MIT
"""lldb: "gorgon break" in all copies and in one, present and future."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
EVERY = range(COUNT)


@harness.needs_lldb
class Pending(session.Case):
    """Set before the program runs: functions, lines, one interpreter, conditions."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        cls.line = harness.source_line(session.LEDGER, "enter: variables")
        cls.offset, _ = session.libpython_symbol("time_sleep")
        cls.output = harness.lldb(
            ["gorgon break enter",  # static, with debug information
             f"gorgon break -i 1 ledger.c:{cls.line}",
             "gorgon break scale_plain",  # without debug information
             "gorgon break -i 2 risk_of if $rdi > 500",
             "gorgon tbreak market::divide",
             "gorgon break no_such_function",
             "gorgon break time_sleep",  # static, in a detached debug file
             session.DRIVER, "breakpoint list", "run",
             session.drive({"enter": ["bt 2", "breakpoint list"], f"ledger.c:{cls.line}": ["bt 2"], "scale_plain": ["bt 2"],
                            "risk_of": ["register read rdi"], "?": ["bt 2"], "time_sleep": ["once", "bt 1"]}), "breakpoint list"],
            harness.HOST, "-n", str(COUNT), session.fixture_code(cls.folder.name, rounds=2, wait=0), script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.interps = {}
        for stop in session.stops(cls.output, "enter"):
            cls.interps[stop.lwp] = int(re.search(r"libledger\.so \[interp (\d)\]`", stop.output["bt 2"])[1])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def hits(self, place):
        """{interpreter: how often}"""
        found = {}
        for stop in session.stops(self.output, place):
            found[self.interps[stop.lwp]] = found.get(self.interps[stop.lwp], 0) + 1
        return found

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assert_clean(self.output)
        self.assertEqual(len(self.addresses), COUNT)

    def test_pending_breakpoints_say_so(self):
        self.assertRegex(self.output, r"Breakpoint \d+: enter in all interpreters, no locations yet \(pending\)\.\n")
        self.assertRegex(self.output, rf"Breakpoint \d+: ledger\.c:{self.line} in interpreter 1, no locations yet \(pending\)\.\n")
        self.assertEqual(self.output.count(": gorgon: no_such_function in all interpreters, locations = 0 (pending)"),
                         2 + len(session.stops(self.output, "enter")))

    def test_static_function_stops_in_each_copy_each_time(self):
        # The loop calls the function twice, and a thread of its own calls it once.
        own = {lwp: n for lwp, n in self.interps.items()}
        self.assertEqual(sorted(own.values()), sorted(list(EVERY) * 2))
        for stop in session.stops(self.output, "enter"):
            self.assertEqual(session.functions(stop.output["bt 2"]), ["enter", "ledger_add"])

    def test_it_is_one_breakpoint_with_a_location_in_each_copy(self):
        listing = session.stops(self.output, "enter")[-1].output["breakpoint list"]
        self.assertEqual(len(session.addresses_listed(listing, "enter")), COUNT)
        self.assertIn(f": gorgon: enter in all interpreters, locations = {COUNT}, resolved = {COUNT}, ", listing)

    def test_line_in_one_interpreter(self):
        self.assertEqual(self.hits(f"ledger.c:{self.line}"), {1: 3})
        self.assertEqual(len({stop.pc for stop in session.stops(self.output, f"ledger.c:{self.line}")}), 1)

    def test_function_without_debug_information(self):
        self.assertEqual(self.hits("scale_plain"), {i: 3 for i in EVERY})
        for stop in session.stops(self.output, "scale_plain"):
            self.assertEqual(session.functions(stop.output["bt 2"]), ["scale_plain", "enter"])

    def test_condition_in_one_interpreter(self):
        totals = [values["ledger_total"] for what in ("after", "ready")
                  for values in session.expectations(self.output, what)[2]]
        asked = [int(re.search(r"rdi = (0x\w+)", stop.output["register read rdi"])[1], 16)
                 for stop in session.stops(self.output, "risk_of")]
        self.assertEqual(asked, [total for total in totals if total > 500])
        self.assertLess(len(asked), len(totals))
        self.assertEqual(list(self.hits("risk_of")), [2])

    def test_temporary_breakpoint_stops_once_and_is_gone(self):
        # The breakpoint is gone when the driver asks on what it was set. Threads that come to it at the same time stop
        # together.
        found = session.stops(self.output, "?")
        for stop in found:
            self.assertEqual(session.functions(stop.output["bt 2"]), ["market::divide", "risk_of"])
        self.assertTrue(found)
        self.assertEqual(len({stop.thread for stop in found}), len(found))  # of several calls in each
        last = self.output[self.output.rindex("Current breakpoints:"):]
        self.assertNotIn("market::divide", last)
        self.assertIn("gorgon: risk_of in interpreter 2", last)

    def test_static_function_of_libpython(self):
        self.assertEqual(sorted(stop.pc for stop in session.stops(self.output, "time_sleep")),
                         sorted(address + self.offset for address in self.addresses.values()))


@harness.needs_lldb
class Destroyed(session.Case):
    """Locations go with an interpreter, come with a new one, and are deleted as one."""

    def test_locations_follow_the_interpreters(self):
        offset, _ = session.libpython_symbol("list_vectorcall")
        listing = ["breakpoint list"]
        output = harness.lldb(
            ["gorgon break list_vectorcall", "breakpoint set -n host_created", "breakpoint set -n host_destroyed",
             session.DRIVER, "run", session.drive({"list_vectorcall": ["once"], "host_created": listing, "host_destroyed": listing})],
            harness.HOST, "-n", str(COUNT), "-d", "1", "-a", session.code(), script=True)
        addresses = harness.host_addresses(output)
        listed = [set(session.addresses_listed(stop.output["breakpoint list"], "list_vectorcall"))
                  for stop in session.stops(output, "host_created", "host_destroyed")]
        expected = [{addresses[i] + offset for i in living} for living in ((0, 1, 2), (0, 2), (0, 2, 3))]
        self.assertEqual(listed, expected)
        self.assertEqual({stop.pc for stop in session.stops(output, "list_vectorcall")}, expected[2])
        self.assertTrue(session.ended(output), output[-500:])
        self.assert_clean(output)

    def test_delete_takes_all_locations(self):
        output = harness.lldb(
            ["breakpoint set -n host_created", "run", "gorgon break list_vectorcall",
             "gorgon break -i 1 list_vectorcall", "breakpoint delete 2", "breakpoint list", "continue"],  # by the number that lldb has said
            harness.HOST, "-n", str(COUNT), "pass", script=True)
        self.assertIn(f"Breakpoint 2: list_vectorcall in all interpreters, {COUNT} locations.\n", output)
        self.assertIn("Breakpoint 3: list_vectorcall in interpreter 1, 1 location.\n", output)
        last = output[output.rindex("Current breakpoints:"):]
        self.assertIn("3: gorgon: list_vectorcall in interpreter 1", session.listed(last, "list_vectorcall"))
        self.assertEqual(len(session.addresses_listed(last, "list_vectorcall")), 1)
        self.assertRegex(last, r"stop reason = breakpoint 3\.1\b")
        self.assert_clean(output)

    def test_symbols_do_not_double_it(self):
        output = harness.lldb(
            ["breakpoint set -n host_created", "run", "gorgon break time_sleep", "gorgon symbols all libpython",
             "breakpoint list", "gorgon symbols off", "breakpoint list"],
            harness.HOST, "-n", str(COUNT), "pass", script=True)
        expected = sorted(a + offset for a in harness.host_addresses(output).values()
                          for offset in session.libpython_places("time_sleep"))
        with_symbols, without = output.split("Current breakpoints:")[1:]
        self.assertEqual(sorted(session.addresses_listed(with_symbols, "time_sleep")), expected)
        named = re.findall(rf"where = {harness.SONAME_RE}`time_sleep", with_symbols)
        self.assertEqual(len(named), len(expected))
        self.assertEqual(sorted(session.addresses_listed(without, "time_sleep")), expected)
        self.assert_clean(output)


@harness.needs_lldb
class Mistakes(session.Case):
    def test_one_clear_line(self):
        for command, text in (
                ("gorgon break", 'gorgon break: an argument is missing; see "help gorgon break"'),
                ("gorgon tbreak -i 1", 'gorgon tbreak: an argument is missing; see "help gorgon tbreak"'),
                ("gorgon break -i one f",
                 'gorgon break: a number expected after -i, not one; see "help gorgon break"')):
            with self.subTest(command):
                output = harness.lldb([command], harness.HOST, "pass", script=True)
                self.assertEqual(session.complaints(output), [f"error: {text}"])
                self.assertNotRegex(output, session.TRACEBACK)

    def test_a_file_that_was_replaced_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            # The program changes it behind its own back.
            code = (f"import ctypes, os; l = ctypes.CDLL('{folder}/libledger.so'); "
                    f"os.replace('{folder}/librisk.so', '{folder}/libledger.so'); os.kill(os.getpid(), 10)")
            output = harness.lldb(["process handle SIGUSR1 --stop true --pass false --notify true", "run",
                                   "gorgon break ledger_add"], harness.HOST, "-n", "1", code, script=True)
        self.assertRegex(output, rf"gorgon break: {folder}/libledger\.so has build-id \w+, the process has loaded \w+: "
                         "the file has been replaced\n")


if __name__ == "__main__":
    unittest.main()
