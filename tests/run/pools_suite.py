# SPDX-License-Identifier: MIT
"""CPython's tests of thread pools and futures, on interpreters: what test_cpython_pools.py runs.

Usage: pools_suite.py [WORD]...   tests whose name has one of the words; all without

Prints JSON: {"Class.test": [outcome, text]}. gorgon's executor stands in for ThreadPoolExecutor, from 3.14 on for
InterpreterPoolExecutor, in the programs, too, that the tests start."""

import concurrent.futures
import importlib
import json
import multiprocessing
import os
import pkgutil
import signal
import sys
import unittest
from test import support
from test.support import script_helper

import gorgon

SITE = os.path.dirname(os.path.dirname(gorgon.__file__))
BEFORE = f"""
import sys
sys.path.insert(0, {SITE!r})
import concurrent.futures, gorgon
class ThreadPoolExecutor(gorgon.InterpreterPoolExecutor): pass
if sys.version_info < (3, 14): concurrent.futures.ThreadPoolExecutor = ThreadPoolExecutor
concurrent.futures.InterpreterPoolExecutor = gorgon.InterpreterPoolExecutor
"""


class ThreadPoolExecutor(gorgon.InterpreterPoolExecutor):
    """The executor under the name of the class that it stands for, because names of threads begin with that."""


# Which of CPython's tests run: those of the most similar pool. From 3.14 on CPython has a pool of interpreters,
# before that only a pool of threads.
POOL = "InterpreterPool" if sys.version_info >= (3, 14) else "ThreadPool"


LIMIT = 60  # seconds for a test, which may wait for something that never comes


def stop(number, frame):
    raise TimeoutError(f"{LIMIT} seconds have passed")


def name_of(test):
    return ".".join(test.id().split(".")[-2:])


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def startTest(self, test):
        super().startTest(test)
        signal.alarm(LIMIT)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def note(self, test, outcome, text=""):
        self.outcomes[name_of(test)] = [outcome, text]

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addFailure(self, test, err):
        self.note(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure


def modules():
    """CPython's tests: a file until 3.12, a package since."""
    whole = importlib.import_module("test.test_concurrent_futures")
    names = [each.name for each in pkgutil.iter_modules(getattr(whole, "__path__", []), whole.__name__ + ".")]
    return [importlib.import_module(name) for name in names if ".test_" in name.removeprefix("test.")] or [whole]


def get_current_interpid(*extra):
    """Where a test asks in which interpreter it is."""
    return gorgon.interpreter, *extra


def pipe(self):
    """Where a test's workers write to a pipe: one that those who are started later inherit, as for processes."""
    ends = os.pipe()
    for end in ends:
        os.set_inheritable(end, True)
        self.addCleanup(os.close, end)
    return ends


def adapt():
    own = getattr(sys.modules.get("test.test_concurrent_futures.test_interpreter_pool"), "__dict__", {})
    if own:
        own["get_current_interpid"] = get_current_interpid
        own["InterpretersMixin"].pipe = pipe
    # Where a test asks its kind of pool for an event: one of multiprocessing's, as pools of processes have them.
    mixins = getattr(sys.modules.get("test.test_concurrent_futures.util"), "__dict__", {})
    for name in "ThreadPoolMixin", "InterpreterPoolMixin":
        if hasattr(mixins.get(name), "create_event"):
            mixins[name].create_event = lambda self: multiprocessing.Event()


def tests(words):
    every = modules()
    adapt()
    for module in every:
        for case in unittest.defaultTestLoader.loadTestsFromModule(module):
            for test in case:
                name = name_of(test)
                if name.startswith((POOL, "FutureTests", "AsyncioTest")) and (not words or any(word in name for word in words)):
                    yield test


def main(words):
    support.verbose = False
    signal.signal(signal.SIGALRM, stop)
    if POOL == "ThreadPool":
        concurrent.futures.ThreadPoolExecutor = ThreadPoolExecutor
    concurrent.futures.InterpreterPoolExecutor = gorgon.InterpreterPoolExecutor
    script_helper.assert_python_ok = run_changed
    result = Result()
    unittest.TestSuite(tests(words)).run(result)
    json.dump(result.outcomes, sys.stdout)


run_python = script_helper.assert_python_ok


def run_changed(option, *code, **env):
    """`-c CODE`, or a file."""
    if not code:
        with open(option) as file:
            text = file.read()
        with open(option, "w") as file:
            file.write(BEFORE + text)
    return run_python(option, *(BEFORE + each for each in code), **env)


if __name__ == "__main__":
    main(sys.argv[1:])
