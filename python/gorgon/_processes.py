# SPDX-License-Identifier: MIT
"""What a program has of multiprocessing, and gives to its workers: to an initializer, as tqdm does, or to calls.

Workers are in the process that made it. So a lock is the semaphore itself, the memory of a Value or an Array is the program's
own, and only an end of a pipe or of a queue, which is a descriptor, has to be handed on to a worker, which has descriptors
of its own. A manager's proxies connect as they do from other processes. Both sides run this file."""

import collections
import contextlib
import itertools
import os
import pickle
import sys
import threading

is_worker = False
worker = None  # the number of this one
keys = itertools.count()
kept = {}  # semaphores in use, by their handle


def is_of(value, module, name):
    """Whether it is an instance of a class, of a module that may not be imported."""
    module = sys.modules.get(f"multiprocessing.{module}")
    return module is not None and isinstance(value, getattr(module, name))


@contextlib.contextmanager
def spawning():
    """In which multiprocessing's objects agree to be pickled."""
    context = sys.modules.get("multiprocessing.context")
    if is_worker or not context:
        yield
        return
    before = context.get_spawning_popen()
    context.set_spawning_popen(True)
    try:
        yield
    finally:
        context.set_spawning_popen(before)


def reduce_shared(value, pickler):
    """None: it is nothing of multiprocessing's that is shared."""
    if "multiprocessing" not in sys.modules:
        return None
    if is_of(value, "managers", "BaseProxy"):
        from multiprocessing import process
        return rebuild_proxy, (bytes(process.current_process().authkey), value.__reduce__())
    if is_worker:
        return None
    if is_of(value, "synchronize", "SemLock"):
        lock = value._semlock
        kept[lock.handle] = lock  # a worker may use it for as long as that lives
        return rebuild_lock, (type(value), lock.handle, lock.kind, lock.maxvalue)
    if is_of(value, "heap", "Arena"):
        buffer = pickle.PickleBuffer(value.buffer)
        pickler.buffers.writable.append(buffer)
        return rebuild_arena, (type(value), value.size, buffer)
    if is_of(value, "connection", "Connection"):
        pickler.ends.append(End(value.fileno()))
        return rebuild_connection, (type(value), pickler.ends[-1].key, value.readable, value.writable)
    if hasattr(type(value), "from_buffer") and hasattr(value, "_wrapper"):  # of ctypes
        from multiprocessing import sharedctypes
        return sharedctypes.reduce_ctype(value)
    return None


def rebuild_proxy(key, reduced):
    """A manager's proxy connects with the key of its process, which those that multiprocessing starts are told."""
    from multiprocessing import process
    process.current_process().authkey = key
    function, arguments = reduced
    return function(*arguments)


def rebuild_lock(cls, handle, kind, most):
    import _multiprocessing
    # The end of this object would be that of the program's semaphore: it is in a circle, which no end of an interpreter opens.
    kept[None] = kept
    if handle not in kept:
        kept[handle] = _multiprocessing.SemLock._rebuild(handle, kind, most, None)
    lock = cls.__new__(cls)
    lock._semlock, lock._is_fork_ctx = kept[handle], False
    lock._make_methods()
    return lock


def rebuild_arena(cls, size, buffer):
    arena = cls.__new__(cls)
    arena.size, arena.fd, arena.buffer = size, -1, memoryview(buffer).cast("B")
    return arena


class End:
    """An end of a pipe, of which each worker that is sent this gets a descriptor."""

    def __init__(self, fd):
        self.key, self.fd = next(keys), os.dup(fd)

    def __del__(self):
        unused.append(self.fd)
        if not getattr(thread, "is_worker", False):
            close_unused()


unused = collections.deque()  # descriptors of ends that are gone
thread = threading.local()  # is_worker: it has other descriptors


def close_unused():
    with contextlib.suppress(IndexError):
        while True:
            os.close(unused.popleft())


def name_of(key, number):
    return f"multiprocessing.end {key} {number}"


def send_ends(ends, number):
    """To the worker of that number, which is about to unpickle them. What it has left of an earlier call serves as well."""
    from . import _gorgon
    for end in ends:
        with contextlib.suppress(_gorgon.Error):
            _gorgon.send_fd(end.fd, name_of(end.key, number))


def rebuild_connection(cls, key, readable, writable):
    import gorgon
    return cls(gorgon.receive_fd(name_of(key, worker)), readable, writable)


def send_tracker(number):
    """This process's resource tracker; the name for the worker to receive it by."""
    from multiprocessing import resource_tracker
    from . import _gorgon
    name = f"multiprocessing.tracker {number} {next(keys)}"
    _gorgon.send_fd(resource_tracker._resource_tracker.getfd(), name)
    return name


def take_tracker(name):
    """What this interpreter attaches to is the host's to unlink, as for processes that multiprocessing starts."""
    import gorgon
    from multiprocessing import resource_tracker
    descriptor, tracker = gorgon.receive_fd(name), resource_tracker._resource_tracker
    if tracker._fd is None:
        tracker._fd = descriptor
    else:
        os.close(descriptor)
