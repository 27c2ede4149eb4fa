#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shared arrays at size and in number.

One of 1 GB, which four interpreters sum at once: how often it is in memory, what sharing it costs. Then SHARES (100,000,
from the environment) shares from eight interpreters whose owners die at random (tests/python/test_share.c), and threads of a host
(tests/python/test_array.c), plain and with each set of sanitizers, which see libgorgon and libjitreg. In the host nothing else
orders the threads: a count that is not atomic is a report."""

import os
import re
import subprocess
import sys

from report import Report

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import GORGON, ROOT, run  # noqa: E402

PROGRAM = os.path.join(ROOT, "tests", "long", "programs", "arrays.py")
SHARES = os.environ.get("SHARES", "100000")
CASES = {"test_share": ("share_owners_die_at_random", "share_destroyed_interpreter_lets_go",
                        "share_destroyed_owner_leaves"),
         "test_array": ("block_threads_hold_and_release", "array_threads_share_and_release")}


def check_size(report):
    result = run(GORGON, "run", "-n", "4", PROGRAM)
    words = result.stdout.split()
    right = len(words) == 4 and words[0] == "True" and not result.returncode
    ratio, shared, received = map(float, words[1:]) if right else (0, 0, 0)
    report.check("four interpreters sum 1 GB", right and 0.95 <= ratio <= 1.05, "the right sum, 1.00 of it in memory",
                 f"{words[0] if words else 'nothing'}, {ratio:.2f}", result.stderr)
    report.check("share() and receive() of 1 GB", right and max(shared, received) < 1000, "less than 1000 us each",
                 f"{shared:.0f} us, {received:.0f} us", result.stderr)


def check_number(report, san, *prefix, **options):
    env = {name: value for name, value in os.environ.items() if name not in ("BUILD", "SAN", "MAKEFLAGS", "MAKELEVEL")}
    folder = os.path.join(ROOT, "build", "san-" + san.replace(",", "-") if san else "")
    programs = [os.path.join(folder, "tests", name) for name in CASES]
    subprocess.run(["make", "-s", "-C", ROOT, "-j2", f"SAN={san}", f"BUILD={folder}", *programs], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    results = [subprocess.run([*prefix, program], env=dict(env, SHARES=SHARES, CMOCKA_MESSAGE_OUTPUT="TAP", **options),
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, errors="replace",
                              check=False) for program in programs]
    output = "\n".join(result.stdout for result in results)
    cases = [case for names in CASES.values() for case in names]
    passed = [case for case in cases if re.search(rf"^ok \d+ - {case}", output, re.M)]
    reports = len(re.findall(r"WARNING: ThreadSanitizer|ERROR: (?:Address|Leak)Sanitizer|runtime error:", output))
    statuses = [result.returncode for result in results]
    report.check(f"{SHARES} shares, {san or 'plain'}", len(passed) == len(cases) and not reports and not any(statuses),
                 "all that was shared is right and let go of, 0 reports, status 0",
                 f"{len(passed)} of {len(cases)} cases, {reports} reports, status {max(statuses, key=abs)}",
                 "\n".join(output.splitlines()[-200:]))


def main():
    report = Report("Shared arrays")
    check_size(report)
    check_number(report, "")
    check_number(report, "address,undefined", LSAN_OPTIONS=f"suppressions={ROOT}/tests/lsan.supp:print_suppressions=0")
    # The sanitizer's shadow has no room for randomised addresses of every kernel.
    check_number(report, "thread", "setarch", "-R",
                 TSAN_OPTIONS=f"suppressions={ROOT}/tests/tsan.supp print_suppressions=0 history_size=4")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
