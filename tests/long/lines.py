#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random sessions of plain gdb and lldb at Python lines (gdb/lines_random_driver.py): at each stop the debugger's stack is what
Python says of its own.

`lines.py A-B` runs the sessions of these seeds, otherwise SEEDS (1000, from the environment) new ones run. A seed says which
debugger, CPython and number of interpreters a session has, whether it attaches, and what it does."""

import collections
import itertools
import os
import subprocess
import sys

from report import Report
import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "gdb"))
import lines_random_sessions as sessions  # noqa: E402

SEEDS = int(os.environ.get("SEEDS", "1000"))
STEPS = 20
DEBUGGERS = {"gdb": (harness.GDB, harness.gdb, f"source {sessions.DRIVER}"),
             "lldb": (harness.LLDB, harness.lldb, f"command script import {sessions.DRIVER}")}


def difference(name, *cell):
    try:
        return sessions.difference(*DEBUGGERS[name][1:], *cell)
    except (subprocess.TimeoutExpired, AssertionError) as error:
        return f"{type(error).__name__}: {error}"[:3000]


def main(words):
    report = Report("Random sessions at Python lines")
    first = int.from_bytes(os.urandom(3), "little")
    first, last = map(int, words[0].split("-")) if words else (first, first + SEEDS - 1)
    there = [name for name, (program, *_) in DEBUGGERS.items() if program]
    if not there or not harness.PYTHON_LINES:
        report.skip("sessions", "there is no debugger, or no CPython whose lines are known")
        return report.finish()
    cells = list(itertools.product(there, sessions.PYTHONS, (1, 3, 20), (False, True)))
    done, wrong = collections.Counter(), collections.Counter()
    for seed in range(first, last + 1):
        name, python, count, attached = cells[seed % len(cells)]
        found = difference(name, python, seed, STEPS, count, attached)
        group = name, f"{count} interpreters", "attached" if attached else "started"
        done[group] += 1
        wrong[group] += bool(found)
        report.progress(seed - first + 1, last - first + 1)
        if found:
            report.check(f"seed {seed}: {' '.join(group)}, {os.path.basename(python)}", False, "Python's own stack at each stop",
                         "differs", found)
    for group in sorted(done):
        report.check(f"{done[group]} sessions of {' '.join(group)}", not wrong[group], f"Python's own stack at each of {STEPS + 1} stops",
                     f"{wrong[group]} differ")
    report.check("all", not sum(wrong.values()), "no difference", f"{sum(done.values())} sessions, {sum(wrong.values())} differ")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
