# SPDX-License-Identifier: MIT
"""concurrent.interpreters (PEP 734, CPython 3.14) over private interpreters: any extension loads in them, from CPython 3.11 on.

    >>> from gorgon import interpreters
    >>> interp = interpreters.create()
    >>> interp.call(pow, 2, 10)
    1024
    >>> interp.close()

Programs in an interpreter import the same module; the host makes and calls interpreters for them."""

import builtins
import contextlib
import functools
import marshal
import threading
import traceback
import types
import weakref

from . import _crossing, _queues, _strict
from ._queues import (UNBOUND, UNBOUND_ERROR, UNBOUND_REMOVE, ItemInterpreterDestroyed, Queue, QueueEmpty, QueueError, QueueFull,
                      QueueNotFoundError)
from ._queues import create as create_queue
from ._strict import NotShareableError, by_value

__all__ = ["ExecutionFailed", "Interpreter", "InterpreterError", "InterpreterNotFoundError", "ItemInterpreterDestroyed",
           "NotShareableError", "Queue", "QueueEmpty", "QueueError", "QueueFull", "QueueNotFoundError", "UNBOUND", "UNBOUND_ERROR",
           "UNBOUND_REMOVE", "by_value", "create", "create_queue", "get_current", "get_main", "is_shareable", "list_all"]

PLAIN = {type(None), bool, int, float, str, bytes, memoryview, Queue}


class InterpreterError(Exception):
    """Something is wrong with an interpreter."""


class InterpreterNotFoundError(InterpreterError):
    """It has ended, or never was."""


class ExecutionFailed(InterpreterError):
    """Code in an interpreter has raised an exception, which stays there; excinfo describes it."""

    def __init__(self, excinfo):
        super().__init__(excinfo.formatted or excinfo.msg)
        self.excinfo = excinfo

    def __str__(self):
        return f"{super().__str__()}\n\nUncaught in the interpreter:\n\n{self.excinfo.errdisplay}"


def describe(error):
    kind, trace = type(error), error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename in (__file__, BARE.co_filename):
        trace = trace.tb_next
    try:
        text = str(error)
    except Exception:
        text = "<exception str() failed>"
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    return types.SimpleNamespace(
        type=types.SimpleNamespace(__name__=kind.__name__, __qualname__=kind.__qualname__, __module__=kind.__module__),
        msg=text, formatted=f"{name}: {text}",
        errdisplay="".join(traceback.format_exception(kind, error, trace)).rstrip())


# --- what the host calls in an interpreter ------------------------------------------------------------------------

SCRIPT = "<script>"  # what tracebacks call the text of exec()
# A call in a frame of __main__, and of nothing else: exec(), eval() and dir() are about that one. The function is a constant.
BARE = compile("'constant'.call()", "<call>", "eval")


def begin(number, paths):
    import __main__
    vars(__main__).pop("__annotations__", None)  # of CPython before 3.14; code that has annotations makes it
    _strict.number = number
    _crossing.take_paths(paths)


def do(what, *values):
    import __main__
    space = vars(__main__)
    _crossing.use_data_handler()
    try:
        try:
            given = _strict.load(*values)
        except NotShareableError as error:
            return _strict.Packed(["unshareable", str(error)]).values
        _crossing.use_data_handler()
        result = None
        if what == "exec":
            exec(marshal.loads(given), space)
        elif what == "text":  # debuggers show the lines of what is compiled here
            exec(compile(given, SCRIPT, "exec", dont_inherit=True), space)
        elif what == "set":
            space.update(given)
        else:
            function, args, kwargs = given
            del given
            target = types.SimpleNamespace(call=functools.partial(function, *args, **kwargs))
            result = [eval(BARE.replace(co_consts=tuple(target if each == "constant" else each for each in BARE.co_consts)), space)]
    except BaseException as error:
        return _strict.Packed(["failed", describe(error)]).values
    try:
        packed = _strict.Packed(["done", result.pop() if result else None])
        name, sent = _strict.to_travel(packed)
        if name:
            _strict.ask("_queues", "hold", name, packed.objects)
        return sent.values
    except Exception as error:
        return _strict.Packed(["unshareable", str(error)]).values


# --- the surface --------------------------------------------------------------------------------------------------


def is_shareable(obj):
    """Whether prepare_main() takes it: None, bool, int, float, str, bytes, memoryviews, queues, arrays of numpy, tuples of these."""
    if type(obj) is tuple:
        return all(map(is_shareable, obj))
    if type(obj) is memoryview and not (obj.readonly or obj.c_contiguous):
        return False
    return type(obj) in PLAIN or _crossing.is_ndarray(obj) and not obj.dtype.hasobject


def script_of(value):
    """The code of a function, or code, that exec() runs: without parameters, and None is all that it returns."""
    import dis
    import inspect
    code = value.__code__ if isinstance(value, types.FunctionType) else value
    if not isinstance(code, types.CodeType):
        raise TypeError(f"unsupported script {value!r}")
    if code.co_freevars:
        raise ValueError("closures not supported")
    if code.co_argcount or code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise ValueError("code with args not supported")
    returned, last = {None}, None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST":
            returned.add(instruction.argval)
        elif instruction.opname == "RETURN_VALUE":
            returned.add(last.argval if last.opname == "LOAD_CONST" else ...)
        last = instruction
    if returned != {None} or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise ValueError("code that returns a value is not a script")
    return code


def create():
    """A new interpreter. It ends with the last Interpreter object that stands for it, or with close()."""
    return Interpreter(_strict.ask("_hosted", "create"))


def list_all():
    """The main interpreter, those that create() has made, and workers of executors that have asked for theirs."""
    interpreters = []
    for number in _strict.ask("_hosted", "list"):
        with contextlib.suppress(InterpreterNotFoundError):  # it has just ended
            interpreters.append(Interpreter(number))
    return interpreters


def get_current():
    return Interpreter(_strict.me())


def get_main():
    return Interpreter(0)


known = weakref.WeakValueDictionary()


class Interpreter(_strict.Reference):
    """An interpreter; there is one object for each in each interpreter."""

    def __new__(cls, id, /):
        if not isinstance(id, int):
            raise TypeError(f"id must be an int, got {id!r}")
        if id < 0:
            raise ValueError(f"interpreter ID must be a non-negative int, got {id!r}")
        self = known.get(id)
        if self is None:
            whence = _strict.ask("_hosted", "incref", int(id))
            self = super().__new__(cls)
            self._id, self._whence = int(id), whence
            known[self._id] = self
        return self

    whence = property(lambda self: self._whence)

    def __del__(self, ask=_strict.ask):
        if getattr(self, "_id", 0):
            try:
                ask("_hosted", "decref", self._id)
            except Exception:  # this interpreter ends
                pass

    def is_running(self):
        """Whether its __main__ runs."""
        return _strict.ask("_hosted", "is_running", self._id)

    def close(self):
        """End it. InterpreterError: it runs, or is this one."""
        _strict.ask("_hosted", "close", self._id)

    def _run(self, what, packed):
        kind, value = _strict.ask("_hosted", "run", self._id, what, packed.values)
        if kind == "unshareable":
            raise NotShareableError(value)
        return value, kind == "failed"

    def prepare_main(self, ns=None, /, **kwargs):
        """Bind the values, which are shareable, to names in its __main__."""
        ns = dict(ns, **kwargs) if ns is not None else kwargs
        if not ns:
            raise ValueError("arg 2 must be a non-empty dict")
        for name, value in ns.items():
            if not isinstance(name, str):
                raise TypeError(f"names are strings, got {name!r}")
            if not is_shareable(value):
                raise NotShareableError(f"{value!r} does not support cross-interpreter data")
        self._run("set", _strict.pack(ns, *ns.values()))

    def exec(self, code, /):
        """Run source text, code, or the body of a function without parameters and outer variables, in its __main__. Errors in
        the text's syntax are the caller's."""
        if isinstance(code, (str, bytes, bytearray)):
            compile(code, SCRIPT, "exec", dont_inherit=True)
            excinfo, failed = self._run("text", _strict.pack(bytes(code) if isinstance(code, bytearray) else code))
        else:
            excinfo, failed = self._run("exec", _strict.pack(marshal.dumps(script_of(code))))
        if failed:
            raise ExecutionFailed(excinfo)

    def call(self, callable, /, *args, **kwargs):
        """Call it there, and return what it returns."""
        if not builtins.callable(callable) and not isinstance(callable, _strict.ByValue):
            raise TypeError(f"expected a callable, got {callable!r}")
        value, failed = self._run("call", _strict.pack((callable, args, kwargs), callable, *args, *kwargs.values()))
        if failed:
            raise ExecutionFailed(value)
        return value

    def call_in_thread(self, callable, /, *args, **kwargs):
        """The same on a new thread, which is returned. The result is dropped."""
        thread = threading.Thread(target=self.call, args=(callable, *args), kwargs=kwargs)
        thread.start()
        return thread
