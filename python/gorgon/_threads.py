# SPDX-License-Identifier: MIT
"""Locks, events, semaphores, conditions and queues of threads. They are the program's, and stay there: what a call gets is a
stand-in, whose methods the program carries out on the call's thread. Both sides run this file.

A stand-in lives as long as the program's object. What waits, waits in slices: in between a call can be interrupted."""

import functools
import importlib
import itertools
import sys
import threading
import time
import weakref

is_worker = False
ask = None  # in a worker: ask(number, method, *args), what the host's object returns or raises

SLICE = 0.05  # seconds


# --- in the host --------------------------------------------------------------------------------------------------

numbers = itertools.count()
number_of = weakref.WeakKeyDictionary()
object_of = weakref.WeakValueDictionary()  # by number
LOCKS = type(threading.Lock()), type(threading.RLock())
QUEUES = [("queue", "Queue"), ("_queue", "SimpleQueue"), ("concurrent.interpreters._queues", "Queue")]


class Lost(LookupError):
    """The program does not have this object any more."""


def kind_of(value):
    if isinstance(value, threading.Event):
        return "Event"
    if isinstance(value, threading.Semaphore):
        return "Semaphore"
    if isinstance(value, LOCKS):
        return "Lock"
    if isinstance(value, threading.Condition):
        return "Condition"
    classes = (getattr(sys.modules.get(module), name, ()) for module, name in QUEUES)
    return "Queue" if isinstance(value, tuple(filter(None, classes))) else None


def is_made_of_locks(value):
    """Whether it is an object that acquires and releases others, as tqdm's."""
    return hasattr(type(value), "acquire") and hasattr(type(value), "release") and hasattr(value, "__dict__")


def found_in(roots):
    """Identities of what is among these, or in plain containers that are, or in locks that are made of others."""
    seen, rest = set(), list(roots)
    while rest:
        value = rest.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (list, tuple, set, frozenset)):
            rest.extend(value)
        elif isinstance(value, dict):
            rest.extend(value.values())
        elif isinstance(value, functools.partial):
            rest += value.args, value.keywords
        elif is_made_of_locks(value):
            rest.extend(vars(value).values())
    return seen


def reduce_object(value, pickler):
    """None: it stays nowhere. A lock within another object guards that one, which is copied: it is refused, as ever."""
    kind = None if is_worker else kind_of(value)
    if kind is None or kind in ("Lock", "Condition") and id(value) not in found_in(pickler.roots):
        return None
    pickler.objects.append(value)
    if value not in number_of:
        number = next(numbers)
        object_of[number] = value
        number_of[value] = number
    return find, (number_of[value], kind)


def answer(number, name, *args):
    """What a method returns, or an attribute's value. Of a module of this package, for all interpreters, by its name."""
    if isinstance(number, str):
        return getattr(importlib.import_module(f"gorgon.{number}").HOST, name)(*args)
    if number not in object_of:
        raise Lost("the program has let go of this object since the call got it")
    value = getattr(object_of[number], name)
    return value(*args) if callable(value) else value


# --- in a worker --------------------------------------------------------------------------------------------------

here = weakref.WeakValueDictionary()  # stand-ins by number


def find(number, kind):
    if not is_worker:
        return object_of[number]
    if number not in here:
        here[number] = stand_in = KINDS[kind](number)
        return stand_in
    return here[number]


class StandIn:
    def __init__(self, number):
        self._number = number

    def __reduce__(self):
        return find, (self._number, type(self).__name__)

    def _ask(self, method, *args):
        return ask(self._number, method, *args)

    def _wait(self, timeout, attempt):
        """What an attempt of some seconds gives, once that is true or the time is up."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE if end is None else min(SLICE, max(end - time.monotonic(), 0))
            result = attempt(left)
            if result or end is not None and time.monotonic() >= end:
                return result


class Event(StandIn):
    def is_set(self):
        return self._ask("is_set")

    def set(self):
        self._ask("set")

    def clear(self):
        self._ask("clear")

    def wait(self, timeout=None):
        return self._wait(timeout, lambda seconds: self._ask("wait", seconds))


class Lockable(StandIn):
    def acquire(self, blocking=True, timeout=None):
        if timeout is not None and timeout < 0:
            timeout = None  # as locks have it
        if not blocking:
            if timeout is not None:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return self._ask("acquire", False)
        return self._wait(timeout, lambda seconds: self._ask("acquire", True, seconds))

    def release(self, *args):
        self._ask("release", *args)

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


class Semaphore(Lockable):
    pass


class Lock(Lockable):
    def locked(self):
        return self._ask("locked")


class Condition(Lockable):
    # Between two slices this thread has the lock: nobody can notify it in vain.
    def wait(self, timeout=None):
        return self._wait(timeout, lambda seconds: self._ask("wait", seconds))

    def wait_for(self, predicate, timeout=None):
        end = None if timeout is None else time.monotonic() + timeout
        while not (result := predicate()):
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self, n=1):
        self._ask("notify", n)

    def notify_all(self):
        self._ask("notify_all")


class Queue(StandIn):
    def _wait_unless(self, error, block, timeout, method, *args):
        """The error says that it is too early."""
        if not block:
            return self._ask(method, *args, False)
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        errors, values = [], []

        def attempt(seconds):
            try:
                values.append(self._ask(method, *args, True, seconds))
            except error as early:
                errors[:] = [early]
            return values

        if self._wait(timeout, attempt):
            return values.pop()
        raise errors.pop()

    def get(self, block=True, timeout=None):
        import queue
        return self._wait_unless(queue.Empty, block, timeout, "get")

    def put(self, item, block=True, timeout=None):
        import queue
        return self._wait_unless(queue.Full, block, timeout, "put", item)

    def get_nowait(self):
        return self.get(False)

    def put_nowait(self, item):
        self.put(item, False)

    def qsize(self):
        return self._ask("qsize")

    def empty(self):
        return self._ask("empty")

    def full(self):
        return self._ask("full")

    def task_done(self):
        self._ask("task_done")

    def join(self):
        """Until each item was said to be done."""
        while self._ask("unfinished_tasks"):
            time.sleep(SLICE)

    def shutdown(self, immediate=False):
        self._ask("shutdown", immediate)


KINDS = {each.__name__: each for each in (Event, Semaphore, Lock, Condition, Queue)}
