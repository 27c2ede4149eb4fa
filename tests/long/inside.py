#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Suites of others inside an executor's worker, a pool's job and a host's call: as in a process of a pool.

Usage: inside.py [SUITE]...

Each suite runs as a call of ProcessPoolExecutor, of the executor, as a job of a C pool, and as a call of a host in C
(hosts/two.c). Every test's outcome is compared by its name with that in the process. What they import is pinned in
requirements-inside.txt, and installed in a virtual environment; CPython's own are Debian's. $MODES names some of the modes.

What a test expects of time fails on a machine that has other things to do. A suite that differs runs once more, in both, and
that counts; not so when it does not end, which always counts."""

import os
import signal
import sys
import tempfile

import cpython_suite
import suites
from report import Report
from sources import Unavailable, environment, installed, sources
import harness

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs", "inside.py")
MODES = {"process": "a process", "worker": "a worker", "pool": "a pool's job", "call": "a host's call"}
LIMIT = 1800  # seconds for a suite in a mode
CPYTHON = ["test_fcntl", "test_os", "test_subprocess", "test_signal", "test_threading", "test_asyncio",
           "test_concurrent_futures", "test_multiprocessing_fork", "test_multiprocessing_spawn"]
SIGINT = "SIGINT is the host's, which has a handler in C: "
WITHOUT = SIGINT + "Python has none, and interrupt_main() and raise_signal() do nothing, as in any program that embeds Python"
RESTORED = SIGINT + "signal.signal() returns None for it, as in any program that embeds Python"
SIGINT_SENT = "a SIGINT that is sent to the process is the host's"
MULTIPROCESSING = {
    "*.WithProcessesTestCondition.test_wait_result": ("worker pool call", "failed", SIGINT_SENT),
    "*.WithProcessesTestProcess.test_parent_process_attributes": (
        "worker pool call", "passed", "it expects that no process of multiprocessing's runs it, as one of a pool is"),
    "*.WithProcessesTestSharedMemory.test_shared_memory_SharedMemoryServer_ignores_sigint": ("call", "failed", WITHOUT),
}
# {suite: {test or pattern: (modes, its outcome there, why)}}
ALLOWED = {
    "test_subprocess": {
        "*.POSIXProcessTestCase.test_kill": ("call", "error", RESTORED),
    },
    "test_signal": {
        "*.RaiseSignalTest.test_handler": ("call", "error", RESTORED),
        "*.RaiseSignalTest.test_sigint": ("call", "failed", WITHOUT),
    },
    "test_multiprocessing_fork": MULTIPROCESSING,
    "test_multiprocessing_forkserver": MULTIPROCESSING,
    "test_multiprocessing_spawn": MULTIPROCESSING,
    "test_threading": {
        "*.InterruptMainTests.test_interrupt_main_mainthread": ("call", "failed", WITHOUT),
        "*.InterruptMainTests.test_interrupt_main_noerror": ("call", "error", RESTORED),
        "*.InterruptMainTests.test_interrupt_main_subthread": ("call", "failed", WITHOUT),
    },
}


def pytest_of(package, distribution=None):
    def words(python):
        folder = installed(package, python, distribution)[0]
        return ["pytest", "-c", os.devnull, "--rootdir", folder, folder]  # not this repository's pytest.ini
    return words


# {suite: (the module that has its version, what is run of it)}
SUITES = {
    "numexpr": ("numexpr", pytest_of("numexpr")),
    "shapely": ("shapely", pytest_of("shapely")),
    "PyWavelets": ("pywt", pytest_of("pywt", "PyWavelets")),
    "h5py": ("h5py", pytest_of("h5py")),
    "uvloop": ("uvloop", lambda python: ["unittest", sources("uvloop", "tests", python=python), "tests"]),
    "tornado": ("tornado", lambda _: ["tornado"]),
    "twisted": ("twisted", lambda _: ["trial", "twisted.internet.test.test_process", "twisted.test.test_process",
                                      "twisted.internet.test.test_tcp", "twisted.test.test_tcp"]),
    **{name: (None, lambda _, name=name: ["regrtest", name, *(word for pattern in cpython_suite.IGNORED.get(name, ())
                                                             for word in ("-i", pattern))]) for name in CPYTHON},
}


def command(mode, python):
    """What runs PROGRAM, or has it run."""
    if mode in ("process", "worker"):
        return [python, PROGRAM, mode]
    return [os.path.join(harness.BUILD, "two"), mode, python, PROGRAM]


class Runs:
    """A suite in its modes."""

    def __init__(self, report, name, python, site):
        self.report, self.name = report, name
        self.module, words = SUITES[name]
        self.words, self.python = words(python), python
        self.env = {"PYTHONPATH": site, **(cpython_suite.ENVIRONMENT if not self.module else {})}
        self.process = self.run("process")

    def version(self):
        return installed(self.module, self.python, self.name)[1] if self.module else "of Debian's Python"

    def run(self, mode):
        return suites.Run(command(mode, self.python), self.words, self.env, LIMIT, program=(),
                          progress=lambda done, total: self.report.progress(done, total, f"{self.name}, {MODES[mode]}"))

    def allowed(self, mode):
        return {test: (outcome, why) for test, (modes, outcome, why) in ALLOWED.get(self.name, {}).items() if mode in modes}

    def compare(self, mode):
        """The Suite of one mode."""
        run, allowed = self.run(mode), self.allowed(mode)
        if run.ended() and suites.explain(suites.compare(self.process.tests, run.tests), allowed)[1]:
            self.process, run = self.run("process"), self.run(mode)
        case = f"{self.name} in {MODES[mode]}"
        suite = suites.Suite(self.report, self.name, self.version(), allowed, MODES["process"])
        suite.check_ended(case, run, (self.process.status,))
        suite.check_same(case, self.process.tests, run.tests)
        return suite


def tables(report, found):
    """@found: {suite: {mode: Suite}}."""
    report.table("Suites", ["suite", "version", "tests", *MODES.values(), "differences"])
    for name, modes in found.items():
        some = next(iter(modes.values()))
        counts = [modes[mode].numbers[2] if mode in modes else "not run" for mode in MODES if mode != "process"]
        report.entry(name, some.version, some.numbers[0], some.numbers[1], *counts,
                     sum(suite.numbers[3] for suite in modes.values()))
    rows = [(name, mode, *pair) for name, modes in found.items() for mode, suite in modes.items() for pair in suite.differences]
    if rows:
        report.table("What differs", ["suite", "where", "test", "a process", "there", "reason"])
    for name, mode, difference, reason in rows:
        report.entry(name, MODES[mode], difference.test, difference.before[0], difference.after[0], reason)


def main(words):
    # A shell ignores Ctrl-C in what it starts in the background, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report("Suites of others inside workers, jobs and calls")
    python, found = environment("inside"), {}
    wanted = os.environ.get("MODES", " ".join(MODES)).split()
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        for name in words or SUITES:
            if name in CPYTHON and not os.path.exists(cpython_suite.FOLDER):
                report.skip(name, f"{cpython_suite.PACKAGE} is not installed")
                continue
            try:
                runs = Runs(report, name, python, site)
            except Unavailable as error:
                report.skip(name, error)
                continue
            found[name] = {mode: runs.compare(mode) for mode in MODES if mode != "process" and mode in wanted}
    tables(report, found)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
