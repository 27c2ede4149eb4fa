# SPDX-License-Identifier: MIT
"""gorgon break: a single breakpoint of gdb in all copies, also copies to come, or in one interpreter's copy."""

import functools
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
SET = ["gorgon break Py_InitializeFromConfig", "gorgon break -i 2 time_sleep", "gorgon break -i 3 time_sleep",
       "gorgon break walk_step if number + walk_counter == 5 + 2 * number && walk_depth == 2 + 3 * number && number > 1",
       "gorgon tbreak walk_dep_twice", f"gorgon break walk.cc:{LINE}"]
LISTING = ["gorgon break", "info breakpoints"]


def listed(text):
    """{number: its lines} of the first "info breakpoints"."""
    table = re.search(r"^Num +Type .*\n((?:[\d\t ].*\n)*)", text, re.M)
    return {int(lines.split()[0]): lines for lines in re.split(r"^(?=\d+ )", table[1], flags=re.M)[1:]} if table else {}


def places(text, *numbers):
    """Addresses of breakpoints in "info breakpoints"."""
    rows = listed(text)
    return {int(a, 16) for number in numbers for a in re.findall(r"\sy\s+(0x[0-9a-f]{16})", rows.get(number, ""))}


@functools.cache
def second_instruction():
    """How far behind the start of PyList_Append the second instruction is."""
    output = harness.gdb(["x/2i PyList_Append"], harness.LIBPYTHON)
    return int(re.search(r"<PyList_Append\+(\d+)>", output)[1])


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
            ["break host_created", "break host_destroyed", *SET, session.LOOP, "gorgon break", "run",
             f"python drive({{{CREATED}: {LISTING!r}, {DESTROYED}: {LISTING!r}, {BY_NAME}: ['gorgon whose $pc'],"
             f" {CONDITION}: ['print number'], {ONCE}: ['info breakpoints'], {LINES}: ['bt 1'], 0: []}}, limit=400)",
             "info breakpoints"],
            harness.HOST, "-n", COUNT, "-d", 1, "-a", code, script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.created, cls.last = session.stops(cls.output, CREATED)
        (cls.destroyed,) = session.stops(cls.output, DESTROYED)
        cls.start, cls.sleep = session.offsets("Py_InitializeFromConfig"), session.offsets("time_sleep")
        assert cls.start and cls.sleep
        cls.steps = session.steps(cls.output)

    def test_session_is_whole(self):
        self.assertIn("exited normally", self.output)
        self.assertEqual(sorted(self.addresses), [0, 1, 2, 3])
        self.assert_clean(self.output)

    def test_setting_says_that_it_waits(self):
        self.assertIn("Breakpoint 3 (-function Py_InitializeFromConfig@all) pending.\n"
                      "gorgon break: no private library has it yet\n", self.output)
        self.assertIn("Temporary breakpoint 7 (-function walk_dep_twice@all) pending.\n", self.output)

    def test_they_are_listed_among_the_others(self):
        rows = listed(self.created.output["info breakpoints"])
        self.assertEqual(sorted(rows), list(range(1, 9)))
        self.assertEqual(sorted(listed(self.created.output["gorgon break"])), list(range(3, 9)))
        self.assertRegex(rows[ONE], r"^4 +breakpoint +keep y .*time_sleep")
        self.assertRegex(rows[LATER], r"^5 +breakpoint +keep y +<PENDING> +-function time_sleep@3\n")
        self.assertRegex(rows[CONDITION], r"^6 +breakpoint +keep [yn] +<PENDING> +-function walk_step@all")  # reruns.py
        self.assertRegex(rows[ONCE], r"^7 +breakpoint +del  y ")

    def test_hits_are_counted(self):
        rows = listed(self.output[self.output.rindex("exited normally"):])
        self.assertNotIn(ONCE, rows)
        for number in (BY_NAME, ONE, LATER, CONDITION, LINES):
            count = len(session.stops(self.output, number))
            self.assertIn(f"\tbreakpoint already hit {count} time{'s' if count > 1 else ''}\n", rows[number])

    def test_places_are_those_of_gdb_in_each_living_copy(self):
        # gdb may find no place of its own in a copy, as test_narrowed_index.py shows.
        first = places(self.created.output["info breakpoints"], BY_NAME)
        start = {a - self.addresses[0] for a in first} & self.start
        one = {self.addresses[2] + offset for offset in self.sleep}
        late = {self.addresses[3] + offset for offset in self.sleep}
        self.assertIn(min(self.start), start)
        for stop, interps, ones, later in ((self.created, (0, 1, 2), one, set()), (self.destroyed, (0, 2), one, set()),
                                           (self.last, (0, 2, 3), one, late)):
            text = stop.output["info breakpoints"]
            self.assertEqual(places(text, BY_NAME), {self.addresses[i] + offset for i in interps for offset in start})
            self.assertLessEqual(places(text, ONE), ones)
            self.assertEqual(bool(places(text, LATER)), bool(later))
            self.assertLessEqual(places(text, LATER), later)

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
class Commands(Case):
    """Breakpoints that are set and deleted while the process stands still, and mistakes."""

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
                    "gorgon delete 2", "gorgon break", f"gorgon break *host_append_at[1]+{second_instruction()}",
                    "gorgon break PyLong_FromLong if no_such_variable", "complete gorgon break -i 1",
                    "complete gorgon delete 3", "complete gorgon break PyList_App", "help gorgon break", *cls.PENDING]
        at_address = ["gorgon delete 4", "info breakpoints", "gorgon delete", "gorgon break"]
        cls.output = harness.gdb(
            ["break host_created", session.LOOP, "run",
             f"python drive({{1: {at_start!r}, 4: {at_address!r}, 0: ['gorgon delete 5']}})",
             "python print('=== again')", "gorgon break Py_RunMain", "run", "info breakpoints", "continue", "bt 1"],
            harness.HOST, "-n", COUNT, "pass", script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.start = session.stops(cls.output, 1)[0].output

    def test_mistakes_get_one_clear_line(self):
        for command, text in self.MISTAKES.items():
            with self.subTest(command):
                self.assertRegex(self.start[command], rf"^error: {text}[^\n]*\n$")

    def test_setting_says_where(self):
        self.assertEqual(self.start["gorgon break PyList_Append"].partition(": ")[2],
                         f"-function PyList_Append@all. ({COUNT * len(session.offsets('PyList_Append'))} locations)\n")

    def test_setting_says_why_there_is_no_place(self):
        for command, why in self.PENDING.items():
            self.assertRegex(self.start[command], rf"Breakpoint \d \(-function \S+\) pending\.\ngorgon break: {why}\n")

    def test_deleting(self):
        self.assertEqual(list(listed(self.start["gorgon break"])), [3])
        self.assertEqual(self.start["complete gorgon delete 3"], "gorgon delete 3\n")

    def test_an_address_stands_for_its_place_in_all_copies(self):
        stops = session.stops(self.output, 4)
        self.assertTrue(stops)
        self.assertIn(stops[0].pc - second_instruction(), self.addresses.values())
        self.assertRegex(self.start[f"gorgon break *host_append_at[1]+{second_instruction()}"], rf"\({COUNT} locations\)\n$")
        self.assertNotIn(4, listed(stops[0].output["info breakpoints"]))
        self.assertTrue(stops[0].output["gorgon break"].startswith("No gorgon breakpoints.\n"))

    def test_a_condition_that_fails_stops_and_says_so(self):
        self.assertRegex(self.output, "Error in testing (breakpoint )?condition( for breakpoint 5(\\.\\d)?)?:\n"
                         'No symbol "no_such_variable"')
        self.assertRegex(self.output, r"hit Breakpoint 5\.\d, ")

    def test_completion_and_help(self):
        self.assertEqual(self.start["complete gorgon break -i 1"], "gorgon break -i 1\n")
        self.assertIn("gorgon break PyList_Append\n", self.start["complete gorgon break PyList_App"])
        self.assertIn("Usage: gorgon break [-i N] LOCATION ", self.start["help gorgon break"])

    def test_it_waits_for_the_next_run(self):
        tail = self.output[self.output.index("=== again"):]
        self.assertRegex(tail, r"Breakpoint \d+ \(-function Py_RunMain@all\) pending\.\n"
                         "gorgon break: no private library has it yet\n")
        self.assertEqual(len(re.findall(r"^\d+\.\d+ +y +0x\w+ in Py_RunMain ", tail, re.M)), COUNT)
        self.assertRegex(tail, rf"\n#0  Py_RunMain from {harness.SONAME_RE} \[interp \d\] \(")
        self.assertEqual(session.complaints(tail), [])


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


@harness.needs_gdb
class NoAnswer(Case):
    """The gdb that looks locations up fails while interpreters come, and works later."""

    @classmethod
    def setUpClass(cls):
        cls.output = harness.gdb(
            ["gorgon break PyList_Insert", "python from gorgon_gdb import location_resolver",
             "python seconds, location_resolver.SECONDS = location_resolver.SECONDS, 0",
             "break host_created", session.LOOP, "run", "gorgon break",
             "python location_resolver.SECONDS = seconds", "gorgon break PyList_Reverse", "gorgon break"],
            harness.HOST, "-n", COUNT, "pass", script=True)

    def test_it_is_said_once_not_for_each_interpreter(self):
        self.assertEqual(re.findall(r"^gorgon break: (.*)$", self.output, re.M),
                         ["no private library has it yet", "the second gdb, which looks locations up, has no answer after 0 s"])

    def test_it_is_asked_again_for_the_next_breakpoint(self):
        before, after = self.output.split("Breakpoint 3 at ")
        self.assertRegex(before, r"\n1 +breakpoint +keep y +<PENDING> +-function PyList_Insert@all\n")
        self.assertRegex(after, rf"^0x\w+: -function PyList_Reverse@all. \({COUNT * len(session.offsets('PyList_Reverse'))} locations\)\n")
        self.assertEqual(len(re.findall(r"^1\.\d ", after, re.M)), COUNT * len(session.offsets("PyList_Insert")))


if __name__ == "__main__":
    unittest.main()
