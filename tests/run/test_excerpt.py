# SPDX-License-Identifier: MIT
"""What the log of a run shows of failures: unittest's own words about long texts, shortened."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests"))
from excerpt import excerpt  # noqa: E402

LIMIT = 30
LONG = [f"line {i} of what a debugger says" for i in range(1000)]
TEXT = "\n".join(LONG)


class Excerpt(unittest.TestCase):
    maxDiff = None

    def lines(self, method, *args):
        """The excerpt of that assertion's failure; it is short, and says where."""
        try:
            getattr(self, method)(*args)
        except AssertionError:
            text = unittest.TestResult()._exc_info_to_string(sys.exc_info(), self)  # as run.py
            found = excerpt(text, LIMIT).splitlines()
            self.assertLessEqual(len(found), LIMIT + 4)
            self.assertIn(f'File "{__file__}"', found[0] + found[1])
            return found
        return self.fail(f"{method} has not failed")

    def test_pattern_that_does_not_match_shows_how_far_it_does(self):
        found = self.lines("assertRegex", TEXT, r"line 500 of .*\nline 501 of .*\nline 777 ")
        self.assertIn("  | " + LONG[501], found)
        self.assertIn("  | " + LONG[502], found)
        self.assertNotIn("  | " + LONG[0], found)

    def test_part_that_is_missing_shows_where_it_begins(self):
        found = self.lines("assertIn", f"{LONG[300]}\n{LONG[302]}", TEXT)
        self.assertIn("  | " + LONG[301], found)

    def test_what_should_not_be_there_is_shown(self):
        for method, *args in (("assertNotRegex", TEXT, "line 98[0-9] "), ("assertNotIn", "line 980 ", TEXT)):
            with self.subTest(method):
                self.assertIn("  | " + LONG[980], self.lines(method, *args))

    def test_differences_are_shown_with_their_neighbours(self):
        other = TEXT.replace("line 400 of", "line four hundred of")
        found = self.lines("assertEqual", TEXT, other)
        for line in ("- " + LONG[400], "+ line four hundred of what a debugger says", "  " + LONG[399], "  " + LONG[401]):
            self.assertIn(line, found)
        self.assertNotIn("  " + LONG[300], found)

    def test_of_a_long_message_the_end_is_shown(self):
        found = self.lines("assertEqual", 1, 2, TEXT)
        self.assertEqual(found[-1], LONG[-1])
        self.assertTrue(any("AssertionError: 1 != 2" in line for line in found))

    def test_of_a_short_message_everything_is_shown(self):
        self.assertEqual(excerpt("exit status 1\nnothing to see\n"), "exit status 1\nnothing to see")

    def test_quotes_of_a_compilers_message_are_left_alone(self):
        message = "a.c: In function 'main':\na.c:1: undefined reference to `f'\n" + 80 * "x" + "'\n:1: error: 'y'"
        self.assertIn("undefined reference to `f'", excerpt(message, 40))

    def test_a_long_line_loses_its_middle(self):
        self.assertLess(len(excerpt("x" * 10000 + "end")), 300)
        self.assertTrue(excerpt("x" * 10000 + "end").endswith("xend"))


if __name__ == "__main__":
    unittest.main()
