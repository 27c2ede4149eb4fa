# SPDX-License-Identifier: MIT
"""No habit is worse than results.json has it, and none is broken without a reason. A part of the table for gdb, with our scripts
and three interpreters: the first row, what has been mended, and some of each group. `make parity` tries all, and check-long."""

import os
import sys
import unittest

import dap_client
import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import parity  # noqa: E402
from known import why  # noqa: E402
from sessions import Variant  # noqa: E402

MENDED = ["commands ... continue ... end", "break *ADDRESS of a function", "break ... if a global variable",
          "set stop-on-solib-events, sharedlibrary", "display", "x of memory", "output, printf, echo", "info sharedlibrary",
          "info symbol", "disassemble names the PLT", "stepi into the PLT", "jump LINE", "info line FUNCTION",
          "call a function with an effect on its copy", "call a function of CPython", "call PyObject_Repr, PyUnicode_AsUTF8", "catch load",
          "dprintf of a global and a static variable"]
OTHERS = ["break FUNCTION, in each thread", "break FILE:LINE", "break of a template, every instance", "tbreak, in each thread",
          "print locals", "print a global, in each thread", "print a thread-local variable", "set var of a global", "watch of a global",
          "ptype, whatis", "list FUNCTION", "disassemble", "info source", "bt into CPython", "up, down, frame", "thread apply all bt 2",
          "next", "step into C++", "finish", "return VALUE", "py-bt", "py-locals", "print of a PyObject *", "Ctrl-C",
          "a stop handler in Python"]
MENDED_WITH_MANY = ["commands ... continue ... end", "break of a method", "info breakpoints with hits"]
SLICE = {"gdb": MENDED + OTHERS}
MENDED_ELSEWHERE = ["a variable of a namespace without a name"]
STEP = 6  # of the tables of other debuggers


class Habits:
    def habits(self, debugger):
        table = parity.HABITS[debugger]
        if debugger not in SLICE:
            rows = parity.recorded().get(debugger, {}).get("rows", {})
            chosen = [habit for habit in table if habit.name in rows and not habit.alone]
            return [habit for i, habit in enumerate(chosen) if i % STEP == 0 or habit.name in MENDED_ELSEWHERE]
        chosen = [habit for habit in table if habit.name in SLICE[debugger]]
        self.assertEqual(len(chosen), len(SLICE[debugger]), "each name is in the table")
        return chosen

    def check(self, debugger, variant=Variant("scripts", 3), habits=None):
        habits = habits or self.habits(debugger)
        if not habits:
            self.skipTest(f"results.json has no rows of {debugger}")
        trials = parity.run({(debugger, variant): habits})
        self.assertEqual(len(trials), len(habits))
        for trial in parity.worse(trials):
            with self.subTest(trial.habit.name):
                self.fail(trial.difference)


class Gdb(Habits, unittest.TestCase):
    @harness.needs_gdb
    def test_gdb(self):
        self.check("gdb")

    @harness.needs_gdb
    @harness.thorough
    def test_gdb_with_other_numbers(self):
        self.check("gdb", Variant("scripts", 1), parity.HABITS["gdb"][:1])
        self.check("gdb", Variant("scripts", 20), [habit for habit in parity.HABITS["gdb"] if habit.name in MENDED_WITH_MANY])


class Lldb(Habits, unittest.TestCase):
    @harness.needs_lldb
    def test_lldb(self):
        self.check("lldb")


class Adapters(Habits, unittest.TestCase):
    @unittest.skipUnless(dap_client.find_lldb_dap(), "lldb-dap is not installed")
    def test_lldb_dap(self):
        self.check("lldb-dap")

    @unittest.skipUnless(parity.is_there("gdb-dap"), "there is no gdb that is a debug adapter: it is older than 14")
    def test_gdb_dap(self):
        self.check("gdb-dap")


class Reasons(unittest.TestCase):
    def test_what_is_broken_has_a_reason(self):
        for debugger, part in parity.recorded().items():
            for name, row in part["rows"].items():
                for variant, cell in row.items():
                    with self.subTest(f"{name}, {variant}"):
                        self.assertTrue(cell[0] != "broken" or why(debugger, name, variant))


if __name__ == "__main__":
    unittest.main()
