#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPython 3.14's own tests of concurrent.interpreters, on gorgon.interpreters and each CPython of this machine, and on CPython 3.14
in a root of Debian sid. The programs of programs/portable, too, there beside CPython's own module.

Usage: interpreters.py [WORD]...       (only tests with such a word; of a CPython, where its name has it, or "sid")

The tests are those of Debian sid's package, which is fetched, not installed. They also use modules of CPython's own:
programs/interpreters/ has what stands in for these."""

import json
import os
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run")]
import harness  # noqa: E402
import test_interpreters_programs as portable  # noqa: E402
from named import installed, label  # noqa: E402
from pools import FOLDER, prepare  # noqa: E402
from report import Report  # noqa: E402
from root import Root, Unavailable, mirror  # noqa: E402
from wheel_roots import RELEASES, wheel  # noqa: E402

SUITE = "sid"
PACKAGE, KEYRING = "libpython3.14-testsuite", "/usr/share/keyrings/debian-archive-keyring.gpg"
TESTS = os.path.join(harness.ROOT, "build", "tests-3.14")
PROGRAMS = portable.FOLDER
STAND_INS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "interpreters")
SKIPPED = "CPython skips it everywhere"
C_API = "interpreters that C code has made, and that run scripts beside the module"
CONFIG = "configurations of CPython's subinterpreters, which decide whether they share a GIL and memory"
COUNTS = "functions of a private module, which count references of queues"

# {test: what it assumes}
ASSUMES = {
    "test_api.LowLevelTests.test_create": CONFIG,
    "test_api.LowLevelTests.test_destroy": C_API,
    "test_api.LowLevelTests.test_exec": C_API,
    "test_api.LowLevelTests.test_get_config": CONFIG,
    "test_api.LowLevelTests.test_is_running": C_API,
    "test_api.LowLevelTests.test_list_all": "an interpreter stays when the executor whose call has made it ends",
    "test_api.LowLevelTests.test_new_config": CONFIG,
    "test_api.LowLevelTests.test_set___main___attrs": C_API,
    "test_api.LowLevelTests.test_whence": C_API,
    "test_api.TestInterpreterClose.test_created_with_capi": C_API,
    "test_api.TestInterpreterClose.test_remaining_daemon_threads": CONFIG,
    "test_api.TestInterpreterClose.test_still_running": SKIPPED,
    "test_api.TestInterpreterExec.test_already_running": SKIPPED,
    "test_api.TestInterpreterExec.test_created_with_capi": C_API,
    "test_api.TestInterpreterExec.test_display_preserved_exception": "the module's name, and marks in tracebacks that 3.13 began",
    "test_api.TestInterpreterExec.test_fork": "os.fork() is refused inside: here it works",
    "test_api.TestInterpreterIsRunning.test_created_with_capi": C_API,
    "test_api.TestInterpreterIsRunning.test_subinterpreter": SKIPPED,
    "test_api.TestInterpreterPrepareMain.test_created_with_capi": C_API,
    "test_queues.LowLevelTests.test_bind_release": COUNTS,
    "test_queues.LowLevelTests.test_create_destroy": COUNTS,
    "test_stress.StressTests.test_create_interpreter_no_memory": "a function that makes CPython's allocations fail",
}


def fetch():
    """The tests' folder; None and why there are none."""
    tests = f"{TESTS}/usr/lib/python3.14/test"
    if os.path.exists(f"{tests}/test_interpreters"):
        return tests, None
    with tempfile.TemporaryDirectory(prefix="gorgon-apt-") as folder:
        for name in "lists/partial", "cache/archives/partial":
            os.makedirs(f"{folder}/{name}")
        with open(f"{folder}/sid.list", "w") as file:
            file.write(f"deb [signed-by={KEYRING}] {(mirror() or ['http://deb.debian.org/debian'])[0]} sid main\n")
        options = [f"-o{name}={value}" for name, value in {
            "Dir::Etc::SourceList": f"{folder}/sid.list", "Dir::Etc::SourceParts": "/dev/null", "Dir::State::Lists": f"{folder}/lists",
            "Dir::Cache": f"{folder}/cache", "Acquire::Check-Valid-Until": "false"}.items()]
        for command in (["apt-get", "-qq", *options, "update"], ["apt-get", "-qq", *options, "download", PACKAGE]):
            result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if result.returncode:
                return None, f"{PACKAGE} of sid: {result.stderr.strip()[-300:]}"
        package = next(name for name in os.listdir(folder) if name.endswith(".deb"))
        subprocess.run(["dpkg-deb", "-x", f"{folder}/{package}", TESTS], check=True)
    return tests, None


def main(words):
    report = Report("CPython's tests of interpreters")
    pythons = [python for python in installed() if not python.endswith("d")]  # without the debug build
    chosen = [python for python in [*pythons, SUITE] if any(word in python for word in words)]
    words = [word for word in words if not any(word in python for python in chosen)]
    chosen = chosen or [*pythons, SUITE]
    tests, reason = fetch()
    if not tests:
        report.skip("the tests", reason)
        return report.finish()
    with tempfile.TemporaryDirectory() as site, tempfile.TemporaryDirectory() as programs:
        harness.install_package(site)
        portable.write(programs)
        for python in chosen:
            if python == SUITE:
                continue

            def run(*command, python=python, path="", **env):
                return harness.run(python, *command, cwd=site, timeout=3600, env={"PYTHONPATH": f"{path}:{site}", **env})

            check_suite(report, label(python), words, run, f"{STAND_INS}/suite.py", path=STAND_INS, TESTS=tests)
            if not words:
                optional = {} if run("-c", "import numpy").returncode == 0 else {"ARRAYS": "optional"}
                check_programs(report, label(python), run, programs, **optional)
    if SUITE in chosen:
        try:
            check_sid(report, words)
        except Unavailable as error:
            report.skip("Debian sid", error)
    return report.finish()


def check_sid(report, words):
    name, version = RELEASES[SUITE]
    name, root = f"{name}, CPython {version}", Root(SUITE, SUITE)
    with tempfile.TemporaryDirectory() as folder:
        programs = f"{folder}/programs"
        os.mkdir(programs)
        portable.write(programs)
        prepare(root, version, ["python3-numpy"], wheel(), STAND_INS, PROGRAMS, programs)

    def run(*command, path="", **env):
        return root.run("python3", *command, env={"PYTHONPATH": f"{path}:{FOLDER}/site", **env}, cwd=FOLDER, timeout=3600)

    check_suite(report, name, words, run, f"{FOLDER}/interpreters/suite.py", path=f"{FOLDER}/interpreters",
                TESTS=f"/usr/lib/python{version}/test")
    if not words:
        check_programs(report, name, run, f"{FOLDER}/programs")
        check_programs(report, f"{name}, its own module", run, f"{FOLDER}/portable", ARRAYS="optional")


def check_programs(report, name, run, folder, **env):
    wrong = {}
    for program in portable.PROGRAMS:
        result, expected = run(f"{folder}/{program}", path=folder, **env), portable.change(program)[1]
        if (result.returncode, result.stdout) != (0, expected):
            wrong[program] = f"status {result.returncode}\n{result.stdout}{result.stderr[-2000:]}"
    report.check(f"{name}: programs{'' if not env else ' without numpy inside'}", not wrong, f"{len(portable.PROGRAMS)} print what they say",
                 f"{len(portable.PROGRAMS) - len(wrong)} do", "\n".join(f"{program}: {text}" for program, text in wrong.items()))


def check_suite(report, name, words, run, suite, **env):
    result = run(suite, *words, **env)
    if not report.check(f"{name}: the tests end", result.returncode == 0, "status 0", f"status {result.returncode}", result.stderr[-3000:]):
        return
    outcomes = json.loads(result.stdout.splitlines()[-1])
    passed = sum(outcome == "passed" for outcome, _ in outcomes.values())
    if not words:
        report.check(f"{name}: tests that pass", passed >= 115, f"115 or more of {len(outcomes)}", passed)
    for test, (outcome, text) in outcomes.items():
        if outcome != "passed" or test in ASSUMES:
            report.check(f"{name}: {test}", outcome != "passed" and test in ASSUMES,
                         f"does not pass: {ASSUMES[test]}" if test in ASSUMES else "passes", outcome, text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
