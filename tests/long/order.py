#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The order in which threads take locks, in everything that `make check` runs, beside the table of docs/architecture.md.

Usage: order.py [KIND]...      unit, run, symdump, gdb, lldb

All tests run under tests/hosts/lock_order.preload.c. Whether they pass does not count here: the preload is in their way, where
they count descriptors, or look at what is loaded."""

import os
import subprocess
import sys
import tempfile

from report import Report
import harness
import lock_order

KINDS = ("unit", "run", "symdump", "gdb", "lldb")  # those of jitreg take no lock under another
# These start no program of ours, or build everything anew.
WITHOUT = ("analyze", "architecture", "cpython_pools", "documents", "documents_errors", "documents_reference", "documents_stability",
           "install", "locks", "manual", "process_inventory", "results", "runner")


def run_tests(kind, environment):
    """The last line that pytest prints."""
    command = [harness.PYTHON3, "-B", "-m", "pytest", "-q", "-n", str(os.cpu_count()), "--dist", "loadscope", "-p", "no:cacheprovider",
               f"--select={kind}", *(f"--ignore=tests/run/test_{name}.py" for name in WITHOUT)]
    result = subprocess.run(command, cwd=harness.ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return result.stdout.strip().splitlines()[-1] if result.stdout.strip() else result.stderr


def main(words):
    report = Report("The order of locks in all tests")
    places = lock_order.Places()
    for kind in words or KINDS:
        with tempfile.TemporaryDirectory(dir=harness.BUILD) as folder:
            preload = os.path.join(folder, "lock_order.so")
            pairs = os.path.join(folder, "pairs")
            lock_order.build_preload(preload)
            told = run_tests(kind, lock_order.environment(preload, pairs))
            problems, count = lock_order.check(lock_order.read(pairs), lock_order.read_table(), places)
        report.check(f"{kind}: pairs of locks", count and not problems, "as the table has them",
                     f"{count} pairs, {len(problems)} of them otherwise; {told}", "\n".join(problems))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
