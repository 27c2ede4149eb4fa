# SPDX-License-Identifier: MIT
"""Work for a local cluster of dask.distributed: cluster_work.py KIND prints a line for each piece of work. KIND is "threads" for
dask's own workers; those of gorgon.distributed are there by a "preload" or a "plugin", or are "alone", without a nanny, or "adaptive", as
many as there is work for."""

import asyncio
import collections
import contextlib
import functools
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

import dask.array
import dask.dataframe
import numpy
import pandas
from distributed import Client, LocalCluster, Lock, Queue, Variable, get_client, get_worker, rejoin, secede, wait, worker_client

KIND = sys.argv[1]
PRELOAD = ["gorgon.distributed"]


class Counter:
    def __init__(self):
        self.count = 0

    def add(self, n):
        self.count += n
        return self.count


Point = collections.namedtuple("Point", "x y")


class Setting:
    value = 1


def setting(value=None):
    Setting.value = value or Setting.value
    return Setting.value


def where(seconds):
    """The process and the number of the interpreter, None on a thread."""
    import gorgon
    time.sleep(seconds)
    return os.getpid(), gorgon.interpreter


def in_place(array):
    array += 1
    return float(array.sum())


def tree(n):
    if n < 2:
        return n
    client = get_client()
    futures = client.map(tree, [n - 1, n - 2], pure=False)
    secede()
    made = client.gather(futures)
    rejoin()
    return sum(made)


def with_worker_client(n):
    with worker_client() as client:
        return sum(client.gather(client.map(lambda x: x * x, range(n))))


def locked(path):
    with Lock("counter"):
        with open(path) as file:
            n = int(file.read())
        time.sleep(0.01)
        with open(path, "w") as file:
            file.write(str(n + 1))


def through_module(n):
    """What asks for the worker is in another function."""
    return n + (helper() is not None)


def helper():
    return get_worker()


def die_once(path):
    if not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), signal.SIGSEGV)
    return "again"


class Refused(Exception):
    def __init__(self, n, why):
        super().__init__(n)
        self.why = why


def fail(n):
    try:
        return [1, 2][n]
    except IndexError as error:
        raise Refused(n, "it is too large") from error


class Broken(Exception):
    def __reduce__(self):
        return self.nothing


def fail_to_cross():
    raise Broken(1)


def asks_for_the_worker():
    try:
        return get_worker() is not None
    except:  # noqa: E722
        return False


async def coroutine(n):
    await asyncio.sleep(0.01)
    return n


def environment(n):
    os.environ["PLACE"] = str(n)
    time.sleep(0.02)
    return os.environ["PLACE"] == str(n)


def keep(n):
    sys.kept = bytearray(n)
    time.sleep(0.2)


def held(dask_worker):
    return max(metric(dask_worker) for name, metric in dask_worker.metrics.items() if name.endswith(": memory"))


def show(what, value):
    print(f"{what}: {value}", flush=True)


def work(client, folder):
    show("2,000 tasks", sum(client.gather(client.map(lambda i: i * i, range(2000)))))
    show("a chain", client.submit(sum, client.map(lambda x, y: x - y, range(50), range(50, 0, -1))).result())
    failed = client.submit(fail, 7)
    error, frames = failed.exception(), traceback.extract_tb(failed.traceback())
    show("an exception", (type(error) is Refused, error.args, error.why, error.__cause__, frames[-1].name, frames[-1].line))
    show("an exception that does not pickle", repr(client.submit(fail_to_cross).exception()))
    show("a class of the program", client.submit(lambda p: Point(p.y, p.x), Point(1, 2)).result())
    seen = [client.submit(setting, value, pure=False).result() for value in (None, 5, None)]
    Setting.value = 2
    show("a class that changes here and there", [*seen, client.submit(setting, pure=False).result()])
    (cycle := [1]).append(cycle)
    show("a list that has itself", client.submit(functools.partial(lambda part: part[1] is part, cycle)).result())
    matrix = dask.array.from_array(numpy.arange(90000.0).reshape(300, 300), chunks=100)
    show("arrays", (float((matrix @ matrix.T).sum().compute()), float(matrix.rechunk((300, 10)).mean(axis=0).max().compute())))
    left = dask.dataframe.from_pandas(pandas.DataFrame({"a": range(1000), "b": range(1000)}), npartitions=8)
    right = dask.dataframe.from_pandas(pandas.DataFrame({"a": range(0, 2000, 2), "c": range(1000)}), npartitions=8)
    joined = left.merge(right, on="a").compute()
    show("a join", (len(joined), int(joined.c.sum())))
    show("groups", int(left.assign(k=left.a % 7).groupby("k").b.sum().compute()[3]))
    shuffled = left.shuffle("a").map_partitions(len).compute()
    show("a shuffle", (int(shuffled.sum()), len(shuffled)))
    counter = client.submit(Counter, actor=True).result()
    show("an actor", [counter.add(n).result() for n in (1, 2, 3)])
    show("a tree of tasks", client.submit(tree, 6).result())
    connection = client.submit(sqlite3.connect, ":memory:", check_same_thread=False)
    show("a connection", client.submit(lambda base: base.execute("SELECT 7").fetchone(), connection).result())
    show("who handles everything", client.submit(asks_for_the_worker).result())
    show("worker_client", client.submit(with_worker_client, 10).result())
    show("through another function", client.gather(client.map(through_module, range(20), pure=False)) == list(range(1, 21)))
    path = os.path.join(folder, "counter")
    with open(path, "w") as file:
        file.write("0")
    client.gather(client.map(locked, [path] * 12, pure=False))
    show("a lock", open(path).read())
    queue, variable = Queue("q"), Variable("v")
    client.gather(client.map(lambda n, queue: queue.put(n), range(5), [queue] * 5))
    variable.set(3)
    show("a queue and a variable", (sorted(queue.get() for _ in range(5)), client.submit(lambda v: v.get() + 1, variable).result()))
    show("coroutines", client.gather(client.map(coroutine, range(5))))
    slow = client.map(time.sleep, [0.3] * 20, pure=False)
    client.cancel(slow)
    show("after cancelled tasks", client.submit(lambda: 1).result())


def show_plugins(client):
    """The plug-in changes, and goes, while tasks run, and they run on."""
    import gorgon.distributed
    processes = client.run(os.getpid)
    begun = [client.map(where, [1] * 4, pure=False)]
    time.sleep(0.5)
    client.register_plugin(gorgon.distributed.Interpreters(max_tasks_per_child=100))
    begun.append(client.map(where, [1] * 4, pure=False))
    time.sleep(0.5)
    client.unregister_worker_plugin(gorgon.distributed.Interpreters.name)
    inside = [number is not None for _, number in client.gather(sum(begun, []))]
    print("own: without a plug-in", all(inside[:4]), client.submit(where, 0, pure=False).result()[1], processes == client.run(os.getpid))
    client.register_plugin(gorgon.distributed.Interpreters())


def show_end():
    """A worker in this process ends while tasks run."""
    import gorgon.distributed
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster, \
            Client(cluster) as client:
        client.register_plugin(gorgon.distributed.Interpreters())
        print("own: inside", client.submit(where, 0).result()[1] is not None)
        running = client.map(time.sleep, [1000, 1001])
        while not all(client.processing().values()):
            time.sleep(0.1)
    print("own: the end", {future.status for future in running})


@contextlib.contextmanager
def cluster_of_two():
    preload = PRELOAD if KIND in ("preload", "adaptive") else []
    count = 0 if KIND in ("alone", "adaptive") else 2
    with LocalCluster(n_workers=count, threads_per_worker=2, preload=preload, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster:
        if KIND == "adaptive":
            cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=3)
        command = [sys.executable, "-m", "dask", "worker", "--no-nanny", "--nthreads", "2", "--preload", *PRELOAD, cluster.scheduler_address]
        alone = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2 if KIND == "alone" else 0)]
        try:
            yield cluster
        finally:
            for process in alone:
                process.terminate()
                process.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with cluster_of_two() as cluster, Client(cluster) as client:
            if KIND == "alone":
                client.wait_for_workers(2)
            if KIND == "plugin":
                import gorgon.distributed
                client.register_plugin(gorgon.distributed.Interpreters(max_tasks_per_child=500))
            if KIND != "threads":
                first = client.submit(numpy.ones, 16 << 20)
                wait(first)
                print("own: the first result is in the worker alone", max(client.run(held).values()) < 128 << 20)
                del first
            work(client, folder)
            if KIND != "threads":
                data = client.scatter(numpy.zeros(1000))
                print("own: what a worker keeps stays", client.submit(in_place, data).result(), data.result().sum())
                print("own: environments", all(client.gather(client.map(environment, range(40), pure=False))))
            if KIND not in ("threads", "adaptive"):
                numbers = set(client.gather(client.map(where, [0.5] * 12, pure=False)))
                print("own: four interpreters", len(numbers) >= 4 and not any(number is None for _, number in numbers))
                before = client.run(held)
                client.gather(client.map(keep, [50 << 20] * 12, pure=False))
                print("own: memory", all((after - before[worker]) >> 20 in range(40, 70) for worker, after in client.run(held).items()))
                metrics = [each["metrics"] for each in client.scheduler_info()["workers"].values()]
                print("own: metrics", sum(each["tasks in interpreters"] for each in metrics) > 2000,
                      sum(each["tasks on threads"] for each in metrics) > 0, all(f"interpreter 1: {name}" in metrics[0] for name in ("tasks", "memory")))
                show_plugins(client)
            show("a worker that dies", client.submit(die_once, os.path.join(folder, "died")).result())
    if KIND == "plugin":
        show_end()


if __name__ == "__main__":
    main()
