# SPDX-License-Identifier: MIT
"""A condition that names nothing is marked as in an ordinary process, set before the code is there, when it is there, and
by force, in extensions that gdb has debug information of with few and with many interpreters."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402
from test_lines import MANY, Case  # noqa: E402
from test_many import wait_for_all  # noqa: E402

SET = ("break many_static if nonsense == 2", "break many_static if many_total == -1", "tbreak many_entry if n == 5", "run")
HERE = ("info breakpoints", "tbreak many_entry if nonsense == 3", "condition -force 2 nonsense == 4", "info breakpoints 2",
        "condition 2 many_total == -2", "info breakpoints 2")
REFUSED = 'No symbol "nonsense" in current context.\n'


class Invalid(Case):
    count, scripts = 1, True

    @classmethod
    def run_it(cls):
        program = (harness.HOST, "-n", cls.count, cls.code + wait_for_all(cls, cls.count) + "many.many_entry(5); time.sleep(0.2)")
        if not cls.scripts:
            program = (harness.PYTHON3, "-c", cls.code + "many.many_entry(5)")
        with Terminal(*program) as gdb:
            if cls.scripts:
                gdb.ask(f"source {harness.GDB_SCRIPT}")
            cls.answers = [gdb.ask(line) for line in (*SET, *HERE)]

    def marks(self, text, number, condition):
        """What is in the column Enb for each place of a breakpoint with this condition."""
        part = re.search(rf"(?ms)^{number} +breakpoint .*?(?=^\d+ |\Z)", text)[0]
        self.assertRegex(part, rf"\tstop only if (?:\$gorgon_eval\(\")?{re.escape(condition)}(?:\"\))?\n")
        several = re.findall(rf"(?m)^{number}\.\d+ +(\S+)", part)
        return several or re.findall(rf"(?m)^{number} +breakpoint +keep (\S+)", part)

    def check_own(self):
        self.assertEqual(self.marks(self.answers[4], 1, "nonsense == 2"), self.count * ["N*"], self.answers)

    def test_marks(self):
        self.check_own()
        self.assertNotIn("Error in testing", "".join(self.answers))
        self.assertEqual(self.marks(self.answers[4], 2, "many_total == -1"), self.count * ["y"], self.answers)
        self.assertEqual(self.answers[5], REFUSED)
        self.assertEqual(self.answers[6].count(f"location 2.{self.count}, disabling:\n  {REFUSED}"), 1, self.answers)
        self.assertNotIn("now valid", self.answers[6])
        self.assertEqual(self.marks(self.answers[7], 2, "nonsense == 4"), self.count * ["N*"], self.answers)
        self.assertEqual(self.marks(self.answers[9], 2, "many_total == -2"), self.count * ["y"], self.answers)


@harness.needs_gdb
class Ordinary(Invalid, unittest.TestCase):
    """The peer: what was set before the code was there gdb refuses, and does not set."""

    scripts = False

    def check_own(self):
        if harness.gdb_version() < 16:  # which says nothing
            self.assertIn(f"Error in re-setting breakpoint 1: {REFUSED}", self.answers[3])


@harness.needs_gdb
class Few(Invalid, unittest.TestCase):
    count = 3


@harness.needs_gdb
class Many(Invalid, unittest.TestCase):
    count = MANY


del Case, Invalid


if __name__ == "__main__":
    unittest.main()
