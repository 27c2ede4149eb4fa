# SPDX-License-Identifier: MIT
"""gorgon break: a single breakpoint of gdb in all copies, also copies to come, or in one interpreter's copy."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
LINE = harness.source_line(session.WALK, "// where the walk stops")
CREATED, DESTROYED, BY_NAME, ONE, LATER, CONDITION, ONCE, LINES = range(1, 9)
SET = ["gorgon break Py_InitializeFromConfig", "gorgon break -i 2 time_sleep", "gorgon break -i 3 walk_throw",
       "gorgon break walk_step if number + walk_counter == 5 + 2 * number && walk_depth == 2 + 3 * number && number > 1",
       "gorgon tbreak walk_dep_twice", f"gorgon break walk.cc:{LINE}"]
LISTING, WHOSE = ["info breakpoints"], ["gorgon whose $pc"]


def listed(text):
    """{number: its lines} of the first "info breakpoints"."""
    table = re.search(r"^Num +Type .*\n((?:[\d\t ].*\n)*)", text, re.M)
    return {int(lines.split()[0]): lines for lines in re.split(r"^(?=\d+ )", table[1], flags=re.M)[1:]} if table else {}


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
            ["break host_created", "break host_destroyed", *SET, session.LOOP, "run",
             f"python drive({{{CREATED}: {LISTING!r}, {DESTROYED}: {LISTING!r}, {BY_NAME}: {WHOSE}, {ONE}: {WHOSE}, {LATER}: {WHOSE},"
             f" {CONDITION}: ['print number'], {ONCE}: ['info breakpoints'], {LINES}: ['bt 1'], 0: []}}, limit=400)",
             "info breakpoints"],
            harness.HOST, "-n", COUNT, "-d", 1, "-a", code, script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.created, cls.last = session.stops(cls.output, CREATED)
        (cls.destroyed,) = session.stops(cls.output, DESTROYED)
        cls.steps = session.steps(cls.output)

    def test_session_is_whole(self):
        self.assertIn("exited normally", self.output)
        self.assertEqual(sorted(self.addresses), [0, 1, 2, 3])
        self.assert_clean(self.output)

    def test_setting_says_that_it_waits(self):
        self.assertIn("Breakpoint 3 (Py_InitializeFromConfig) pending.\n", self.output)
        self.assertIn("Temporary breakpoint 7 (walk_dep_twice) pending.\n", self.output)

    def test_they_are_listed_among_the_others(self):
        rows = listed(self.created.output["info breakpoints"])
        self.assertEqual(sorted(rows), list(range(1, 9)))
        self.assertRegex(rows[LATER], r"<PENDING> +walk_throw if \$gorgon_interp\(\$pc\) == 3\n")
        self.assertRegex(rows[ONCE], r"^7 +breakpoint +del  y ")

    def test_hits_are_counted(self):
        rows = listed(self.output[self.output.rindex("exited normally"):])
        self.assertNotIn(ONCE, rows)
        for number in (BY_NAME, ONE, LATER, CONDITION, LINES):
            count = len(session.stops(self.output, number))
            self.assertIn(f"\tbreakpoint already hit {count} time{'s' if count > 1 else ''}\n", rows[number])

    def test_function_stops_in_each_copy(self):
        found = {int(re.search(r"interpreter (\d)", stop.output["gorgon whose $pc"])[1])
                 for stop in session.stops(self.output, BY_NAME)}
        self.assertEqual(found, {0, 2, 3})

    def test_one_interpreter_only_present_or_to_come(self):
        for number, interp in ((ONE, 2), (LATER, 3)):
            stops = session.stops(self.output, number)
            self.assertEqual({re.search(r"interpreter (\d)", stop.output["gorgon whose $pc"])[1] for stop in stops}, {str(interp)})

    def test_line_stops_at_every_step_in_every_copy(self):
        stops = session.stops(self.output, LINES)
        self.assertEqual(sorted(stop.lwp for stop in stops), sorted(self.steps))
        self.assertEqual(len(stops), 2 * 3)
        for stop in stops:
            self.assertRegex(stop.output["bt 1"], rf"^#0  walk_step from walk\.so \[interp \d\] \(.*walk\.cc:{LINE}\n")

    def test_condition_is_of_the_copy_and_the_thread(self):
        # Only at the first step walk_counter is that step's number alone.
        numbers = [int(session.value(stop.output["print number"])) for stop in session.stops(self.output, CONDITION)]
        first = [int(step["number"]) for steps in self.steps.values() for step in steps
                 if int(step["walk_counter"]) == 5 + int(step["number"]) and int(step["number"]) > 1]
        self.assertEqual(sorted(numbers), sorted(first))
        self.assertEqual(sorted(first), [3, 4])

    def test_temporary_stops_once_and_is_gone(self):
        (stop,) = session.stops(self.output, ONCE)
        self.assertNotIn("walk_dep_twice", stop.output["info breakpoints"])
        self.assertRegex(self.output, r'hit Temporary breakpoint 7(\.\d)?, walk_dep_twice \(number=\d+\) at ')


@harness.needs_gdb
class Mistakes(Case):
    MISTAKES = {
        "gorgon break -i": "gorgon break: -i takes the number of an interpreter",
        "gorgon break -i one f": "gorgon break: -i takes the number of an interpreter",
        "gorgon break -i 1": 'gorgon break: a LOCATION expected; see "help gorgon break"',
        "gorgon break if 1": 'gorgon break: a LOCATION expected; see "help gorgon break"',
        "gorgon tbreak": 'gorgon tbreak: a LOCATION expected; see "help gorgon tbreak"',
        "gorgon break *main": r'gorgon break: an address is in one copy: say "break \*main"',
        "gorgon break -no-such-option f": "gorgon break: .*-no-such-option",
    }

    def test_each_gets_one_clear_line(self):
        output = harness.gdb(["break host_created", session.LOOP, "run", f"python drive({{1: {list(self.MISTAKES)!r}}})"],
                             harness.HOST, "pass", script=True)
        (stop,) = session.stops(output, 1)
        for command, text in self.MISTAKES.items():
            with self.subTest(command):
                self.assertRegex(stop.output[command], rf"^error: {text}[^\n]*\n")


@harness.needs_gdb
class Twice(Case):
    """Set while the process runs; they are there in the next run, and in the next session."""

    SETTING = ["break list_append", "break timemodule.c:{line} if timeout_obj != 0", "gorgon break time_sleep if self != 0",
               "gorgon tbreak -i 1 PyList_Insert", "break list_extend", "disable 6"]

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept")
            setting = [command.format(line=session.line_of("time_sleep")) for command in cls.SETTING]
            cls.output = harness.gdb(
                ["break host_created", "run", *setting, "ignore 4 1", "commands 4\nsilent\nprint 6 * 7\nend",
                 "python print('=== first')", "info breakpoints", "run", "python print('=== second')", "info breakpoints",
                 f"save breakpoints {kept}", "delete 1 2 3", "python print('=== hits')", "continue", "continue", "info breakpoints"],
                harness.HOST, "-n", COUNT, "import time; time.sleep(0.01)", script=True)
            cls.later = harness.gdb([f"source {kept}", "run", "python print('=== later')", "info breakpoints"],
                                    harness.HOST, "-n", COUNT, "pass", script=True)

    def rows(self, output, name):
        return listed(output[output.index(f"=== {name}"):])

    def test_the_next_run_has_all_of_them(self):
        self.assert_clean(self.output)
        first, second = self.rows(self.output, "first"), self.rows(self.output, "second")
        for number in (2, 3, 4, 5, 6):
            self.assertEqual(second[number], first[number])
        self.assertEqual([re.split(r"\s+", first[n])[3] for n in (2, 3, 4, 5, 6)], list("yyyyn"))

    def test_what_gdb_has_saved_is_the_same_in_another_session(self):
        self.assert_clean(self.later)
        first, later = self.rows(self.output, "first"), self.rows(self.later, "later")
        for number in (2, 3, 4, 5, 6):
            self.assertEqual(later[number].replace("\tbreakpoint already hit 1 time\n", ""), first[number])

    def test_condition_ignore_count_and_commands(self):
        hits = self.output[self.output.index("=== hits"):]
        self.assertEqual(re.findall(r"^\$\d+ = (\d+)$", hits, re.M), ["42"], hits)
        self.assertIn("already hit 2 times", listed(hits)[4])


if __name__ == "__main__":
    unittest.main()
