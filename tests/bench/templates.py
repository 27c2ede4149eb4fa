# SPDX-License-Identifier: MIT
"""What pools of four workers cost that are copies of a template, beside interpreters that start, and beside processes that are
forked, spawned, or forked by a server which has imported what they need.

A plain python3 with the package runs this for tests/bench/run.py, once for each kind of workers: `templates.py KIND MODULE` prints
JSON. The kinds take turns. Times are of the processor, of all processes together."""

import contextlib
import json
import multiprocessing
import multiprocessing.forkserver
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

WORKERS = 4
ROUNDS = 5
CALLS = 6  # each in a new worker
NAMES = {"started": "interpreters that start", "template": "copies of a template", "fork": "processes, forked by one that has imported it",
         "forkserver": "processes, forked by a server with preload", "spawn": "processes, spawned"}
MODULES = {"sys": "nothing", "numpy": "numpy"}


def use(name, seconds=0.5):
    """Who has done it; each worker has time for one call."""
    __import__(name)
    time.sleep(seconds)
    return os.getpid(), id(sys.modules)


def descendants(pid):
    with contextlib.suppress(OSError):  # it ends
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    yield child
                    yield from descendants(child)


def spent():
    """Processor time of this process and of all that it has begun, in ns; of what a server has waited for, in ticks of 10 ms."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time_ns() + int((usage.ru_utime + usage.ru_stime) * 1e9)
    for pid in list(descendants(os.getpid())):
        total += time.clock_gettime_ns((~pid << 3) | 2)  # CLOCK_PROCESS_CPUTIME_ID of that process
        with open(f"/proc/{pid}/stat") as file:
            total += sum(map(int, file.read().rpartition(")")[2].split()[13:15])) * 1000000000 // os.sysconf("SC_CLK_TCK")
    return total


def memory():
    """Pages of all processes, those that several have divided among them, in bytes."""
    total = 0
    for pid in (os.getpid(), *descendants(os.getpid())):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            total += next(int(line.split()[1]) << 10 for line in file if line.startswith("Pss:"))
    return total


def make_pool(kind, name, count, **options):
    if kind in ("started", "template"):
        from gorgon import InterpreterPoolExecutor
        return InterpreterPoolExecutor(count, template=f"import {name}" if kind == "template" else None, **options)
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context(kind), **options)


def measure(kind, name):
    import gorgon  # noqa: F401  what processes do not need is there before
    refused = []
    warnings.showwarning = lambda message, *_: refused.append(message)
    at_first = memory()
    if kind == "fork":
        __import__(name)
    multiprocessing.forkserver.set_forkserver_preload([name])
    row = {}
    for which in "first", "further":
        before = spent()
        with make_pool(kind, name, WORKERS) as pool:
            who = set(pool.map(use, [name] * WORKERS))
            row[which] = spent() - before
            row["memory"] = memory() - at_first
        if len(who) != WORKERS:
            raise SystemExit(f"templates.py {kind} {name}: {len(who)} workers had calls, expected {WORKERS}")
    if refused:
        raise SystemExit(f"templates.py {kind} {name}: {refused[0]}")
    for count in 1, CALLS:  # the first pool makes a template for one worker
        if kind == "fork":  # such a pool replaces none
            continue
        before = spent()
        with make_pool(kind, name, 1, max_tasks_per_child=1) as pool:
            for _ in range(count):
                pool.submit(use, name, 0).result()
        row["replaced"] = (spent() - before) / count
    return row


def run(python, environment, progress):
    """The rows of all kinds and modules."""
    found = {}
    for i in range(ROUNDS):
        for name in MODULES:
            for kind in NAMES:
                progress(f"templates, {MODULES[name]}, {kind}: {i}/{ROUNDS}")
                output = subprocess.run([python, os.path.abspath(__file__), kind, name], check=True, stdout=subprocess.PIPE,
                                        text=True, env={**environment, "OPENBLAS_NUM_THREADS": "1"}).stdout
                found.setdefault((name, kind), []).append(json.loads(output))
    return [{"benchmark": "templates", "module": name, "kind": kind,
             **{figure: statistics.median(row[figure] for row in rows) for figure in rows[0]},
             **{f"{figure}_ratio": statistics.median(row[figure] / peer[figure] for row, peer in zip(rows, found[name, "spawn"]))
                for figure in rows[0]}}
            for (name, kind), rows in found.items()]


# --- tables -------------------------------------------------------------------------------------------------------------


def cell(row, figure):
    if figure not in row:
        return "-"
    value = f"{row[figure] / (1 << 20):.0f} MiB" if figure == "memory" else f"{row[figure] / 1e6:.1f} ms"
    return f"{row[f'{figure}_ratio']:.2f} ({value})"


def tables(rows):
    """As in Markdown."""
    lines = ["| imported | workers are | first pool of four | further pool of four | memory with a pool of four | a worker for each call |",
             "|---|---|---|---|---|---|"]
    lines += [f"| {MODULES[row['module']]} | {NAMES[row['kind']]} | "
              + " | ".join(cell(row, figure) for figure in ("first", "further", "memory", "replaced")) + " |" for row in rows]
    return "\n".join(lines)


def report(name, rows):
    """FILE.md."""
    import harness  # run.py's
    told = subprocess.run([harness.PYTHON3, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    with open(f"{name}.md", "w") as file:
        file.write("# What workers cost that are copies of a template\n\n"
                   f"{time.strftime('%Y-%m-%d')}; {told}; {os.cpu_count()} processors; load of the last 1, 5 and 15 minutes {load}. Made by `make bench TESTS=templates "
                   "REPORT=tests/bench/TEMPLATES`. Multiples of spawned processes in the same round, medians; in brackets processor time, of "
                   "all processes together, and memory beyond that of a python3 which has imported the package: template, server and "
                   "what the forking process has imported are in it. The first pool makes the template, or starts the server. A worker for each "
                   "call is `max_tasks_per_child=1`. BLAS has one thread. Debian's python3, which the processes are, has no libpython, and "
                   f"starts faster for that.\n\n{tables(rows)}\n")


if __name__ == "__main__":
    json.dump(measure(*sys.argv[1:]), sys.stdout)
