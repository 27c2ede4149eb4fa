#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""lxml's own tests in a private copy, beside a second lxml that works: as in plain python3.

They come with its sources, and look for documents in the directory; suites.py compares."""

import sys

import suites
from report import Report
from sources import Unavailable, installed, sources


def main():
    report = Report("lxml's own tests")
    try:
        folder = sources("lxml", "src/lxml/tests", "doc", "samples")
    except Unavailable as error:
        report.skip("lxml's tests", error)
        return report.finish()
    tests = ["unittest", f"{folder}/src/lxml", "tests"]
    suites.tables(report, [suites.check(report, "lxml", installed("lxml")[1], tests, cwd=folder)])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
