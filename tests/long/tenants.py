#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host with eight tenants that compute, allocate over their limit, loop, block, start threads, have faults and catch everything,
each stopped with 500 ms: build/tenants (tests/hosts/tenants.c), for MINUTES (10, from the environment). Then 1,000 faults while others
compute."""

import os
import re
import subprocess
import sys

from report import Report

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import BUILD  # noqa: E402

MINUTES = float(os.environ.get("MINUTES", "10"))
LINE = (r"tenants: (\d+) interpreters, (\d+) stops, longest (\d+) ms, late (\d+), wrong (\d+), abandoned (\d+) of which (\d+) kept with "
        r"(\d+) KiB, grown (-?\d+) KiB")
ARENAS = 128 << 10  # KiB that the C library's heap may take for eight threads, whatever they do


def tenants(*arguments):
    """(status, what the line says, all output)."""
    result = subprocess.run([os.path.join(BUILD, "tenants"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", stdin=subprocess.DEVNULL, check=False)
    match = re.search(LINE, result.stdout)
    return result.returncode, [int(group) for group in match.groups()] if match else [0] * 9, result.stdout[-8000:]


def main():
    report = Report("Tenants that are stopped with 500 ms, whatever they do")
    status, (interps, stops, longest, late, wrong, abandoned, kept, kib, grown), output = tenants(f"{MINUTES * 60:g}")
    report.check(f"{MINUTES:g} minutes", status == 0 and not late and not wrong,
                 "status 0, every stop within 600 ms, no wrong result",
                 f"status {status}, {interps} interpreters, {stops} stops, longest {longest} ms, {late} late, {wrong} wrong", output)
    report.check("memory", grown <= 1.25 * kib + ARENAS, "what abandoned interpreters keep, a quarter more, and 128 MiB",
                 f"{abandoned} abandoned, {kept} of them kept with {kib} KiB, grown {grown} KiB", output)
    status, (_, _, _, _, wrong, abandoned, kept, _, grown), output = tenants("faults", "1000")
    report.check("1000 faults", status == 0 and abandoned >= 1000 and not kept and not wrong, "status 0, no wrong result, none kept",
                 f"status {status}, {abandoned} abandoned, {kept} kept, {wrong} wrong, grown {grown} KiB", output)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
