# SPDX-License-Identifier: MIT
"""A stop at a breakpoint in a copy of which gdb has lines only is printed once, with arguments, as gdb prints any other."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402

FEW, MANY = 2, 9
CODE = "import time; time.sleep(0.5); time.sleep(0.25); time.sleep(0.125)"
MISSING = "(?:warning: )"  # words of gdb 14 and later before the line of a source file that is missing
STOP = r'Thread \d+ "host" hit {} \d+{}, {} \((.*)\) at \S+\n' + MISSING + r'?\d+\t'


@harness.needs_gdb
class Hits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Terminal(harness.HOST, "-n", MANY, CODE) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("set print inferior-events off")
            gdb.ask("set print thread-events off")
            gdb.ask("break time_sleep")
            gdb.ask("display 40 + 2")
            gdb.ask("display/x 40 + 3")
            gdb.ask("disable display 2")
            cls.first = gdb.ask("run")
            cls.setting = gdb.ask("show suppress-cli-notifications")
            cls.displays = gdb.ask("info display")
            gdb.ask("delete")
            gdb.ask("tbreak _PyTime_FromSecondsObject")
            gdb.ask("set scheduler-locking on")
            cls.temporary = gdb.ask("continue")
            gdb.ask("set scheduler-locking off")
            gdb.ask("break time_sleep")
            gdb.block("commands", "silent", "echo commands\\n", "info args")
            cls.silent = gdb.ask("continue")
        with Terminal(harness.HOST, "-n", MANY, CODE) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("break time_sleep")
            gdb.block("commands", "print timeout_obj", "info locals")
            cls.commands = [gdb.ask(line) for line in ("run", "continue", "continue")]
            cls.listed = gdb.ask("info breakpoints")
        with Terminal(harness.HOST, "-n", MANY, CODE) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("tbreak time_sleep")
            cls.captured = gdb.ask("python print('captured<' + gdb.execute('run', to_string=True) + '>')")
            other = gdb.ask("python print(gdb.selected_thread().num)").strip()
            gdb.ask(f"tbreak time_sleep if $_thread != {other}")
            gdb.ask("continue")
            cls.of_another = gdb.ask(f"thread apply {other} bt 1")
        with Terminal(harness.HOST, "-n", FEW, CODE) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("break time_sleep")
            cls.few = gdb.ask("run")

    def check(self, text, kind, location, function, arguments):
        stops = re.findall(STOP.format(kind, location, function), text)
        self.assertEqual(len(stops), 1, text)
        self.assertRegex(stops[0], arguments, text)
        self.assertNotIn("#0", text)
        self.assertEqual(text.count("hit "), 1, text)

    def test_a_breakpoint(self):
        self.check(self.first, "Breakpoint", r"\.\d+", "time_sleep", r"^self=.*, timeout_obj=.*\S$")

    def test_the_first_stop_shows_python_objects(self):
        """CPython's helper is there before gdb prints the stop."""
        self.check(self.few, "Breakpoint", r"\.\d+", "time_sleep", r"^self=<module at remote 0x\w+>, timeout_obj=.*\S$")

    def test_a_backtrace_of_another_thread_is_all_that_is_printed(self):
        """Files of symbols were replaced for this command; the selected frame is not shown again."""
        self.assertRegex(self.of_another, r"^\nThread \d+ .*:\n#0  .*(?:from libpython|nanosleep|__syscall_cancel).*\n\(More stack frames follow\.\.\.\)\n$")

    def test_expressions_are_displayed_after_it(self):
        self.assertRegex(self.first, rf"\n{MISSING}?\d+\t.*\n\d+: 40 \+ 2 = 42\n$")

    def test_expressions_outlive_files_that_are_taken_away(self):
        self.assertRegex(self.displays, r"\n\d+: +y +40 \+ 2\n\d+: +n +/x 40 \+ 3\n$")

    def test_gdb_does_not_warn(self):
        self.assertNotIn("warning", re.sub(rf"{MISSING}\d+\t", "", self.first) + self.setting)

    def test_what_gdb_prints_is_as_before(self):
        self.assertEqual(self.setting, "Suppression of printing CLI notifications is off.\n")

    def test_a_temporary_breakpoint(self):
        self.check(self.temporary, "Temporary breakpoint", r"(?:\.\d+)?", "_PyTime_FromSecondsObject", r"^tp=0x\w+, obj=.*, round=\w+$")

    def test_a_silent_breakpoint_prints_nothing(self):
        self.assertRegex(self.silent, r"commands\nself = .*\ntimeout_obj = ")
        self.assertNotIn("hit ", self.silent)

    def test_commands_have_variables_and_nothing_else_is_printed(self):
        for text in self.commands:
            self.check(text, "Breakpoint", r"\.\d+", "time_sleep", r"^self=.*, timeout_obj=.*\S$")
            self.assertRegex(text, rf"\n{MISSING}?\d+\t.*\n\$\d+ = \S.*\ntimeout = \S+\n$")
        self.assertRegex(self.listed, r"times\n +print timeout_obj\n +info locals\n1\.1 ")

    def test_a_script_captures_the_output(self):
        """gdb itself prints the stop past a script that does, except for the line of source: so it is where the copy has its
        variables already. Where it has none yet, our scripts print the stop into what is captured."""
        stop = r'Thread \d+ "host" hit Temporary breakpoint \d+(?:\.\d+)?, time_sleep \(self=.*, timeout_obj=.*\S\) at \S+\n'
        self.assertEqual(len(re.findall(stop, self.captured)), 1, self.captured)
        self.assertEqual(self.captured.count("hit "), 1, self.captured)


if __name__ == "__main__":
    unittest.main()
