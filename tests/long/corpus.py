#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's packages with extension modules: in one private copy, in two at once, after a destroyed one.

Usage: corpus.py [NAME]...

Programs are programs/debian/use_NAME.py (programs.py says how). The packages of all of them are
installed in a Debian root of their own, where each program runs in python3 and in private copies of it.
Those of NEWER, which Debian 13 builds with other libraries, run in its root, too.

For the search for crashes that come once in ten: TIMES=10 in the environment runs each column
so often, COUNT=4 has so many interpreters where "two at once" says two (that is no result for
the tables)."""

import os
import sys

import programs
from report import Report
from root import INSIDE, Root, Unavailable

TIMES = int(os.environ.get("TIMES", "1"))
AT_ONCE = {"two at once": int(os.environ.get("COUNT", "2"))}
COLUMNS = {column: (AT_ONCE.get(column, interpreters), rounds, TIMES)
           for column, (interpreters, rounds, _) in programs.COLUMNS.items()}
# Libraries of UCX, which write over the C library's functions, are below Debian 13's torch.
NEWER = ["mpi4py", "torch"]


class Place:
    programs = f"{INSIDE}/tests/long/programs"
    python = ["python3"]
    gorgon = [f"{INSIDE}/build/gorgon", "run"]

    def __init__(self, root):
        self.run = root.run


def check(report, title, name, suite, words):
    found = programs.load("debian", words)
    try:
        root = Root(name, suite)
        root.install({package for program in found for package in program.packages})
        root.build()
    except Unavailable as error:
        report.skip(f"a root of {title}'s packages", error)
    else:
        programs.check(report, title, Place(root), found, root.installed(), COLUMNS)


def main(words):
    report = Report("Debian's packages")
    check(report, "Debian 12", "corpus", "bookworm", words)
    newer = [name for name in NEWER if not words or name in words]
    if newer:
        check(report, "Debian 13", "trixie", "trixie", newer)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
