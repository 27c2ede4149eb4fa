# SPDX-License-Identifier: MIT
"""tests/conftest.py and tests/shorten.py: what the runner of the tests runs and says."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from harness import PYTHON3, ROOT, run
from shorten import LINES, shorten

LONG = [f"line {number} of what a debugger says" for number in range(1000)]
TEXT = "\n".join(LONG)

PROGRAM = r"""
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int leak;
static void good(void **state) { printf("noise\n"); leak = getenv("LEAK") ? 23 : 0; }
static void bad(void **state) { printf("seen before\n"); assert_int_equal(1, 2); }
static void absent(void **state) { print_message("no such tool\n"); skip(); }
static void ends(void **state) { printf("about to end\n"); fflush(stdout); _exit(3); }
static void hangs(void **state) { printf("about to hang\n"); fflush(stdout); pause(); }
static void once(void **state) { const char *mark = getenv("MARK"); if (mark && !mkdir(mark, 0700)) fail_msg("too busy"); }
static void last(void **state) { }
int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(absent),
					   cmocka_unit_test(ends), cmocka_unit_test(hangs),
					   cmocka_unit_test(once), cmocka_unit_test(last)};
	const struct CMUnitTest more[] = {cmocka_unit_test(last)};
	if (getenv("TWICE"))
		return cmocka_run_group_tests_name("more", more, NULL, NULL) + cmocka_run_group_tests_name("all", tests, NULL, NULL);
	return cmocka_run_group_tests_name("all", tests, NULL, NULL) + leak;
}
"""

CASES = """
import os, time, unittest
class Base(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.assertRegex("many\\n" * 500 + "alpha beta\\n" + "more\\n" * 500, "alpha beta\\\\ngamma")
    def test_absent(self): self.skipTest("no such debugger")
    def test_hangs(self): time.sleep(100)
    def test_parts(self):
        for number in range(4):
            with self.subTest(number=number): self.assertNotIn(number, (1, 3))
    def test_once(self):
        mark = os.environ.get("MARK")
        with self.subTest("beginning"):
            if mark and not os.path.exists(mark + "2"): os.mkdir(mark + "2"); self.fail("far too busy")
"""


class Runner(unittest.TestCase):
    """The project's pytest over a folder with a program and a file of unittest's."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        for place, text in (("tests/base/test_c.c", PROGRAM), ("tests/gdb/test_py.py", CASES)):
            os.makedirs(os.path.dirname(f"{cls.folder}/{place}"), exist_ok=True)
            with open(f"{cls.folder}/{place}", "w") as file:
                file.write(text)
        for name in ("pytest.ini", "tests/conftest.py", "tests/harness.py", "tests/chosen.py", "tests/shorten.py"):
            os.symlink(os.path.join(ROOT, name), f"{cls.folder}/{name}")
        os.makedirs(f"{cls.folder}/build/tests")
        subprocess.run(["cc", "-o", f"{cls.folder}/build/tests/test_c", f"{cls.folder}/tests/base/test_c.c", f"{ROOT}/tests/lib/cases.c",
                        "-Wl,--wrap=_cmocka_run_group_tests", "-lcmocka"], check=True)

    def pytest(self, *options, **env):
        result = run(PYTHON3, "-B", "-m", "pytest", "--limit", "2", *options, cwd=self.folder,
                     env={"BUILD": f"{self.folder}/build", "SAN": None, **env})
        return result, result.stdout

    def test_every_case_has_its_outcome(self):
        result, text = self.pytest()
        self.assertEqual(result.returncode, 1, text)
        for name, outcome in (("good", "PASSED"), ("bad", "FAILED"), ("absent", "SKIPPED"), ("ends", "FAILED"), ("hangs", "FAILED"),
                              ("last", "PASSED")):
            self.assertRegex(text, rf"(?m)^tests/base/test_c\.c::{name} {outcome}")
        for name, outcome in (("good", "PASSED"), ("bad", "FAILED"), ("absent", "SKIPPED"), ("hangs", "FAILED"), ("parts", "FAILED")):
            self.assertRegex(text, rf"(?m)^tests/gdb/test_py\.py::Base::test_{name} {outcome}")
        self.assertEqual(text.splitlines()[-1], "5 passed, 6 failed, 2 skipped")

    def test_failures_and_skips_say_why(self):
        text = self.pytest()[1]
        for why in (r"(?s)seen before\n.{,40}(0x)?1 != (0x)?2", r"(?m)^skipped, 1: no such tool \(.*test_c\)$", r"(?m)^skipped, 1: no such debugger \(.*test_py\)$",
                    r"about to end\n\nthe program has ended, exit status 3", r"about to hang\n\nthe case has not ended after 2.0 s",
                    r"AssertionError: the case has not ended after 2.0 s", r"\(number=1\)\nAssertionError: 1 unexpected",
                    r"\(number=3\)\nAssertionError: 3 unexpected", r"  \| alpha beta\n"):
            self.assertRegex(text, why)

    def test_a_skipped_last_case_has_its_own_reason_alone(self):
        self.assertRegex(self.pytest("--select", "test_c:good test_c:absent")[1], r"(?m)^skipped, 1: no such tool \(")

    def test_words_select_kinds_and_cases(self):
        for words, last in (("unit", "3 passed, 3 failed, 1 skipped"), ("good", "2 passed, 0 failed, 0 skipped"),
                            ("gdb good absent", "1 passed, 0 failed, 1 skipped"), ("test_c:last", "1 passed, 0 failed, 0 skipped"),
                            ("gdb/test_py:test_good", "1 passed, 0 failed, 0 skipped"), ("nothing", "0 passed, 0 failed, 0 skipped"),
                            ("absent", "0 passed, 0 failed, 2 skipped")):
            with self.subTest(words):
                result, text = self.pytest("--select", words)
                self.assertEqual(text.splitlines()[-1], last, text)
                self.assertEqual(result.returncode == 0, last.startswith(("1", "2 passed, 0")))

    def test_options_of_pytest_work_on_programs(self):
        self.assertEqual(self.pytest("--cache-clear", "-k", "bad or good", "--select", "unit")[1].splitlines()[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(self.pytest("--lf", "--select", "unit")[1].splitlines()[-1], "0 passed, 1 failed, 0 skipped")
        self.assertEqual(self.pytest("-x", "--select", "unit")[1].splitlines()[-1], "1 passed, 1 failed, 0 skipped")
        self.pytest("--junitxml", f"{self.folder}/junit.xml", "--select", "unit")
        suite = xml.etree.ElementTree.parse(f"{self.folder}/junit.xml").getroot()[0]
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("7", "3", "1"))

    def test_failed_first_runs_programs_out_of_order(self):
        self.pytest("--cache-clear", "-k", "good or bad or last", "--select", "unit")
        text = self.pytest("--ff", "-k", "good or bad or last", "--select", "unit")[1]
        self.assertRegex(text, r"(?s)::bad FAILED.*::good PASSED.*::last PASSED")

    def test_exit_status_counts_when_no_case_has_failed(self):
        text = self.pytest("--select", "test_c:good test_c:last", LEAK="1")[1]
        self.assertIn("all cases were ok, but the exit status is 23", text)
        self.assertEqual(text.splitlines()[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_few_failed_cases_get_a_second_try(self):
        for workers in "0", "2":
            with self.subTest(workers=workers), tempfile.TemporaryDirectory() as folder:
                result, text = self.pytest("-n", workers, "--dist", "loadscope", "--select", "good once last", MARK=f"{folder}/mark")
                self.assertEqual(result.returncode, 0, text)
                self.assertEqual(text.count(" FAILED"), 2, text)
                for words in (r"(?m)^passed at its second try only: test_c:once\. Before:\n(?s:.{0,200}too busy)",
                              r"(?m)^passed at its second try only: gdb/test_py:test_once\. Before:\n(?s:.*far too busy)"):
                    self.assertRegex(text, words)
                self.assertEqual(text.splitlines()[-1], "5 passed, 0 failed, 0 skipped")

    def test_workers_come_to_the_same(self):
        result, text = self.pytest("-n", "2", "--dist", "loadscope")
        self.assertEqual((result.returncode, text.splitlines()[-1]), (1, "5 passed, 6 failed, 2 skipped"), text)
        for why in (r"(?m)^skipped, 1: no such tool \(.*test_c\)$", r"(?m)^skipped, 1: no such debugger \(.*test_py\)$"):
            self.assertRegex(text, why)

    def test_what_fails_twice_has_failed(self):
        result, text = self.pytest("--select", "test_c:good test_c:bad")
        self.assertEqual((result.returncode, text.splitlines()[-1]), (1, "1 passed, 1 failed, 0 skipped"), text)
        self.assertNotIn("second try", text)

    def test_many_failed_cases_get_no_second_try(self):
        with tempfile.TemporaryDirectory() as folder:
            result, text = self.pytest(MARK=f"{folder}/mark")
        self.assertEqual((result.returncode, text.splitlines()[-1]), (1, "3 passed, 8 failed, 2 skipped"), text)

    def test_cases_of_one_name_are_refused(self):
        self.assertIn("has no cases, or several of one name", self.pytest("--select", "unit", TWICE="1")[1])


class Shorten(unittest.TestCase):
    def lines(self, method, *args):
        with self.assertRaises(AssertionError) as caught:
            getattr(self, method)(*args)
        found = shorten(f"AssertionError: {caught.exception}").splitlines()
        self.assertLessEqual(len(found), LINES + 1)
        return found

    def test_pattern_that_does_not_match_shows_how_far_it_does(self):
        found = self.lines("assertRegex", TEXT, r"line 500 of .*\nline 501 of .*\nline 777 ")
        self.assertIn("  | " + LONG[501], found)
        self.assertIn("  | " + LONG[502], found)
        self.assertNotIn("  | " + LONG[0], found)

    def test_part_that_is_missing_shows_where_it_begins(self):
        self.assertIn("  | " + LONG[301], self.lines("assertIn", f"{LONG[300]}\n{LONG[302]}", TEXT))

    def test_what_should_not_be_there_is_shown(self):
        for method, *args in (("assertNotRegex", TEXT, "line 98[0-9] "), ("assertNotIn", "line 980 ", TEXT)):
            with self.subTest(method):
                self.assertIn("  | " + LONG[980], self.lines(method, *args))

    def test_of_a_long_message_both_ends_are_shown(self):
        found = self.lines("assertEqual", 1, 2, TEXT)
        self.assertEqual(found[-1], LONG[-1])
        self.assertIn("AssertionError: 1 != 2", found[0])

    def test_a_short_message_stays(self):
        self.assertEqual(shorten("exit status 1\nnothing to see"), "exit status 1\nnothing to see")

    def test_a_long_literal_gets_its_lines(self):
        self.assertIn("  | " + LONG[3], shorten(repr(TEXT)).splitlines())

    def test_quotes_of_a_compilers_message_are_left_alone(self):
        message = "a.c: In function 'main':\na.c:1: undefined reference to `f'\n" + 80 * "x" + "'\n:1: error: 'y'"
        self.assertIn("undefined reference to `f'", shorten(message))

    def test_a_long_line_loses_its_middle(self):
        self.assertLess(len(shorten("x" * 10000 + "end")), 400)
        self.assertTrue(shorten("x" * 10000 + "end").endswith("xend"))


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(ROOT, "tests"))
    unittest.main()
