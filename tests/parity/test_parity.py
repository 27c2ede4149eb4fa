# SPDX-License-Identifier: MIT
"""No habit is worse than results.json has it, and none is broken without a reason. A part of the table: every
sixth habit, of those that need no session of their own; `make parity` tries all."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import parity  # noqa: E402
from known import why  # noqa: E402
from sessions import Variant  # noqa: E402

STEP = 6


class Parity(unittest.TestCase):
    def check(self, debugger):
        rows = parity.recorded().get(debugger, {}).get("rows", {})
        habits = [habit for habit in parity.HABITS[debugger] if habit.name in rows and not habit.alone][::STEP]
        if not habits:
            self.skipTest(f"results.json has no rows of {debugger}")
        trials = parity.run({(debugger, Variant("scripts", 3)): habits})
        self.assertEqual(len(trials), len(habits))
        for trial in parity.worse(trials):
            with self.subTest(trial.habit.name):
                self.fail(trial.difference)

    @harness.needs_gdb
    def test_gdb(self):
        self.check("gdb")

    @harness.needs_lldb
    def test_lldb(self):
        self.check("lldb")

    def test_what_is_broken_has_a_reason(self):
        for debugger, part in parity.recorded().items():
            for name, row in part["rows"].items():
                with self.subTest(name):
                    self.assertTrue(why(debugger, name) or all(cell[0] != "broken" for cell in row.values()))


if __name__ == "__main__":
    unittest.main()
