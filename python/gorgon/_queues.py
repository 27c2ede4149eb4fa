# SPDX-License-Identifier: MIT
"""Queues of gorgon.interpreters. They are the host's: interpreters ask it for what they put and get. Both sides run this file."""

import collections
import contextlib
import itertools
import operator
import queue
import threading
import time
import weakref

from . import _strict

SLICE = 0.05  # seconds that a wait takes at most, to be interrupted


class QueueError(RuntimeError):
    __module__ = _strict.NAME


class QueueNotFoundError(QueueError):
    __module__ = _strict.NAME


class QueueEmpty(QueueError, queue.Empty):
    """Of get_nowait(), and of get() when its time is up."""
    __module__ = _strict.NAME


class QueueFull(QueueError, queue.Full):
    """Of put_nowait(), and of put() when its time is up."""
    __module__ = _strict.NAME


class ItemInterpreterDestroyed(QueueError):
    """Of get(): the interpreter that has put the item has ended."""
    __module__ = _strict.NAME


class Unbound:
    """What becomes of an item when the interpreter that has put it ends."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"{_strict.NAME}.{self.name}"

    def __reduce__(self):
        return self.name


UNBOUND_REMOVE, UNBOUND_ERROR, UNBOUND = map(Unbound, ("UNBOUND_REMOVE", "UNBOUND_ERROR", "UNBOUND"))


def check_unbound(items):
    if items not in (UNBOUND_REMOVE, UNBOUND_ERROR, UNBOUND):
        raise NotImplementedError(f"unsupported unbound replacement op {items!r}")


# --- in the host --------------------------------------------------------------------------------------------------

holders = set()  # idents of threads that hold a lock of a queue


class Box:
    """A queue's items: what was packed, what the pickle refers to, who has put it, and what it is if that one ends."""

    def __init__(self, size, unbound):
        self.size, self.unbound = size, unbound
        self.items, self.refs = collections.deque(), []
        self.lock, self.changed = threading.Lock(), threading.Lock()

    @contextlib.contextmanager
    def held(self):
        with self.lock:
            holders.add(threading.get_ident())
            try:
                yield
            finally:
                holders.discard(threading.get_ident())

    def is_full(self):
        return 0 < self.size <= len(self.items)

    def wake(self):
        """One of those who wait; it wakes the next one."""
        with contextlib.suppress(RuntimeError):  # it is about to wake
            self.changed.release()


class Host:
    """What interpreters ask: each with its own number first."""

    def __init__(self):
        self.numbers, self.boxes, self.travelling = itertools.count(), {}, {}

    def find(self, number):
        if number not in self.boxes:
            raise QueueNotFoundError(f"queue {number} not found")
        return self.boxes[number]

    def create(self, asker, size, unbound):
        number = next(self.numbers)
        self.boxes[number] = Box(size, unbound)
        return number

    def list(self, asker):
        return list(self.boxes)

    def bind(self, asker, number):
        box = self.find(number)
        box.refs.append(asker)
        return box.size, box.unbound

    def release(self, asker, number):
        box = self.boxes.get(number)
        if box and asker in box.refs:
            box.refs.remove(asker)
            if not box.refs:
                self.boxes.pop(number, None)

    def qsize(self, asker, number):
        return len(self.find(number).items)

    def hold(self, asker, name, references):
        """What a result refers to."""
        self.travelling[name] = references

    def arrived(self, asker, name):
        self.travelling.pop(name, None)

    def put(self, asker, number, values, name, references, unbound):
        """references: what the pickle has of the host's, which the item holds."""
        box = self.find(number)
        with box.held():
            if box.is_full():
                raise QueueFull(f"queue {number} is full")
            box.items.append((values, (name, references), asker, unbound or box.unbound))
        box.wake()

    def get(self, asker, number):
        box = self.find(number)
        with box.held():
            if not box.items:
                raise QueueEmpty(f"queue {number} is empty")
            values, held, owner, unbound = box.items.popleft()
        box.wake()
        if owner is not None:
            if held[0] is not None:
                self.hold(asker, *held)
            return _strict.Received(values)
        if unbound is UNBOUND_ERROR:
            raise ItemInterpreterDestroyed("item's original interpreter destroyed")
        return UNBOUND

    def wait(self, asker, number, is_full, seconds):
        """Until it is perhaps not full any more, or not empty."""
        box = self.find(number)
        if (box.is_full() if is_full else not box.items) and box.changed.acquire(timeout=seconds):
            box.wake()  # others wait for this, too
            if box.is_full() if is_full else not box.items:
                time.sleep(0.001)  # it was for one of them

    def forget(self, asker):
        """That interpreter has ended."""
        for number, box in list(self.boxes.items()):
            with box.held():
                kept = [item if item[2] != asker else (None, None, None, item[3]) for item in box.items
                        if item[2] != asker or item[3] is not UNBOUND_REMOVE]
                dropped, box.items = box.items, collections.deque(kept)
            del dropped
            box.wake()
            while asker in box.refs:
                self.release(asker, number)


HOST = Host()


# --- on both sides ------------------------------------------------------------------------------------------------


def create(maxsize=0, *, unbounditems=UNBOUND):
    """A new queue. unbounditems: what get() has in place of items of an interpreter that has ended: UNBOUND, an
    ItemInterpreterDestroyed with UNBOUND_ERROR, nothing with UNBOUND_REMOVE."""
    check_unbound(unbounditems)
    return Queue(_strict.ask("_queues", "create", operator.index(maxsize), unbounditems))


def list_all():
    queues = []
    for number in _strict.ask("_queues", "list"):
        with contextlib.suppress(QueueNotFoundError):
            queues.append(Queue(number))
    return queues


known = weakref.WeakValueDictionary()


class Queue(_strict.Reference):
    """A queue between interpreters."""
    __module__ = _strict.NAME

    def __new__(cls, id, /):
        if not isinstance(id, int):
            raise TypeError(f"id must be an int, got {id!r}")
        if id < 0:
            raise ValueError(f"queue ID must be a non-negative int, got {id!r}")
        self = known.get(id)
        if self is None:
            size, unbound = _strict.ask("_queues", "bind", int(id))
            self = super().__new__(cls)
            self._id, self._size, self._unbound = int(id), size, unbound
            known[self._id] = self
        return self

    maxsize = property(lambda self: self._size)
    unbounditems = property(lambda self: self._unbound)

    def __del__(self, ask=_strict.ask):
        if hasattr(self, "_id"):
            try:
                ask("_queues", "release", self._id)
            except Exception:  # this interpreter ends
                pass

    def _ask(self, name, *question):
        return _strict.ask("_queues", name, self._id, *question)

    def qsize(self):
        return self._ask("qsize")

    def empty(self):
        return self.qsize() == 0

    def full(self):
        return 0 < self._size <= self.qsize()

    def _try(self, error, block, timeout, *question):
        """The error says that it is too early."""
        if block and timeout is not None:
            if timeout < 0:
                raise ValueError("timeout value must be non-negative")
            end = time.monotonic() + timeout
        while True:
            try:
                return self._ask(*question)
            except error:
                left = SLICE if block and timeout is None else min(end - time.monotonic(), SLICE) if block else 0
                if left <= 0:
                    raise
            self._ask("wait", error is QueueFull, left)

    def put(self, obj, block=True, timeout=None, *, unbounditems=None):
        """Add a copy of the object, or a view of its memory (docs of gorgon.interpreters). While the queue is full this waits,
        if it may block, for as many seconds as timeout says."""
        if unbounditems is not None:
            check_unbound(unbounditems)
        packed = _strict.pack(obj)
        name, sent = _strict.to_travel(packed)
        self._try(QueueFull, block, timeout, "put", sent.values, name, packed.objects, unbounditems)

    def put_nowait(self, obj, *, unbounditems=None):
        self.put(obj, False, unbounditems=unbounditems)

    def get(self, block=True, timeout=None):
        """The next object. While there is none this waits, if it may block, for as many seconds as timeout says."""
        return self._try(QueueEmpty, block, timeout, "get")

    def get_nowait(self):
        return self.get(False)
