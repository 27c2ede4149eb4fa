# SPDX-License-Identifier: MIT
"""What an executor's workers do at once, beside one thread, for tests/bench/run.py: a plain python3 runs this.

Prints JSON: for each kind of executor the time of the wall of the same work, as a multiple of one thread's, and how many
processors it had; then the time of a call with an array of 100 MB."""

import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy

from gorgon import InterpreterPoolExecutor

WORKERS = 2
ROUNDS = 7
KINDS = {"threads": ThreadPoolExecutor, "interpreters": InterpreterPoolExecutor, "processes": ProcessPoolExecutor}


def work(seed):
    """Many small steps, which hold the GIL. Returns the processor time that they took, too."""
    begin = time.thread_time()
    a = numpy.arange(20.) + seed
    for _ in range(60000):
        a = numpy.sqrt(a * a + 1.0)
    return float(a.sum()), time.thread_time() - begin


def look(array):
    return float(array[-1])


def timed(function):
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def main():
    items = list(range(2 * WORKERS))
    array = numpy.zeros(100 * 2**20 // 8)
    pools = {name: kind(WORKERS) for name, kind in KINDS.items()}
    runs = {name: [] for name in pools}
    for pool in pools.values():
        list(pool.map(work, items))
    for _ in range(ROUNDS):
        base, expected = timed(lambda: [work(i) for i in items])
        for name, pool in pools.items():
            took, results = timed(lambda: list(pool.map(work, items)))
            assert [total for total, _ in results] == [total for total, _ in expected]
            call = min(timed(lambda: pool.submit(look, array).result())[0] for _ in range(3))
            runs[name].append((took / base, sum(cpu for _, cpu in results) / took, call))
    rows = []
    for name, values in runs.items():
        ratio, processors, call = (statistics.median(column) for column in zip(*values))
        rows.append({"benchmark": "executor", "kind": name, "workers": WORKERS, "ratio": round(ratio, 3),
                     "processors": round(processors, 2), "call_us": round(call * 1e6, 1)})
    for pool in pools.values():
        pool.shutdown()
    json.dump(rows, sys.stdout)


if __name__ == "__main__":
    main()
