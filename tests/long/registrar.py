#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""10,000 symfiles come, go and come again under each debugger: no warning, no error, none left
over, and the process does not grow.

Nobody attached there are 10,000 at once, two times. What a debugger needs grows with the square
of their number, so each has 500 at once, twenty times; and 10,000 objects at once, two times, in
groups that have one symfile for 100 of them: there it must know the names in all. N=... in the
environment changes the 10,000."""

import collections
import os
import re
import sys
import tempfile
import time

from report import Report
import harness

N = int(os.environ.get("N", "10000"))
ROUNDS = 20
GROUP, GROUP_ROUNDS = 100, 2
HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = """
int leaf(int i) { return i + 1; }
int branch(int i) { return leaf(i) + 1; }
"""
TROUBLE = re.compile(r"^.*(?:warning:|error:|Error|cannot|can't|Cannot|Traceback).*$", re.M)
GDB_COUNT = "python print('debugger has', sum('in-memory' in (o.filename or '') for o in gdb.objfiles()))"
LLDB_COUNT = ("script print('debugger has', sum('JIT(' in str(m.file) for m in lldb.debugger.GetSelectedTarget()"
              ".module_iter()))")
GDB_NAMES = ("python print('names', sum(line.startswith('0x') for line in gdb.execute('info functions ^leaf$', "
             "to_string=True).splitlines()))")
LLDB_NAMES = "script print('names', lldb.debugger.GetSelectedTarget().FindSymbols('leaf').GetSize())"
SLACK = 256  # KiB; an entry of 100 bytes that is lost with each copy would be four times that


def build(folder):
    source, library, host = (os.path.join(folder, name) for name in ("small.c", "libsmall.so", "registrar_host"))
    with open(source, "w") as file:
        file.write(LIBRARY)
    harness.run("gcc", "-g", "-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,--build-id", "-o", library, source).check_returncode()
    harness.run("gcc", "-g", "-O1", "-o", host, os.path.join(HERE, "registrar_host.c"), f"-L{harness.BUILD}", "-ljitreg",
                f"-Wl,-rpath,{harness.BUILD}").check_returncode()
    return host, library


def alone(command):
    result = harness.run(*command, timeout=600)
    return result.stdout + result.stderr


def under_gdb(command, steps):
    return harness.gdb(["handle SIGUSR1 stop print nopass",
                        "run", *[GDB_COUNT, GDB_NAMES, "continue"] * steps], *command, timeout=3600)


def under_lldb(command, steps):
    return harness.lldb(["process launch --stop-at-entry", "process handle SIGUSR1 -s true -p false -n false", "continue",
                         *[LLDB_COUNT, LLDB_NAMES, "continue"] * steps], *command, timeout=3600)


def shorten(numbers):
    """Each number once with how often it is there, in order of appearance."""
    return ", ".join(f"{number} ({count} times)" for number, count in collections.Counter(numbers).items()) or "nothing"


def judge_debugger(report, who, output, count, rounds):
    seen = [int(number) for number in re.findall(r"^debugger has (\d+)", output, re.M)]
    report.check(f"{who}: symfiles it knows", seen == [count, 0] * rounds, f"{count}, 0, {rounds} times",
                 shorten(seen), output[-3000:])


def judge_names(report, who, output, count, rounds):
    seen = [int(number) for number in re.findall(r"^names (\d+)", output, re.M)]
    report.check(f"{who}: functions of one name it knows", seen == [count, 0] * rounds, f"{count}, 0, {rounds} times",
                 shorten(seen), output[-3000:])


def judge(report, who, output, count, rounds):
    """@count symfiles came and went."""
    steps = [(name, int(listed), int(memory)) for name, listed, memory in
             re.findall(r"step (\w+) count (\d+) memory (\d+)", output)]
    expected = [("registered", count), ("unregistered", 0)] * rounds
    report.check(f"{who}: steps", [step[:2] for step in steps] == expected, f"{count}, 0 in the list, {rounds} times",
                 shorten(step[1] for step in steps), output[-3000:])
    trouble = TROUBLE.findall(output)
    report.check(f"{who}: complaints", not trouble, "none", trouble[0] if trouble else "none")
    for which, name in enumerate(("registered", "unregistered")):
        memory = [step[2] for step in steps[which::2]]
        growth = max(memory[1:], default=0) - memory[0] if memory else None
        report.check(f"{who}: growth while {name}", memory and growth <= SLACK, f"at most {SLACK} KiB",
                     f"{growth} KiB of {memory[0] if memory else 0}", output[-3000:])


def under(report, who, tool, session, host, library):
    if not tool:
        report.skip(who, "not installed")
        return
    few = max(N // ROUNDS, 1)
    output = session([host, library, few, ROUNDS], 2 * ROUNDS)
    judge(report, who, output, few, ROUNDS)
    judge_debugger(report, who, output, few, ROUNDS)
    groups = -(-N // GROUP)
    who = f"{who}, in groups"
    started = time.monotonic()
    output = session([host, library, N, GROUP_ROUNDS, GROUP], 2 * GROUP_ROUNDS)
    print(f"        {who}: {time.monotonic() - started:.1f} s", flush=True)
    judge(report, who, output, groups, GROUP_ROUNDS)
    judge_debugger(report, who, output, groups, GROUP_ROUNDS)
    judge_names(report, who, output, N, GROUP_ROUNDS)


def main():
    report = Report(f"{N} symfiles come, go and come again")
    with tempfile.TemporaryDirectory() as folder:
        host, library = build(folder)
        judge(report, "alone", alone([host, library, N, 2]), N, 2)
        under(report, "gdb", harness.GDB, under_gdb, host, library)
        under(report, "lldb", harness.LLDB, under_lldb, host, library)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
