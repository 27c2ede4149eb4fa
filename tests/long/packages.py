#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packages with C extensions in several interpreters at once, round after round.

For each program work/use_NAME.py: one process that runs ROUNDS rounds (environment, 20 by
default), each with fresh interpreters that are unloaded again, then as many processes of
one round as PROCESSES says (5). Every interpreter checks its own results; a crash (with
faulthandler's report), a hang and a wrong result all fail. What a process holds is noted
at the beginning of each round: once caches are warm it must not hold more mappings or
descriptors, and may hold more memory only by what the C code of a destroyed interpreter
has not freed (docs/limits.md)."""

import glob
import os
import re
import subprocess
import sys
import tempfile

from report import Report

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import GORGON  # noqa: E402

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
ROUNDS = int(os.environ.get("ROUNDS", "20"))
PROCESSES = int(os.environ.get("PROCESSES", "5"))
INTERPRETERS = {"torch": 2}  # 300 libraries and 100 MiB each
# What one interpreter may leave on the heap, in MiB: extensions' own allocations. Seen: 3.4
# after torch, at most 0.2 after the others.
LEFT, LEFT_OTHERS = {"torch": 8}, 1
ROUND_TIMEOUT = 60


class Failed(Exception):
    pass


def run(name, rounds):
    """Run a program; returns [(KiB, mappings, descriptors)] by round. Raises Failed with the reason."""
    count = INTERPRETERS.get(name, 4)
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, MEET=folder, COUNT=str(count), PYTHONFAULTHANDLER="1", PYTHONDONTWRITEBYTECODE="1")
        command = [GORGON, "run", "-n", str(count), "--repeat", str(rounds), os.path.join(WORK, f"use_{name}.py")]
        try:
            result = subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                    timeout=ROUND_TIMEOUT * rounds, errors="replace", check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"hangs; its output was:\n{(error.stdout or b'').decode()}") from None
    done = sorted(tuple(map(int, m)) for m in re.findall(r"^done (\d+) (\d+)$", result.stdout, re.M))
    holds = {int(m[0]): tuple(map(int, m[1:])) for m in
             re.findall(r"^holds (\d+) (\d+) (\d+) (\d+)$", result.stdout, re.M)}
    expected = [(r, place) for r in range(rounds) for place in range(count)]
    if result.returncode or result.stderr or done != expected or sorted(holds) != list(range(rounds)):
        raise Failed(f"status {result.returncode}, {len(done)} of {len(expected)} done:\n{result.stdout}{result.stderr}")
    return [holds[r] for r in range(rounds)]


def check_growth(report, case, name, holds):
    """Between the middle round and the last. The heap itself grows by mappings: of up to 64 MiB."""
    middle = len(holds) // 2
    interpreters = (len(holds) - middle) * INTERPRETERS.get(name, 4)
    kib, mappings, _ = (b - a for a, b in zip(holds[middle - 1], holds[-1]))
    # The other interpreters may have a file open at the moment of the look: the fewest count.
    descriptors = min(hold[2] for hold in holds[middle:]) - min(hold[2] for hold in holds[:middle])
    each, left = kib / 1024 / interpreters, LEFT.get(name, LEFT_OTHERS)
    report.check(f"{case}: growth from round {middle} to {len(holds)}",
                 mappings <= interpreters and descriptors <= 0 and each < left,
                 f"at most {interpreters} mappings, no descriptors, VmRSS {left} MiB for each interpreter",
                 f"mappings {mappings:+d}, descriptors {descriptors:+d}, VmRSS {kib / 1024:+.1f} MiB "
                 f"({each:+.2f} MiB for each interpreter)")


def check(report, name):
    count = INTERPRETERS.get(name, 4)
    case = f"{name}, {count} interpreters"
    failures, holds = [], None
    for process in range(PROCESSES + 1):
        try:
            result = run(name, 1 if process else ROUNDS)
            holds = holds or result
        except Failed as error:
            failures.append(str(error))
    report.check(case, not failures, f"{ROUNDS} rounds in one process and {PROCESSES} processes: 0 failures",
                 f"{len(failures)} failures", "\n".join(failures))
    if not failures:
        check_growth(report, case, name, holds)


def main(names):
    report = Report("Packages in several interpreters at once")
    known = sorted(os.path.basename(path)[4:-3] for path in glob.glob(os.path.join(WORK, "use_*.py")))
    for done, name in enumerate(names or known):
        report.progress(done, len(known), name)
        check(report, name)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
