#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices of pandas's own tests in a private copy, beside a second pandas that works: as in plain python3.

Usage: pandas_suite.py [SLICE]...

suites.py compares. A slice is a folder of pandas/tests: io/parser."""

import sys

import suites
from report import Report
from sources import installed

SLICES = ["arithmetic", "frame/methods", "groupby/aggregate", "io/parser"]


def main(words):
    report = Report("pandas's own tests")
    folder, version = installed("pandas")
    slices = words or SLICES
    tests = ["pytest", "--rootdir", folder, *(f"{folder}/tests/{part}" for part in slices)]
    suites.tables(report, [suites.check(report, "pandas", version, tests, slices)])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
