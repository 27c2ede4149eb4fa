#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forks from a process with four busy interpreters; multiprocessing and subprocess in them.

work/forks.py forks in every interpreter at once while numpy works in all; work/processes.py
has the library's ways to make processes. FORKS (1000) and ROUNDS (10) are in the environment.

BLAS has one thread: OpenBLAS 0.3.21 waits in its fork handler for its pool, which never ends
when another thread is in it at that moment. A plain python3 with three threads in matrix
products hangs in every second run of fifty forks."""

import os
import re
import subprocess
import sys
import tempfile

from report import Report

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import GORGON  # noqa: E402

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
INTERPRETERS = 4
FORKS = int(os.environ.get("FORKS", "1000")) // INTERPRETERS
ROUNDS = int(os.environ.get("ROUNDS", "10"))
CHILD_TIMEOUT = 60


def backtraces(pid):
    """gdb's view of a process and of its children."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    text = ""
    for one in [str(pid), *listed]:
        shown = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                                "-ex", "thread apply all bt 30", "-p", one], capture_output=True, text=True, check=False)
        text += f"process {one}:\n{shown.stdout}{shown.stderr}"
    return text


def run(timeout, *words):
    """(status, output); a process that hangs is shown with its children and all of them killed."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([GORGON, "run", "-n", str(INTERPRETERS), *map(str, words)], stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env=dict(os.environ, OPENBLAS_NUM_THREADS="1", PYTHONFAULTHANDLER="1"))
        hung = ""
        try:
            status = process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            hung, status = backtraces(process.pid), "hangs"
            os.killpg(process.pid, 9)
            process.wait()
        output.seek(0)
        return status, output.read() + hung


def check_forks(report):
    status, output = run(CHILD_TIMEOUT + 5 * FORKS, os.path.join(WORK, "forks.py"), FORKS, CHILD_TIMEOUT)
    right = {int(n): int(count) for n, count in re.findall(r"^forks (\d+) (\d+)$", output, re.M)}
    report.check(f"{FORKS * INTERPRETERS} forks while numpy works in {INTERPRETERS} interpreters",
                 status == 0 and right == {n: FORKS for n in range(INTERPRETERS)},
                 f"each interpreter's {FORKS} children end with their own status; the process with 0",
                 f"{sum(right.values())} right, {len(re.findall('^hung child', output, re.M))} hung; status {status}", output)
    # Every fourth child ends with an exception that nobody catches, which the child prints once.
    report.check("uncaught exceptions of children, printed", output.count("ZeroDivisionError: expected") == FORKS // 4 * INTERPRETERS,
                 FORKS // 4 * INTERPRETERS, output.count("ZeroDivisionError: expected"))


def check_processes(report):
    status, output = run(60 * ROUNDS, "--repeat", ROUNDS, os.path.join(WORK, "processes.py"))
    ended = sorted(map(int, re.findall(r"^processes (\d+)$", output, re.M)))
    report.check(f"multiprocessing, executors, subprocess: {ROUNDS} rounds of {INTERPRETERS} interpreters",
                 status == 0 and ended == list(range(ROUNDS * INTERPRETERS)),
                 f"{ROUNDS * INTERPRETERS} programs end; status 0", f"{len(ended)} ended; status {status}", output)


def check_openssl(report):
    # With one OpenSSL for all, one of the first ten children would hang.
    status, output = run(120, os.path.join(WORK, "forks_openssl.py"), 10)
    match = re.search(r"^openssl (\d+) (\d+)$", output, re.M)
    report.check("forks while the others are in an OpenSSL of their own", status == 0 and match and
                 int(match[1]) >= 100 and match[2] == "0", "at least 100 children that look for a hash, 0 hung",
                 f"{match[1]} children, {match[2]} hung" if match else f"status {status}", output)


def main():
    report = Report("Forks and child processes")
    check_processes(report)
    check_openssl(report)
    check_forks(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
