#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own tests of pools on interpreters (../run/test_cpython_pools.py), with every CPython of this machine and with
those of Debian 13 and sid, whose packages have their tests, in roots.

Usage: pools.py [WORD]...       (only pythons and releases with such a word)"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run")]
import harness  # noqa: E402
from named import installed, label  # noqa: E402
from report import Report  # noqa: E402
from root import Root, Unavailable  # noqa: E402
from test_cpython_pools import ASSUMES  # noqa: E402
from wheel_roots import RELEASES, wheel  # noqa: E402

SUITE = os.path.join(harness.ROOT, "tests", "run", "pools_suite.py")
FOLDER = "/root/pools"  # in a root
ATTEMPTS = 3  # a test that expects something within a time fails on a busy machine


def outcomes_of(run_suite):
    """The outcomes of the tests; tests that fail run again. Raises AssertionError when they do not end."""
    outcomes, words = {}, []
    for _ in range(ATTEMPTS):
        result = run_suite(*words)
        assert not result.returncode, result.stderr
        outcomes |= json.loads(result.stdout)
        words = [test for test, (outcome, _) in outcomes.items() if outcome == "failed" and test not in ASSUMES]
        if not words:
            break
    return outcomes


def check(report, name, run_suite):
    try:
        outcomes = outcomes_of(run_suite)
    except AssertionError as error:
        report.check(f"{name}: the tests end", False, "status 0", "another status", str(error))
        return
    failed = {test: text for test, (outcome, text) in outcomes.items() if outcome == "failed"}
    skipped = sum(outcome == "skipped" for outcome, _ in outcomes.values())
    wrong = sorted(set(failed) ^ (set(ASSUMES) & set(outcomes)))
    report.check(f"{name}: CPython's tests of pools", not wrong, f"all of {len(outcomes) - skipped} but those that assume",
                 f"{len(outcomes) - skipped - len(failed)} pass",
                 "\n".join(f"{test}\n{failed.get(test, 'passes')}" for test in wrong))


def check_installed(report, python, site):
    if harness.run(python, "-c", "import test.test_concurrent_futures").returncode:
        report.skip(label(python), "its tests are not installed")
        return
    check(report, label(python), lambda *words: harness.run(python, SUITE, *words, cwd=site, env={"PYTHONPATH": site}))


def prepare(root, version, packages, file, *paths):
    """A root with the package, out of the wheel @file, CPython's tests and copies of @paths in FOLDER."""
    root.install(["python3-pip", f"libpython{version}", f"libpython{version}-testsuite", *packages])
    inside = root.path + FOLDER
    shutil.rmtree(inside, ignore_errors=True)
    os.makedirs(inside)
    for path in file, *paths:
        subprocess.run(["cp", "-r", path, inside], check=True)
    root.run("python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--root-user-action=ignore", "--target",
             f"{FOLDER}/site", f"{FOLDER}/{os.path.basename(file)}").check_returncode()


def check_release(report, suite, file):
    name, version = RELEASES[suite]
    root = Root(suite, suite)
    prepare(root, version, [], file, SUITE)
    check(report, f"{name}, CPython {version}", lambda *words: root.run(
        "python3", f"{FOLDER}/pools_suite.py", *words, env={"PYTHONPATH": f"{FOLDER}/site"}, cwd=FOLDER))


def main(words):
    report = Report("CPython's tests of pools, on interpreters")
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        for python in installed():
            if not words or any(word in python for word in words):
                check_installed(report, python, site)
    chosen = [suite for suite in RELEASES if suite != "bookworm" and (not words or suite in words)]
    file = wheel() if chosen else None
    for suite in chosen:
        try:
            check_release(report, suite, file)
        except Unavailable as error:
            report.skip(RELEASES[suite][0], error)
    report.table("What the tests assume", ["test", "what"])
    for test, what in ASSUMES.items():
        report.entry(test, what)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
