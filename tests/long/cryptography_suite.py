#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cryptography's own tests in a private copy, beside a second one that works: as in plain python3.

They come with its sources, their vectors with Debian; suites.py compares. Left out: measurements
of how fast it is, which want a plug-in of pytest."""

import sys

import suites
from report import Report
from sources import Unavailable, installed, sources


def main():
    report = Report("cryptography's own tests")
    try:
        folder = sources("cryptography", "tests")
    except Unavailable as error:
        report.skip("cryptography's tests", error)
        return report.finish()
    tests = ["pytest", "--rootdir", folder, f"{folder}/tests", "--ignore", f"{folder}/tests/bench"]
    suites.tables(report, [suites.check(report, "cryptography", installed("cryptography")[1], tests)])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
