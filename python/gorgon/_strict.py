# SPDX-License-Identifier: MIT
"""What crosses between interpreters of gorgon.interpreters, by the rules of concurrent.interpreters; both sides run this file.

All is pickled as calls of the executor are (_crossing.py), with the memory of arrays beside it. Functions differ: one that uses
no globals but builtins, no defaults and nothing of an outer function goes as its code, and is one of the receiver's `__main__`.
Other functions, and classes, go by their name. What the program's own file has is looked for in the receiver's `__main__`, then
in the file, which each interpreter runs once, as a module of its own, under the name `<fake __main__>`."""

import builtins
import functools
import importlib.util
import itertools
import marshal
import pickle
import sys
import types

from . import _crossing, _threads

NAME, FAKE = "gorgon.interpreters", "<fake __main__>"
MAINS = _crossing.MAIN, _crossing.WORKER_MAIN, FAKE
number = None  # of this interpreter, once it is known; the host's is 0


class NotShareableError(TypeError):
    """An object cannot cross to another interpreter."""
    __module__ = NAME


class Reference:
    """What the host keeps for all interpreters; one object here for each id. It crosses as its id."""

    id = property(lambda self: self._id)

    def __repr__(self):
        return f"{type(self).__name__}({self._id})"

    def __hash__(self):
        return hash(self._id)

    def __reduce__(self):
        return type(self), (self._id,)


class ByValue:
    def __init__(self, function):
        self.function = function


def by_value(function):
    """Of what call() is to call: it goes as its code, with the globals and the variables of an outer function that it uses, as
    an executor's calls do. Without this, call() refuses such functions, as concurrent.interpreters does."""
    return ByValue(function)


# --- functions and classes of programs ----------------------------------------------------------------------------


def is_stateless(function):
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        return False
    names, space = _crossing.globals_in(function.__code__), function.__globals__
    return all(name not in space and hasattr(builtins, name) for name in names)


program = None, None  # what `<fake __main__>` was made of


@functools.lru_cache(1)
def fake_main(name, path):
    global program
    code, about = _crossing.read_program(name, path)
    module = sys.modules[FAKE] = types.ModuleType(FAKE)
    vars(module).update(about, __name__=FAKE)
    exec(code, vars(module))
    program = name, path
    return module


def find_in_main(name, path, qualname):
    find = functools.partial(functools.reduce, getattr, qualname.split("."))
    try:
        return find(sys.modules[_crossing.MAIN])
    except AttributeError:
        if not (_crossing.is_worker and path):
            raise
    return find(fake_main(name, path))


def reduce_in_main(value):
    about = program if _crossing.is_worker else _crossing.main_program()
    return find_in_main, (*about, value.__qualname__)


# --- pickles ------------------------------------------------------------------------------------------------------


class Pickler(_crossing.Pickler):
    """direct: identities of what is pickled itself, not within something else."""

    def __init__(self, *args, direct, **options):
        super().__init__(*args, **options)
        self.direct = direct

    def reducer_override(self, value):
        self.is_plain = False
        if isinstance(value, types.FunctionType):
            return self.reduce_function(value)
        if isinstance(value, type):
            if value.__module__ in MAINS and "<locals>" not in value.__qualname__:
                return reduce_in_main(value)
        elif isinstance(value, memoryview):
            reduced = _crossing.reduce_view(value)
            if not value.readonly and not value.c_contiguous:
                raise pickle.PicklingError("a writable memoryview whose memory is not contiguous, in C's order")
            if not value.readonly:
                self.buffers.writable.append(reduced[1][0])
            return reduced
        elif isinstance(value, Reference):
            self.objects.append(value)
        elif isinstance(value, ByValue):
            packed = _crossing.Packed(value.function, is_own=self.is_own)
            self.objects.append(packed)
            return _crossing.load, tuple(packed.values)
        elif _crossing.is_ndarray(value) or isinstance(value, _crossing.Writable):
            return super().reducer_override(value)
        return NotImplemented

    def reduce_function(self, function):
        is_main, is_inner = function.__module__ in MAINS, "<" in function.__qualname__
        if is_stateless(function) and (is_main or is_inner or id(function) in self.direct):
            return _crossing.make_function, (importlib.util.MAGIC_NUMBER, marshal.dumps(function.__code__), function.__name__,
                                             function.__qualname__, _crossing.MAIN, 0)
        if is_inner:
            raise pickle.PicklingError(f"{function.__qualname__}: a lambda, or a function within another one, with globals, "
                                       "defaults or variables of an outer one; gorgon.interpreters.by_value() takes these along")
        return reduce_in_main(function) if is_main else NotImplemented


class Packed(_crossing.Packed):
    pickler = Pickler

    def __init__(self, value, *direct):
        super().__init__(value, direct=set(map(id, (value, *direct))), is_own=_crossing.is_worker)


class Travelling:
    """A packed value that has references. Its sender may let go of them: the host has them, under a name, until it has arrived."""

    def __init__(self, name, packed):
        self.reduced = arrive, (name, *packed.values)

    def __reduce__(self):
        return self.reduced


def arrive(name, *values):
    try:
        return _crossing.load(*values)
    finally:
        ask("_queues", "arrived", name)


names = itertools.count()


def to_travel(packed):
    """A name for its references, and what is sent in its place; without references None and itself."""
    if not packed.objects:
        return None, packed
    name = me(), next(names)
    return name, Packed(Travelling(name, packed))


class Received(_crossing.Packed):
    """What an interpreter has packed, on its way to another one."""

    def __init__(self, values):
        self.values = values


def pack(value, *direct):
    try:
        return Packed(value, *direct)
    except Exception as error:
        raise NotShareableError(str(error)) from error


def load(*values):
    try:
        return _crossing.load(*values)
    except Exception as error:
        raise NotShareableError(f"object could not be unpickled: {error}") from error


def ask(service, name, *question):
    """What a module of the host answers to this interpreter."""
    if _crossing.is_worker:
        return _crossing.ask(service, name, me(), *question, load=load)
    value = _threads.answer(service, name, 0, *question)
    return load(*value.values) if isinstance(value, _crossing.Packed) else value


def me():
    global number
    if number is None:  # an executor's interpreter, or the host
        number = _crossing.ask("_hosted", "enter") if _crossing.is_worker else 0
    return number
