# SPDX-License-Identifier: MIT
"""Run tests and note how each ends; in a second interpreter, work beside them until they have ended.

usage: suite.py FOLDER BESIDE (pytest|unittest|regrtest) WORD...

BESIDE is a function of beside.py. FOLDER gets the files `tests`, a line of JSON for each event,
and `beside`, what the second interpreter has done. The words are what pytest takes, a
folder and a package in it with tests of unittest, or one of CPython's own test files and options
of `python3 -m test`. tests/long/suites.py reads what is noted."""

import importlib.util
import json
import logging
import os
import sys
import time

import beside

# What regrtest's own tests may use; the others want a network, a sound card, or many minutes.
RESOURCES = "decimal,subprocess,curses"
# What regrtest calls the outcomes of files; others go by its word.
FILE_OUTCOMES = {"Passed": "passed", "DidNotRun": "passed", "Skipped": "skipped", "ResourceDenied": "skipped",
                 "Failed": "failed", "UncaughtException": "error", "EnvChanged": "environment changed",
                 "Interrupted": "interrupted"}


class Events:
    """Lines are written at once, so that they tell which test a crash was in; never by a child."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.pid = os.getpid()

    def write(self, **fields):
        if os.getpid() == self.pid:
            os.write(self.fd, (json.dumps(fields) + "\n").encode())


class Plugin:
    """A plug-in of pytest."""

    def __init__(self, events):
        self.write = events.write

    def pytest_collection_finish(self, session):
        self.write(collected=len(session.items))

    def pytest_collectreport(self, report):
        if not report.passed:
            self.write(test=report.nodeid, outcome="error" if report.failed else "skipped", detail=report.longreprtext)

    def pytest_runtest_logstart(self, nodeid):
        self.write(test=nodeid, outcome="did not end", detail="")

    def pytest_runtest_logreport(self, report):
        expected_failure = hasattr(report, "wasxfail")
        if report.skipped:
            outcome = "xfailed" if expected_failure else "skipped"
            detail = report.wasxfail if expected_failure else report.longrepr[2]
        elif report.failed:
            outcome, detail = "failed" if report.when == "call" else "error", report.longreprtext
        elif report.when == "call":
            outcome, detail = "xpassed" if expected_failure else "passed", ""
        else:
            return  # set up, or torn down, as it should be
        self.write(test=report.nodeid, outcome=outcome, detail=detail)


def recording(base, events):
    """A class of results like @base that notes them."""
    import unittest

    class Result(base):
        def note(self, test, outcome, detail=""):
            # Some tests replace the method `id`.
            name = test.id() if callable(test.id) else unittest.TestCase.id(test)
            events.write(test=name, outcome=outcome, detail=detail)

        def startTest(self, test):
            self.note(test, "did not end")
            super().startTest(test)

        def addSuccess(self, test):
            self.note(test, "passed")
            super().addSuccess(test)

        def addError(self, test, err):
            super().addError(test, err)
            self.note(test, "error", str(self.errors[-1][1]))

        def addFailure(self, test, err):
            super().addFailure(test, err)
            self.note(test, "failed", str(self.failures[-1][1]))

        def addSkip(self, test, reason):
            # A part of a test that is skipped is noted for the test that it is a part of.
            self.note(getattr(test, "test_case", test), "skipped", reason)
            super().addSkip(test, reason)

        # twisted's have one argument more.
        def addExpectedFailure(self, test, *why):
            self.note(test, "xfailed")
            super().addExpectedFailure(test, *why)

        def addUnexpectedSuccess(self, test, *why):
            self.note(test, "xpassed")
            super().addUnexpectedSuccess(test, *why)

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is not None:
                kind = "failed" if issubclass(err[0], test.failureException) else "error"
                self.note(test, kind, (self.failures if kind == "failed" else self.errors)[-1][1])
    return Result


def run_pytest(events, words):
    import pytest
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *words], plugins=[Plugin(events)]))


def run_unittest(events, words):
    """The package of tests in a folder; a file may say itself what its tests are, with test_suite()."""
    import unittest
    folder, package = words
    sys.path.insert(0, folder)
    tests = unittest.TestSuite()
    for name in sorted(os.listdir(f"{folder}/{package}")):
        if name.startswith("test_") and name.endswith(".py"):
            module = importlib.import_module(f"{package}.{name[:-3]}")
            own = getattr(module, "test_suite", None)
            tests.addTest(own() if own else unittest.defaultTestLoader.loadTestsFromModule(module))
    events.write(collected=tests.countTestCases())
    result = unittest.TextTestRunner(resultclass=recording(unittest.TextTestResult, events)).run(tests)
    return 0 if result.wasSuccessful() else 1


def run_tornado(events, words):
    """Its tests, or modules of them."""
    import unittest
    from tornado.test import runtests
    logging.getLogger("tornado.access").setLevel(logging.CRITICAL)
    tests = unittest.defaultTestLoader.loadTestsFromNames(words or runtests.TEST_MODULES)
    events.write(collected=tests.countTestCases())
    result = unittest.TextTestRunner(resultclass=recording(unittest.TextTestResult, events)).run(tests)
    return 0 if result.wasSuccessful() else 1


def run_trial(events, words):
    """Modules and packages of twisted's tests, as `trial` runs them."""
    from twisted.trial import reporter, runner
    runs = runner.TrialRunner(recording(reporter.TextReporter, events), workingDirectory=os.path.abspath("trial"))
    tests = runner.TestLoader().loadByNames(words, recurse=True)
    events.write(collected=tests.countTestCases())
    return 0 if runs.run(tests).wasSuccessful() else 1


def run_regrtest(events, words):
    """One file, as `python3 -m test` runs it; its own outcome, by its own name, is one more test."""
    from test import support
    from test.libregrtest import cmdline, runtest, setup
    from test.support import os_helper, testresult
    result_class = recording(testresult.RegressionTestResult, events)

    class Runner:
        def __init__(self, stream, *_, **__):
            self.result = result_class(stream, None, 0)
            self.result.buffer = False

        def run(self, test):
            test(self.result)
            return self.result

    support.get_test_runner = Runner
    sys.argv[1:] = []
    options = cmdline._parse_args(["-u", RESOURCES, *words])
    setup.setup_tests(options)
    with os_helper.temp_cwd(os.path.join(os.environ["TMPDIR"], "cwd")):
        result = runtest.runtest(options, words[0])
    outcome = FILE_OUTCOMES.get(type(result).__name__, type(result).__name__)
    if getattr(result, "errors", None) or getattr(result, "failures", None):
        outcome = "passed"  # its tests have been noted by themselves
    events.write(test=words[0], outcome=outcome, detail="")
    return 0


RUNNERS = {"pytest": run_pytest, "unittest": run_unittest, "tornado": run_tornado, "trial": run_trial, "regrtest": run_regrtest}


def peak_memory():
    """MiB of this process, without its children."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) // 1024


def run_suite(folder, runner, words):
    events = Events(f"{folder}/tests")
    status = RUNNERS[runner](events, words)
    events.write(status=status, peak=peak_memory())


def work_until_tests_end(folder, work):
    import signal
    # Tests send Ctrl-C to the process, and it reaches all of its interpreters.
    signal.signal(signal.SIGINT, lambda *_: None)
    count = wrong = 0
    while not os.path.exists(f"{folder}/ended"):
        started = time.monotonic()
        wrong += not work(count)
        count += 1
        if count == 1:
            open(f"{folder}/working", "w").close()
        time.sleep(max(0.01, 3 * (time.monotonic() - started)))  # the tests need the processor
    with open(f"{folder}/beside", "w") as file:
        json.dump({"count": count, "wrong": wrong}, file)


def main(folder, work, runner, *words):
    # gorgon is looked for without an exception, which tests would find in what they raise themselves.
    if not importlib.util.find_spec("gorgon"):
        return run_suite(folder, runner, words)  # this process is a plain python3
    if importlib.import_module("gorgon").interpreter:
        return work_until_tests_end(folder, getattr(beside, work))
    end = time.monotonic() + 60
    while not os.path.exists(f"{folder}/working") and time.monotonic() < end:
        time.sleep(0.01)
    try:
        run_suite(folder, runner, words)
    finally:
        open(f"{folder}/ended", "w").close()


if __name__ == "__main__":
    main(*sys.argv[1:])
