#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU: interpreters that come and go, a thousand one after the other; CYCLES=... in the environment is another number.

Uses the root of `make check-arm`."""

import json
import os
import sys

import arm_packages

CYCLES = int(os.environ.get("CYCLES", "1000"))
WITH_NUMPY = 10  # times as long under QEMU as an interpreter that imports nothing: one of as many imports it
WARM = 10
MAX_GROWTH = 16  # KiB in a cycle
# What the process has while an interpreter lives: QEMU's list of mappings has those of the program. What is resident would be
# QEMU's own too, which keeps all code that it has translated.
CYCLE = """import json, os
memory = 0
with open("/proc/self/maps") as file:
    for line in file:
        words = line.split()
        start, end = (int(address, 16) for address in words[0].split("-"))
        if words[1].startswith("rw") and (len(words) == 5 or words[5].startswith("[")):
            memory += end - start >> 10
print(json.dumps({"memory": memory, "descriptors": len(os.listdir("/proc/self/fd"))}), flush=True)
"""
NUMPY = "import numpy; assert (numpy.ones((2, 3)) @ numpy.ones((3, 2)) == 3).all()\n"


def check_cycles(report, place):
    for what, count, program in [("interpreters", CYCLES, CYCLE), ("interpreters that import numpy", CYCLES // WITH_NUMPY, NUMPY + CYCLE)]:
        result = place.run(*place.gorgon, "--repeat", str(count), "-c", program)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        report.check(f"{what}, one after the other", result.returncode == 0 and len(rows) == count, count, len(rows), result.stderr[-2000:])
        if len(rows) <= WARM:
            continue
        first, last = rows[WARM], rows[-1]
        growth = (last["memory"] - first["memory"]) / (len(rows) - WARM - 1)
        report.check(f"{what}: memory that is mapped, by interpreter", growth <= MAX_GROWTH, f"at most {MAX_GROWTH} KiB", f"{growth:.1f} KiB")
        report.check(f"{what}: descriptors after all", last["descriptors"] == first["descriptors"], first["descriptors"],
                     last["descriptors"])


if __name__ == "__main__":
    sys.exit(arm_packages.main("interpreters one after the other on aarch64, under QEMU", check_cycles))
