# SPDX-License-Identifier: MIT
"""What a data handler costs and what its options bring, beside numpy's own in the same process: processor time, in turns.

Runs in an interpreter of gorgon run; prints JSON. `small` makes and drops arrays of ten doubles, `zeros` of 1 MiB, `gather`
reads 256 MiB in random order, `first` writes to each page of 64 MiB that is new."""

import json
import statistics
import time

import gorgon
import numpy

ROUNDS = 7
SMALL = numpy.arange(10.0)
ORDER = numpy.random.default_rng(1).integers(0, 32 << 20, 1 << 20)
OPTIONS = {"numpy": None, "gorgon": {}, "alignment=4096": {"alignment": 4096}, "huge_pages=True": {"huge_pages": True},
           "numa_nodes=[0]": {"numa_nodes": [0]}, "locked=True": {"locked": True}}


def small():
    for _ in range(20000):
        SMALL * SMALL


def zeros():
    for _ in range(200):
        numpy.zeros(1 << 17)


def first():
    numpy.empty(8 << 20)[::512] = 1.0


def gather_from(array):
    array.take(ORDER).sum()


def took(function, *args):
    begin = time.process_time_ns()
    function(*args)
    return time.process_time_ns() - begin


def use(options):
    return gorgon.use_data_handler(None) if options is None else gorgon.use_data_handler(**options)


def main():
    runs, large = {}, {}
    possible = {}
    for name, options in OPTIONS.items():
        try:
            use(options)
            large[name] = numpy.zeros(32 << 20)
            large[name][::512] = 1.0
            possible[name] = options
        except (ValueError, OSError, RuntimeError, MemoryError):
            pass  # this machine has no such nodes, or lets nobody lock memory: the table gets no such row
    for _ in range(ROUNDS):
        for name, options in possible.items():
            use(options)
            for function, args in (small, ()), (zeros, ()), (first, ()), (gather_from, (large[name],)):
                runs.setdefault((name, function.__name__.partition("_")[0]), []).append(took(function, *args))
    print(json.dumps([{"benchmark": "arrays", "handler": name, "work": work, "ms": round(statistics.median(values) / 1e6, 3),
                       "ratio": round(statistics.median(a / b for a, b in zip(values, runs["numpy", work])), 3)}
                      for (name, work), values in runs.items()]))


main()
