#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Python lines for debuggers cost: lines.py [PYTHON]... (default: the tests' own; rounds: ROUNDS, 5).

Programs run in turn under `gorgon run` with and without Python lines: without a debugger, and with
gdb and a breakpoint in a function that is called before the measurement only, or one that is not
hit in the function that is measured. A figure is processor time beside that without lines."""

import os
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
STATES = ("off", "auto", "no breakpoint", "cold", "elsewhere")


def seconds(path, state, work, python):
    mode = state if state in ("off", "auto") else "on"
    command = [harness.GORGON, "run", f"--python-lines={mode}", f"--python={python}", path, work]
    if state in ("cold", "elsewhere"):
        line = harness.source_line(path, f"# {'cold' if state == 'cold' else work}")
        out = harness.gdb([f"break {os.path.basename(path)}:{line}", "run", "continue"], *command)
        if "Breakpoint 1, " not in out and state == "cold":
            raise SystemExit(f"bench: the breakpoint was not hit:\n{out}")
    else:
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(out.partition("took ")[2].split()[0])


def main():
    rounds = int(os.environ.get("ROUNDS", "5"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "priced.py")
        with open(path, "w") as file:
            file.write(PROGRAM)
        for python in sys.argv[1:] or [harness.PYTHON]:
            for work in ("calls", "loop", "mixed"):
                taken = {state: [] for state in STATES}
                for _ in range(rounds):
                    for state in STATES:
                        taken[state].append(seconds(path, state, work, python))
                without = statistics.median(taken["off"])
                print(os.path.basename(python), work, *(f"{state} {statistics.median(taken[state]) / without:.2f}" for state in STATES[1:]),
                      sep=", ", flush=True)


if __name__ == "__main__":
    main()
