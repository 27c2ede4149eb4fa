# SPDX-License-Identifier: MIT
"""What runs of distributed.py in interpreters: tasks, and what tells that a task needs its worker."""

import contextlib
import importlib.abc
import importlib.machinery
import sys

from . import _crossing

WORKER = "distributed.worker"


class NeedsWorker(BaseException):
    """A task in an interpreter asks for the worker. Not an Exception, which the task might handle."""


class NoWorker:
    """In place of the variable that has the worker whose task runs."""

    asked = False

    def get(self, *default):
        self.asked = True  # the task may handle even this
        raise NeedsWorker

    set = get


no_worker = NoWorker()


class Loader(importlib.abc.Loader):
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module._worker_cvar = no_worker


class Finder(importlib.abc.MetaPathFinder):
    """Whoever imports the module gets it without a worker."""

    def find_spec(self, name, path, target=None):
        if name != WORKER:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec:
            spec.loader = Loader(spec.loader)
        return spec


def begin(initializer, initargs):
    sys.meta_path.insert(0, Finder())
    with contextlib.suppress(ImportError):
        import dask._task_spec  # noqa: F401: what each task is made of; the time of an initializer does not count
    if initializer:
        initializer(*initargs)


class Raised:
    """What a task has raised, as dask's workers send it to clients: with its causes, its frames and all attributes, also if its
    class wants other arguments than Exception."""

    def __init__(self, error):
        from tblib import pickling_support  # dask has it for this
        pickling_support.install(error)
        self.error = error
        _crossing.load(*_crossing.Packed(self, is_own=True).values)


def compute(task, data):
    no_worker.asked = False
    try:
        return task(data)
    except MemoryError:
        raise
    except Exception as error:
        trace = error.__traceback__.tb_next
        for make in (lambda: error.with_traceback(trace), lambda: error.with_traceback(None),  # a long one does not cross
                     lambda: Exception(repr(error)).with_traceback(trace)):
            with contextlib.suppress(Exception):
                return Raised(make())
        raise
    finally:
        if no_worker.asked:
            raise NeedsWorker
