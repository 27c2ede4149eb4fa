#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many operations on what a process has, in each mode, beside python3 (run/test_operations.py).

Usage: process_operations.py [SEED]...   (those; otherwise new ones, until OPERATIONS were done or MINUTES have passed)

OPERATIONS (100,000), MINUTES (600), AT_ONCE (4), which is how many seeds run at once, because operations wait most of the time,
and COUNT (400), which is what each of two interpreters does for a seed and a mode, are in the environment."""

import collections
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time

from report import Report
from harness import ROOT

OPERATIONS = int(os.environ.get("OPERATIONS", "100000"))
MINUTES = float(os.environ.get("MINUTES", "600"))
AT_ONCE = int(os.environ.get("AT_ONCE", "4"))
COUNT = int(os.environ.get("COUNT", "400"))
INTERPRETERS = 2


def run_seed(seed):
    """{mode: None, or what differs}."""
    env = dict(os.environ, SEED=str(seed), COUNT=str(COUNT))
    result = subprocess.run([sys.executable, "-B", "-m", "unittest", "-v", "test_operations"], text=True, check=False,
                            cwd=f"{ROOT}/tests/run", env=dict(env, PYTHONPATH=f"{ROOT}/tests"), capture_output=True)
    ran = re.findall(r"^(test_\w+) \(.*?\)\n?.*?\.\.\. ", result.stderr, re.M)
    failed = dict(re.findall(r"^(?:FAIL|ERROR): (test_\w+).*\n-+\n((?:.*\n)*?)\n(?=[=-]{60})", result.stderr, re.M))
    outcome = {name.removeprefix("test_").replace("_", " "): failed.get(name) for name in ran}
    # Among them is one that looks whether a difference is found.
    return {"everything": result.stderr} if not ran or (result.returncode and not failed) else outcome


def seeds():
    until = time.monotonic() + 60 * MINUTES
    seed = int.from_bytes(os.urandom(4), "little")
    while time.monotonic() < until:
        yield seed
        seed += 100  # a mode adds its number


def main(words):
    # A shell ignores Ctrl-C in what it starts in the background, nohup ignores hang-ups, and programs inherit that: what operations
    # send to their children would not end them.
    for number in signal.SIGINT, signal.SIGHUP:
        signal.signal(number, signal.SIG_DFL)
    report = Report("Operations on what a process has, in each mode")
    done, differ = collections.Counter(), collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running, source = {}, map(int, words) if words else seeds()
        while True:
            while len(running) < AT_ONCE and (words or done.total() < OPERATIONS) and (seed := next(source, None)) is not None:
                running[pool.submit(run_seed, seed)] = seed
            if not running:
                break
            for future in concurrent.futures.wait(running, return_when="FIRST_COMPLETED").done:
                seed = running.pop(future)
                for mode, difference in future.result().items():
                    if difference:
                        differ[mode].append(seed)
                        report.check(f"seed {seed}, {mode}", False, "as python3", "differs", difference)
                    elif mode != "a difference is found":
                        done[mode] += INTERPRETERS * COUNT
                report.progress(done.total(), OPERATIONS)
    for mode, count in done.items():
        wrong = " ".join(map(str, differ.get(mode, [])))
        report.check(f"{mode}: {count} operations", not wrong, "as python3", f"seeds that differ: {wrong}" if wrong else "all as python3")
    report.check("all modes", done.total() > 0 and not differ, "no difference", f"{done.total()} operations as python3")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
