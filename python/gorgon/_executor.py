# SPDX-License-Identifier: MIT
"""A concurrent.futures executor whose workers are private interpreters.

Each worker is a daemon thread of this Python, which is the main thread of an interpreter of its own and calls into it
without holding this Python's GIL. Work is pickled by the thread that submits it (_crossing.py, _globals.py); so the worker has
nothing to do under the GIL but to hand bytes on.

A worker's thread has descriptors and a current directory of its own, which are its interpreter's. What this Python's code
does - results are unpickled, callbacks of futures run, progress is told - must not see them: a second thread, the desk,
does it while the worker waits. Results of plain values, whose future has no callback, need no desk.

An executor and its threads have a crew in common, which does not keep the executor alive."""

import collections
import contextlib
import functools
import itertools
import linecache
import numbers
import operator
import os
import queue
import re
import subprocess
import sys
import threading
import time
import types
import warnings
import weakref
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures._base import LOGGER

from . import _classes, _crossing, _gorgon, _outer, _processes, _templates, _threads
from ._broken import BrokenInterpreterPool, ExecutionFailed, NotShareableError, TimeLimitExceeded
from ._globals import Globals, Shipment

# enum gorgon_error_code
UNSUPPORTED, PYTHON, BUSY, ABANDONED = 7, 8, 9, 13

# The package's modules that run on both sides; there `gorgon` is another module, which is not a package.
START = """
import gorgon, importlib.util, sys
for name, path in files:
    spec = importlib.util.spec_from_file_location("gorgon." + name, path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    setattr(gorgon, name, module)
    spec.loader.exec_module(module)
"""
RUN_START = "exec(compile(start, '<frozen gorgon>', 'exec'))"  # debuggers show no lines of what has such a name
FILES = [[each.__name__.partition(".")[2], each.__file__] for each in (_classes, _processes, _threads, _outer, _crossing)]

_crossing.adopt = _gorgon._adopt
staying = []  # interpreters that could not be ended
MOST_STAYING = 32  # before no further one is made

# Seconds: of a call that is over its time limit, until its interpreter is abandoned, and between interrupts;
# milliseconds: for that, and for the end of an interpreter whose call is over.
GRACE, AGAIN = 0.3, 0.1
ABANDON_MS, END_MS = 100, 500


class InterpreterFuture(Future):
    desk = None  # while a worker's thread sets the result

    def _invoke_callbacks(self):
        if self.desk and self._done_callbacks:
            self.desk.call(super()._invoke_callbacks)
        else:
            super()._invoke_callbacks()


class Work:
    """A call: what was pickled of it, and the globals that it needs."""

    def __init__(self, future, function, packs, shipments):
        self.future, self.function, self.packs, self.shipments = future, function, packs, shipments
        self.progress_error = None


class Desk:
    """A thread beside a worker's, with this process's descriptors, for what is not the interpreter's."""

    def __init__(self, name):
        self.tasks = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.live, daemon=True, name=name)
        self.thread.start()

    def live(self):
        while task := self.tasks.get():
            task()
            del task  # and what it holds

    def call(self, function, *args):
        """What it returns or raises there."""
        reply = queue.SimpleQueue()

        def task():
            try:
                reply.put((function(*args), None))
            except BaseException as error:
                reply.put((None, error))

        self.tasks.put(task)
        value, error = reply.get()
        if error:
            raise error
        return value

    def close(self):
        self.tasks.put(None)


class NoDesk:
    """With descriptors that are shared the worker does all of it itself."""
    thread = None

    def call(self, function, *args):
        return function(*args)

    def close(self):
        pass


def begin(handle, number, main, changes=None):
    """Let the package be there; with changes of its environment it is already, in a copy of a template."""
    if changes is None:
        _gorgon._call(handle, "builtins", "exec", [RUN_START, {"files": FILES, "start": START}])
    _gorgon._call(handle, "gorgon._crossing", "set_up", [os.path.dirname(__file__), number, list(main), changes or []])


workers = itertools.count()


class Worker:
    """An interpreter; all but interrupt() and memory() on the thread that made it."""

    def __init__(self, options, name):
        self.options, self.number = options, next(workers)
        # Before this worker's thread, which would hand it the wrong descriptors.
        self.desk = NoDesk() if options["share_files"] else Desk(f"{name}-desk")
        self.place, self.is_placed = None, False
        self.lock = threading.Lock()  # of both: nobody interrupts what is gone
        self.handle = None
        self.calling = False
        self.work = None
        self.known = {}  # shipments by name
        self.calls = 0
        self.due = None  # when the time of its work is over
        self.late = self.lost = False  # the work is over its time; its thread never comes back, or too late

    def take_files(self):
        """On the worker's thread, before its first interpreter."""
        self.is_placed = True
        if self.options["share_files"]:
            return
        has_directory = _gorgon._own_files()
        _processes.thread.is_worker = True
        if has_directory:  # otherwise unshare(2) is refused, as in some containers: only descriptors are the worker's
            mask = os.umask(0)
            os.umask(mask)
            self.place = os.getcwd(), mask

    def put_back_files(self):
        """For the next interpreter on this thread, which begins where the first one has."""
        if self.place:
            directory, mask = self.place
            os.umask(mask)
            with contextlib.suppress(OSError):  # it is gone
                os.chdir(directory)

    def start(self):
        """Make the interpreter, unless it is there."""
        if self.handle:
            return
        if not self.is_placed:
            self.take_files()
        refuse_too_many()
        template, common = self.options["template"], [self.options[name] for name in ("python", "flags", "share_environment")]
        made = template and template.take(*common, self.options["max_workers"], START, FILES)
        python, flags, share_environment = common
        self.handle = _gorgon._create(python, flags, self.report, self.options["memory_limit"] or 0, share_environment,
                                      PYTHON_LINES.index(self.options["python_lines"]), *[made] * bool(made))
        self.calls = 0
        try:
            begin(self.handle, self.number, _crossing.main_program(), template.changes() if made else None)
            if self.options["initializer"]:
                self.initialize(*self.options["initializer"])
        except BaseException as error:
            self.end()
            if isinstance(error, _gorgon.Error) and error.exception == "MemoryError":
                raise MemoryError(f"no interpreter starts with a memory_limit of {self.options['memory_limit']} bytes") from error
            raise

    def initialize(self, packs, shipments):
        kind, *answer = self.run(packs, shipments)
        if kind in (_crossing.FAILED, _crossing.REFUSED, _crossing.EXHAUSTED):
            error = self.desk.call(unpack_error, answer)
            self.desk.call(lambda: LOGGER.critical("Exception in initializer:", exc_info=error))
            raise error

    def run(self, packs, shipments):
        if "multiprocessing.shared_memory" in sys.modules and "multiprocessing.tracker" not in self.known:
            name = self.desk.call(_processes.send_tracker, self.number)
            shipments = [*shipments, Shipment("multiprocessing.tracker", name)]
        # What the interpreter does not know yet, or as it was before.
        news = [each for each in shipments if self.known.get(each.name) is not each]
        told = [[each.name, each.name not in self.known, *each.packed.values] for each in news]
        ends = [end for pack in (*packs, *(each.packed for each in news)) for end in pack.ends]
        if ends:
            self.desk.call(_processes.send_ends, ends, self.number)
        with self.lock:
            self.calling = True
        try:
            answer = _gorgon._call(self.handle, "gorgon._crossing", "run",
                                   [told, *(pack.values for pack in packs)])
        finally:
            with self.lock:
                self.calling = False
        if answer[0] not in (_crossing.REFUSED, _crossing.EXHAUSTED):
            self.known.update((each.name, each) for each in news)
        if len(answer) > 3:
            self.desk.call(take_additions, answer[3:], packs)
        return answer[:3]

    def report(self, value, asked):
        return self.answer(*value) if asked else self.tell(value)

    def answer(self, is_plain, *question):
        """What stand-ins for objects of threads ask (_threads.py), on this thread: it may wait."""
        try:
            question = _crossing.load(*question) if is_plain else self.desk.call(_crossing.load, *question)
            value = _threads.answer(*question)
            if isinstance(value, _crossing.Packed):
                return [False, *value.values]
            pack = functools.partial(_crossing.Packed, value, is_own=True)
            packed = pack() if type(value) in _crossing.ATOMS else self.desk.call(pack)
            return [False, *packed.values]
        except BaseException as error:
            return [True, *self.desk.call(_crossing.dump_error, error)]

    def tell(self, value):
        """gorgon.progress() inside."""
        work, progress = self.work, self.options["progress"]
        if not (progress and work):
            return True
        try:
            self.desk.call(progress, work.future, value)
            return True
        except BaseException as error:
            work.progress_error = error
            return False

    def call(self, work):
        """Do the work; end an interpreter that cannot go on."""
        answer = failure = None
        self.work = work
        if self.options["time_limit"]:
            self.due = time.monotonic() + self.options["time_limit"]
        try:
            answer = self.run(work.packs, work.shipments)
        except BaseException as error:
            failure = error
        if self.lost:
            return
        late, self.late, self.due = self.late, False, None
        if late:
            failure = self.desk.call(late_error, self.options["time_limit"], work, answer, failure)
        self.work = work.packs = work.shipments = work.function = None
        if _processes.unused:
            self.desk.call(_processes.close_unused)
        self.calls += 1
        ended = isinstance(failure, _gorgon.Error) and failure.code in (PYTHON, BUSY)
        if ended:
            failure = BrokenInterpreterPool(str(failure))
        elif isinstance(failure, _gorgon.Error) and failure.exception == "MemoryError":  # without memory even for its traceback
            failure = MemoryError()
        # What has used up the memory may still be there.
        exhausted = self.options["memory_limit"] and (isinstance(failure, MemoryError) or answer and answer[0] == _crossing.EXHAUSTED)
        if ended or late or exhausted or self.calls == self.options["max_tasks_per_child"]:
            self.end()
            self.put_back_files()
        if answer and answer[0] == _crossing.PLAIN:
            future = work.future
            future.desk = self.desk
            deliver(work, answer, failure)
            future.desk = None
        else:
            self.desk.call(deliver, work, answer, failure)

    def expire(self, work):
        """This work is over its time limit: interrupt it until it ends, or abandon the interpreter. Why it was; None: it was
        not."""
        end = time.monotonic() + GRACE
        while self.interrupt(work) and time.monotonic() < end:
            time.sleep(AGAIN)
        with self.lock:
            if not self.calling or self.work is not work:
                return None
            try:
                _gorgon._stop(self.handle, ABANDON_MS)
            except _gorgon.Error as error:
                if error.code != ABANDONED:
                    raise
                self.lost = True
                staying.append(self.handle)
                return str(error)
            return None

    def interrupt(self, work=None):
        """Any work, or that one. Returns whether it runs."""
        with self.lock:
            if not self.calling or work and work is not self.work:
                return False
            self.late = self.late or work is not None
            try:
                _gorgon._interrupt(self.handle)
            except _gorgon.Error as error:
                # Somebody has set a handler of SIGINT since: what blocks is not interrupted, code is.
                if error.code == UNSUPPORTED:
                    _gorgon._call(self.handle, "_thread", "interrupt_main", [])
                elif error.code != BUSY:  # it has just ended
                    raise
            return True

    def memory(self):
        """Bytes that the interpreter holds."""
        with self.lock:
            return _gorgon._memory(self.handle) if self.handle else 0

    def end(self):
        with self.lock:
            handle, self.handle, self.known = self.handle, None, {}
        if handle:
            destroy(handle, END_MS if self.options["time_limit"] else 0)


def take_additions(answer, packs):
    _outer.take(_crossing.load(*answer), {**packs[0].lent, **packs[1].lent})


def deliver(work, answer, failure):
    """Let the future have what came of the work: what the interpreter has answered, or why it has not."""
    done = failure is None and answer[0] in (_crossing.DONE, _crossing.PLAIN)
    try:
        if failure is None:
            value = _crossing.load(*answer[1:]) if done else unpack_error(answer[1:], answer[0] == _crossing.UNLOADED)
        elif isinstance(failure, _gorgon.Error) and failure.exception == "KeyboardInterrupt":
            value = KeyboardInterrupt()
        else:
            value = failure
    except BaseException as error:
        done, value = False, error
    # A callback that raised has stopped the call: its exception says why.
    tell = work.future.set_result if done and not work.progress_error else work.future.set_exception
    outcome = [work.progress_error or value]
    work.future = value = None
    tell(outcome.pop())  # whoever waits has it alone


def late_error(limit, work, answer, failure):
    """Of work that was stopped. Its traceback, or what else came of it, is the cause."""
    error = TimeLimitExceeded(f"{name_of(work)}: did not end within {limit:g} s")
    if answer and answer[0] in (_crossing.FAILED, _crossing.EXHAUSTED):
        failure = unpack_error(answer[1:]).__cause__
    error.__cause__ = failure
    return error


def name_of(work):
    function = work.function.function
    if isinstance(function, functools.partial):  # of chunks, or the program's
        function = function.args[0] if function.func is _crossing.run_chunk else function.func
    return getattr(function, "__qualname__", None) or repr(function)


def end(handle, limit=0):
    """Why it cannot end, within milliseconds if there is a limit, and stays, without its number; None: it has ended."""
    try:
        if limit:
            try:
                _gorgon._stop(handle, limit)
            except _gorgon.Error as error:
                if error.code != BUSY:  # it has called exit()
                    raise
        _gorgon._destroy(handle)
    except _gorgon.Error as error:
        staying.append(handle)
        return str(error).partition(": ")[2]
    return None


def end_staying(most=MOST_STAYING):
    """Those whose threads have ended meanwhile, of the oldest; why one of the others cannot end."""
    reasons = []
    for _ in range(min(len(staying), most)):
        with contextlib.suppress(IndexError):  # another thread does so, too
            reasons.append(end(staying.pop(0)))
    return next(filter(None, reasons), None)


def destroy(handle, limit):
    """End an interpreter. One that cannot, because threads of its libraries go on, stays with a warning until others
    are ended."""
    end_staying(2)  # more than one comes
    reason = end(handle, limit)
    if reason:
        warnings.warn(f"an interpreter cannot end, and stays with its memory: {reason}", RuntimeWarning, stacklevel=2)


def refuse_too_many():
    """Memory of interpreters that stay is not to grow until the machine has none."""
    if len(staying) >= MOST_STAYING:
        reason = end_staying()
        if len(staying) >= MOST_STAYING:
            raise RuntimeError(f"no further interpreter is made: {len(staying)} have ended and stay with their memory, the "
                               f"first of them because of {reason}; use one executor for all work")


def cause_of(error, text):
    """What the traceback of the interpreter is the text of, for the __cause__ of an error."""
    if ExecutionFailed is None:
        return _crossing.RemoteTraceback(text)
    name = type(error).__name__
    return ExecutionFailed(types.SimpleNamespace(type=type(error), msg=str(error), formatted=f"{name}: {error}".removesuffix(": "),
                                                 errdisplay=text.rstrip()))


# Of a traceback's text: what stands for a frame without a line of its source.
WITHOUT_LINE = re.compile(r'^([ |]*)File "(.+)", line (\d+), in .+$(?!\n\1  \S)', re.M)


def add_lines(text):
    """Those of a notebook's cells and of the prompt, which only the program has."""
    def add(frame):
        line = linecache.getline(frame[2], int(frame[3])).strip()
        return f"{frame[0]}\n{frame[1]}  {line}" if line else frame[0]
    return WITHOUT_LINE.sub(add, text)


def unpack_error(answer, unloaded=False):
    try:
        error, text = _crossing.load(*answer)
    except Exception as failure:  # importable there and not here
        return failure
    error.__cause__ = cause_of(error, add_lines(text))
    if not unloaded or NotShareableError is None:
        return error
    # In the words of the standard library's pool.
    reason, whole = NotShareableError("object could not be unpickled"), NotShareableError(f"args not shareable: {error!r}")
    reason.__cause__, whole.__cause__ = error, reason
    return whole


class Crew:
    """The workers of an executor."""

    def __init__(self, max_workers, name, options):
        self.max_workers, self.name, self.options = max_workers, name, options
        self.tasks = queue.SimpleQueue()
        self.idle = threading.Semaphore(0)
        self.lock = threading.Lock()
        self.workers, self.threads = [], []
        self.broken = None
        self.closed = None  # why there is no more work
        self.watcher, self.stopping = None, []  # threads, with a time limit
        self.is_over = threading.Event()  # no worker is left
        self.alive = 0
        self.pid = os.getpid()
        crews.add(self)

    def put(self, work):
        if self.pid != os.getpid():  # where somebody may have held the lock
            raise RuntimeError("this process was forked: it has none of the executor's interpreters")
        with self.lock:
            if self.broken:
                raise BrokenInterpreterPool(str(self.broken)) from self.broken
            if self.closed or exiting:
                raise RuntimeError(f"cannot schedule new futures after {self.closed or 'interpreter shutdown'}")
            if work:
                self.tasks.put(work)
                if not self.idle.acquire(blocking=False) and len(self.threads) < self.max_workers:
                    self.add_worker(work)

    def add_worker(self, work):
        """For new work, which is nobody's if no thread can start."""
        limit = self.options["time_limit"]
        try:
            self.start_worker(len(self.threads))
            if limit and not self.watcher:
                self.watcher = threading.Thread(target=self.watch, args=(limit,), daemon=True, name=f"{self.name}-watch")
                self.watcher.start()
        except BaseException:
            work.future.cancel()
            raise

    def start_worker(self, place):
        """As a further one, or in the place of one that is lost."""
        name = f"{self.name}_{place}"
        worker = Worker(self.options, name)
        try:
            thread = threading.Thread(target=self.live, args=(worker,), daemon=True, name=name)
            thread.start()
        except BaseException:
            worker.desk.close()
            raise
        self.alive += 1
        self.workers[place:place + 1] = [worker]
        self.threads[place:place + 1] = [thread]

    def live(self, worker):
        """The life of a worker's thread."""
        try:
            self.take_work(worker)
            if not worker.lost:
                worker.end()
        finally:
            if not worker.lost:
                self.leave(worker)

    def leave(self, worker):
        worker.desk.close()
        with self.lock:
            self.alive -= 1
            if not self.alive:
                self.is_over.set()

    def watch(self, limit):
        """The life of a thread beside the workers' of an executor with a time limit. Work that begins while it waits is not
        due before it looks again."""
        until = 0
        while not self.is_over.wait(max(until - time.monotonic(), 0)):
            now = until = time.monotonic()
            until += limit
            for worker in list(self.workers):
                due, work = worker.due, worker.work
                if due and work and due <= now:
                    worker.due = None
                    thread = threading.Thread(target=self.stop_late, args=(worker, work, limit), daemon=True,
                                              name=f"{self.name}-late")
                    thread.start()
                    self.stopping = [*filter(threading.Thread.is_alive, self.stopping), thread]
                elif due:
                    until = min(until, due)

    def stop_late(self, worker, work, limit):
        why = worker.expire(work)
        if not why:
            return
        with self.lock:
            place = self.workers.index(worker)
            try:
                self.start_worker(place)
                self.idle.release()
            except RuntimeError as error:  # no thread
                self.broken = self.broken or error
        error = TimeLimitExceeded(f"{name_of(work)}: did not end within {limit:g} s, its interpreter was abandoned: {why}")
        work.packs = work.shipments = work.function = None
        self.leave(worker)
        work.future.set_exception(error)

    def take_work(self, worker):
        while work := self.tasks.get():
            # Work that was cancelled needs no interpreter.
            if work.future.set_running_or_notify_cancel():
                try:
                    worker.start()
                except BaseException as error:
                    worker.desk.call(self.fail, error, work)
                    return
                worker.call(work)
                if worker.lost:
                    return
            del work
            self.idle.release()
        self.tasks.put(None)  # for the next one

    def fail(self, error, work):
        """No more work: what is begun and what waits ends with the reason."""
        with self.lock:
            self.broken = self.broken or error
            waiting = self.take_waiting()
            self.tasks.put(None)
        for each in [work, *(each for each in waiting if each.future.set_running_or_notify_cancel())]:
            reason = BrokenInterpreterPool(str(error))
            reason.__cause__ = error
            each.future.set_exception(reason)

    def take_waiting(self):
        waiting = []
        with contextlib.suppress(queue.Empty):
            while True:
                work = self.tasks.get_nowait()
                if work:
                    waiting.append(work)
        return waiting

    def close(self, why, cancel=False):
        """No more work but what waits, unless that is cancelled."""
        with self.lock:
            self.closed = self.closed or why
            waiting = self.take_waiting() if cancel else []
            self.tasks.put(None)
        for work in waiting:
            work.future.cancel()
            work.future.set_running_or_notify_cancel()

    def interrupt(self):
        for worker in list(self.workers):
            worker.interrupt()

    def join(self, interrupt=False):
        # A call may catch an interrupt to tidy up, and go on: then it is not the last. One that is over its time limit may
        # have another worker put in the place of its own.
        patience = 1 if interrupt or self.options["time_limit"] else None
        while True:
            pairs = [(thread, worker.desk.thread) for thread, worker in zip(self.threads, self.workers)]
            # A callback of a future may be what calls this: its worker waits for it.
            threads = [thread for pair in pairs if threading.current_thread() not in pair for thread in pair if thread]
            if interrupt:
                self.interrupt()
            for thread in threads:
                thread.join(patience)
            if not any(thread.is_alive() for thread in threads):
                break
        if self.watcher and self.is_over.is_set():
            for thread in self.watcher, *self.stopping:
                if thread is not threading.current_thread():
                    thread.join()


crews = weakref.WeakSet()
exiting = False


def end_all():
    """When the program ends, before functions of atexit: work that was submitted is done."""
    global exiting
    exiting = True
    try:
        for crew in list(crews):
            crew.close("interpreter shutdown")
        for crew in list(crews):
            crew.join()
    except KeyboardInterrupt:
        for crew in list(crews):
            crew.close("interpreter shutdown", cancel=True)
            crew.join(interrupt=True)
        raise


threading._register_atexit(end_all)
os.register_at_fork(after_in_child=crews.clear)


def chunks_of(calls, size):
    while chunk := list(itertools.islice(calls, size)):
        yield chunk


def positive(name, number):
    """An int of any type."""
    try:
        number = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} must be an integer, found {number!r}") from None
    if number > 0:
        return number
    raise ValueError(f"{name} must be greater than 0, found {number!r}")


NO_ARGUMENTS = _crossing.Packed(((), {}))


class Function:
    """What calls call, pickled once for all of a map()."""

    def __init__(self, function, globals):
        self.function, self.globals = function, globals

    @functools.cached_property
    def packed(self):
        used = {}
        pack = _crossing.Packed(self.function, globals=used, lent={}, is_own=self.globals.is_own)
        return pack, self.globals.needed(used)


PYTHON_LINES = None, "off", "on", "auto", "all"  # enum gorgon_python_lines


class InterpreterPoolExecutor(ThreadPoolExecutor):
    """Run calls in private interpreters of this process, as many at once as there are workers.

    max_workers          how many; by default as many as this process may use processors
    thread_name_prefix   of the names of the workers' threads
    initializer          a function that each interpreter calls with *initargs before its first work
    max_tasks_per_child  how many calls an interpreter takes before another one has its place; None: any number
    progress             called as progress(future, value) for each gorgon.progress(value) of a call, which waits for
                         it; an exception that it raises stops the call
    python               executable of the interpreters' CPython, instead of this one's
    share_files          True: calls see this process's open descriptors, current directory and umask as they are now,
                         and may change them; by default an interpreter begins with copies, as a process does
    share_environment    True: the environment of calls is this process's, and theirs to change; by default an interpreter
                         begins with a copy of what it is when the interpreter is made, as a process does
    copy_arguments       True: calls may write to their arguments, and to arrays that functions and globals hold: they are copies
                         of the caller's, as in a process
    time_limit           seconds that a call may take, or a chunk of map(). One that takes longer is interrupted, its future
                         has a gorgon.TimeLimitExceeded, and another interpreter takes the place of its own, which is
                         abandoned if it does not end
    memory_limit         bytes that an interpreter may hold: what Python and extensions allocate in it, results and arguments that
                         were copied; not the memory of arguments that are the caller's. Beyond it garbage is collected; if that
                         does not help, the call has a MemoryError, and another interpreter takes the place of its own
    python_lines         "on": gdb and lldb show Python frames of modules that calls import, and of functions of __main__, and stop
                         at their lines; calls of Python functions take longer. "auto": while a debugger is attached. "all": at the
                         standard library's, too. By default "auto" for interpreters that are made while gdb or lldb is attached,
                         else "off"

    Functions, arguments and results are pickled; functions of __main__, lambdas and functions within others go as their
    code, with the globals that they use; what a call adds to lists and sets of an outer function is added to the program's.
    Arguments are not copied if they are contiguous arrays, memoryviews, or anything else that pickles its memory out of band:
    a call sees the caller's memory, read-only unless gorgon.writable() says otherwise. Results are the caller's alone: arrays
    that nothing else in the interpreter refers to are not copied, others are."""

    # asyncio wants an executor of threads for its default one, which 3.14's own of interpreters is, too. Nothing but the
    # type comes from that class.
    _numbers = itertools.count()

    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=(), *, mp_context=None,
                 max_tasks_per_child=None, progress=None, python=None, share_files=False, share_environment=False,
                 copy_arguments=False, time_limit=None, memory_limit=None, python_lines=None, template=None):
        if mp_context is not None or not isinstance(thread_name_prefix, str):
            raise TypeError("mp_context: workers are interpreters of this process, which multiprocessing does not start")
        max_workers = len(os.sched_getaffinity(0)) if max_workers is None else positive("max_workers", max_workers)
        if max_tasks_per_child is not None:
            max_tasks_per_child = positive("max_tasks_per_child", max_tasks_per_child)
        if time_limit is not None and not (isinstance(time_limit, numbers.Real) and time_limit > 0):
            raise ValueError(f"time_limit must be a number of seconds greater than 0, found {time_limit!r}")
        if memory_limit is not None:
            memory_limit = min(positive("memory_limit", memory_limit), sys.maxsize)
        if python_lines not in PYTHON_LINES:
            raise ValueError(f"python_lines must be one of {', '.join(PYTHON_LINES[1:])}, found {python_lines!r}")
        if template is not None and python_lines not in (None, "off"):
            raise ValueError(f"python_lines is {python_lines!r}, expected 'off' with a template: copies have no Python lines")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if not (python or sys.executable):
            raise ValueError("sys.executable does not say which CPython this is: name one with python=")
        self._globals, self._copies = Globals(bool(copy_arguments)), bool(copy_arguments)
        if initializer:
            used = {}
            packs = [_crossing.Packed(each, globals=used, lent={}, is_own=self._copies)
                     for each in (initializer, (tuple(initargs), {}))]
            initializer = packs, self._globals.needed(used)
        self._crew = Crew(max_workers, thread_name_prefix or f"{type(self).__name__}-{next(self._numbers)}", {
            "python": python or sys.executable, "flags": subprocess._args_from_interpreter_flags(),
            "initializer": initializer, "max_tasks_per_child": max_tasks_per_child, "progress": progress,
            "share_files": share_files, "share_environment": bool(share_environment), "time_limit": time_limit,
            "memory_limit": memory_limit, "max_workers": max_workers, "python_lines": python_lines,
            "template": None if template is None else _templates.Template(template)})
        # Threads end when nobody can submit any more.
        weakref.finalize(self, self._crew.tasks.put, None).atexit = False

    # As other executors have them.
    _max_workers = property(lambda self: self._crew.max_workers)
    _threads = property(lambda self: self._crew.threads)
    _thread_name_prefix = property(lambda self: self._crew.name)
    _broken = property(lambda self: self._crew.broken or False)

    def submit(self, fn, /, *args, **kwargs):
        function = fn if isinstance(fn, Function) else Function(fn, self._globals)
        future, work = InterpreterFuture(), None
        try:
            pack, shipments = function.packed
            used = {}
            packs = pack, NO_ARGUMENTS
            if args or kwargs:
                packs = pack, _crossing.Packed((args, kwargs), globals=used, lent={}, is_own=self._copies)
            if used:
                both = *shipments, *self._globals.needed(used)
                shipments = tuple({each.name: each for each in both}.values())
            work = Work(future, function, packs, shipments)
        except Exception as error:
            future.set_exception(error)
        self._crew.put(work)
        return future

    submit.__doc__ = Executor.submit.__doc__

    def map(self, fn, *iterables, timeout=None, chunksize=1, buffersize=None):
        """As of other executors. The function and the globals that it uses are those of this moment. With a chunksize
        interpreters get that many items at once: fewer crossings for small work. The result of a chunk comes as a whole.
        With a buffersize no more than that many items, or chunks, are taken before the first results are."""
        size = positive("chunksize", chunksize)
        if buffersize is not None:
            buffersize = positive("buffersize", buffersize)
        if size > 1:
            fn, iterables = functools.partial(_crossing.run_chunk, fn), [chunks_of(zip(*iterables), size)]
        function = Function(fn, self._globals)
        if buffersize is None:
            results = Executor.map(self, function, *iterables, timeout=timeout)
        else:
            results = self._map_some(function, zip(*iterables), buffersize, timeout)
        return itertools.chain.from_iterable(results) if size > 1 else results

    def _map_some(self, function, calls, count, timeout):
        """map() with a buffersize, which the standard library has from 3.14 on."""
        end = None if timeout is None else time.monotonic() + timeout
        futures = collections.deque(self.submit(function, *call) for call in itertools.islice(calls, count))

        def results():
            try:
                while futures:
                    value = [futures[0].result(None if end is None else end - time.monotonic())]
                    futures.popleft()
                    futures.extend(self.submit(function, *call) for call in itertools.islice(calls, 1))
                    yield value.pop()  # whoever waits has it alone
            finally:
                for future in futures:
                    future.cancel()

        return results()

    def interrupt(self):
        """KeyboardInterrupt in each call that runs."""
        self._crew.interrupt()

    def shutdown(self, wait=True, *, cancel_futures=False, interrupt=False):
        """As of other executors; with interrupt=True calls that run are interrupted, too."""
        self._crew.close("shutdown", cancel_futures)
        self._globals = Globals(self._copies)  # without what the last one holds of the program's
        if wait:
            self._crew.join(interrupt)
        elif interrupt:
            self._crew.interrupt()

    def __exit__(self, kind, value, trace):
        # A Ctrl-C does not wait for what it is to stop.
        stop = kind is not None and not issubclass(kind, Exception)
        self.shutdown(wait=True, cancel_futures=stop, interrupt=stop)
        return False
