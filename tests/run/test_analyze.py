# SPDX-License-Identifier: MIT
"""tools/analyze.py: a finding fails unless the table has a reason for it."""

import os
import subprocess
import sys
import tempfile
import unittest

from harness import ROOT

SOURCE = """#include <stdlib.h>

int clean(void)
{
	return 0;
}

static __attribute__((noinline)) int forget(int size)
{
	char *p = malloc(size);

	if (!p)
		return 1;
	*(volatile char *)p = 1;
	return 0;
}

int use(void)
{
	return forget(3);
}
"""


class Analyze(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("leaky.c", SOURCE)
        self.write("clean.c", "int clean(void)\n{\n\treturn 0;\n}\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def analyze(self, table, *files):
        self.write("table", table)
        command = [sys.executable, os.path.join(ROOT, "tools/analyze.py"), "--table", "table", "--", "gcc", "", "-std=gnu11",
                   *files]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)

    def test_finding_without_reason_fails_and_names_its_function(self):
        done = self.analyze("", "clean.c", "leaky.c")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"leaky\.c:\d+: in forget: leak of 'p' \[-Wanalyzer-malloc-leak\]")
        self.assertEqual(done.stdout.splitlines()[-1], "2 files: 1 findings without a reason, 0 with one")

    def test_finding_with_reason_passes(self):
        done = self.analyze("# why\nleaky.c forget -Wanalyzer-malloc-leak: for this test\n", "clean.c", "leaky.c")
        self.assertEqual(done.stdout, "2 files: 0 findings without a reason, 1 with one\n")
        self.assertEqual(done.returncode, 0)

    def test_reason_of_another_function_does_not_count(self):
        done = self.analyze("leaky.c clean -Wanalyzer-malloc-leak: for this test\n", "leaky.c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("table: nothing finds leaky.c clean -Wanalyzer-malloc-leak any more", done.stdout)

    def test_file_that_cannot_be_compiled_fails(self):
        done = self.analyze("", "absent.c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent.c: No such file or directory", done.stdout)

    def test_row_without_reason_is_refused(self):
        done = self.analyze("leaky.c forget -Wanalyzer-malloc-leak:\n", "clean.c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("table:1: a line is FILE FUNCTION CHECK: REASON", done.stderr)
