#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executors one after the other, with pandas and pyarrow, and with libraries whose threads nothing ends.

Usage: executors.py

N=1000 in the environment is how many. pandas imports pyarrow, whose libraries leave what their constructors have
allocated, 25 KB each. That stays in use, among what others free: pages of malloc()'s arenas stay, until all of an arena that an
interpreter has needed is there. Threads of polars and of scikit-learn (OpenMP) end with their interpreters, in N/10
executors each, whose results are those of a process pool."""

import os
import re
import sys
import tempfile

from report import Report
from pool_programs import environment
import harness

N = int(os.environ.get("N", "1000"))
FIRST = 100  # after so many, everything is there that all executors have in common
PROGRAM = """
import ctypes, gorgon, gc, re, sys, threading
from gorgon import InterpreterPoolExecutor

def work(n):
    import pandas, pyarrow
    frame = pandas.DataFrame({"a": range(n), "b": [str(i % 7) for i in range(n)]})
    return pyarrow.Table.from_pandas(frame).num_rows + int(frame.groupby("b").a.sum().sum())

class Blocks(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Blocks

def state():
    gc.collect()
    with open("/proc/self/status") as file:
        anonymous = int(re.search(r"RssAnon:\\s+(\\d+)", file.read())[1])
    with open("/proc/self/maps") as file:
        return anonymous, mallinfo().uordblks // 1024, len(file.readlines()), threading.active_count(), gorgon.count()

if __name__ == "__main__":
    for i in range(1, int(sys.argv[1]) + 1):
        with InterpreterPoolExecutor(1) as pool:
            right = pool.submit(work, 1000).result() == 500500
        if not right:
            sys.exit("a wrong result")
        if i % 100 == 0 or i == int(sys.argv[1]):
            print("executor", i, *state(), flush=True)
"""
THREADS = """
import concurrent.futures, multiprocessing, os, sys, time, warnings
import gorgon

def polars():
    import polars
    frame = polars.DataFrame({"a": range(1000)}).lazy().group_by(polars.col("a") % 7).agg(polars.len())
    return frame.collect().sort("a").rows()

def sklearn():
    import numpy
    from sklearn.ensemble import HistGradientBoostingClassifier
    x = numpy.arange(4000.0).reshape(1000, 4)
    return HistGradientBoostingClassifier(max_iter=3).fit(x, x[:, 0] > 2000).predict(x).tolist()

def threads():
    return len(os.listdir("/proc/self/task"))

if __name__ == "__main__":
    warnings.simplefilter("error", RuntimeWarning)
    task = globals()[sys.argv[1]]
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        expected = pool.submit(task).result()
    counts = []
    for i in range(int(sys.argv[2])):
        with gorgon.InterpreterPoolExecutor(1) as pool:
            if pool.submit(task).result() != expected:
                sys.exit("a wrong result")
        counts.append(gorgon.count())
    until = time.monotonic() + 10
    while threads() > 1 and time.monotonic() < until:  # the last are still ending
        time.sleep(0.01)
    print("ended", len(counts), max(counts), threads())
"""


def check_growth(report, python, site, path):
    result = harness.run(python, path, str(N), env={"PYTHONPATH": site}, timeout=7200)
    seen = [tuple(map(int, words)) for words in re.findall(r"executor (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", result.stdout)]
    ended = bool(seen) and seen[-1][0] == N and not result.returncode
    report.check("pandas and pyarrow: executors", ended, f"{N}, status 0", f"{seen[-1][0] if seen else 0}, status {result.returncode}",
                 result.stdout + result.stderr)
    if not ended:
        return
    first, last = next(row for row in seen if row[0] >= min(FIRST, N)), seen[-1]
    for column, what, most in (1, "anonymous memory", 200), (2, "blocks in use", 40):
        grown = (last[column] - first[column]) / max(last[0] - first[0], 1)
        report.check(f"pandas and pyarrow: {what}", grown < most, f"at most {most} KiB each",
                     f"{grown:.0f} KiB each from the {first[0]}th on: {', '.join(f'{row[column] // 1024} MiB at {row[0]}' for row in seen)}")
    report.check("pandas and pyarrow: mappings", last[3] <= first[3] + 10, f"at most {first[3] + 10}", last[3])
    report.check("pandas and pyarrow: threads, interpreters", last[4:] == (1, 0), "1, 0", f"{last[4]}, {last[5]}")


def check_threads(report, python, site, path, library):
    count = max(N // 10, 1)
    result = harness.run(python, path, library, str(count), env={"PYTHONPATH": site}, timeout=3600)
    report.check(f"{library}: executors; the most interpreters and the threads that stay", result.stdout.strip() == f"ended {count} 0 1",
                 f"{count}; 0, 1", result.stdout.strip() or f"status {result.returncode}", result.stdout + result.stderr)


def main():
    report = Report("Executors one after the other")
    python = environment()
    with tempfile.TemporaryDirectory() as folder:
        site, path = os.path.join(folder, "site"), os.path.join(folder, "program.py")
        harness.install_package(site)
        with open(path, "w") as file:
            file.write(PROGRAM)
        check_growth(report, python, site, path)
        with open(path, "w") as file:
            file.write(THREADS)
        for library in "polars", "sklearn":
            check_threads(report, python, site, path, library)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
