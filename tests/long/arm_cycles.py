#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU: interpreters that come and go, a thousand one after the other; CYCLES=... in the environment is another number.

Uses the root of `make check-arm`."""

import os
import sys

import arm_packages

CYCLES = int(os.environ.get("CYCLES", "1000"))
WITH_NUMPY = 25  # one interpreter of as many imports numpy, which takes eight times as long under QEMU
WARM = 10
MAX_GROWTH = 16  # KiB in a cycle
# What the process has while an interpreter lives: QEMU's list of mappings has those of the program. What is resident would be
# QEMU's own too, which keeps all code that it has translated.
CYCLE = """import os
memory = 0
with open("/proc/self/maps") as file:
    for line in file:
        words = line.split()
        start, end = (int(address, 16) for address in words[0].split("-"))
        if words[1].startswith("rw") and (len(words) == 5 or words[5].startswith("[")):
            memory += end - start >> 10
print(memory, len(os.listdir("/proc/self/fd")), flush=True)
"""
NUMPY = "import numpy; assert (numpy.ones((2, 3)) @ numpy.ones((3, 2)) == 3).all()\n"


def check_cycles(report, place):
    for what, count, options, program in [("interpreters", CYCLES, ["-S"], CYCLE),
                                          ("interpreters that import numpy", CYCLES // WITH_NUMPY, [], NUMPY + CYCLE)]:
        result = place.run(*place.gorgon, "--repeat", str(count), *options, "-c", program)
        rows = [tuple(map(int, line.split())) for line in result.stdout.splitlines()]
        report.check(f"{what}, one after the other", result.returncode == 0 and len(rows) == count, count, len(rows), result.stderr[-2000:])
        if len(rows) <= WARM:
            continue
        (memory, descriptors), last = rows[WARM], rows[-1]
        growth = (last[0] - memory) / (len(rows) - WARM - 1)
        report.check(f"{what}: memory that is mapped, by interpreter", growth <= MAX_GROWTH, f"at most {MAX_GROWTH} KiB", f"{growth:.1f} KiB")
        report.check(f"{what}: descriptors after all", last[1] == descriptors, descriptors, last[1])


if __name__ == "__main__":
    sys.exit(arm_packages.main("interpreters one after the other on aarch64, under QEMU", check_cycles))
