# SPDX-License-Identifier: MIT
"""A concurrent.futures executor whose workers are private interpreters.

Each worker is a daemon thread of this Python, which is the main thread of an interpreter of its own and calls into it
without holding this Python's GIL. Work is pickled by the thread that submits it (see _crossing.py); so the worker has
nothing to do under the GIL but to hand bytes on."""

import atexit
import os
import queue
import subprocess
import sys
import threading
import warnings
import weakref
from concurrent.futures import BrokenExecutor, Executor, Future

from . import _crossing, _gorgon

# enum gorgon_error_code
UNSUPPORTED, PYTHON, BUSY = 7, 8, 9

START = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("gorgon._crossing", path)
module = sys.modules["gorgon._crossing"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.set_up(sys_path)
"""

executors = weakref.WeakSet()
staying = []  # interpreters that could not be ended


class BrokenInterpreterPool(BrokenExecutor):
    """An interpreter could not be made, its initializer failed, or it ended in the middle of a call."""


class Work:
    def __init__(self, future, call):
        self.future, self.call = future, call
        self.progress_error = None


class Worker:
    """An interpreter; all but interrupt() on the thread that made it."""

    def __init__(self, options, initializer):
        self.options, self.initializer = options, initializer
        self.lock = threading.Lock()  # of both: nobody interrupts what is gone
        self.handle = None
        self.calling = False
        self.work = None

    def start(self):
        self.handle = _gorgon._create(self.options["python"], self.options["flags"], self.report,
                                      self.options["share_files"])
        try:
            _gorgon._call(self.handle, "builtins", "exec",
                          [START, {"path": _crossing.__file__, "sys_path": self.options["path"]}])
            if self.initializer:
                done, *answer = self.run(self.initializer)
                if not done:
                    raise unpack_error(answer)
        except BaseException:
            self.end()
            raise

    def run(self, call):
        with self.lock:
            self.calling = True
        try:
            return _gorgon._call(self.handle, "gorgon._crossing", "run", call)
        finally:
            with self.lock:
                self.calling = False

    def report(self, value):
        """gorgon.progress() inside; on this worker's thread."""
        work, progress = self.work, self.options["progress"]
        if not (progress and work):
            return True
        try:
            progress(work.future, value)
            return True
        except BaseException as error:
            work.progress_error = error
            return False

    def call(self, work):
        """Do the work. Returns whether the interpreter may go on."""
        self.work = work
        try:
            done, *answer = self.run(work.call)
            work.call = None
            value = _crossing.load(*answer) if done else unpack_error(answer)
        except _gorgon.Error as error:
            done, value = False, KeyboardInterrupt() if error.exception == "KeyboardInterrupt" else error
        except BaseException as error:
            done, value = False, error
        self.work = None
        ended = not done and isinstance(value, _gorgon.Error) and value.code in (PYTHON, BUSY)
        if ended:
            value = BrokenInterpreterPool(str(value))
        # A callback that raised has stopped the call: its exception says why.
        value = work.progress_error or value
        if done and not work.progress_error:
            work.future.set_result(value)
        else:
            work.future.set_exception(value)
        return not ended

    def interrupt(self):
        with self.lock:
            if not self.calling:
                return
            try:
                _gorgon._interrupt(self.handle)
            except _gorgon.Error as error:
                # Somebody has set a handler of SIGINT since: what blocks is not interrupted, code is.
                if error.code == UNSUPPORTED:
                    _gorgon._call(self.handle, "_thread", "interrupt_main", [])
                elif error.code != BUSY:  # it has just ended
                    raise

    def end(self):
        handle, self.handle = self.handle, None
        if handle:
            destroy(handle)


def destroy(handle):
    """End an interpreter. One that cannot, because threads of its libraries go on, stays with a warning until another
    one is ended."""
    handles = [handle]
    while staying:
        handles.append(staying.pop())
    for each in handles:
        try:
            _gorgon._destroy(each)
        except _gorgon.Error as error:
            staying.append(each)
            if each is handle:
                warnings.warn(f"an interpreter stays: {error}", ResourceWarning, stacklevel=2)


def unpack_error(answer):
    try:
        error, text = _crossing.load(*answer)
    except Exception as failure:  # importable there and not here
        return failure
    error.__cause__ = _crossing.RemoteTraceback(text)
    return error


def work_off(reference, tasks, worker):
    """The life of a worker's thread. It does not keep its executor alive."""
    try:
        worker.start()
    except BaseException as error:
        executor = reference()
        if executor:
            executor._break(error)
        return
    while work := tasks.get():
        if not work.future.set_running_or_notify_cancel():
            continue
        sound = worker.call(work)
        del work
        executor = reference()
        if not sound:
            worker.end()
            try:
                worker.start()
            except BaseException as error:
                if executor:
                    executor._break(error)
                break
        if executor:
            executor._idle.release()
        del executor
    tasks.put(None)  # for the next one
    worker.end()


class InterpreterPoolExecutor(Executor):
    """Run calls in private interpreters of this process, as many at once as there are workers.

    max_workers   how many; by default as many as this process may use processors
    initializer   a function that each interpreter calls with *initargs before its first work
    progress      called as progress(future, value) for each gorgon.progress(value) of a call, on its worker's thread;
                  an exception that it raises stops the call
    python        executable of the interpreters' CPython, instead of this one's
    share_files   True: calls see this process's open descriptors, current directory and umask as they are now, and may
                  change them; by default an interpreter begins with copies, as a process does

    Functions, arguments and results cross as _crossing.py says. Contiguous arrays, and all else that pickles its
    memory out of band, are not copied: a call sees the caller's memory, read-only; a result is memory that its
    interpreter had from the host, writable."""

    def __init__(self, max_workers=None, *, initializer=None, initargs=(), progress=None, python=None, share_files=False):
        if max_workers is None:
            max_workers = len(os.sched_getaffinity(0))
        if not isinstance(max_workers, int) or max_workers <= 0:
            raise ValueError(f"max_workers is {max_workers!r}, expected a number greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if not (python or sys.executable):
            raise ValueError("sys.executable does not say which CPython this is: name one with python=")
        self._max_workers = max_workers
        self._options = {"python": python or sys.executable, "progress": progress, "path": list(sys.path), "share_files": share_files,
                         "flags": subprocess._args_from_interpreter_flags()}
        self._initializer = initializer and _crossing.dump((initializer, tuple(initargs), {}), writable=False)
        self._tasks = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._workers, self._threads = [], []
        self._broken = None
        self._shut = False
        self._pid = os.getpid()
        # Threads end when nobody can submit any more.
        self._dropped = weakref.finalize(self, self._tasks.put, None)
        self._dropped.atexit = False
        executors.add(self)

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        try:
            call = _crossing.dump((fn, args, kwargs), writable=False)
        except Exception as error:
            call = None
            future.set_exception(error)
        with self._lock:
            if self._pid != os.getpid():
                raise RuntimeError("this process was forked: it has none of the executor's interpreters")
            if self._broken:
                raise BrokenInterpreterPool(str(self._broken)) from self._broken
            if self._shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if call:
                self._tasks.put(Work(future, call))
                self._add_worker()
        return future

    submit.__doc__ = Executor.submit.__doc__

    def _add_worker(self):
        if self._idle.acquire(blocking=False) or len(self._threads) == self._max_workers:
            return
        worker = Worker(self._options, self._initializer)
        thread = threading.Thread(target=work_off, args=(weakref.ref(self), self._tasks, worker), daemon=True,
                                  name=f"gorgon-{len(self._threads)}")
        self._workers.append(worker)
        self._threads.append(thread)
        thread.start()

    def _break(self, error):
        """No more work: what waits ends with the reason."""
        with self._lock:
            self._broken = self._broken or error
            waiting = list(self._take_waiting())
            self._tasks.put(None)
        for work in waiting:
            if work.future.set_running_or_notify_cancel():
                reason = BrokenInterpreterPool(str(error))
                reason.__cause__ = error
                work.future.set_exception(reason)

    def _take_waiting(self):
        while True:
            try:
                work = self._tasks.get_nowait()
            except queue.Empty:
                return
            if work:
                yield work

    def interrupt(self):
        """KeyboardInterrupt in each call that runs."""
        for worker in list(self._workers):
            worker.interrupt()

    def shutdown(self, wait=True, *, cancel_futures=False, interrupt=False):
        """As of other executors; with interrupt=True calls that run are interrupted, too."""
        with self._lock:
            self._shut = True
            waiting = list(self._take_waiting()) if cancel_futures else []
            self._tasks.put(None)
        for work in waiting:
            work.future.cancel()
            work.future.set_running_or_notify_cancel()
        threads = [thread for thread in self._threads if thread is not threading.current_thread()]
        while True:
            if interrupt:
                self.interrupt()
            if not wait:
                return
            # A call may catch an interrupt to tidy up, and go on: then it is not the last.
            for thread in threads:
                thread.join(1 if interrupt else None)
            if not any(thread.is_alive() for thread in threads):
                return

    def __exit__(self, kind, value, trace):
        # A Ctrl-C does not wait for what it is to stop.
        stop = kind is not None and not issubclass(kind, Exception)
        self.shutdown(wait=True, cancel_futures=stop, interrupt=stop)
        return False


@atexit.register
def end_all():
    for executor in list(executors):
        if executor._pid != os.getpid():
            continue
        try:
            executor.shutdown()
        except KeyboardInterrupt:
            executor.shutdown(cancel_futures=True, interrupt=True)
            raise
