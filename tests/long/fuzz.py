#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Made-up inputs for what reads files and memory: libFuzzer, with the address and undefined behaviour sanitizers.
Begins with the committed corpus, which stays as it is, and with what earlier runs have found in build/fuzz/corpus; an input
that fails is left in build/fuzz.

MINUTES=... in the environment is for how long each target runs (`make fuzz MINUTES=5`), TARGETS="load core" are a part of them."""

import glob
import os
import re
import subprocess
import sys
import time

from report import Report
import harness

MINUTES = float(os.environ.get("MINUTES", "10"))
CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus")
FOLDER = os.path.join(harness.BUILD, "fuzz")


def targets():
    there = sorted(re.sub(r".*fuzz_(\w+)\.c$", r"\1", path) for path in glob.glob(os.path.join(harness.ROOT, "tests/fuzz/fuzz_*.c")))
    wanted = os.environ.get("TARGETS", "").split()
    return [name for name in there if not wanted or name in wanted]


def fuzz(name, report):
    found = os.path.join(FOLDER, "corpus", name)
    os.makedirs(found, exist_ok=True)
    seconds = int(MINUTES * 60)
    environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(FOLDER, "cache"))
    command = [os.path.join(FOLDER, f"fuzz_{name}"), f"-max_total_time={seconds}", "-max_len=8192", "-timeout=20",
               "-rss_limit_mb=4096", f"-artifact_prefix={FOLDER}/{name}-", found, os.path.join(CORPUS, name)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace",
                          env=environment) as process:
        tail, done, covered = [], 0, 0
        for line in process.stderr:
            tail = [*tail[-60:], line]
            seen = re.match(r"#(\d+)\s.*cov: (\d+)", line)
            if seen:
                done, covered = int(seen[1]), int(seen[2])
                report.progress(f"{done} executions, {covered} edges", f"{MINUTES:g} minutes", name)
            seen = re.match(r"Done (\d+) runs", line)
            done = int(seen[1]) if seen else done
    report.check(f"{name}: {MINUTES:g} minutes without a finding", process.returncode == 0, "status 0",
                 f"status {process.returncode}, {done} executions, {covered} edges", "".join(tail))
    return done


def compare(report):
    """Damaged libraries under the system's linker and ours: tests/fuzz/differ.c."""
    count, seed = int(MINUTES * 1000), int(time.time())
    command = [os.path.join(harness.BUILD, "differ"), str(count), str(seed), *glob.glob(os.path.join(CORPUS, "load", "*"))]
    # The program prints messages of both linkers. Names out of damaged files are in these, and need not be UTF-8.
    result = subprocess.run(command, cwd=FOLDER, timeout=600 + count, check=False, capture_output=True, text=True, errors="replace")
    counts = re.search(r"^differ: (.*)$", result.stderr, re.M)
    report.check(f"{count} damages, seed {seed}, under both linkers", result.returncode == 0, "no crash where the system's linker refuses",
                 counts[1] if counts else f"status {result.returncode}", "" if counts else result.stderr)


def main():
    report = Report("Made-up inputs")
    os.nice(19)
    names = targets()
    done = sum(fuzz(name, report) for name in names)
    compare(report)
    left = [os.path.basename(path) for name in names for path in glob.glob(f"{FOLDER}/{name}-*")]
    report.check("inputs that failed", not left, 0, len(left), "\n".join(left))
    report.check("executions in all", True, "(their number)", done)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
