#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices of scipy's own tests in a private copy, beside a second scipy that works: as in plain python3.

Usage: scipy_suite.py [SLICE]...

suites.py compares. A slice is a folder of scipy: linalg."""

import sys

import suites
from report import Report
from sources import installed

SLICES = ["fft", "integrate", "interpolate", "linalg"]


def main(words):
    report = Report("scipy's own tests")
    folder, version = installed("scipy")
    slices = words or SLICES
    tests = ["pytest", "--rootdir", folder, "--pyargs", *(f"scipy.{part}" for part in slices)]
    suites.tables(report, [suites.check(report, "scipy", version, tests, slices)])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
