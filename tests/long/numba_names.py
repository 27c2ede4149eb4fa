#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code that numba has compiled, in several interpreters, under gdb and lldb: each function has its
name there, a breakpoint on it stops, and the backtrace goes on into Python. So do gorgon-symdump's stacks.

numba tells debuggers when NUMBA_ENABLE_PROFILING is set. Its LLVM is linked statically
into llvmlite, with a registrar that nobody outside can call or replace."""

import os
import re
import subprocess
import sys
import time

from report import Report
import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "gdb"))
sys.path.insert(0, os.path.join(harness.ROOT, "tests", "lldb"))
import gdb_session  # noqa: E402
import lldb_session  # noqa: E402

COUNT = 3
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs", "numba_program.py")
REQUIREMENTS = os.path.join(HERE, "requirements-numba.txt")
VENV = os.path.join(harness.ROOT, "build", "venv-numba")
LINE = harness.source_line(PROGRAM, "# where the sessions stop")


def install():
    """numba in a virtual environment of its own."""
    done = os.path.join(VENV, ".done")
    if not os.path.exists(done) or os.path.getmtime(done) < os.path.getmtime(REQUIREMENTS):
        subprocess.run([harness.PYTHON3, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([os.path.join(VENV, "bin", "python"), "-m", "pip", "install", "--quiet",
                        "--disable-pip-version-check", "--no-deps", "-r", REQUIREMENTS], check=True)
        open(done, "w").close()
    return os.path.join(VENV, "bin", "python")


def command(python, before=""):
    return [harness.HOST, "-n", str(COUNT), "-p", python, f"{before}exec(compile(open('{PROGRAM}').read(), '{PROGRAM}', 'exec'))"]


def answers(output):
    return dict(re.findall(r"^answer (\d) (\d+)$", output, re.M))


EXPECTED = {str(i): str(sum(k * k + i for k in range(10))) for i in range(COUNT)}


def check_output(report, case, output):
    report.check(f"{case}: answers", answers(output) == EXPECTED, EXPECTED, answers(output), output[-3000:])


def check_gdb(report, python):
    output = harness.gdb([f"break __main__::sum_of_{i}" for i in range(COUNT)] +
                         [gdb_session.LOOP, "run", 'python drive({0: ["bt"]})'], *command(python))
    for i in range(COUNT):
        found = gdb_session.stops(output, i + 1)
        # The function, and a wrapper of the same name that Python calls.
        backtraces = [stop.output.get("bt", "") for stop in found]
        good = [text for text in backtraces
                if re.search(rf"^#0 .*__main__::sum_of_{i}\[", text) and "_PyEval_EvalFrameDefault" in text and
                gdb_session.frames(text)[-1] == "clone3"]
        report.check(f"gdb: sum_of_{i} stops under its name, on the way from Python to the thread", good,
                     "1 or more stops", f"{len(good)} of {len(found)}", output[-6000:])
        lines = {int(n) for text in good for n in re.findall(rf"^#0 .* at \S*{os.path.basename(PROGRAM)}:(\d+)", text)}
        report.check(f"gdb: sum_of_{i} has lines", lines == {LINE}, {LINE}, lines, "\n".join(backtraces))
    report.check("gdb: complaints", not gdb_session.complaints(output), [], gdb_session.complaints(output))
    check_output(report, "gdb", output)


def check_lldb(report, python):
    if not harness.LLDB:
        report.skip("lldb", "lldb is not installed")
        return
    output = harness.lldb([f"breakpoint set -r sum_of_{i}" for i in range(COUNT)] +
                          [lldb_session.DRIVER, "run", lldb_session.drive({0: ["bt"]})], *command(python))
    for i in range(COUNT):
        backtraces = [stop.output["bt"] for stop in lldb_session.stops(output, i + 1)]
        good = [text for text in backtraces
                if f"sum_of_{i}" in text.split("frame #1")[0] and "_PyEval_EvalFrameDefault" in text and
                lldb_session.functions(text)[-1] == "__clone3"]
        report.check(f"lldb: sum_of_{i} stops under its name, on the way from Python to the thread", good,
                     "1 or more stops", f"{len(good)} of {len(backtraces)}", output[-6000:])
    check_output(report, "lldb", output)


def stack_goes_through(text, interp):
    """From the compiled function, without a frame pointer, through Python to where the thread begins."""
    return re.search(rf"(?m)^interp {interp}, thread .*\n"
                     r"#0 +\w+  jit  jit@\w+!\w*stay_here\w*\+\w+  numba_program\.py:\d+\n(#\d+ .*\n)+"
                     r"#\d+ .*!_PyEval_EvalFrameDefault.*\n       Python  stay_below .*\n(.+\n)*#\d+ .*clone3.*\n(\n|$)", text)


def check_symdump(report, python):
    with harness.Background(*command(python, "stay = True; "), until=r"(?s)(ready.*){3}", timeout=harness.TIMEOUT) as process:
        text, end = "", time.monotonic() + harness.TIMEOUT
        while text.count("!_ZN8__main__9stay_here") < COUNT and time.monotonic() < end:
            text = harness.run(harness.SYMDUMP, process.pid, "--stacks").stdout
    found = [interp for interp in range(COUNT) if stack_goes_through(text, interp)]
    report.check("gorgon-symdump: stacks from compiled code through Python to the thread, by interpreter",
                 found == list(range(COUNT)), list(range(COUNT)), found, text)


def main():
    report = Report("numba's compiled code in debuggers")
    os.environ["NUMBA_ENABLE_PROFILING"] = "1"
    python = install()
    result = harness.run(*command(python))
    check_output(report, "without a debugger", result.stdout + result.stderr)
    if harness.GDB:
        check_gdb(report, python)
    else:
        report.skip("gdb", "gdb is not installed")
    check_lldb(report, python)
    check_symdump(report, python)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
