# SPDX-License-Identifier: MIT
"""What calls, arguments, results and the start of pools cost with threads, interpreters and processes as workers.

A plain python3 with the package runs this for tests/bench/run.py and prints JSON: rows of processor time, of all
processes and workers together, and time of the wall. The kinds of workers take turns. run.py imports it for tables. Its argument is a
python3 that is linked with the libpython which interpreters load."""

import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

WORKERS = 2
ROUNDS = 7
NAMES = {"threads": "threads", "interpreters": "interpreters", "fork": "processes, forked", "spawn": "processes, spawned",
         "linked": "processes, spawned, of the interpreters' libpython"}
SIZES = {"1 KB": 1 << 10, "1 MB": 1 << 20, "100 MB": 100 << 20}
CALLS = {"1 KB": 100, "1 MB": 20, "100 MB": 1}


# --- what workers do --------------------------------------------------------------------------------------------------


def nothing(*args):
    """An empty call."""


def work(seed):
    """Many small steps, which hold the GIL."""
    import numpy
    a = numpy.arange(20.) + seed
    for _ in range(60000):
        a = numpy.sqrt(a * a + 1.0)
    return float(a.sum())


def hold(thing):
    sys.held = thing  # an attribute, because a global would be shipped to the workers


def give():
    return sys.held


def make(size):
    import numpy
    return numpy.ones(size // 8)


def come_and_go():
    """Large arrays, none of which is there for long."""
    import numpy
    for _ in range(20):
        numpy.ones(2 << 20)


def start_with_numpy(i):
    import numpy
    time.sleep(0.2)  # so that each worker gets a call
    return float(numpy.ones(3).sum())


# --- measuring ----------------------------------------------------------------------------------------------------------


def processor_time(pool):
    """Of this process and of the pool's, in ns."""
    total = time.process_time_ns()
    for pid in getattr(pool, "_processes", None) or ():
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
    return total


def ended_time():
    """Of this process and those that have ended, in ns."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time_ns() + int((usage.ru_utime + usage.ru_stime) * 1e9)


def make_pool(kind, count):
    if kind == "threads":
        return ThreadPoolExecutor(count)
    if kind == "interpreters":
        from gorgon import InterpreterPoolExecutor
        return InterpreterPoolExecutor(count)
    if kind == "linked":
        return make_linked_pool(count)
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context(kind))


def make_linked_pool(count):
    """When this returns, the pool's processes have been started, and what they are started with is as before."""
    context = multiprocessing.get_context("spawn")
    context.set_executable(sys.argv[1])
    os.environ["PYTHONHOME"] = sys.prefix
    pool = ProcessPoolExecutor(count, mp_context=context)
    list(pool.map(time.sleep, [0.2] * 2 * count))
    context.set_executable(sys.executable)
    del os.environ["PYTHONHOME"]
    return pool


def measured(clock, function):
    cpu, wall = clock(), time.perf_counter_ns()
    function()
    return clock() - cpu, time.perf_counter_ns() - wall


def rows_of(what, runs, calls):
    """Rows of {kind: [(processor time, time of the wall)]}. Each ratio is of two figures of one round."""
    peer = next(kind for kind in ("linked", "fork", "spawn") if kind in runs)
    for kind, values in runs.items():
        ratios = sorted(mine[0] / other[0] for mine, other in zip(values, runs[peer]))
        cpu, wall = (statistics.median(column) / calls for column in zip(*values))
        yield {"benchmark": "executor", "what": what, "kind": kind, "cpu": cpu, "wall": wall, "peer": peer,
               "ratio": statistics.median(ratios), "low": ratios[len(ratios) // 4], "high": ratios[-1 - len(ratios) // 4],
               "wall_ratio": statistics.median(mine[1] / other[1] for mine, other in zip(values, runs[peer]))}


def take_turns(what, pools, function, calls=1, before=None, rounds=ROUNDS):
    runs = {kind: [] for kind in pools}
    for pool in pools.values():
        if before:
            before(pool)
        function(pool)
    for _ in range(rounds):
        for kind, pool in pools.items():
            runs[kind].append(measured(lambda: processor_time(pool), lambda: function(pool)))
    return rows_of(what, runs, calls)


def things(size):
    import numpy
    yield "bytes", bytes(size)
    yield "an array", numpy.zeros(size // 8)
    if size <= 1 << 20:
        yield "a list of numbers", list(range(1000, 1000 + size // 3))
        yield "columns of a frame", {"x": numpy.zeros(size // 24), "y": numpy.zeros(size // 24),
                                     "name": [f"name {i}" for i in range(size // 36)]}


def measure_calls(pools):
    def times(count, *call):
        def run(pool):
            for _ in range(count):
                pool.submit(*call).result()
        return run
    yield from take_turns("an empty call", pools, times(300, nothing), 300)
    yield from take_turns("map() of 2,000 empty calls, by item", pools, lambda pool: list(pool.map(nothing, range(2000))), 2000)
    yield from take_turns("the same in chunks of 200", pools,
                          lambda pool: list(pool.map(nothing, range(2000), chunksize=200)), 2000)
    for name, size in SIZES.items():
        count = CALLS[name]
        for kind, thing in things(size):
            rounds = ROUNDS if count > 1 else 3
            yield from take_turns(f"{kind}, {name}, as an argument", pools, times(count, nothing, thing), count, rounds=rounds)
            what = f"{kind}, {name}, as a result" + (" that the worker keeps" if kind == "an array" else "")
            yield from take_turns(what, pools, times(count, give), count, lambda pool: pool.submit(hold, thing).result(), rounds)
        yield from take_turns(f"an array, {name}, made and a result", pools, times(count, make, size), count, rounds=ROUNDS if count > 1 else 3)
    yield from take_turns("20 arrays of 16 MB that come and go in a worker", pools, times(3, come_and_go), 3)


def measure_start():
    def life(kind):
        with make_pool(kind, 4) as pool:
            list(pool.map(start_with_numpy, range(4)))
    runs = {kind: [] for kind in ("threads", "interpreters", "spawn")}
    life("interpreters")
    for _ in range(ROUNDS):
        for kind, values in runs.items():
            values.append(measured(ended_time, lambda: life(kind)))
    return rows_of("start, import numpy and end of four workers", runs, 1)


def main():
    rows = list(measure_start())
    pools = {kind: make_pool(kind, WORKERS) for kind in ("fork", "linked", "threads", "interpreters")}
    for pool in pools.values():
        list(pool.map(work, range(2 * WORKERS)))
    rows += take_turns("work for both workers, in small steps that hold the GIL", pools,
                       lambda pool: list(pool.map(work, range(2 * WORKERS))), 2 * WORKERS)
    for pool in pools.values():
        pool.shutdown()
    pools = {kind: make_pool(kind, 1) for kind in ("fork", "spawn", "threads", "interpreters")}
    rows += measure_calls(pools)
    for pool in pools.values():
        pool.shutdown()
    json.dump(rows, sys.stdout)


# --- tables -------------------------------------------------------------------------------------------------------------


def duration(ns):
    return f"{ns / 1e6:.1f} ms" if ns >= 1e6 else f"{ns / 1e3:.0f} us"


def tables(rows):
    """As in Markdown."""
    lines = ["| what | workers are | times processes | processor | wall | times processes, wall |", "|---|---|---|---|---|---|"]
    for row in rows:
        spread = "" if row["kind"] == row["peer"] else f" ({row['low']:.2f} to {row['high']:.2f})"
        lines.append(f"| {row['what']} | {NAMES[row['kind']]} | {row['ratio']:.2f}{spread} | {duration(row['cpu'])} | "
                     f"{duration(row['wall'])} | {row['wall_ratio']:.2f} |")
    return "\n".join(lines)


def report(name, rows):
    """FILE.md."""
    import harness  # run.py's
    told = subprocess.run([harness.PYTHON3, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    with open(f"{name}.md", "w") as file:
        file.write("# What pools of workers cost\n\n"
                   f"{time.strftime('%Y-%m-%d')}; {told}; {os.cpu_count()} processors. Made by `make bench TESTS=executor "
                   "REPORT=tests/bench/EXECUTOR`. Times are of the processor, of all processes and workers together, for one "
                   "call; ratios are those of one round in which the kinds take turns: the median, and the quarters of the "
                   "rounds. Debian's python3, which the processes are, has no libpython, and is faster for that: where both "
                   f"do work, the peer is a python3 that is linked with the libpython that interpreters load.\n\n{tables(rows)}\n")


if __name__ == "__main__":
    main()
