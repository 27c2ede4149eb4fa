# SPDX-License-Identifier: MIT
"""valgrind and the address sanitizer find a mistake of an extension that is a private copy, and see none where there is none."""

import os
import re
import shutil
import unittest

from harness import GORGON, MODULES, ROOT, SANITIZED, run

OVERRUN = f"import ctypes; ctypes.CDLL('{MODULES}/liboverrun.so').overrun()"
LINE = 1 + next(number for number, line in enumerate(open(f"{ROOT}/tests/modules/overrun.c")) if "memset(" in line)


def sanitizer():
    """The address sanitizer's runtime, or None."""
    path = run("gcc", "-print-file-name=libasan.so").stdout.strip()
    return path if os.path.isabs(path) else None


@unittest.skipIf(SANITIZED, "a sanitizer's runtime does not run under valgrind, nor beside another one")
class Checkers(unittest.TestCase):
    def valgrind(self, *arguments):
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed")
        return run("valgrind", "-q", f"--suppressions={ROOT}/tools/valgrind.supp", f"--suppressions={ROOT}/tests/valgrind.supp",
                   "--error-exitcode=99", GORGON, "run", *arguments, env={"PYTHONMALLOC": "malloc"})

    def test_load_run_and_unload_have_no_memory_errors(self):
        result = self.valgrind("--repeat", "2", "-c", "import decimal, zoneinfo; print(1)")
        self.assertEqual((result.stdout, result.returncode), ("1\n" * 2, 0), result.stderr)

    def test_valgrind_finds_an_overrun_in_each_interpreter(self):
        result = self.valgrind("-n", "2", "-c", OVERRUN)
        self.assertEqual((result.returncode, result.stderr.count("Invalid write of size 1")), (99, 2), result.stderr)
        self.assertEqual(result.stderr.count("is 0 bytes after a block of size 16 alloc'd"), 2, result.stderr)
        self.assertNotIn("Invalid read", result.stderr)

    def test_valgrind_knows_function_and_line(self):
        result = self.valgrind("-n", "1", "--shared-files", "-c", OVERRUN)
        self.assertRegex(result.stderr, rf"at 0x\w+: memset .*\n.* by 0x\w+: overrun \(overrun\.c:{LINE}\)")

    def test_address_sanitizer_finds_an_overrun(self):
        runtime = sanitizer()
        if not runtime:
            self.skipTest("gcc has no address sanitizer here")
        # The first mistake ends the process.
        result = run(GORGON, "run", "-n", "2", "-c", OVERRUN,
                     env={"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"})
        self.assertIn("heap-buffer-overflow", result.stderr)
        self.assertIn("is located 0 bytes", result.stderr)
        # The sanitizer of GCC 16 knows only libraries of the system's linker; Gorgon's report knows all.
        self.assertTrue(re.search(r"#1 0x\w+ .*(liboverrun\.so|<unknown module>)", result.stderr), result.stderr)
        self.assertRegex(result.stderr, r"liboverrun\.so!overrun\+0x\w+  \[interp \d\]")


if __name__ == "__main__":
    unittest.main()
