# SPDX-License-Identifier: MIT
"""What sessions of gdb at Python lines have in common: the program, and its frames in backtraces."""

import os
import re

import harness

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lines.py")
TOTAL = harness.source_line(PROGRAM, "total = n * rate")
CALLS = harness.source_line(PROGRAM, "# calls price")
PRICE = harness.source_line(PROGRAM, "def price")
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?lines\.(\S+) \(.*\) at \S*/lines\.py:(\d+)$", re.M)
CHEAP = ["set print frame-arguments none"]

PYTHONS = harness.PYTHONS_OF_LINES


def run(count, *options, python=harness.PYTHON):
    return [harness.GORGON, "run", "-n", count, "--python-lines=on", f"--python={python}", *options, PROGRAM]


def later(stops):
    """In a script gdb 18 runs the commands of a breakpoint that another thread has hit after the script's next command."""
    return stops * ["echo"]


def frames(backtrace):
    return [f"{name}:{line}" for name, line in FRAME.findall(backtrace)]
