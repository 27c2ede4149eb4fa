#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own tests in a private copy, beside a second interpreter that works: as in plain python3.

Usage: cpython_suite.py [FILE]...

Each of the files of libpython3.11-testsuite (or those that are named: test_grammar) runs in a
process of its own, in python3 and in interpreter 0 of `gorgon run -n 2`, as `python3 -m test`
runs it, without a network, sound and what takes many minutes. Every test's outcome is compared
by its name, and the file's. sys.executable in a private copy is python3: what tests start with
it is compared, too.

What a test expects of time fails on a machine that has other things to do. Files that differ run
once more, in both, with nothing beside them, and that counts; not so when a private copy's
process dies or hangs, which always counts. JOBS in the environment is how many run at once."""

import os
import re
import signal
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

import suites
from report import Report
from harness import run

FOLDER = "/usr/lib/python3.11/test"
PACKAGE = "libpython3.11-testsuite"
LIMIT = 1200  # seconds for one file
JOBS = int(os.environ.get("JOBS") or os.cpu_count())
# These files come first, so that none of them runs alone at the end.
LONGEST = ["test_asyncio", "test_concurrent_futures", "test_multiprocessing_forkserver", "test_multiprocessing_fork",
           "test_multiprocessing_spawn", "test_signal", "test_ssl", "test_imaplib", "test_socket", "test_subprocess",
           "test_io", "test_venv", "test_threading"]
# CPython's tests expect compiled files and a locale.
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": None, "LANG": "C.UTF-8", "LC_ALL": None}
# {file: why it is not run}
LEFT_OUT = {
    "test_idle": "an editor, in a package of its own; its tests want a display",
}
# {file: {pattern of tests: why they are not run}}
IGNORED = {
    "test_socket": {
        "*.ThreadedVSOCKSocketStreamTest.*": "a socket between a virtual machine and its host; in python3, too, it "
        "waits for ever where there is no way back",
    },
    "test_signal": {
        "*.PidfdSignalTest.test_pidfd_send_signal": "the kernel gives what is sent through a pidfd to the process's "
        "first thread, which passes it on: KeyboardInterrupt comes after the call, and ends the run",
    },
}
# {test or pattern: (its outcome in a private copy, why)}
ALLOWED = {}


def files():
    names = (re.match(r"(test_\w+)(\.py)?$", name) for name in os.listdir(FOLDER))
    return sorted({match[1] for match in names if match})


class File:
    """One file's two runs."""

    def __init__(self, name):
        self.name = name
        self.again = False
        self.run()

    def run(self):
        words = ["cpython", "regrtest", self.name]
        for pattern in IGNORED.get(self.name, ()):
            words += ["-i", pattern]
        self.plain = suites.Run(suites.python3(), words, ENVIRONMENT, LIMIT)
        self.private = suites.Run(suites.private_copy(), words, ENVIRONMENT, LIMIT)

    def unexplained(self):
        return suites.explain(suites.compare(self.plain.tests, self.private.tests), ALLOWED)[1]

    def run_again(self):
        self.again = True
        self.run()


def run_all(report, names):
    """{name: File}."""
    done = {}
    order = [name for name in LONGEST if name in names] + [name for name in names if name not in LONGEST]
    with ThreadPoolExecutor(JOBS) as pool:
        for future in as_completed([pool.submit(File, name) for name in order]):
            done[future.result().name] = future.result()
            report.progress(len(done), len(names), future.result().name)
    for file in done.values():
        if file.private.ended() and (not file.plain.ended() or file.unexplained()):
            file.run_again()
    return dict(sorted(done.items()))


def merged(runs):
    return {test: outcome for run in runs for test, outcome in run.tests.items()}


def check_ends(report, case, runs):
    """Every process ends by itself, with status 0."""
    wrong = {name: run for name, run in runs.items() if not run.ended()}
    report.check(f"{case}: {len(runs)} files end", not wrong, "all",
                 f"{len(runs) - len(wrong)}: {suites.counts(merged(runs.values()))}",
                 "\n".join(f"{name}: status {run.process_status}, {run.unfinished()}" for name, run in wrong.items()))


def check(report, names, complete):
    version = run("dpkg-query", "-W", "-f", "${Version}", PACKAGE).stdout
    done = run_all(report, names)
    plain, private = ({name: getattr(file, which) for name, file in done.items()} for which in ("plain", "private"))
    check_ends(report, "python3", plain)
    check_ends(report, "private copy", private)
    suite = suites.Suite(report, "CPython's own", version, ALLOWED)
    beside = {key: sum(one.beside[key] for one in private.values()) for key in ("count", "wrong")}
    suite.check_beside("private copy", beside,
                       [name for name, one in private.items() if not one.beside["count"]])
    suite.check_stops("private copy", private)
    suite.check_same("private copy", merged(plain.values()), merged(private.values()), complete)
    failing = sorted(test for test, (outcome, _) in merged(plain.values()).items() if outcome in ("failed", "error"))
    report.check("tests that fail in python3, too", True, "(how they end is compared)",
                 f"{len(failing)}: {' '.join(failing)}")
    again = [name for name, file in done.items() if file.again]
    report.check("files that ran a second time, by themselves", True, "(those that time disturbs)",
                 f"{len(again)}: {' '.join(again)}" if again else "0")
    suites.tables(report, [suite])
    report.table("What is left out", ["file", "tests", "reason"])
    for name, reason in LEFT_OUT.items():
        report.entry(name, "all", reason)
    for name, patterns in IGNORED.items():
        for pattern, reason in patterns.items():
            report.entry(name, pattern, reason)


def main(words):
    # A shell ignores Ctrl-C in what it starts in the background, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report("CPython's own tests")
    if not os.path.exists(FOLDER) or not files():
        report.skip("CPython's tests", f"{PACKAGE} is not installed")
        return report.finish()
    check(report, words or [name for name in files() if name not in LEFT_OUT], not words)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
