# SPDX-License-Identifier: MIT
"""What runs of distributed.py in interpreters: tasks, and what tells that a task needs its worker."""

import importlib.abc
import importlib.machinery
import sys

WORKER = "distributed.worker"


class NeedsWorker(BaseException):
    """A task in an interpreter asks for the worker. Not an Exception, which the task might handle."""


class NoWorker:
    """In place of the variable that has the worker whose task runs."""

    def get(self, *default):
        raise NeedsWorker

    def set(self, worker):
        raise NeedsWorker


class Loader(importlib.abc.Loader):
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        module._worker_cvar = NoWorker()


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
    if initializer:
        initializer(*initargs)


def compute(task, data):
    return task(data)
