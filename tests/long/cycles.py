#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thousand times: create an interpreter, import, destroy it. Nothing may grow.

The program in the interpreter prints what the process has. CYCLES=... in the environment
changes their number."""

import json
import os
import subprocess
import sys
import threading

from report import Report
import harness

CYCLES = int(os.environ.get("CYCLES", "1000"))
WARM = 10
MAX_GROWTH = 100  # KiB in a cycle

PROGRAM = """
import ctypes, json, os, sys
import gorgon
for name in sys.argv[1:]:
    __import__(name)
cycle = gorgon.interpreter
libc = ctypes.CDLL(None)
key = ctypes.c_uint()
assert not libc.pthread_key_create(ctypes.byref(key), None)
with open("/proc/self/smaps_rollup") as file:
    memory = sum(int(line.split()[1]) for line in file if line.startswith(("Private_", "Swap:")))
with open("/proc/self/maps") as file:
    mappings = sum(1 for _ in file)
root = (ctypes.c_uint64 * 8).in_dll(libc, "jitreg_debug_root")
print(json.dumps({"cycle": cycle, "memory": memory, "mappings": mappings, "jit entries": root[6],
                  "descriptors": len(os.listdir("/proc/self/fd")), "first free key": key.value}), flush=True)
"""

MIXES = {
    "bare": [],
    "numpy": ["numpy"],
    "standard library": ["ssl", "sqlite3", "ctypes", "decimal", "lzma", "bz2", "asyncio", "multiprocessing", "xml.etree.ElementTree",
                         "unittest", "email", "concurrent.futures"],
}


def measure(report, name, modules):
    """One row of numbers per cycle."""
    rows = []
    process = subprocess.Popen(
        [harness.GORGON, "run", "--repeat", str(CYCLES), "-c", PROGRAM, *modules], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    for line in process.stdout:
        rows.append(json.loads(line))
        report.progress(len(rows), CYCLES, name)
    status = process.wait()
    reader.join()
    report.check(f"{name}: cycles", status == 0 and len(rows) == CYCLES, f"{CYCLES}, status 0", f"{len(rows)}, status {status}",
                 errors[0][-2000:])
    return rows


def main():
    report = Report(f"{CYCLES} interpreters one after the other")
    for name, modules in MIXES.items():
        rows = measure(report, name, modules)
        if len(rows) != CYCLES:
            continue
        first, last = rows[WARM], rows[-1]
        growth = (last["memory"] - first["memory"]) / (CYCLES - WARM - 1)
        report.check(f"{name}: private memory", growth <= MAX_GROWTH, f"at most {MAX_GROWTH} KiB a cycle",
                     f"{growth:.1f} KiB a cycle, {last['memory'] / 1024:.0f} MiB at the end")
        for what in ("mappings", "jit entries", "descriptors", "first free key"):
            slack = 10 if what == "mappings" else 0  # the C library's heap is one mapping or several
            report.check(f"{name}: {what}", last[what] <= first[what] + slack, f"as in cycle {WARM + 1}",
                         f"{first[what]} in cycle {WARM + 1}, {last[what]} in the last")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
