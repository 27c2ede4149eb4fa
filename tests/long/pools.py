#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own tests of thread pools on interpreters (../run/test_cpython_pools.py), with every CPython of this machine.

Usage: pools.py [WORD]...       (only pythons with such a word)"""

import json
import os
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run")]
import harness  # noqa: E402
from named import installed, label  # noqa: E402
from report import Report  # noqa: E402
from test_cpython_pools import ASSUMES  # noqa: E402


def check(report, python, site):
    name, suite = label(python), os.path.join(harness.ROOT, "tests", "run", "pools_suite.py")
    if harness.run(python, "-c", "import test.test_concurrent_futures").returncode:
        report.skip(name, "its tests are not installed")
        return
    result = harness.run(python, suite, cwd=site, env={"PYTHONPATH": site})
    if result.returncode:
        report.check(f"{name}: the tests end", False, "status 0", f"status {result.returncode}", result.stderr)
        return
    outcomes = json.loads(result.stdout)
    failed = {test: text for test, (outcome, text) in outcomes.items() if outcome == "failed"}
    wrong = sorted(set(failed) ^ (set(ASSUMES) & set(outcomes)))
    report.check(f"{name}: CPython's tests of thread pools", not wrong, f"all of {len(outcomes)} but those that assume",
                 f"{len(outcomes) - len(failed)} pass", "\n".join(f"{test}\n{failed.get(test, 'passes')}" for test in wrong))


def main(words):
    report = Report("Thread pools' tests, on interpreters")
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        for python in installed():
            if not words or any(word in python for word in words):
                check(report, python, site)
    report.table("What the tests assume", ["test", "what"])
    for test, what in ASSUMES.items():
        report.entry(test, what)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
