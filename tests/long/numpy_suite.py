# SPDX-License-Identifier: MIT
"""numpy's own tests in a private copy, beside a second numpy that works: as in plain python3.

Usage: numpy_suite.py [MODULE]...

The whole of numpy.test("full"), or some of its modules (numpy.core.tests.test_multiarray);
suites.py compares. numpy.linalg once more, with a private BLAS."""

import sys

import suites
from report import Report
from sources import installed

# Which tests of large arrays there is memory for, whatever the machine has.
ENVIRONMENT = {"NPY_AVAILABLE_MEM": "4 GB"}
# The interfaces of a BLAS with threads are shared unless these are given.
PRIVATE = ["--private", "libblas.so*", "--private", "liblapack.so*"]
# {test: (its outcome with a shared BLAS, why)}
SHARED = {
    "linalg/tests/test_linalg.py::test_xerbla_override": (
        "skipped", "a shared BLAS has an xerbla of its own; with --private 'libblas.so*' --private 'liblapack.so*' "
        "numpy's replaces it"),
}


def main(words):
    report = Report("numpy's own tests")
    folder, version = installed("numpy")
    tests = ["pytest", "--rootdir", folder, "--pyargs"]
    done = [suites.check(report, "numpy", version, tests + (words or ["numpy"]), env=ENVIRONMENT,
                         allowed=SHARED, complete=not words)]
    if not words:
        done.append(suites.check(report, "numpy", version, [*tests, "numpy.linalg"], ["linalg"], env=ENVIRONMENT,
                                 options=PRIVATE, case="private BLAS"))
    suites.tables(report, done)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
