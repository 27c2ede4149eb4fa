# SPDX-License-Identifier: MIT
"""gorgon break: one breakpoint in all copies, present and to come, or in one."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
LINE = harness.source_line(session.WALK, "// where the walk stops")
BY_NAME, ONE, LATER, CONDITION, ONCE, LINES = (session.GORGON + i for i in range(1, 7))
SET = ["gorgon break Py_InitializeFromConfig", "gorgon break -i 2 time_sleep", "gorgon break -i 3 time_sleep",
       "gorgon break walk_step if number + walk_counter == 5 + 2 * number && walk_depth == 2 + 3 * number && number > 1",
       "gorgon tbreak walk_dep_twice", f"gorgon break walk.cc:{LINE}"]
LISTING = ["gorgon break", "info breakpoints", "maint info breakpoints"]


def parts(stop):
    """Addresses of the internal breakpoints that are not gdb's own."""
    return {int(a, 16) for a in re.findall(r"^-\d+\s+breakpoint\s+keep y\s+(0x[0-9a-f]{16})",
                                           stop.output["maint info breakpoints"], re.M)}


def table(stop):
    return {int(row[0]): row for row in map(str.split, stop.output["gorgon break"].splitlines()[1:])}


class Case(unittest.TestCase):
    def assert_clean(self, output):
        self.assertEqual(session.complaints(output), [])
        self.assertNotRegex(output, r"Python Exception|Cannot remove|Error removing|Error in testing")


@harness.needs_gdb
class Live(Case):
    """Set before the program runs; interpreter 1 is destroyed, and 3 created after the others have ended."""

    @classmethod
    def setUpClass(cls):
        code = "import time; time.sleep(0.01); " + session.walk()
        cls.output = harness.gdb(
            [*SET, "break host_created", "break host_destroyed", session.LOOP, "gorgon break", "run",
             f"python drive({{1: {LISTING!r}, 2: {LISTING!r}, {BY_NAME}: ['gorgon whose $pc'],"
             f" {CONDITION}: ['print number'], {ONCE}: ['gorgon break'], {LINES}: ['bt 1'], 0: []}}, limit=400)"],
            harness.HOST, "-n", COUNT, "-d", 1, "-a", code, script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.created, cls.last = session.stops(cls.output, 1)
        (cls.destroyed,) = session.stops(cls.output, 2)
        cls.start, cls.sleep = session.offsets("Py_InitializeFromConfig"), session.offsets("time_sleep")
        assert cls.start and cls.sleep
        cls.steps = session.steps(cls.output)

    def test_session_is_whole(self):
        self.assertIn("exited normally", self.output)
        self.assertEqual(sorted(self.addresses), [0, 1, 2, 3])
        self.assert_clean(self.output)

    def test_setting_says_that_it_waits(self):
        self.assertIn("Gorgon breakpoint 1: Py_InitializeFromConfig, pending: no private library has it yet\n", self.output)
        self.assertIn("Gorgon temporary breakpoint 5: walk_dep_twice, pending", self.output)

    def test_listing_has_one_line_for_each(self):
        rows = table(self.created)
        self.assertEqual(sorted(rows), [1, 2, 3, 4, 5, 6])
        self.assertEqual([rows[n][2:4] for n in (2, 3)], [["interp", "2"], ["interp", "3"]])
        self.assertEqual(rows[1][1:4], ["keep", "all", str(COUNT * len(self.start))])
        self.assertEqual(rows[3][4], "pending")
        self.assertEqual(rows[5][1], "del")
        self.assertTrue(self.created.output["gorgon break"].splitlines()[4].endswith(SET[3].partition(" if ")[2]))
        self.assertNotIn("Py_InitializeFromConfig", self.created.output["info breakpoints"])

    def places(self, *interps):
        return {self.addresses[i] + offset for i in interps for offset in self.start}

    def test_places_are_those_of_gdb_in_each_living_copy(self):
        one = {self.addresses[2] + offset for offset in self.sleep}
        self.assertEqual(parts(self.created), self.places(0, 1, 2) | one)
        self.assertEqual(parts(self.destroyed), self.places(0, 2) | one)
        # 3 is new; its walk.so is not loaded yet, those of 0 and 2 still are.
        late = {self.addresses[3] + offset for offset in self.sleep}
        self.assertLess(self.places(0, 2, 3) | one | late, parts(self.last))
        self.assertEqual(table(self.last)[1][3], str(3 * len(self.start)))

    def test_function_stops_in_each_copy(self):
        found = {int(re.search(r"interpreter (\d)", stop.output["gorgon whose $pc"])[1])
                 for stop in session.stops(self.output, BY_NAME)}
        self.assertEqual(found, {0, 2, 3})

    def test_one_interpreter_only_present_or_to_come(self):
        for number, interp in ((ONE, 2), (LATER, 3)):
            pcs = {stop.pc for stop in session.stops(self.output, number)}
            self.assertEqual(pcs, {self.addresses[interp] + min(self.sleep)})

    def test_line_stops_at_every_step_in_every_copy(self):
        stops = session.stops(self.output, LINES)
        self.assertEqual(sorted(stop.lwp for stop in stops), sorted(self.steps))
        self.assertEqual(len(stops), 2 * 3)
        for stop in stops:
            self.assertRegex(stop.output["bt 1"], rf"^#0  walk_step from walk\.so \[interp \d\] \(.*walk\.cc:{LINE}\n")

    def test_condition_is_of_the_copy_and_the_thread(self):
        # Only a first step has its own number alone in walk_counter.
        numbers = [int(session.value(stop.output["print number"])) for stop in session.stops(self.output, CONDITION)]
        first = [int(step["number"]) for steps in self.steps.values() for step in steps
                 if int(step["walk_counter"]) == 5 + int(step["number"]) and int(step["number"]) > 1]
        self.assertEqual(sorted(numbers), sorted(first))
        self.assertEqual(sorted(first), [3, 4])

    def test_temporary_stops_once_and_is_gone(self):
        (stop,) = session.stops(self.output, ONCE)
        self.assertNotIn("walk_dep_twice", stop.output["gorgon break"])
        self.assertIn("Gorgon temporary breakpoint 5, walk_dep_twice, interp ", self.output)


@harness.needs_gdb
class Commands(Case):
    """Set while the process stands, deleted, and what goes wrong."""

    MISTAKES = {
        "gorgon break -i": "gorgon break: -i takes the number of an interpreter",
        "gorgon break -i one f": "gorgon break: -i takes the number of an interpreter",
        "gorgon break -i 1": 'gorgon break: a LOCATION expected; see "help gorgon break"',
        "gorgon break if 1": 'gorgon break: a LOCATION expected; see "help gorgon break"',
        "gorgon tbreak": 'gorgon tbreak: a LOCATION expected; see "help gorgon tbreak"',
        "gorgon break *main": "gorgon break: .* is in no private object",
        "gorgon break -no-such-option f": "gorgon break: .*-no-such-option",
        "gorgon delete 99": 'gorgon delete: no gorgon breakpoint 99; "gorgon break" lists them',
    }

    PENDING = {"gorgon break -i 9 PyList_Append": "there is no interpreter 9 yet",
               "gorgon break -i 1 no_such_function": "no private library of interpreter 1 has it yet"}

    @classmethod
    def setUpClass(cls):
        at_start = [*cls.MISTAKES, "gorgon break PyList_Append", "gorgon break no_such_function", "gorgon break",
                    "gorgon delete 1", "gorgon break", "maint info breakpoints", "gorgon break *host_append_at[1]",
                    "gorgon break PyLong_FromLong if no_such_variable", "complete gorgon break -i 1",
                    "complete gorgon delete 2", "complete gorgon break PyList_App", "help gorgon break", *cls.PENDING]
        at_address = ["gorgon delete 3", "gorgon break", "gorgon delete", "gorgon break"]
        cls.output = harness.gdb(
            ["break host_created", session.LOOP, "run",
             f"python drive({{1: {at_start!r}, {session.GORGON + 3}: {at_address!r}, 0: ['gorgon delete 4']}})",
             "python print('=== again')", "gorgon break Py_RunMain", "run", "gorgon break", "continue", "bt 1"],
            harness.HOST, "-n", COUNT, "pass", script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.start = session.stops(cls.output, 1)[0].output

    def test_mistakes_get_one_clear_line(self):
        for command, text in self.MISTAKES.items():
            with self.subTest(command):
                self.assertRegex(self.start[command], rf"^error: {text}[^\n]*\n$")

    def test_setting_says_where(self):
        # In each the function itself; of gdb's places some may be none (test_narrow.py).
        found = re.fullmatch(r"Gorgon breakpoint 1: PyList_Append, (\d+) places in interp 0, interp 1, interp 2\n",
                             self.start["gorgon break PyList_Append"])
        self.assertIn(int(found[1]), [COUNT * (i + 1) for i in range(len(session.offsets("PyList_Append")))])

    def test_setting_says_why_there_is_no_place(self):
        for command, why in self.PENDING.items():
            self.assertRegex(self.start[command], rf"^Gorgon breakpoint \d: \w+, pending: {why}\n")

    def test_deleting_takes_all_parts(self):
        self.assertEqual([row.split()[0] for row in self.start["gorgon break"].splitlines()], ["Num", "2"])
        self.assertNotIn("PyList_Append", self.start["maint info breakpoints"])
        self.assertEqual(self.start["complete gorgon delete 2"], "gorgon delete 2\n")

    def test_an_address_stands_for_its_place_in_all_copies(self):
        stops = session.stops(self.output, session.GORGON + 3)
        self.assertTrue(stops)
        self.assertIn(stops[0].pc, self.addresses.values())
        self.assertRegex(self.start["gorgon break *host_append_at[1]"], rf", {COUNT} places in ")
        self.assertTrue(stops[0].output["gorgon break"].startswith("No gorgon breakpoints.\n"))

    def test_a_condition_that_fails_stops_and_says_so(self):
        self.assertIn('Error in testing the condition of gorgon breakpoint 4: No symbol "no_such_variable"', self.output)

    def test_completion_and_help(self):
        self.assertEqual(self.start["complete gorgon break -i 1"], "gorgon break -i 1\n")
        self.assertIn("gorgon break PyList_Append\n", self.start["complete gorgon break PyList_App"])
        self.assertIn("Usage: gorgon break [-i N] LOCATION [if CONDITION]", self.start["help gorgon break"])

    def test_it_waits_for_the_next_run(self):
        tail = self.output[self.output.index("=== again"):]
        self.assertIn("Gorgon breakpoint 7: Py_RunMain, pending: no private library has it yet\n", tail)
        self.assertRegex(tail, rf"\n7 +keep +all +{COUNT} +0 +Py_RunMain")
        self.assertRegex(tail, rf"\n#0  Py_RunMain from {harness.SONAME_RE} \[interp \d\] \(")
        self.assert_clean(tail)


@harness.needs_gdb
class NoAnswer(Case):
    """The gdb that looks locations up fails while interpreters come, and works later."""

    @classmethod
    def setUpClass(cls):
        cls.output = harness.gdb(
            ["gorgon break PyList_Insert", "python from gorgon_gdb import answers, reference",
             "python answers.read, seconds, reference.SECONDS = lambda key: None, reference.SECONDS, 0",
             "break host_created", session.LOOP, "run", "gorgon break",
             "python reference.SECONDS = seconds", "gorgon break PyList_Reverse", "gorgon break"],
            harness.HOST, "-n", COUNT, "pass", script=True)

    def test_it_is_said_once_not_for_each_interpreter(self):
        self.assertEqual(re.findall(r"^gorgon break: (.*)$", self.output, re.M),
                         ["the second gdb, which looks locations up, has no answer after 0 s"])

    def test_it_is_asked_again_for_the_next_breakpoint(self):
        before, after = self.output.split("Gorgon breakpoint 2: ")
        self.assertRegex(before, r"\n1 +keep +all +pending +0 +PyList_Insert +-")
        self.assertRegex(after, rf"^PyList_Reverse, {COUNT} places in interp 0, interp 1, interp 2\n")
        self.assertRegex(after, rf"\n1 +keep +all +{COUNT} +0 +PyList_Insert +-")


if __name__ == "__main__":
    unittest.main()
