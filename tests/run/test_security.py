# SPDX-License-Identifier: MIT
"""What the kernel would not allow an attacker: pages that are writable and executable, or were writable before."""

import ctypes
import os
import unittest

from harness import GORGON, SANITIZED, run

PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1  # prctl(2), since Linux 6.3
LIBC = ctypes.CDLL(None, use_errno=True)


def refuse_new_code():
    """From here on the process and its programs cannot map memory writable and executable, nor make any executable later."""
    if LIBC.prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
        os._exit(99)


PROGRAM = """
import ctypes, numpy, os, re, sqlite3, ssl, sys, threading

def bad():
    with open('/proc/self/maps') as file:
        return [line for line in file if re.match(r'\\S+ .wx', line)]

seen = bad()
imports = threading.Thread(target=lambda: __import__('decimal') and __import__('lzma') and __import__('xml.etree.ElementTree'))
imports.start()
while imports.is_alive():
    seen += bad()
print(len(seen), numpy.ones(3).sum())
"""
# libffi makes code where that is allowed.
CALLBACK = "print(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n * n)(7))\n"


@unittest.skipIf(SANITIZED, "a sanitizer's runtime makes code")
class WritableOrExecutable(unittest.TestCase):
    def check(self, program, lines, *options, **kwargs):
        result = run(GORGON, "run", "-n", "2", *options, "-c", program, **kwargs)
        if result.returncode == 99:
            self.skipTest("this kernel does not know PR_SET_MDWE")
        self.assertEqual((sorted(result.stdout.splitlines()), result.stderr, result.returncode), (sorted(lines * 2), "", 0))

    def test_no_page_is_writable_and_executable(self):
        self.check(PROGRAM, ["0 3.0"])

    def test_each_strategy_runs_where_the_kernel_forbids_new_code(self):
        for isolate in "loader", "copy":
            with self.subTest(isolate=isolate):
                self.check(PROGRAM + CALLBACK, ["0 3.0", "49"], "--isolate", isolate, preexec_fn=refuse_new_code)


if __name__ == "__main__":
    unittest.main()
