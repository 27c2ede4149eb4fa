#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lives of interpreters at random (build/torture), eight processes at once: no crash, no hang, no wrong result.

A seed says what a process does, and in which surroundings: every second one has few descriptors, every third PYTHONMALLOC=malloc
and blocks that the C library fills. `torture.py SEED...` repeats seeds, otherwise new ones run for MINUTES (10, from the
environment). A process that hangs is shown with its threads; LIVES (8) are those of each of its three threads. With LINES_IN=gdb
each process runs under gdb, which stops at four Python lines that the seed chooses, and goes on."""

import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

from report import Report
from forks import backtraces
from harness import BUILD, GDB, MODULES

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "torture.py")
AT_ONCE = int(os.environ.get("AT_ONCE", "8"))
LIVES = int(os.environ.get("LIVES", "8"))
MINUTES = float(os.environ.get("MINUTES", "10"))
LINES_IN = os.environ.get("LINES_IN")
TIMEOUT = 60 * LIVES  # a life takes two or three seconds where eight processes share two processors


def surroundings(seed):
    return {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"} if seed % 3 == 0 else {}


def lines_of_functions():
    """Numbers of the lines at which a function may be."""
    with open(FILE) as file:
        return [number for number, line in enumerate(file, 1)
                if re.match(r" {4,}(?!def |try:|else:|finally:|except|\"\"\")\S", line)]


def under_gdb(seed, folder):
    """gdb lets the program have each signal."""
    with open(f"{folder}/session", "w") as file:
        file.write("set breakpoint pending on\nhandle all nostop noprint pass\nset confirm off\nhandle SIGINT nostop noprint pass\n"
                   "set print thread-events off\nset print inferior-events off\n")
        for line in random.Random(seed).sample(lines_of_functions(), 4):
            file.write(f"break {FILE}:{line}\ncommands\nsilent\nbt 3\ncontinue\nend\n")
        file.write("run\n")
    return [GDB, "-q", "-nx", "-batch", "-return-child-result", "-x", file.name, "--args"]


def torture(seed):
    """(status, what it has printed, how often gdb has stopped it)."""
    # BLAS with threads of its own waits in fork() for a pool that another thread uses; see forks.py.
    env = dict(os.environ, MODULES=MODULES, OPENBLAS_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1", **surroundings(seed))
    with tempfile.TemporaryFile("w+", errors="replace") as output, tempfile.TemporaryFile("w+", errors="replace") as errors, \
            tempfile.TemporaryDirectory() as folder:
        prefix = under_gdb(seed, folder) if LINES_IN == "gdb" else []
        process = subprocess.Popen([*prefix, os.path.join(BUILD, "torture"), str(seed), str(LIVES), FILE], stdout=output, stderr=errors,
                                   stdin=subprocess.DEVNULL, env=env, start_new_session=True)
        shown = ""
        try:
            status = process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            status, shown = "hangs", backtraces(process.pid)
        try:
            os.killpg(process.pid, signal.SIGKILL)  # children that it has left, too
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        errors.seek(0)
        told = output.read()
        stops = len(re.findall(r"^#0  torture\.\w+ \(.*at .*/torture\.py:", told, re.M))
        return status, told + ("" if status == 0 else errors.read()[-20000:] + shown), stops


def seeds():
    until = time.monotonic() + 60 * MINUTES
    seed = int.from_bytes(os.urandom(3), "little")
    while time.monotonic() < until:
        yield seed
        seed += 1


def main(words):
    report = Report("Lives of interpreters at random, eight processes at once")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running, source, right, failed, stops = {}, iter(map(int, words)) if words else seeds(), 0, [], 0
        while True:
            while len(running) < AT_ONCE and (seed := next(source, None)) is not None:
                running[pool.submit(torture, seed)] = seed
            if not running:
                break
            for future in concurrent.futures.wait(running, return_when="FIRST_COMPLETED").done:
                seed, (status, told, stopped) = running.pop(future), future.result()
                right += status == 0
                stops += stopped
                report.progress(right, right + len(failed) + len(running))
                if status != 0:
                    failed.append(seed)
                    report.check(f"seed {seed}", False, "status 0", f"status {status}", told)
    report.check(f"{right + len(failed)} seeds", right and not failed, "no crash, no hang, no wrong result",
                 f"{len(failed)} failed: {' '.join(map(str, failed))}" if failed else "none")
    if LINES_IN == "gdb":
        report.check("gdb stops at Python lines, and goes on", stops > 0, "more than once", stops)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
