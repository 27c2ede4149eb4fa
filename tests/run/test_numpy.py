# SPDX-License-Identifier: MIT
"""numpy's own tests of what a loader can break: ctypes, extensions that a test builds, other processes.

All of numpy's tests are a long test, which does the comparing here, too."""

import os
import unittest

from harness import PYTHON3, ROOT, run

MODULES = [
    "numpy.tests.test_ctypeslib",
    "numpy.core.tests.test_dtype::TestFromCTypes",
    "numpy.core.tests.test_multiarray::TestCTypes",
    "numpy.core.tests.test_array_interface",  # these three build extensions
    "numpy.core.tests.test_limited_api",
    "numpy.core.tests.test_mem_policy::test_set_policy",
    "numpy.core.tests.test_dlpack",
    "numpy.linalg.tests.test_linalg::test_sdot_bug_8577",
    "numpy.linalg.tests.test_linalg::test_xerbla_override",
    "numpy.tests.test_scripts",
]


class Numpy(unittest.TestCase):
    def test_numpy_s_own_ctypes_and_dlopen_tests_end_as_in_python3(self):
        result = run(PYTHON3, os.path.join(ROOT, "tests", "long", "numpy_suite.py"), *MODULES,
                     env={"ASAN_OPTIONS": "detect_leaks=0"})  # with SAN: types and caches are never freed
        self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)
        self.assertRegex(result.stdout, r"private copy: the tests end: status 0, \d\d+ passed")
