# SPDX-License-Identifier: MIT
"""numpy's own tests of what a loader can break: ctypes, extensions that a test builds, other processes.

All of numpy's tests are a long test, which does the comparing here, too."""

import os
import unittest

from harness import NUMPY_CORE, PYTHON3, ROOT, run, thorough

MODULES = [
    "numpy.tests.test_ctypeslib",
    f"numpy.{NUMPY_CORE}.tests.test_dtype::TestFromCTypes",
    f"numpy.{NUMPY_CORE}.tests.test_multiarray::TestCTypes",
    f"numpy.{NUMPY_CORE}.tests.test_array_interface",  # this test and the next two build extensions
    f"numpy.{NUMPY_CORE}.tests.test_limited_api",
    f"numpy.{NUMPY_CORE}.tests.test_mem_policy::test_set_policy",
    f"numpy.{NUMPY_CORE}.tests.test_dlpack",
    "numpy.linalg.tests.test_linalg::test_sdot_bug_8577",
    "numpy.linalg.tests.test_linalg::test_xerbla_override",
    "numpy.tests.test_scripts",
]


class Numpy(unittest.TestCase):
    @thorough
    def test_numpy_s_own_ctypes_and_dlopen_tests_end_as_in_python3(self):
        result = run(PYTHON3, os.path.join(ROOT, "tests", "long", "numpy_suite.py"), *MODULES,
                     env={"ASAN_OPTIONS": "detect_leaks=0"})  # with SAN: types and caches are never freed
        self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)
        self.assertRegex(result.stdout, r"private copy: the tests end: status 0, \d\d+ passed")
