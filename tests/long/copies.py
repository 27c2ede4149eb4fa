#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython's own tests, and numpy's, in copies of a template: as in a process of a pool.

Usage: copies.py [FILE | numpy | many]...

Each file of libpython3.11-testsuite runs in a call of ProcessPoolExecutor, and in a call of an executor whose worker is a copy of a
template; numpy's tests likewise, in a copy that has numpy from its template. Every test's outcome is compared by its name, as
cpython_suite.py does. MINUTES in the environment is after how long no further file begins; those that take long come last.
DONE is a file that has a line for each file of tests that has been run, which is not run again.

many: COPIES (10,000) of them, one after another, beside interpreters that compute; nothing is wrong, and nothing grows."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import cpython_suite
import inside
import suites
from report import Report
from sources import Unavailable, environment, installed
import harness

MANY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "many_copies.py")
MODES = {"process": "a process", "copy": "a copy"}
LIMIT = 1800  # seconds for numpy's
DONE = os.environ.get("DONE", os.devnull)
LEFT_OUT = {**cpython_suite.LEFT_OUT,
            "test_embed": "starts programs of its own", "test_gdb": "starts gdb and python3"}


STDIN = "multiprocessing closes the standard input of its processes"
NO_PROCESS = "it expects that no process of multiprocessing's runs it, as one of a pool is"
OFFSET = "hash() of a NaN is made of its address, object.__hash__() in a copy of its offset in the zone"
# {file: {test: (its outcome in a copy, why)}}
ALLOWED = {
    "test_builtin": {"test.test_builtin.PtyTests.test_input_no_stdout_fileno": ("passed", STDIN)},
    "test_curses": {"test.test_curses.TestCurses.test_typeahead": ("passed", STDIN)},
    "test_decimal": {"test.test_decimal.CUsabilityTest.test_hash_method_nan": ("failed", OFFSET)},
    "test_float": {"test.test_float.GeneralFloatCases.test_hash_nan": ("failed", OFFSET)},
    "test_logging": {"test.test_logging.LogRecordTest.test_multiprocessing": ("passed", NO_PROCESS)},
}


class File(cpython_suite.File):
    site = None
    until = float("inf")

    def run(self):
        env = {**cpython_suite.ENVIRONMENT, "PYTHONPATH": self.site}
        words = ["regrtest", self.name, *(word for pattern in cpython_suite.IGNORED.get(self.name, ()) for word in ("-i", pattern))]
        self.plain, self.private = (suites.Run([harness.PYTHON3, inside.PROGRAM, mode], words, env, cpython_suite.LIMIT, program=())
                                    for mode in MODES)

    def unexplained(self):
        allowed = {test: (outcome, why) for test, (modes, outcome, why) in inside.ALLOWED.get(self.name, {}).items() if "worker" in modes}
        return suites.explain(suites.compare(self.plain.tests, self.private.tests), {**allowed, **ALLOWED.get(self.name, {})})[1]


def run_file(name):
    """What the report needs: how many tests it has, and how it differs (text, or nothing)."""
    file = File(name)
    if file.unexplained() or file.plain.process_status != file.private.process_status:
        file.run_again()
    unexplained = file.unexplained()
    differs = unexplained or not file.private.ended()
    return {"file": name, "tests": len(file.private.tests),
            "differs": f"status {file.private.process_status}, {file.private.unfinished()}, "
                       f"{[str(one) for one in unexplained][:20]}" if differs else ""}


def check_cpython(report, names):
    done = {}
    if os.path.exists(DONE):
        with open(DONE) as lines:
            done = {one["file"]: one for one in map(json.loads, lines) if one["file"] in names}
    for name in sorted(set(names) - set(done), key=lambda name: (name in cpython_suite.LONGEST, name)):
        if time.monotonic() > File.until:
            break
        report.progress(len(done), len(names), name)
        done[name] = run_file(name)
        with open(DONE, "a") as lines:
            print(json.dumps(done[name]), file=lines)
    wrong = [f"{name}: {one['differs']}" for name, one in done.items() if one["differs"]]
    report.check(f"CPython's own: {len(done)} of {len(names)} files", not wrong, "as in a process",
                 f"{sum(one['tests'] for one in done.values())} tests, {len(wrong)} files differ", "\n".join(wrong))


def check_numpy(report):
    python = environment("inside")
    folder, version = installed("numpy", python)
    words = ["pytest", "-c", os.devnull, "--rootdir", folder, folder]
    env = {"PYTHONPATH": File.site, "TEMPLATE": "import numpy", "NPY_AVAILABLE_MEM": "4 GB"}
    plain, private = (suites.Run([python, inside.PROGRAM, mode], words, env, LIMIT, program=(),
                                 progress=lambda done, total: report.progress(done, total, "numpy")) for mode in MODES)
    suite = suites.Suite(report, "numpy", version, {}, MODES["process"])
    suite.check_ended("numpy in a copy", private, (plain.status,))
    suite.check_same("numpy in a copy", plain.tests, private.tests)


def check_many(report):
    count = int(os.environ.get("COPIES", "10000"))
    result = subprocess.run([harness.PYTHON3, "-B", MANY, str(count)], env={**os.environ, "PYTHONPATH": File.site}, text=True,
                            stdout=subprocess.PIPE, check=False)
    if result.returncode:
        report.check(f"{count} copies", False, "an end", f"status {result.returncode}")
        return
    told = json.loads(result.stdout)
    report.check(f"{count} copies beside interpreters that compute", not told["wrong"] and not told["wrong sums"] and told["sums"],
                 "no wrong result", f"{told['wrong']} wrong, {told['wrong sums']} of {told['sums']} sums beside them")
    # What begins anew with each tenth has been there after the first.
    first, last = told["points"][1], told["points"][-1]
    report.check(f"{count} copies: from the {first[0]}th on", all(after <= before * 1.02 + 4 for before, after in zip(first[1:], last[1:])),
                 "nothing grows", "KiB resident, mappings, descriptors: {} {} {}, then {} {} {}".format(*first[1:], *last[1:]))


def main(words):
    # A shell ignores Ctrl-C in what it starts in the background, and programs inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report("Suites in copies of a template")
    names = [name for name in words or cpython_suite.files() if name not in (*LEFT_OUT, "numpy", "many")]
    File.until = time.monotonic() + 60 * float(os.environ.get("MINUTES", "600"))
    with tempfile.TemporaryDirectory() as File.site:
        harness.install_package(File.site)
        try:
            if not words or "numpy" in words:
                check_numpy(report)
        except Unavailable as error:
            report.skip("numpy", error)
        if not words or "many" in words:
            check_many(report)
        if names:
            check_cpython(report, names)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
