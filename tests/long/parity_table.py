#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The habits of debuggers' users, all of them, in each variant: tests/parity."""

import os
import sys

from report import Report

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "parity"))
import parity  # noqa: E402
from sessions import VARIANTS  # noqa: E402

TOOLS = {"gdb": harness.GDB, "lldb": harness.LLDB}


def main():
    report = Report("debugger habits")
    for debugger in parity.DEBUGGERS:
        if not parity.recorded().get(debugger):
            continue
        if not TOOLS.get(debugger, True):
            report.skip(debugger, "it is not installed")
            continue
        for variant in (variant for variant in VARIANTS if variant.home):
            trials = parity.run({(debugger, variant): parity.HABITS[debugger]})
            bad = parity.worse(trials)
            counts = [sum(trial.outcome == word for trial in trials) for word in parity.ORDER]
            report.check(f"{debugger}, {variant}", not bad, "none is worse than in tests/parity/PARITY.md",
                         ", ".join(f"{count} {word}" for count, word in zip(counts, parity.ORDER)),
                         "\n".join(map(parity.finding, bad)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
