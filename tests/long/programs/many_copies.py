# SPDX-License-Identifier: MIT
"""Many copies of a template, one after another on two workers, beside two interpreters that compute all the time.

usage: many_copies.py COUNT      prints how many results were wrong, then [copies, KiB resident, mappings, descriptors] at each tenth."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def work(n):
    import numpy
    a = numpy.arange(200.0).reshape(10, 20) + n
    words = {f"name{i}": i for i in range(n % 50)}
    return float((a @ a.T).sum()), sorted(words)[-1:], len({object() for i in range(100)})


def compute(stop):
    """Until the file is there: how many sums were taken, and how many were wrong."""
    import numpy
    count = wrong = 0
    while not os.path.exists(stop):
        wrong += int((numpy.arange(100000) % 7).sum()) != 299995
        count += 1
    return count, wrong


def now(copies):
    with open("/proc/self/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    with open("/proc/self/maps") as file:
        return [copies, resident, len(file.readlines()), len(os.listdir("/proc/self/fd"))]


def main(count):
    import tempfile
    import warnings
    from gorgon import InterpreterPoolExecutor
    warnings.simplefilter("error", RuntimeWarning)  # where the template is refused
    expected = [work(n) for n in range(100)]
    points, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder, InterpreterPoolExecutor(2) as neighbours:
        computed = [neighbours.submit(compute, f"{folder}/stop") for _ in range(2)]
        try:
            with InterpreterPoolExecutor(2, template="import numpy", max_tasks_per_child=1) as pool:
                for begin in range(0, count, 100):
                    found = list(pool.map(work, range(100)))
                    wrong += sum(one != other for one, other in zip(found, expected))
                    if (begin + 100) % (count // 10) == 0:
                        points.append(now(begin + 100))
                        print(points[-1], file=sys.stderr, flush=True)
        finally:
            open(f"{folder}/stop", "w").close()
        sums = [future.result() for future in computed]
    print(json.dumps({"wrong": wrong, "points": points, "sums": sum(a for a, _ in sums), "wrong sums": sum(b for _, b in sums),
                      "threads": threading.active_count()}))


if __name__ == "__main__" and sys.argv[1:]:
    main(int(sys.argv[1]))
