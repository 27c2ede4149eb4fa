# SPDX-License-Identifier: MIT
"""What a worker of dask.distributed costs that computes in interpreters (gorgon.distributed), beside one process for each processor, and
beside threads.

A python with dask and the package runs this for tests/bench/run.py and prints JSON. The three clusters are there at once, and take
turns. run.py imports it for tables."""

import json
import logging
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "venv-cluster")
WORKERS = 2
ROUNDS = 3
MIB = 128
NAMES = {"processes": "processes, one thread each", "threads": "threads of one process", "interpreters": "interpreters of one process"}
WORKS = {"small": "500 tasks that do nothing", "numpy": f"10 tasks of numpy over an array of {MIB} MiB that all see",
         "results": "10 tasks that make an array of 8 MiB, and a sum of each two", "python": "10 tasks of Python's own steps"}


def nothing(n):
    return n


def over(array, n):
    import numpy
    return float(numpy.sqrt(array + n).sum())


def make(n):
    import numpy
    return numpy.full(1 << 20, float(n))


def add(a, b):
    return float((a + b).sum())


def steps(n):
    found = 0
    for i in range(400000):
        found = (found * 31 + i + n) % 1000003
    return found


def submit(client, work, array):
    if work == "small":
        return client.map(nothing, range(500), pure=False)
    if work == "numpy":
        return client.map(over, [array] * 10, range(10), pure=False)
    if work == "results":
        made = client.map(make, range(10), pure=False)
        return client.map(add, made, made[1:] + made[:1], pure=False)
    return client.map(steps, range(10), pure=False)


def cost(dask_worker):
    """Seconds of the processor, bytes sent to other workers, bytes that no other process has."""
    return time.process_time(), dask_worker.transfer_outgoing_bytes_total, dask_worker.monitor.proc.memory_full_info().uss


def costs(client):
    workers = list(client.run(cost).values())
    return [time.process_time() + sum(worker[0] for worker in workers), sum(worker[1] for worker in workers), sum(worker[2] for worker in workers)]


def main():
    import contextlib

    import numpy
    from distributed import Client, LocalCluster

    import gorgon.distributed
    with contextlib.ExitStack() as stack:
        clients, arrays, rows = {}, {}, []
        for kind in NAMES:
            workers = WORKERS if kind == "processes" else 1
            cluster = stack.enter_context(LocalCluster(n_workers=workers, threads_per_worker=WORKERS // workers, dashboard_address=":0",
                                                       silence_logs=logging.CRITICAL))
            clients[kind] = stack.enter_context(Client(cluster))
            if kind == "interpreters":
                clients[kind].register_plugin(gorgon.distributed.Interpreters(copy_arguments=False))
            arrays[kind] = clients[kind].submit(lambda: numpy.ones(MIB << 17), pure=False)
        for work in WORKS:
            for round in range(ROUNDS + 1):
                for kind, client in clients.items():
                    before, began = costs(client), time.monotonic()
                    client.gather(submit(client, work, arrays[kind]))
                    wall, after = time.monotonic() - began, costs(client)
                    if round:  # before the first one workers are cold
                        rows.append({"benchmark": "cluster", "work": work, "kind": kind, "cpu": after[0] - before[0], "wall": wall,
                                     "sent": after[1] - before[1], "memory": after[2]})
                    elif kind == "processes":
                        moved = after[1] - before[1]
                        rows.append({"benchmark": "cluster", "work": work, "kind": "first", "sent": moved})
    print(json.dumps(rows))


# --- for run.py -------------------------------------------------------------------------------------------------------


def measure(harness, site):
    python, done = os.path.join(VENV, "bin", "python"), os.path.join(VENV, ".done")
    if not os.path.exists(done):
        subprocess.run([harness.PYTHON3, "-m", "venv", "--clear", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "-r",
                        os.path.join(HERE, "requirements-cluster.txt")], check=True)
        open(done, "w").close()
    output = subprocess.run([python, os.path.abspath(__file__)], check=True, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": site, "OPENBLAS_NUM_THREADS": "1"}).stdout
    return json.loads(output)


def tables(rows):
    lines = ["| work | workers are | processor, times processes | wall, times processes | processor | memory | sent between workers |", "|---|---|---|---|---|---|---|"]
    for work, title in WORKS.items():
        found = {kind: [row for row in rows if row["work"] == work and row["kind"] == kind] for kind in NAMES}
        for kind, name in NAMES.items():
            def ratio(of, kind=kind, found=found):
                return statistics.median(a[of] / b[of] for a, b in zip(found[kind], found["processes"], strict=True))

            def middle(of, kind=kind, found=found):
                return statistics.median(row[of] for row in found[kind])

            lines.append(f"| {title} | {name} | {ratio('cpu'):.2f} | {ratio('wall'):.2f} | {middle('cpu'):.2f} s | {middle('memory') / 2**20:.0f} MiB | "
                         f"{middle('sent') / 2**20:.1f} MiB |")
    return "\n".join(lines)


def report(name, rows):
    """FILE.md."""
    first = next(row["sent"] for row in rows if row["kind"] == "first" and row["work"] == "numpy")
    with open(f"{name}.md", "w") as file:
        file.write("# What a cluster on one machine costs\n\n"
                   f"{time.strftime('%Y-%m-%d')}; {os.cpu_count()} processors, load {os.getloadavg()[1]:.0f}. Made by `make bench TESTS=cluster "
                   f"REPORT=tests/bench/CLUSTER`: workers of dask.distributed with {WORKERS} tasks at once, as {WORKERS} processes, as threads, and as "
                   "interpreters with `copy_arguments=False`. Times are of the processor, of all workers and of the program with the scheduler; ratios are "
                   f"those of one of {ROUNDS} rounds in which the kinds take turns: the median. Memory is what the workers alone have after the work. The array "
                   f"of {MIB} MiB goes to the second process before the first round: {first / 2**20:.0f} MiB. Processes and threads are Debian's python3, "
                   "which is faster than the libpython that interpreters load ([EXECUTOR.md](EXECUTOR.md)).\n\n"
                   f"{tables(rows)}\n")


if __name__ == "__main__":
    main()
