#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the tests: one line per case, then what has failed, a summary, exit status 1 when a case failed.

Usage: run.py [KIND | PATTERN]...

Kinds are unit (C, cmocka), run (the command), jitreg (the registrar alone under both
debuggers), symdump (gorgon-symdump), gdb and lldb (sessions); any other word selects cases
whose name contains it. With SAN set the last three are left out: a sanitizer's runtime
changes what they see."""

import glob
import importlib.util
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import harness  # noqa: E402
from excerpt import excerpt  # noqa: E402

KINDS = ["unit", "run", "jitreg", "symdump", "gdb", "lldb", "parity"]

# Lines of why a case has failed: where it happens; at the end for one, for all together, and for each at least.
AT_ONCE, ONE, ALL, LEAST = 200, 40, 60, 10


class Report:
    """Counts, prints a line per case as it ends, and at the end why some have failed."""

    def __init__(self, patterns):
        self.patterns = patterns
        self.counts = {"ok": 0, "FAILED": 0, "skipped": 0}
        self.failed = []

    def wants(self, name):
        return not self.patterns or any(pattern in name for pattern in self.patterns)

    def add(self, name, outcome, seconds=None, detail=""):
        self.counts[outcome] += 1
        if outcome == "FAILED":
            self.failed.append((name, detail))
        took = f"  {seconds:.1f} s" if seconds is not None and seconds >= 0.1 else ""
        print(f"{outcome:8}{name}{took}{'  ' + detail if outcome == 'skipped' else ''}", flush=True)
        if outcome == "FAILED":
            print(self.indented(detail, AT_ONCE), flush=True)

    def explain(self):
        for name, detail in self.failed:
            limit = min(ONE, max(LEAST, ALL // len(self.failed)))
            print(f"\nfailed: {name}\n{self.indented(detail, limit)}")

    @staticmethod
    def indented(detail, limit):
        return textwrap.indent(excerpt(detail, limit), "    ")


class Result(unittest.TestResult):
    """Hands each case of unittest to the report."""

    def __init__(self, report):
        super().__init__()
        self.report = report
        self.sub_failures = {}
        self.started = time.monotonic()  # a class's set-up can fail before any case starts

    @staticmethod
    def name(test):
        parts = test.id().split(".")
        return f"{parts[0].replace('@', '/')}:{parts[-1]}"

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def finish(self, test, outcome, detail=""):
        self.report.add(self.name(test), outcome, time.monotonic() - self.started, detail)

    def addSuccess(self, test):
        if test in self.sub_failures:
            self.finish(test, "FAILED", self.sub_failures.pop(test))
        else:
            self.finish(test, "ok")

    def addSubTest(self, test, subtest, err):
        if err:
            text = f"{subtest}\n{self._exc_info_to_string(err, test)}"
            self.sub_failures[test] = self.sub_failures.get(test, "") + text

    def stopTest(self, test):
        super().stopTest(test)
        if test in self.sub_failures:
            self.finish(test, "FAILED", self.sub_failures.pop(test))

    def addFailure(self, test, err):
        self.finish(test, "FAILED", self.sub_failures.pop(test, "") + self._exc_info_to_string(err, test))

    addError = addFailure

    def addSkip(self, test, reason):
        self.finish(test, "skipped", reason)


def load(path):
    name = os.path.relpath(path, HERE)[:-3].replace("/", "@")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def run_python(kind, report):
    unittest.TestCase.maxDiff = None  # excerpt() shortens
    for path in sorted(glob.glob(os.path.join(HERE, kind, "test_*.py"))):
        result = Result(report)
        selected = [case for case in cases(load(path)) if report.wants(Result.name(case))]
        # A suite, not a loop: class-level set-up must run once.
        unittest.TestSuite(selected).run(result)


def run_unit(report):
    for path in sorted(glob.glob(os.path.join(harness.BUILD, "tests", "test_*"))):
        if path.endswith(".d"):
            continue
        name = os.path.basename(path)
        if not report.wants(name):
            continue
        started = time.monotonic()
        try:
            options = {name: text for name, text in harness.SANITIZER_ENV.items() if name != "PYTHONMALLOC"}
            env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP", **options)
            process = subprocess.run([path], env=env, cwd=harness.ROOT,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
                                     stdin=subprocess.DEVNULL, errors="replace", check=False)
            output, status = process.stdout, process.returncode
        except subprocess.TimeoutExpired as error:
            output, status = (error.stdout or b"").decode(errors="replace"), "time-out"
        failures = 0
        # cmocka: "ok 1 - name", "not ok 1 - name" and why, "not ok 1 # SKIP name"; before each what the case has printed.
        parts = re.split(r"^((?:not )?ok \d+ .*)\n", output, flags=re.M)
        for before, line, after in zip(parts[0::2], parts[1::2], parts[2::2]):
            match = re.match(r"(ok|not ok) \d+ (?:- |# (SKIP) )(\w+)", line)
            if not match:
                continue
            outcome = "skipped" if match[2] else "ok" if match[1] == "ok" else "FAILED"
            failures += outcome == "FAILED"
            report.add(f"{name}:{match[3]}", outcome, detail=before + after if outcome == "FAILED" else "")
        if status and not failures:
            report.add(name, "FAILED", time.monotonic() - started, f"exit status {status}\n{output}")


def run_jitreg(report):
    name = "jitreg_debuggers"
    if report.patterns and not report.wants(name):
        return
    process = subprocess.run([sys.executable, os.path.join(HERE, "jitreg", f"{name}.py")], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.STDOUT, env=dict(os.environ, BUILD=harness.BUILD), check=False)
    failures = 0
    # "ok     what", "FAILED what" and why.
    for outcome, case, detail in re.findall(r"^(ok|FAILED) +(.*)\n((?:    .*\n)*)", process.stdout, re.M):
        failures += outcome == "FAILED"
        report.add(f"{name}:{case}", outcome, detail=detail)
    if process.returncode and not failures:
        report.add(name, "FAILED", detail=process.stdout)


def main(words):
    # A shell that starts us in the background ignores SIGINT, and what we start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kinds = [word for word in words if word in KINDS]
    report = Report([word for word in words if word not in KINDS])
    started = time.monotonic()
    for kind in kinds or (KINDS[:3] if harness.SANITIZED else KINDS):
        if kind == "unit":
            run_unit(report)
        elif kind == "jitreg":
            run_jitreg(report)
        else:
            run_python(kind, report)
    report.explain()
    counts = report.counts
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
