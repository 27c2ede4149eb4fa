# SPDX-License-Identifier: MIT
"""What tests/long/arrays.py runs in four interpreters: they sum one array of 1 GB, and say what it cost.

The first prints: whether the sum is right, the growth of the process's proportional memory as a multiple of the array, and
microseconds of one share() and of one receive() of it."""

import gorgon
import numpy
import statistics
import time

BYTES = 1 << 30
ROUNDS = 1000
me, count = gorgon.interpreter, gorgon.count()


def wait(name):
    while True:
        try:
            return gorgon.receive(name)
        except KeyError:
            time.sleep(0.001)


def barrier(name):
    gorgon.share(b"", f"{name} {me}", copy=True)
    for i in range(count):
        wait(f"{name} {i}")


def pss():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))


def microseconds(function, *args):
    begin = time.perf_counter()
    function(*args)
    return (time.perf_counter() - begin) * 1e6


barrier("loaded")
before = pss() if me == 0 else None
barrier("measured")
if me == 0:
    gorgon.use_data_handler()
    numbers = numpy.arange(BYTES // 8)
    gorgon.share(numbers, "numbers")
numbers = wait("numbers")
size = numbers.size // count
gorgon.share(numbers[me * size:(me + 1) * size].sum(), f"sum {me}", copy=True)
barrier("summed")
if me == 0:
    total = sum(int(wait(f"sum {i}")) for i in range(count))
    ratio = (pss() - before) / BYTES
    times = []
    for i in range(ROUNDS):
        times.append((microseconds(gorgon.share, numbers, "again"), microseconds(gorgon.receive, "again")))
        gorgon.withdraw("again")
    shared, received = (statistics.median(column) for column in zip(*times))
    print(total == numbers.size * (numbers.size - 1) // 2, round(ratio, 2), round(shared), round(received))
barrier("end")
