# SPDX-License-Identifier: MIT
"""numpy's own tests in a private copy, beside a second numpy that works: as in plain python3.

Usage: numpy_suite.py [MODULE]...

The whole of numpy.test("full"), or some of its modules (numpy.core.tests.test_multiarray). It
runs once in python3 and once in interpreter 0 of `gorgon run -n 2`, where interpreter 1
multiplies matrices until the tests have ended. Each test's outcome, with the reason of a skip,
is compared by its name; what differs for a reason is in ALLOWED.

This file is also the program that both run, with the words --inside FOLDER before the modules."""

import json
import os
import subprocess
import sys
import tempfile
import time

from report import Report
from harness import GORGON, PYTHON3

LIMIT = 3600  # seconds for one run
# The same tests whatever else the machine does: names of parameters that come from a set, and which
# tests of large arrays there is memory for.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "NPY_AVAILABLE_MEM": "4 GB", "PYTHONDONTWRITEBYTECODE": "1"}
OUTCOMES = ["passed", "failed", "error", "skipped", "xfailed", "xpassed", "did not end"]
# {name of a test: (its outcome in a private copy, why)}
ALLOWED = {
    "linalg/tests/test_linalg.py::test_xerbla_override": (
        "skipped", "a shared BLAS has an xerbla of its own; numpy's replaces it in a private one"),
}
# What numpy.linalg is bound to; see the row that makes it private.
BLAS = ["--private", "libblas.so*", "--private", "liblapack.so*"]


# ---- inside: the program --------------------------------------------------------------------


class Recorder:
    """A plug-in of pytest: a line of JSON for each event. Lines are written at once, so that
    they tell which test a crash was in."""

    def __init__(self, path):
        self.file = open(path, "w", buffering=1)

    def write(self, **fields):
        self.file.write(json.dumps(fields) + "\n")

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


def peak_memory():
    """MiB of this process, without its children."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) // 1024


def run_suite(folder, modules):
    import numpy
    import pytest
    recorder = Recorder(f"{folder}/tests")
    status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", os.path.dirname(numpy.__file__),
                          "--pyargs", *modules], plugins=[recorder])
    recorder.write(status=int(status), peak=peak_memory())
    recorder.file.close()


def work_until_tests_end(folder):
    """Products whose values are known, in this interpreter's own numpy."""
    import numpy
    count = wrong = 0
    while not os.path.exists(f"{folder}/ended"):
        n = 2 + count % 60
        product = numpy.ones((n, n)) @ numpy.arange(n * n, dtype=float).reshape(n, n)
        wrong += not (product == n * numpy.arange(n) + n * n * (n - 1) // 2).all()
        count += 1
        open(f"{folder}/working", "w").close()
        time.sleep(0.01)  # the tests need the processor
    with open(f"{folder}/beside", "w") as file:
        json.dump({"count": count, "wrong": wrong}, file)


def inside(folder, modules):
    try:
        from gorgon import interpreter
    except ImportError:
        return run_suite(folder, modules)  # python3 itself
    if interpreter:
        return work_until_tests_end(folder)
    end = time.monotonic() + 60
    while not os.path.exists(f"{folder}/working") and time.monotonic() < end:
        time.sleep(0.01)
    try:
        run_suite(folder, modules)
    finally:
        open(f"{folder}/ended", "w").close()


# ---- outside: run both, compare -----------------------------------------------------------------


class Run:
    """One run of the program: {test: (outcome, detail)} in .tests, the status of pytest and of the process."""

    def __init__(self, command, modules, progress):
        self.tests, self.status, self.peak, self.beside = {}, None, None, None
        with tempfile.TemporaryDirectory(prefix="gorgon-numpy-") as folder:
            with open(f"{folder}/output", "w+") as output:
                self.process_status = self.wait(folder, subprocess.Popen(
                    [*command, os.path.abspath(__file__), "--inside", folder, *modules], cwd=folder, stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output, env=dict(os.environ, **ENVIRONMENT)), progress)
                output.seek(0)
                self.output = output.read()
            for event in self.events(folder):
                if "test" in event:
                    # The last one counts; a failure stays one (of a tear-down after the test itself passed).
                    if self.tests.get(event["test"], ("",))[0] not in ("failed", "error"):
                        self.tests[event["test"]] = event["outcome"], event["detail"]
                elif "status" in event:
                    self.status, self.peak = event["status"], event["peak"]
            if os.path.exists(f"{folder}/beside"):
                with open(f"{folder}/beside") as file:
                    self.beside = json.load(file)

    @staticmethod
    def events(folder):
        if not os.path.exists(f"{folder}/tests"):
            return
        with open(f"{folder}/tests") as file:
            for line in file:
                if line.endswith("\n"):
                    yield json.loads(line)

    def wait(self, folder, process, progress):
        end = time.monotonic() + LIMIT
        try:
            while process.poll() is None and time.monotonic() < end:
                events = list(self.events(folder))
                progress(sum(event.get("outcome") == "did not end" for event in events),
                         max((event.get("collected", 0) for event in events), default=0))
                try:
                    process.wait(2)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            process.kill()
        return process.wait()

    def counts(self):
        outcomes = [outcome for outcome, _ in self.tests.values()]
        return ", ".join(f"{outcomes.count(name)} {name}" for name in OUTCOMES if name in outcomes) or "no tests"

    def unfinished(self):
        """What is worth knowing when it did not end."""
        running = [test for test, (outcome, _) in self.tests.items() if outcome == "did not end"]
        return f"in {running}\n{self.output[-3000:]}"


def compare(plain, private):
    """[(test, text)] of all differences."""
    nothing = "not run", ""
    for test in sorted(plain.tests.keys() | private.tests.keys()):
        before, after = plain.tests.get(test, nothing), private.tests.get(test, nothing)
        # Texts of failures have addresses: outcomes count there, reasons only for what was skipped.
        if before[0] != after[0] or (before[0] == "skipped" and before != after):
            yield test, f"{test}\n  python3: {': '.join(before)}\n  private copy: {': '.join(after)}"


def compare_in_copy(report, modules, plain, case, options, allowed):
    """The tests in a private copy, with these options of gorgon run."""
    private = Run([GORGON, "run", "-n", "2", "--python", PYTHON3, *options], modules,
                  lambda done, total: report.progress(done, total, case))
    report.check(f"{case}: the tests end", (private.process_status, private.status) == (0, plain.status), "status 0",
                 f"status {private.process_status}, {private.counts()}, peak {private.peak} MiB (both interpreters)",
                 private.unfinished())
    beside = private.beside or {"count": 0, "wrong": 0}
    report.check(f"{case}: the second numpy works beside them", beside["count"] and not beside["wrong"],
                 "0 wrong products", f"{beside['wrong']} wrong of {beside['count']} products")
    different = dict(compare(plain, private))
    for test, (outcome, reason) in allowed.items():
        if test in different and private.tests.get(test, ("",))[0] == outcome:
            del different[test]
            report.check(f"{case}: {test}", True, f"{outcome}: {reason}", outcome)
    report.check(f"{case}: tests that end otherwise than in python3", not different, "0", len(different),
                 "\n".join(different.values()))


def check(report, modules):
    plain = Run([PYTHON3], modules, lambda done, total: report.progress(done, total, "python3"))
    report.check("python3: the tests end", (plain.process_status, plain.status in (0, 1)) == (0, True), "status 0",
                 f"status {plain.process_status}, {plain.counts()}, peak {plain.peak} MiB", plain.unfinished())
    compare_in_copy(report, modules, plain, "private copy", [], ALLOWED)


def check_private_blas(report):
    modules = ["numpy.linalg"]
    plain = Run([PYTHON3], modules, lambda done, total: report.progress(done, total, "python3, numpy.linalg"))
    compare_in_copy(report, modules, plain, "private copy, private BLAS, numpy.linalg", BLAS, {})


def main(words):
    if words[:1] == ["--inside"]:
        return inside(words[1], words[2:])
    report = Report("numpy's own tests")
    check(report, words or ["numpy"])
    if not words:
        check_private_blas(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
