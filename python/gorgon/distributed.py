# SPDX-License-Identifier: MIT
"""dask.distributed's workers compute in interpreters: one worker process for a machine, all of its processors, no GIL between tasks.

    dask worker --preload gorgon.distributed ADDRESS            or, for a cluster that runs:
    client.register_plugin(gorgon.distributed.Interpreters())

A worker has as many interpreters as it has threads. A task runs in one of them, with copies of what the worker keeps; what it
returns crosses without a copy. Actors, coroutines and tasks that need the worker itself (get_worker(), get_client(),
worker_client(), secede(), locks, shuffles), or that have or give what cannot be pickled, run on the worker's threads, as without
this module. That a task needs the worker is seen when it asks for it: it begins again on a thread then, as a task does whose worker
was lost, and other tasks of the same functions run on threads at once.

Options of the executor are those of the plugin, or of dask's configuration:

    DASK_GORGON__MEMORY_LIMIT=4000000000 DASK_GORGON__MAX_TASKS_PER_CHILD=100 dask worker --preload gorgon.distributed ADDRESS

What a task tells gorgon.progress() is an event of the topic "progress" of its worker. The worker's metrics, which the dashboard
shows, have the number of tasks that ran in interpreters, in each of them and on threads, and the bytes that each interpreter holds."""

import contextvars
import functools
import logging
import pickle
import threading
from concurrent.futures import CancelledError, Executor

import dask.config
from distributed.core import Status
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.worker import _run_task, _run_task_simple

from . import InterpreterPoolExecutor, _classes
from ._tasks import NeedsWorker, Raised, begin, compute

LOGGER = logging.getLogger("gorgon.distributed")
STAYS = TypeError, AttributeError, RecursionError, pickle.PickleError  # of arguments and results that do not cross


def functions_of(task):
    """The names of the functions of a task, and of the tasks that were fused with it."""
    found, waiting, seen = set(), [task], {}  # a list may have itself
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list, tuple)):
            if id(each) not in seen:
                seen[id(each)] = each
                waiting.extend(each.values() if isinstance(each, dict) else each)
        elif callable(function := getattr(each, "func", None)) and hasattr(each, "args"):
            waiting.extend((each.args, getattr(each, "kwargs", None)))
            while isinstance(function, functools.partial):
                waiting.extend((function.args, function.keywords))
                function = function.func
            found.add((getattr(function, "__module__", None) or "", getattr(function, "__qualname__", repr(type(function)))))
    return frozenset(found)


class Remote:
    """In place of a task: one of the worker's threads calls it, and waits for the interpreter."""

    def __init__(self, task, executor):
        self.task, self.executor = task, executor

    def __call__(self, data):
        return self.executor.compute(self.task, data)


class WorkerExecutor(Executor):
    """The worker's threads, which have tasks run in interpreters. The options are those of InterpreterPoolExecutor."""

    def __init__(self, worker, *, copy_arguments=True, initializer=None, initargs=(), **options):
        _classes.changes = True  # a task's classes have what they had where it was submitted
        self.worker, self.threads = worker, worker.executors["default"]
        self._max_workers = worker.state.nthreads
        self.pool = InterpreterPoolExecutor(self._max_workers, "gorgon-distributed", begin, (initializer, initargs),
                                            progress=self.report, copy_arguments=copy_arguments, **options)
        self.lock, self.counting = threading.Lock(), threading.Lock()
        self.on_threads = set()  # functions_of() tasks which need the worker
        self.in_interpreters = self.outside = 0  # tasks
        self.keys = {}
        self.has_ended = self.is_interrupted = False

    def submit(self, fn, /, *args, **kwargs):
        """In the worker's event loop: run_in_executor() of a task, or of something else."""
        context = contextvars.copy_context()
        if fn is not _run_task_simple:
            return self.threads.submit(context.run, fn, *args, **kwargs)
        (task, data, delay), worker = args, self.worker
        return self.threads.submit(context.run, _run_task, task if self.needs_worker(task) else Remote(task, self), data,
                                   worker.execution_state, task.key, worker.active_threads, worker.active_threads_lock, delay)

    def needs_worker(self, task):
        functions = functions_of(task)
        ret = not functions or functions in self.on_threads or any(
            module.split(".")[0] == "distributed" for module, _ in functions)
        self.count(outside=ret)
        return ret

    def count(self, inside=0, outside=0):
        with self.counting:
            self.in_interpreters += inside
            self.outside += outside

    def compute(self, task, data):
        with self.lock:  # report() waits until its key is known
            if future := None if self.has_ended else self.pool.submit(compute, task, data):
                self.keys[future] = task.key
        if not future:
            return task(data)
        try:
            ret, why = future.result(), None
        except NeedsWorker:
            why = "asks for the worker"
        except STAYS as error:  # what tasks raise is Raised
            why = f"has or gives what stays in its process ({error})"
        except KeyboardInterrupt:
            if not self.is_interrupted:
                raise
            raise CancelledError(f"{task.key}: the worker ends") from None  # the other one would end the worker's loop
        finally:
            del self.keys[future]
        if not why:
            self.count(inside=1)
            try:
                if isinstance(ret, Raised):
                    raise ret.error
                return ret
            finally:
                del ret  # which would hold this frame
        LOGGER.info("%s %s: it and tasks of the same functions run on the worker's threads", task.key, why)
        self.on_threads.add(functions_of(task))
        self.count(outside=1)
        return task(data)

    def report(self, future, value):
        with self.lock:
            key = self.keys.get(future)
        self.worker.loop.add_callback(self.worker.log_event, "progress", {"key": str(key), "value": value})

    def end(self, wait, interrupt):
        """Tasks that are there run to their end, unless they are interrupted; others run on threads."""
        with self.lock:
            self.has_ended, self.is_interrupted = True, interrupt
        self.pool.shutdown(wait, cancel_futures=interrupt, interrupt=interrupt)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.end(wait, interrupt=True)
        self.threads.shutdown(wait)

    def metrics(self):
        """Functions of the worker that its metrics are made with."""
        def of(number, count):
            def metric(worker):
                workers = self.pool._crew.workers
                return count(workers[number]) if number < len(workers) else 0
            return metric

        counts = {"tasks": lambda interpreter: interpreter.calls, "memory": lambda interpreter: interpreter.memory()}
        return {"tasks in interpreters": lambda worker: self.in_interpreters, "tasks on threads": lambda worker: self.outside,
                **{f"interpreter {i}: {name}": of(i, count) for i in range(self._max_workers) for name, count in counts.items()}}


class Interpreters(WorkerPlugin):
    """client.register_plugin(Interpreters()): workers that are there, and those that come, compute in interpreters."""

    name = "gorgon.distributed"

    def __init__(self, **options):
        self.options = options

    def setup(self, worker):
        if isinstance(worker.executors["default"], WorkerExecutor):
            return
        executor = WorkerExecutor(worker, **{**dask.config.get("gorgon", {}), **self.options})
        worker.executors["default"] = executor
        worker.metrics.update(executor.metrics())

    def teardown(self, worker):
        executor = worker.executors["default"]
        if not isinstance(executor, WorkerExecutor):
            return
        worker.executors["default"] = executor.threads
        for name in executor.metrics():
            worker.metrics.pop(name, None)
        executor.end(wait=False, interrupt=worker.status in (Status.closing, Status.closed, Status.failed))


def dask_setup(worker):
    """dask worker --preload gorgon.distributed"""
    Interpreters().setup(worker)


def dask_teardown(worker):
    Interpreters().teardown(worker)
