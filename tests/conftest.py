# SPDX-License-Identifier: MIT
"""What pytest needs to know of this project: cmocka programs, kinds of tests, a time limit for each case, and the last line.

A source file test_*.c is a file with cases, as test_*.py is. The program that the Makefile has built of it lists its cases
(tests/lib/cases.c) and runs those that were chosen, in one process as long as no case ends that."""

import glob
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
import unittest
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from _pytest.unittest import TestCaseFunction

import harness
from chosen import choose
from shorten import shorten

sys.dont_write_bytecode = True
# What interpreters and their program print comes in the order of time, and folders stay as they are, whoever runs the tests.
os.environ.update(PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1")

KINDS = ["unit", "run", "jitreg", "symdump", "gdb", "lldb", "parity"]
SANITIZED_KINDS = KINDS[:3]  # a sanitizer's runtime changes what debuggers see in the others
QUIET = 0.3  # seconds without output after which cmocka has printed all about a failed case
ENDING = 60  # seconds that a program may take to end after its last case
STATUS = "all cases were ok, but the exit status is"  # for what all cases of a program have done, not the last of them
# Classes that take a worker longest. Workers begin with them: at the end one of them would keep one worker, and the others would wait.
LONGEST = ["parity/test_parity", "run/test_cpython_pools", "gdb/test_breakpoints"]
SECOND_TRIES = 3  # as many cases of a run may be tried once more; if more have failed, something is broken


def pytest_addoption(parser):
    group = parser.getgroup("gorgon")
    group.addoption("--select", default="", metavar="WORDS",
                    help=f"only these kinds of tests ({', '.join(KINDS)}), and only cases with one of the other words in their names")
    group.addoption("--limit", type=float, default=1200, metavar="SECONDS", help="how long a case may take (default: %(default)s)")


def pytest_configure(config):
    # A shell that starts us in the background ignores these, which the programs that we start would inherit.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    unittest.TestCase.maxDiff = None  # the messages are cut by shorten()
    words = config.getoption("--select").split()
    config.gorgon_kinds = [word for word in words if word in KINDS] or (SANITIZED_KINDS if harness.SANITIZED else KINDS)
    config.gorgon_words = [word for word in words if word not in KINDS]
    config.gorgon_units = set(map(Path, choose(glob.glob(os.path.join(harness.ROOT, "tests", "*", "*_*.c")), config.gorgon_words)))
    config.gorgon_second_tries = {}  # {what has passed at its second try: why it had failed before}


# ---- which cases --------------------------------------------------------------------------

def kind(path):
    return "unit" if path.suffix == ".c" else path.parent.name


def short_name(item):
    """test_dl:CASE of a unit, gdb/test_walk:CASE of other kinds."""
    place = item.path.stem if kind(item.path) == "unit" else f"{kind(item.path)}/{item.path.stem}"
    return f"{place}:{item.name}"


def pytest_ignore_collect(collection_path, config):
    """True for files of kinds that were not asked for, and for units without any of the words; None leaves it to pytest."""
    if not collection_path.is_file():
        return None
    if kind(collection_path) not in config.gorgon_kinds:
        return True
    if collection_path.suffix == ".c" and config.gorgon_words and collection_path not in config.gorgon_units:
        return True
    return None


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".c" and re.match("test_|fuzz_", file_path.name):
        return Program.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(config, items):
    def wanted(item):
        return any(word in short_name(item) or word in item.nodeid for word in config.gorgon_words)

    def is_thorough(item):
        return any(getattr(part, "thorough", False) for part in (getattr(item, "cls", None), getattr(item, "obj", None)))

    if not config.gorgon_words:
        left = os.environ.get("THOROUGH") == "yes"  # tests/long/thorough.py runs what make check leaves out
        config.hook.pytest_deselected(items=[item for item in items if is_thorough(item) != left])
        items[:] = [item for item in items if is_thorough(item) == left]
    # Units first: their failures explain others.
    items.sort(key=lambda item: (not is_worker(config) or short_name(item).partition(":")[0] not in LONGEST, KINDS.index(kind(item.path))))
    if config.gorgon_words:
        config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
        items[:] = filter(wanted, items)


# ---- cmocka's cases -----------------------------------------------------------------------

class Failure(Exception):
    """A case of a program has failed. The argument is why."""


class Program(pytest.File):
    """A cmocka program."""

    process = None  # the running process, or None

    def collect(self):
        stem = self.path.stem
        self.program = os.path.join(harness.BUILD, "tests", stem if stem.startswith("test_") else f"test_{stem}")
        if not os.path.exists(self.program):
            raise self.CollectError(f"{self.program} is not there; `make check-unit` builds it")
        with self.start("?") as process:
            names = process.communicate(timeout=ENDING)[0].decode(errors="replace").split()
        if process.returncode or not names or len(set(names)) < len(names):
            raise self.CollectError(f"{self.program} has no cases, or several of one name:\n{' '.join(names)}")
        for number, name in enumerate(names):
            yield Case.from_parent(self, name=name, number=number)

    def start(self, cases):
        environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", TEST_CASES=cases,
                           **{name: text for name, text in harness.SANITIZER_ENV.items() if name != "PYTHONMALLOC"})
        return subprocess.Popen([self.program], env=environment, cwd=harness.ROOT, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def start_from(self, case):
        """Start a process for a case and for the cases behind it, as far as they come in the program's own
        order."""
        items = self.session.items
        chosen = [case]
        for item in items[items.index(case) + 1:]:
            if item.parent is not self or item.number < chosen[-1].number:
                break
            chosen.append(item)
        self.last, self.rest, self.failures = chosen[-1], b"", 0
        self.process = self.start(" ".join(item.name for item in chosen))

    def run(self, case):
        if not self.process:
            self.start_from(case)
        outcome, text = self.result(case, time.monotonic() + self.config.getoption("--limit"))
        self.failures += outcome == "not ok"
        if case is self.last and self.process:
            rest = self.end(time.monotonic() + ENDING)
            if self.status and not self.failures:  # outside of cases: a sanitizer finds something at the end
                outcome, text = "not ok", f"{text}\n{rest}\n{STATUS} {self.status}"
        if outcome == "not ok":
            raise Failure(text)
        if outcome == "SKIP":
            pytest.skip("; ".join(text.splitlines()) or "the case says no reason")

    def result(self, case, late):
        """(outcome, text) of a case. cmocka prints "ok 1 - name", "not ok 1 - name" and why, or "not ok 1 # SKIP name", from its
        version 2 on "ok 1 - name # SKIP"; before it comes what the case has printed. Why it has failed is in lines behind it, which
        begin with "# ", from version 2 on in a block of YAML, which is indented."""
        text = []
        while True:
            line = self.line(late)
            if line is None:
                why = "the program has ended" if self.ended else f"the case has not ended after {self.config.getoption('--limit')} s"
                text += [self.end(time.monotonic() + (ENDING if self.ended else 0)), f"{why}, exit status {self.status}"]
                return "not ok", "\n".join(text)
            found = re.match(r"(ok|not ok) \d+ (?:- |# (SKIP) )(\S+)(?: # (SKIP))?", line)
            if found and found[3] == case.name:
                break
            if not re.match(r"1\.\.\d+$|TAP version \d+$", line):
                text.append(line)
        skipped = found[2] or found[4]
        if found[1] == "not ok" and not skipped:
            while (line := self.line(time.monotonic() + QUIET, ("# ", "  "))) is not None:
                text.append(line.strip())
        return skipped or found[1], "\n".join(text)

    def line(self, late, beginning=""):
        """The next line. None, and nothing is read, if no line comes in time or the line begins otherwise."""
        self.ended = False
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], max(0, late - time.monotonic()))[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more and not self.rest:
                self.ended = True
                return None
            self.rest += more or b"\n"
        line, rest = self.rest.split(b"\n", 1)
        text = line.decode(errors="replace")
        if not text.startswith(beginning):
            return None
        self.rest = rest
        return text

    def end(self, late):
        """Wait for the end of the process, and kill it when it is late. Returns what it has still printed."""
        text = []
        while (line := self.line(late)) is not None:
            text.append(line)
        try:
            self.status = self.process.wait(max(0, late - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.status = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return "\n".join(text)

    def teardown(self):
        if self.process:
            self.end(0)  # the run stops early: --exitfirst


class Case(pytest.Item):
    """A case of a cmocka program."""

    def __init__(self, *, number, **kwargs):
        super().__init__(**kwargs)
        self.number = number

    def runtest(self):
        self.parent.run(self)

    def repr_failure(self, excinfo):
        return shorten(excinfo.value.args[0]) if isinstance(excinfo.value, Failure) else super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, short_name(self)


# ---- unittest's cases ---------------------------------------------------------------------

def add_sub_test(self, test, subtest, failure):
    """unittest calls this at the end of each subTest(). When a part fails its case fails, and the parts behind it
    still run."""
    if isinstance(failure, pytest.ExceptionInfo):  # pytest 9 passes on a part that is skipped; older ones skip the case
        self.__dict__.setdefault("_excinfo", []).append(failure)
    elif failure:
        text = "".join(traceback.format_exception_only(*failure[:2]))
        self.add_report_section("call", "subtest", f"{subtest._subDescription()}\n{shorten(text)}")
        if not getattr(self, "_excinfo", None):
            self.addFailure(test, failure)


TestCaseFunction.addSubTest = add_sub_test
TestCaseFunction.failfast = False


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Program.run() has the limit for cases of a cmocka program."""
    if isinstance(item, Case) or threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = item.config.getoption("--limit")

    def expire(_signal, _frame):
        raise AssertionError(f"the case has not ended after {limit} s")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, limit)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """In unittest's messages the output of a debugger is one line of a megabyte: shorten it."""
    report = (yield).get_result()
    if report.failed and call.excinfo and hasattr(report.longrepr, "reprtraceback"):
        lines = report.longrepr.reprtraceback.reprentries[-1].lines
        first = next((number for number, line in enumerate(lines) if line.startswith("E ")), None)
        if first is not None:
            lines[first:] = [f"E   {line}" for line in shorten(call.excinfo.exconly()).splitlines()]


def is_worker(config):
    """Whether this is one of pytest-xdist's processes, which run cases for the process that tells of them."""
    return hasattr(config, "workerinput")


# ---- a second try -------------------------------------------------------------------------

def try_again(item, failed):
    """Run a case that has failed once more, alone. If it passes, these reports stand for the failed ones."""
    reports = runtestprotocol(item, log=False)
    if any(report.failed for report in reports):
        return
    stats = item.config.pluginmanager.get_plugin("terminalreporter").stats
    for category in "failed", "error":
        stats[category] = [report for report in stats.get(category, []) if report not in failed]
    item.session.testsfailed -= len(failed)
    item.config.gorgon_second_tries[short_name(item)] = "\n".join(report.longreprtext for report in failed)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session):
    """Among thousands of cases that drive debuggers and threads against the clock, one may fail because the machine was busy. Such
    a case gets a second try, and the end of the run names it."""
    outcome = yield
    if outcome.excinfo or harness.SANITIZED or is_worker(session.config):
        return
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    failed = {}
    for report in stats.get("failed", []) + stats.get("error", []):
        failed.setdefault(report.nodeid, []).append(report)
    if not 0 < len(failed) <= SECOND_TRIES or any(STATUS in report.longreprtext for report in sum(failed.values(), [])):
        return
    session.config.gorgon_words = []
    for name, reports in failed.items():
        # Collected anew: where workers ran the cases this process has none, and a program runs what was collected.
        for item in session.perform_collect([name]):
            try_again(item, reports)


# ---- what is shown ------------------------------------------------------------------------

def counts(config):
    stats = config.pluginmanager.get_plugin("terminalreporter").stats
    return len(stats.get("passed", [])), len(stats.get("failed", []) + stats.get("error", [])), len(stats.get("skipped", []))


def skips(config):
    """{why cases were skipped: [the file of each]}, the reason of the most cases first."""
    found = {}
    for report in config.pluginmanager.get_plugin("terminalreporter").stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        place = report.nodeid.split("::")[0].removeprefix("tests/").rpartition(".")[0]
        found.setdefault(reason.removeprefix("Skipped: "), []).append(place)
    return dict(sorted(found.items(), key=lambda entry: -len(entry[1])))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """A log has a line for each case, a terminal has progress. pytest-xdist has started its workers by now: before that, a request
    for such lines makes it ask each worker what it is, and then a worker may run cases on a thread that can have no handlers."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not reporter.isatty and not session.config.option.verbose:
        session.config.option.verbose = 1


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    if not exitstatus and not is_worker(session.config) and not session.config.option.collectonly and not counts(session.config)[0]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED  # all cases were skipped, so nothing was tested


def pytest_unconfigure(config):
    if config.pluginmanager.get_plugin("terminalreporter") and not config.option.collectonly and not is_worker(config):
        passed, failed, skipped = counts(config)
        for reason, places in skips(config).items():
            config.get_terminal_writer().line(f"skipped, {len(places)}: {reason} ({', '.join(sorted(set(places)))})")
        for name, why in config.gorgon_second_tries.items():
            config.get_terminal_writer().line(f"passed at its second try only: {name}. Before:\n{why}")
        config.get_terminal_writer().line(f"{passed} passed, {failed} failed, {skipped} skipped")
