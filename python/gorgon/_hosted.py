# SPDX-License-Identifier: MIT
"""The host's side of gorgon.interpreters: the interpreters, which each have a thread, and what all of them ask.

No lock is held while an interpreter is made, called or ended: what an object's end does, the collector of garbage may do on any
thread at any time. Lists and dicts change by one operation each, which is whole."""

import atexit
import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
import warnings
import weakref

from . import _crossing, _executor, _gorgon, _queues, _strict, _threads
from .interpreters import InterpreterError, InterpreterNotFoundError

RUNTIME, OTHER, OWN = "runtime init", "C-API", "_interpreters module"  # where an interpreter comes from, in CPython's words


def report(value, asked):
    """What an interpreter asks, on its thread."""
    if not asked:
        return False  # gorgon.progress(): nobody listens
    try:
        answer = _threads.answer(*_crossing.load(*value[1:]))
        return [False, *(answer if isinstance(answer, _crossing.Packed) else _crossing.Packed(answer, is_own=True)).values]
    except BaseException as error:
        return [True, *_crossing.dump_error(error)]


class Private:
    """An interpreter, and the thread that it runs on."""

    def __init__(self, number):
        self.number, self.pid = number, os.getpid()
        self.refs = []  # numbers of interpreters, one for each object there
        self.busy, self.lock = threading.Lock(), threading.Lock()
        self.calling = self.handle = None
        self.desk = _executor.Desk(f"gorgon-interpreter-{number}")
        try:
            self.desk.call(self.start)
        except BaseException as error:
            self.desk.close()
            raise InterpreterError(f"interpreter creation failed: {error}") from error

    def start(self):
        _executor.refuse_too_many()
        self.handle = _gorgon._create(sys.executable, subprocess._args_from_interpreter_flags(), report, 0, True,
                                      _executor.PYTHON_LINES.index(None))
        try:
            _executor.begin(self.handle, next(_executor.workers), (None, None))
            _gorgon._call(self.handle, _strict.NAME, "begin", [self.number, {"path": list(sys.path), "argv": list(sys.argv)}])
        except BaseException:
            _executor.destroy(self.handle, 0)
            raise

    def call(self, what, values):
        if not self.busy.acquire(blocking=False):
            raise InterpreterError("interpreter already running")
        token = []
        try:
            return self.desk.call(self.work, token, what, values)
        except BaseException:
            while not token:  # it is this thread that got an exception, of Ctrl-C or a signal's handler
                self.interrupt(token)
                time.sleep(_executor.AGAIN)
            raise

    def work(self, token, what, values):
        self.calling = token
        try:
            return _strict.Received(_gorgon._call(self.handle, _strict.NAME, "do", [what, *values]))
        except _gorgon.Error as error:
            if error.code in (_executor.PYTHON, _executor.BUSY):
                self.refs.clear()  # it has ended
            raise InterpreterError(str(error)) from None
        finally:
            if os.getpid() != self.pid:  # code there has forked: this child has no other thread, which its end could wait for
                os._exit(0)
            with self.lock:
                self.calling = None
                token.append(None)
            self.busy.release()
            end_unused(self)

    def interrupt(self, token):
        with self.lock:
            if token is None or self.calling is not token:
                return
            try:
                _gorgon._interrupt(self.handle)
            except _gorgon.Error as error:
                if error.code == _executor.UNSUPPORTED:  # somebody has set a handler of SIGINT
                    _gorgon._call(self.handle, "_thread", "interrupt_main", [])
                elif error.code != _executor.BUSY:
                    raise

    def end(self, wait=True):
        """It is busy, for ever, and not in the table any more."""
        if threading.current_thread() is self.desk.thread:
            self.finish()
        elif wait:
            self.desk.call(self.finish)
        else:
            self.desk.tasks.put(self.finish)
        self.desk.close()

    def finish(self):
        _executor.destroy(self.handle, 0)
        forget(self.number)


table, guests = {}, {}  # of this module; threads of others, an executor's
numbers = itertools.count(1)


def end_unused(private, wait=True):
    if not private.refs and private.busy.acquire(blocking=False):
        if table.pop(private.number, None):
            private.end(wait)


def forget(number):
    """An interpreter has ended: nothing holds its references."""
    guests.pop(number, None)
    for private in list(table.values()):
        if number in private.refs:
            private.refs[:] = [each for each in private.refs if each != number]
            end_unused(private)
    _queues.HOST.forget(number)


DOES = {"exec": "exec code for", "text": "exec code for", "call": "make a call in", "set": "update __main__ for", "close": "destroy"}


def find(number, what=None):
    if what and (number == 0 or number in guests):
        raise InterpreterError(f"cannot {DOES[what]} unrecognized interpreter {number}")
    private = table.get(number)
    if private is None or private.pid != os.getpid():  # a forked child has none of them
        raise InterpreterNotFoundError(f"unrecognized interpreter ID {number}")
    return private


class Host:
    """What interpreters ask: each with its own number first."""

    def enter(self):
        number = next(numbers)
        guests[number] = weakref.ref(threading.current_thread())
        weakref.finalize(threading.current_thread(), forget, number).atexit = False
        return number

    def create(self, asker):
        private = Private(next(numbers))
        table[private.number] = private
        return private.number

    def list(self, asker):
        others = [number for number, thread in list(guests.items()) if thread() and thread().is_alive()]
        return [0, *sorted([*others, *(private.number for private in list(table.values()) if private.pid == os.getpid())])]

    def incref(self, asker, number):
        if number == 0 or number in guests:
            return OTHER if number else RUNTIME
        find(number).refs.append(asker)
        return OWN

    def decref(self, asker, number):
        private = table.get(number)
        if private and private.pid == os.getpid():
            with contextlib.suppress(ValueError):
                private.refs.remove(asker)
            # Who holds a lock of a queue, or is a thread of that interpreter, cannot wait for its end.
            end_unused(private, asker != number and threading.get_ident() not in _queues.holders)

    def is_running(self, asker, number):
        return number in (0, asker) or find(number).busy.locked()

    def run(self, asker, number, what, values):
        return find(number, what).call(what, values)

    def close(self, asker, number):
        private = find(number, "close")
        if number == asker:
            raise InterpreterError("cannot destroy the current interpreter")
        if not private.busy.acquire(blocking=False):
            raise InterpreterError("interpreter running")
        find(number)
        del table[number]
        private.end()


HOST = Host()


@atexit.register
def end_all():
    left = [private for private in list(table.values()) if private.pid == os.getpid()]
    if left:
        warnings.warn_explicit("remaining subinterpreters; close them with Interpreter.close()", RuntimeWarning, "sys", 1)
    for private in left:
        end, free = time.monotonic() + _executor.GRACE, False
        while private.number in table and not (free := private.busy.acquire(timeout=_executor.AGAIN)) and time.monotonic() < end:
            private.interrupt(private.calling)
        if free and table.pop(private.number, None):
            private.end()
