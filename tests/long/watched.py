#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that create, run and destroy interpreters while gdb, lldb and gorgon-symdump come and go: build/soak, as soak.py has
it, with programs that share arrays, fork, lock, start others and are interrupted, too.

For MINUTES (10, from the environment; `make soak MINUTES=60`)."""

import itertools
import os
import random
import re
import subprocess
import sys
import time

from report import Report
import harness
import soak

MINUTES = float(os.environ.get("MINUTES", "10"))
THREADS = 4
PAUSE = 1  # seconds between two visits


def with_gdb(pid, script):
    return harness.gdb([f"attach {pid}", *(["gorgon list"] if script else []), "info threads", "bt 5", "detach"], script=script)


def with_lldb(pid):
    """lldb 19 gives up when a thread of the process ends while lldb attaches to the thread."""
    for _ in range(3):
        said = harness.lldb([f"process attach -p {pid}", "gorgon list", "thread backtrace -c 5", "process detach"], script=True)
        if not re.search("attach failed: (?:No such process|lost connection)", said):
            break
    return said


PROGRAM = os.path.join(soak.PROGRAMS, soak.RUN.file)


def python_line():
    """Where a debugger can stop soon: a line of a function of the program, or the function."""
    with open(PROGRAM) as file:
        lines = list(enumerate(file, 1))
    number, line = random.choice([(number, line) for number, line in lines if re.match(r"    (import|signal\.signal|pid =)", line)])
    name = [match[1] for before, line in lines if before < number and (match := re.match(r"def (\w+)", line))][-1]
    return random.choice([f"{os.path.basename(PROGRAM)}:{number}", f"soak.{name}"])


def gdb_at_lines(pid):
    """gdb makes two breakpoints, is stopped at them by the next interpreters, and goes."""
    breaks = [f"break {python_line()}" for _ in range(2)]
    return harness.gdb(["handle SIGINT nostop noprint pass", "handle SIGCHLD nostop noprint pass", f"attach {pid}", *breaks,
                        *["continue", "bt 3"] * 3, "delete", "detach"])


def lldb_at_lines(pid):
    breaks = ["breakpoint set " + ("-n {0}" if name else "-f {1} -l {2}").format(place, *place.split(":"), *[""] * 2)
              for place in (python_line(), python_line()) for name in [":" not in place]]
    return harness.lldb(["process handle -s false -n false -p true SIGINT", f"process attach -p {pid}", *breaks,
                         *["continue", "thread backtrace -c 3"] * 3, "breakpoint delete -f", "process detach"])


def with_symdump(pid, *options):
    result = harness.run(harness.SYMDUMP, str(pid), *options)
    return result.stdout or f"status {result.returncode}: {result.stderr}"


# What each visitor must have printed.
VISITORS = {
    # While threads come and go gdb may find no libthread_db that fits, and says LWP then.
    "gdb": (lambda pid: with_gdb(pid, False), r"(?s)(?:Thread|LWP) .*#0 .*detached"),
    "gdb with scripts": (lambda pid: with_gdb(pid, True), r"(?s)(?:Thread|LWP) .*#0 .*detached"),
    "lldb with scripts": (with_lldb, r"(?s)frame #0.*detached"),
    "gdb at Python lines": (gdb_at_lines, r"(?s)(?:#0  soak\.use_\w+ \(.*?){3}detached"),
    "lldb at Python lines": (lldb_at_lines, r"(?s)(?:stop reason = breakpoint [12]\.\d+[ .\d]*\s+frame #0: \S+ \S*soak\.use_\w+.*?){3}detached"),
    "gorgon-symdump": (with_symdump, r"^(?!status )."),
    "gorgon-symdump --stacks": (lambda pid: with_symdump(pid, "--stacks"), r"#0"),
}


def visit(process, report):
    """{visitor: [times it came, times it saw what it must see]}."""
    counts = {name: [0, 0] for name in VISITORS}
    for name in itertools.cycle(VISITORS):
        if process.poll() is not None:
            return counts
        look, expected = VISITORS[name]
        try:
            said = look(process.pid)
        except AssertionError as error:  # it hangs
            said = str(error)
        if process.poll() is not None:
            return counts  # it may have ended in the meantime
        counts[name][0] += 1
        counts[name][1] += bool(re.search(expected, said))
        if not re.search(expected, said):
            print(f"{name} on {process.pid}: {said[-2000:]}", flush=True)
        report.progress(sum(came for came, _ in counts.values()), f"{MINUTES:g} minutes", "visits")
        time.sleep(PAUSE)


def main():
    report = Report("Interpreters that come and go while debuggers look on")
    rounds = max(2, round(MINUTES * 60 / soak.ROUND))
    command = [os.path.join(harness.BUILD, "soak"), "-t", str(THREADS), "-r", str(rounds), "-s", str(soak.ROUND),
               PROGRAM]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", WATCHED="1", OPENBLAS_NUM_THREADS="1")
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as process:
        counts = visit(process, report)
        output = process.stdout.read()
    held = [tuple(map(int, match)) for match in re.findall(soak.HELD, output, re.M)]
    report.check(f"{rounds * soak.ROUND / 60:g} minutes", process.returncode == 0 and len(held) == rounds, "status 0, no interpreter left",
                 f"status {process.returncode}, {held[-1][1] if held else 0} interpreters", soak.tail(output))
    for name, (came, seen) in counts.items():
        report.check(name, came and came == seen, "sees what it looks for each time", f"{seen} of {came} times")
    if len(held) == rounds:
        soak.check_growth(report, soak.RUN, held[min(4, rounds // 2) - 1], held[-1])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
