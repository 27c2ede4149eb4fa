# SPDX-License-Identifier: MIT
"""Suites of tests in python3 and in a private copy, beside a second interpreter that works: compared test by test.

What the suites' long tests (numpy_suite.py, ...) share. programs/suite.py is the program that
both run. A test may end otherwise for a reason, which is in a table of the suite:
{name of a test, or a pattern of names: (its outcome in a private copy, why)}. A row of it that
does not hold any more fails, too.

JOBS=2 in the environment runs both at once, which takes twice the memory."""

import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import GDB, GORGON, PYTHON3, source_line  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "suite.py")
JOBS = int(os.environ.get("JOBS") or 1)
COLD_LINES = ["events = Events(f", "count = wrong = 0"]  # of PROGRAM
OUTCOMES = ["passed", "failed", "error", "skipped", "xfailed", "xpassed", "did not end"]
NOT_RUN = "not run", ""
# The tests have the same names each time, also those whose parameters come from a set.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def python3():
    return [PYTHON3]


def private_copy(*options):
    """Interpreter 0 runs the tests, interpreter 1 works beside them. $OPTIONS has more options of `gorgon run`, and $LINES_IN=gdb
    lets it run under gdb, with a breakpoint at a Python line of each that is run once."""
    command = [GORGON, "run", "-n", "2", "--python", PYTHON3, *options, *os.environ.get("OPTIONS", "").split()]
    return [*under_gdb(), *command] if os.environ.get("LINES_IN") == "gdb" else command


def under_gdb():
    """gdb lets the program have each signal, its addresses at random and the environment as they are without."""
    commands = ["set breakpoint pending on", "set disable-randomization off", "unset environment LINES", "unset environment COLUMNS",
                "handle all nostop noprint pass", "handle SIGINT nostop noprint pass", "set python print-stack full"]
    for text in COLD_LINES:
        commands += [f"break {PROGRAM}:{source_line(PROGRAM, text)}"]
    commands += ["run", *["bt 3", "continue"] * len(COLD_LINES)]
    words = [word for command in commands for word in ("-ex", command)]
    return [GDB, "-q", "-nx", "-batch", "-return-child-result", *words, "--args"]


class Run:
    """One run of the program: {test: (outcome, detail)} in .tests, the status of the tests and of the process."""

    def __init__(self, command, words, env=None, limit=3600, progress=lambda done, total: None, cwd=None, program=(PROGRAM,)):
        self.tests, self.status, self.peak, self.beside = {}, None, 0, {"count": 0, "wrong": 0}
        self.collected = 0
        with tempfile.TemporaryDirectory(prefix="suite-", ignore_cleanup_errors=True) as folder:
            os.mkdir(f"{folder}/tmp")
            open(f"{folder}/tests", "w").close()
            environment = {**os.environ, **ENVIRONMENT, "TMPDIR": f"{folder}/tmp", **(env or {})}
            environment = {name: value for name, value in environment.items() if value is not None}
            with open(f"{folder}/output", "w+", errors="replace") as output:
                self.process_status = self.wait(folder, subprocess.Popen(
                    [*command, *(program or ()), folder, *words], cwd=cwd or f"{folder}/tmp", stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, env=environment, start_new_session=True), limit, progress)
                output.seek(0)
                self.output = output.read()
            if os.path.exists(f"{folder}/beside"):
                with open(f"{folder}/beside") as file:
                    self.beside = json.load(file)

    def note(self, test, outcome, detail):
        """The last outcome counts, except after a failure (a tear-down may fail after the test has passed), or after a
        skip."""
        before = self.tests.get(test, NOT_RUN)[0]
        if before not in ("failed", "error") and (before, outcome) != ("skipped", "passed"):
            self.tests[test] = outcome, detail

    def read(self, file):
        """What has been written to @file since the last time, whole lines of it."""
        for line in file:
            if not line.endswith(b"\n"):
                file.seek(-len(line), os.SEEK_CUR)
                return
            event = json.loads(line)
            if "test" in event:
                self.note(**event)
            elif "status" in event:
                self.status, self.peak = event["status"], event["peak"]
            else:
                self.collected = event["collected"]

    def wait(self, folder, process, limit, progress):
        end = time.monotonic() + limit
        with open(f"{folder}/tests", "rb") as events:
            try:
                while process.poll() is None and time.monotonic() < end:
                    self.read(events)
                    progress(len(self.tests), self.collected)
                    try:
                        process.wait(2)
                    except subprocess.TimeoutExpired:
                        pass
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # also ends what the tests have left behind
                except ProcessLookupError:
                    pass
            status = process.wait()
            self.read(events)
        return status

    def ended(self):
        return self.process_status == 0 and self.status is not None

    def has_stopped(self):
        """gdb has stopped at each of the lines, once."""
        stops = re.findall(r"hit Breakpoint (\d+)", self.output)
        return sorted(stops) == [str(i + 1) for i in range(len(COLD_LINES))]

    def running(self):
        return [test for test, (outcome, _) in self.tests.items() if outcome == "did not end"]

    def unfinished(self):
        """What is worth knowing when it did not end."""
        return f"in {self.running()}\n{self.output[-3000:]}"


def counts(tests):
    outcomes = [outcome for outcome, _ in tests.values()]
    names = [*OUTCOMES, *sorted(set(outcomes) - set(OUTCOMES))]
    return ", ".join(f"{outcomes.count(name)} {name}" for name in names if name in outcomes) or "no tests"


class Difference:
    def __init__(self, test, before, after):
        self.test, self.before, self.after = test, before, after

    def __str__(self):
        return f"{self.test}\n  python3: {': '.join(self.before)}\n  private copy: {': '.join(self.after)}"


def reason(outcome):
    """Why a test was skipped; names of temporary files have the process's number."""
    return re.sub(r"_\d+_tmp", "_PID_tmp", outcome[1])


def compare(plain, private):
    """The Differences of two dictionaries of tests."""
    differences = []
    for test in sorted(plain.keys() | private.keys()):
        before, after = plain.get(test, NOT_RUN), private.get(test, NOT_RUN)
        # Texts of failures have addresses: outcomes count there, reasons only for what was skipped.
        if before[0] != after[0] or (before[0] == "skipped" and reason(before) != reason(after)):
            differences.append(Difference(test, before, after))
    return differences


def explain(differences, allowed):
    """([(Difference, reason)], Differences without, rows of @allowed that none needs)."""
    explained, left, used = [], [], set()
    for difference in differences:
        for pattern, (outcome, reason) in allowed.items():
            # Brackets are of names of parameters.
            if outcome == difference.after[0] and fnmatch.fnmatchcase(difference.test, pattern.replace("[", "[[]")):
                used.add(pattern)
                explained.append((difference, reason))
                break
        else:
            left.append(difference)
    return explained, left, [pattern for pattern in allowed if pattern not in used]


class Suite:
    """Rows of the report, and of tests/long/COMPATIBILITY.md, about one suite; @allowed as above. @peer: what it is compared with."""

    def __init__(self, report, name, version, allowed, peer="python3"):
        self.report, self.name, self.version, self.allowed, self.peer = report, name, version, allowed, peer

    def check_ended(self, case, run, statuses):
        both = "" if self.peer in case else " (both interpreters)"
        seen = f"status {run.process_status}, {counts(run.tests)}, peak {run.peak} MiB{both}"
        self.report.check(f"{case}: the tests end", run.ended() and run.tests and run.status in statuses, "status 0", seen,
                          run.unfinished())

    def check_beside(self, case, beside, idle=()):
        """@idle: runs in which it did nothing at all."""
        self.report.check(f"{case}: the second interpreter works beside them",
                          beside["count"] and not beside["wrong"] and not idle, "0 wrong results",
                          f"{beside['wrong']} wrong of {beside['count']} results", f"none in {' '.join(idle)}")

    def check_stops(self, case, runs):
        """@runs: {name: Run} in a private copy."""
        if os.environ.get("LINES_IN") != "gdb":
            return
        wrong = [name for name, run in runs.items() if not run.has_stopped()]
        self.report.check(f"{case}: gdb stops at a Python line of each interpreter", not wrong, f"in {len(runs)} runs",
                          f"in {len(runs) - len(wrong)}", "\n".join(f"{name}: {runs[name].output[-3000:]}" for name in wrong))

    def check_same(self, case, plain, private, complete=True):
        """Compare two dictionaries of tests. Not @complete: not all that @allowed is about has run."""
        explained, left, unused = explain(compare(plain, private), self.allowed)
        for difference, reason in explained:
            outcome = difference.after[0]
            self.report.check(f"{case}: {difference.test}", True, f"{outcome}: {reason}", outcome)
        self.report.check(f"{case}: tests that end otherwise than in {self.peer}", not left, "0", len(left),
                          "\n".join(map(str, left)))
        if complete:
            self.report.check(f"{case}: tests that are said to differ and do not", not unused, "0", len(unused),
                              "\n".join(unused))
        self.numbers = [len(plain.keys() | private.keys()), counts(plain), counts(private), len(explained) + len(left)]
        self.differences = [*explained, *((difference, "not explained") for difference in left)]


def check(report, package, version, words, slices=(), cwd=None, env=None, options=(), allowed=None, case="",
          complete=True):
    """Run a package's tests in both and compare; returns the Suite. @words, @cwd and @env are as for a Run; @slices:
    it is not all of its tests, but these; @options: of `gorgon run`, for a @case of this name."""
    name = f"{package}: {', '.join(slices)}" if slices else package
    suite = Suite(report, f"{name}{case and ', '}{case}", version, allowed or {})
    commands = {"python3": python3(), "private copy": private_copy(*options)}
    cases = [f"{which}{case and ', '}{case}" for which in commands]

    def run(which, command):
        return Run(command, [package, *words], env, cwd=cwd,
                   progress=lambda done, total: report.progress(done, total, which))
    with ThreadPoolExecutor(JOBS) as pool:
        runs = list(pool.map(run, cases, commands.values()))
    for which, one, statuses in zip(cases, runs, ((0, 1), (runs[0].status,))):
        suite.check_ended(which, one, statuses)
    which = cases[1]
    suite.check_beside(which, runs[1].beside)
    suite.check_stops(which, {package: runs[1]})
    suite.check_same(which, runs[0].tests, runs[1].tests, complete)
    return suite


def tables(report, suites):
    """What tests/long/COMPATIBILITY.md has of suites that were compared."""
    report.table("Suites", ["suite", "version", "tests", "python3", "private copy, beside a second one", "differences"])
    for suite in suites:
        report.entry(suite.name, suite.version, *suite.numbers)
    rows = [(suite, *pair) for suite in suites for pair in suite.differences]
    if rows:
        report.table("What differs", ["suite", "test", "python3", "private copy", "reason"])
    for suite, difference, reason in rows:
        report.entry(suite.name, difference.test, difference.before[0], difference.after[0], reason)
