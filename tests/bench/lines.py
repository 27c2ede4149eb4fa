#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Python lines for debuggers cost: lines.py [PYTHON]... (default: the tests' own; rounds: ROUNDS, 5).

Programs run in turn under `gorgon run` with and without Python lines: without a debugger, and with
gdb and a breakpoint in a function that is called before the measurement only, or one that is not
hit in the function that is measured. A module of 2,000 functions is imported, without a debugger,
and in whole sessions of gdb with one and with twenty interpreters, in which a C function is
stopped at. A figure is processor time beside that without lines in the same round, the median of
the rounds; REPORT=tests/bench/LINES writes LINES.md."""

import datetime
import os
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import harness  # noqa: E402

PROGRAM = '''import sys, time

def cold(n):
    return n  # cold

def fib(n):
    if n < 0:
        return n  # calls
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def loop(n):
    total = 0
    for i in range(n):
        total += i * i % 7
        if total < 0:
            print(total)  # loop
    return total

class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def size(self):
        if self.x < 0:
            return 0  # mixed
        return sum(v * v for v in (self.x, self.y))

def mixed(n):
    return sorted(map(lambda i: Point(i, i % 10).size(), range(n)))[-1]

cold(1)
work, size = {"calls": (fib, 24), "loop": (loop, 1000000), "mixed": (mixed, 100000)}[sys.argv[1]]
start = time.thread_time()
work(size)
print("took", time.thread_time() - start)
'''
MODULE = "import functools\n" + "".join(f"""
def function_{i}(n):
    total = 0
    for value in range(n):
        if value % 2:
            total += value
        else:
            total -= 1
    return total

""" for i in range(2000))
IMPORTS = '''import sys, time
start = time.thread_time()
import functions_of_many_lines
print("took", time.thread_time() - start)
time.sleep(0)
'''
STATES = ("off", "auto", "no breakpoint", "cold", "elsewhere")
IMPORT_STATES = ("off", "auto", "no breakpoint")
COUNTS = (1, 20)


def command(path, state, python, *words):
    mode = state if state in ("off", "auto") else "on"
    return [harness.GORGON, "run", f"--python-lines={mode}", f"--python={python}", *words, path]


def seconds(path, state, work, python):
    if state in ("cold", "elsewhere"):
        line = harness.source_line(path, f"# {'cold' if state == 'cold' else work}")
        out = harness.gdb([f"break {os.path.basename(path)}:{line}", "run", "continue"], *command(path, state, python), work)
        if "Breakpoint 1, " not in out and state == "cold":
            raise SystemExit(f"bench: the breakpoint was not hit:\n{out}")
    else:
        out = subprocess.run([*command(path, state, python), work], capture_output=True, text=True, check=True).stdout
    return float(out.partition("took ")[2].split()[0])


def session(path, state, count, python):
    """gdb's processor time and the program's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = harness.gdb(["break time_sleep", "run", "bt 3", "delete", "continue"], *command(path, state, python, "-n", str(count)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "hit Breakpoint 1" not in out or out.count("took ") != count:
        raise SystemExit(f"bench: the session of {count} interpreters failed:\n{out}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compare(states, rounds, measure):
    """{state: median of what it took beside the first state}"""
    taken = [[measure(state) for state in states] for _ in range(rounds)]
    return {state: statistics.median(row[i] / row[0] for row in taken) for i, state in enumerate(states) if i}


def main():
    rounds, report = int(os.environ.get("ROUNDS", "5")), os.environ.get("REPORT")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, imports = (os.path.join(folder, name) for name in ("priced.py", "imports.py"))
        for name, text in ((path, PROGRAM), (imports, IMPORTS), (os.path.join(folder, "functions_of_many_lines.py"), MODULE)):
            with open(name, "w") as file:
                file.write(text)
        for python in sys.argv[1:] or [harness.PYTHON]:
            cases = [(work, STATES, lambda state, work=work: seconds(path, state, work, python)) for work in ("calls", "loop", "mixed")]
            seconds(imports, "off", "", python)  # its bytecode is written
            cases.append(("import", IMPORT_STATES, lambda state: seconds(imports, state, "", python)))
            cases += [(f"session of {count}", IMPORT_STATES, lambda state, count=count: session(imports, state, count, python))
                      for count in COUNTS]
            for name, states, measure in cases:
                figures = compare(states, rounds, measure)
                rows.append([os.path.basename(python), name, *(f"{figures[state]:.2f}" if state in figures else "-" for state in STATES[1:])])
                print(*rows[-1][:2], *(f"{state} {figure:.2f}" for state, figure in figures.items()), sep=", ", flush=True)
    if report:
        with open(report + ".md", "w") as file:
            file.write("# What Python lines cost\n\nWritten by `tests/bench/lines.py`: processor time beside that without lines, "
                       f"the median of {rounds} pairs; {datetime.date.today().isoformat()}, {os.cpu_count()} processors, "
                       f"load {os.getloadavg()[1]:.0f}.\n\n| CPython | program | {' | '.join(STATES[1:])} |\n|{'---|' * 6}\n"
                       + "".join(f"| {' | '.join(row)} |\n" for row in rows))


if __name__ == "__main__":
    main()
