# SPDX-License-Identifier: MIT
"""catch load: a private library stops the program before its code runs."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_lines import Case  # noqa: E402


class Loads(Case):
    """With other libraries of the same process, which nobody waits for."""
    count = None

    @classmethod
    def run_it(cls):
        cls.output = harness.gdb(
            ["break main", "run", "catch load libmany", "continue", "break many_entry", "delete 2", *["continue"] * cls.count,
             "info breakpoints", "delete", "continue"],
            harness.HOST, "-n", cls.count, cls.code + "time.sleep(0.5)", script=True)

    def test_the_copy_that_comes_is_said(self):
        found = re.findall(r'^Thread \d+ "[^"]+" hit Catchpoint 2\n  Inferior loaded (\S+) \[interp (\d+)\]\n(?:0x\w+ in )?__jit_debug_register_code \(\)',
                           self.output, re.M)
        self.assertEqual([os.path.basename(path) for path, _ in found], ["libmany.so"], self.output)

    def test_none_of_its_code_has_run(self):
        self.assertEqual(len(re.findall(r"Breakpoint 3[.\d]*, many_entry \(n=1\)", self.output)), self.count, self.output)
        self.assertIn("exited normally", self.output)

    def test_it_is_deleted(self):
        self.assertNotIn("load of library", self.output)


@harness.needs_gdb
class LoadsFew(Loads, unittest.TestCase):
    count = 3


@harness.needs_gdb
class LoadsMany(Loads, unittest.TestCase):
    count = 9


del Case, Loads


if __name__ == "__main__":
    unittest.main()
