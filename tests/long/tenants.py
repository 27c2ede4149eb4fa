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
LINE = (r"tenants: (\d+) interpreters, (\d+) stops, longest (\d+) ms, late (\d+) \(busy (\d+)\), wrong (\d+), abandoned (\d+) of which (\d+) kept with "
        r"(\d+) KiB, grown (-?\d+) KiB and (-?\d+) KiB free")
RECORDS = 128  # KiB of the loader's own records for each interpreter that is kept
OTHERS = 8 << 10  # KiB of the process that belong to no interpreter, whatever they do


def tenants(*arguments):
    """(status, what the line says, the first complaints and the end of the output)."""
    result = subprocess.run([os.path.join(BUILD, "tenants"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", stdin=subprocess.DEVNULL, check=False)
    match = re.search(LINE, result.stdout)
    # The source of what was done may have several lines.
    complaints = re.findall(r"^tenants: (?!\d).*(?:\n(?!tenants: |Exception |Traceback ).*){0,9}", result.stdout, re.M)
    return result.returncode, [int(group) for group in match.groups()] if match else [0] * 11, \
        "\n".join([*complaints[:20], result.stdout[-8000:]])


def main():
    report = Report("Tenants that are stopped with 500 ms, whatever they do")
    status, (interps, stops, longest, late, busy, wrong, abandoned, kept, kib, grown, free), output = tenants(f"{MINUTES * 60:g}")
    report.check(f"{MINUTES:g} minutes", status == 0 and late == busy and not wrong,
                 "status 0; every stop within 600 ms, or later by no more than it, or a sleeping thread, had to wait for a processor; no wrong result",
                 f"status {status}, {interps} interpreters, {stops} stops, longest {longest} ms, {late} late, {busy} of them for want of a "
                 f"processor, {wrong} wrong", output)
    report.check("memory", grown <= kib + RECORDS * kept + OTHERS, f"what is counted, {RECORDS} KiB for each, and {OTHERS} KiB",
                 f"{abandoned} abandoned, {kept} of them kept with {kib} KiB, grown {grown} KiB; {free} KiB more are free between blocks of "
                 "the C library's heaps", output)
    status, (_, _, _, _, _, wrong, abandoned, kept, _, grown, _), output = tenants("faults", "1000")
    report.check("1000 faults", status == 0 and abandoned >= 1000 and not kept and not wrong, "status 0, no wrong result, none kept",
                 f"status {status}, {abandoned} abandoned, {kept} kept, {wrong} wrong, grown {grown} KiB", output)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
