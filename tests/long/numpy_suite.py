# SPDX-License-Identifier: MIT
"""numpy's own tests in a private copy, beside a second numpy that works: as in plain python3.

Usage: numpy_suite.py [MODULE]...

The whole of numpy.test("full"), or some of its modules (numpy.core.tests.test_multiarray). It
runs once in python3 and once in interpreter 0 of `gorgon run -n 2`, where interpreter 1
multiplies matrices until the tests have ended. suites.py compares."""

import os
import subprocess
import sys

import suites
from report import Report
from harness import PYTHON3

# Which tests of large arrays there is memory for, whatever the machine has.
ENVIRONMENT = {"NPY_AVAILABLE_MEM": "4 GB"}
ALLOWED = {
    "linalg/tests/test_linalg.py::test_xerbla_override": (
        "skipped", "a shared BLAS has an xerbla of its own; numpy's replaces it in a private one"),
}
# What numpy.linalg is bound to; see the row that makes it private.
BLAS = ["--private", "libblas.so*", "--private", "liblapack.so*"]


def numpy():
    """Its folder and version."""
    return subprocess.run([PYTHON3, "-c", "import numpy; print(numpy.__path__[0], numpy.__version__)"],
                          capture_output=True, text=True, check=True).stdout.split()


def run(report, case, command, modules):
    return suites.Run(command, ["numpy", "pytest", "--rootdir", numpy()[0], "--pyargs", *modules], ENVIRONMENT,
                      progress=lambda done, total: report.progress(done, total, case))


def check(report, title, case, options, modules, allowed, complete):
    suite = suites.Suite(report, title, numpy()[1], allowed)
    plain = run(report, "python3", suites.python3(), modules)
    suite.check_ended(f"python3, {' '.join(modules)}" if options else "python3", plain, (0, 1))
    private = run(report, case, suites.private_copy(*options), modules)
    suite.check_ended(case, private, (plain.status,))
    suite.check_beside(case, private.beside)
    suite.check_same(case, plain.tests, private.tests, complete)
    return suite


def main(words):
    report = Report("numpy's own tests")
    done = [check(report, "numpy", "private copy", [], words or ["numpy"], ALLOWED, not words)]
    if not words:
        done.append(check(report, "numpy.linalg, private BLAS", "private copy, private BLAS, numpy.linalg", BLAS,
                          ["numpy.linalg"], {}, True))
    suites.tables(report, done)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
