# SPDX-License-Identifier: MIT
"""What calls carry between the host and its interpreters; both sides run this file.

Everything is pickled (protocol 5), with the memory of arrays beside it instead of in it: they lie where they were.
What belongs to `__main__`, which no worker can import, goes in another way than pickle's own:

- A global function goes as its name, a lambda or a function within another one as its code, with its defaults and cells
  as they are at that moment; what the call adds to lists and sets in cells comes back (_outer.py).
- The globals that these functions use are shipped beside the call (_globals.py), and are globals of the worker's
  `__main__`. So no worker runs the program again for them, and what an initializer leaves in a global is there for the
  calls after it.
- A class goes as its name and the program's file, which a worker runs once when it meets the first, in its `__main__`
  under the name `__mp_main__`: what must not run there stands under `if __name__ == "__main__"`. A class that no file has,
  and one within a function, goes as what it is made of (_classes.py)."""

import builtins
import functools
import importlib
import importlib.util
import io
import itertools
import marshal
import os
import pickle
import re
import sys
import types

from . import _classes, _outer, _processes, _threads

MAIN, WORKER_MAIN = "__main__", "__mp_main__"
ATOMS = {type(None), bool, int, float, complex}
LARGE = 1 << 18  # bytes that are not copied into a pickle


class RemoteError(RuntimeError):
    """An exception that cannot be pickled: its type and text."""


class RemoteTraceback(Exception):
    """The cause of an exception that comes from an interpreter: the traceback there, as text."""

    def __str__(self):
        return f'\n"""\n{self.args[0]}"""'


# --- functions ----------------------------------------------------------------------------------------------------

is_worker = False


space_numbers = itertools.count()
spaces = {}  # by number: in the host those of other programs, as of what is unpickled from them; in a worker what stands for them


def number_of_space(space):
    number = next((number for number, other in spaces.items() if other is space), None)
    if number is None:
        number = next(space_numbers)
        spaces[number] = space
    return number


def make_function(magic, code, name, qualname, module, cells):
    if magic != importlib.util.MAGIC_NUMBER:
        raise ImportError(f"{qualname}: is code of another version of Python, put it into a module")
    if isinstance(module, int):  # C code that imports asks globals for builtins
        space = spaces.setdefault(module, {"__name__": MAIN, "__builtins__": builtins})
    else:
        space = vars(importlib.import_module(module))
    function = types.FunctionType(marshal.loads(code), space, name, None,
                                  tuple(types.CellType() for _ in range(cells)) or None)
    function.__qualname__ = qualname
    return function


def fill_function(function, state):
    space, cells, attributes, modules = state
    for name in modules:
        importlib.import_module(name)
    mine = function.__globals__
    for name, value in space.items():
        if name not in mine or mine is not vars(sys.modules[MAIN]):
            mine[name] = value
    for cell, contents in zip(function.__closure__ or (), cells):
        if contents:
            cell.cell_contents, *number = contents
            _outer.arrived.update(dict.fromkeys(number, contents[0]))
    for name, value in attributes.items():
        setattr(function, name, value)


@functools.lru_cache(1024)
def globals_in(code):
    """Names that code and the code within it look up as globals."""
    import dis  # for functions of __main__ alone
    names = {instruction.argval for instruction in dis.get_instructions(code)
             if instruction.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME",
                                       "LOAD_FROM_DICT_OR_GLOBALS")}
    return names.union(*(globals_in(each) for each in code.co_consts if isinstance(each, types.CodeType)))


@functools.lru_cache(1024)
def names_in(code):
    """The same, with those in texts for pandas, as "n > @LIMIT"."""
    names = set(globals_in(code))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
        elif isinstance(constant, str):
            names.update(re.findall(r"@([^\W\d]\w*)", constant))
    return frozenset(names)


@functools.lru_cache(1024)
def all_names_in(code):
    """Names that code and the code within it look up, of attributes, too."""
    return frozenset(code.co_names).union(*(all_names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)))


def submodules_of(function):
    """Names of modules that it may reach through a package, as urllib.request: who imports urllib alone has none of these."""
    code, space = function.__code__, function.__globals__
    values = *map(space.get, names_in(code)), *itertools.chain.from_iterable(map(cell_contents, function.__closure__ or ()))
    packages = [value.__name__ for value in values if isinstance(value, types.ModuleType) and hasattr(value, "__path__")]
    for package in packages:  # which grow
        packages += [name for each in all_names_in(code) if (name := f"{package}.{each}") in sys.modules and name not in packages]
    return tuple(packages)


def cell_contents(cell):
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()  # not filled yet


def is_of_main(function):
    """Also one that functools.wraps() has given the name of a function of a module."""
    return function.__module__ in (MAIN, WORKER_MAIN) or function.__globals__ is vars(sys.modules[MAIN])


def is_at(module, qualname, value):
    return functools.reduce(lambda at, part: getattr(at, part, None), qualname.split("."), sys.modules.get(module)) is value


def is_renamed(value):
    """functools.wraps() has given it the name of a function of another module, as IPython's open()."""
    wrapper = value.__wrapped__ if isinstance(value, functools._lru_cache_wrapper) else value
    space = getattr(wrapper, "__globals__", {})
    return (wrapper is not value or space.get("__name__") != value.__module__) and not is_at(value.__module__, value.__qualname__, value)


def reduce_function(function, used, cells, modules, space=MAIN):
    code, is_main = function.__code__, is_of_main(function)
    attributes = {"__defaults__": function.__defaults__, "__kwdefaults__": function.__kwdefaults__,
                  **function.__dict__}
    made = (importlib.util.MAGIC_NUMBER, marshal.dumps(code), function.__name__, function.__qualname__,
            space if is_main else function.__globals__.get("__name__", function.__module__), len(cells))
    # The contents come after the function is known, which may be among them.
    return make_function, made, (used, cells, attributes, modules), None, None, fill_function


DISPATCH = functools.singledispatch(len).__code__


def remake_dispatch(functions):
    made = functools.singledispatch(functions.pop(object))
    for cls, function in functions.items():
        made.register(cls, function)
    return made


def remake_cache(function, parameters):
    return functools.lru_cache(**parameters)(function)


# --- classes ------------------------------------------------------------------------------------------------------


program = None  # the host's, once it has run in this worker
made = {}  # what its file has bound there: by name the value, and a digest of it
came = {}  # the host's values that a worker has bound, by name


def main_program():
    """How a worker finds this process's program: the name of its module, if it was started by that, and its file."""
    if is_worker:
        return program or (None, None)
    main = sys.modules[MAIN]
    path, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    return (spec and spec.name, path and os.path.abspath(path))


def read_program(name, path):
    """Its code, and what its module says of itself."""
    about = {"__name__": WORKER_MAIN, "__file__": path}
    if name in (None, MAIN):  # a file, or that of a folder
        with io.open_code(path) as file:
            return compile(file.read(), path, "exec"), about
    spec = importlib.util.find_spec(name)
    return spec.loader.get_code(name), dict(about, __spec__=spec, __package__=spec.parent, __loader__=spec.loader)


def run_program(name, path):
    """Run the host's program in this worker's __main__, if it has not run there; what is there already stays."""
    global program
    main = sys.modules[WORKER_MAIN] = sys.modules[MAIN]
    if program == (name, path):
        return main
    code, about = read_program(name, path)
    space = vars(main)
    before = dict(space)
    space.update(about)
    try:
        exec(code, space)
    except BaseException:
        space.clear()
        space.update(before)
        raise
    made.update((key, (value, digest(value))) for key, value in space.items())
    # What is the host's and no other than the file's may be compared by identity with what else the file has made.
    space.update((key, value) for key, value in before.items() if not key.startswith("__") and
                 not (key in made and came.get(key, made) is value and is_equal(value, made[key][0])))
    program = name, path
    return main


def digest(value):
    """Of a container of plain values; None of others."""
    try:
        return hash(marshal.dumps(value, 2))
    except ValueError:
        return None


def is_equal(value, other):
    """Whether a value of the host's is what the file has made, as far as a pickle tells."""
    if type(value) is not type(other) or isinstance(value, (types.FunctionType, types.ModuleType, type)):
        return False
    if type(value) in ATOMS or isinstance(value, (str, bytes)):
        return value == other
    try:
        one, two = Packed(value), Packed(other)
    except Exception:
        return False
    return [*map(bytes, one.values[0])] == [*map(bytes, two.values[0])] and not one.values[1]


def find_in_main(name, path, qualname):
    value = run_program(name, path) if is_worker else sys.modules[MAIN]
    for part in qualname.split("."):
        value = getattr(value, part)
    return value


def has_guard():
    """Whether workers may run this process's program for what cannot be pickled: it has a file, which asks for `__name__`."""
    name, path = main_program()
    if is_worker or hasattr(sys, "ps1") or not path or not os.path.isfile(path):
        return False
    return "__name__" in code_of_program(name, path).co_names


@functools.lru_cache(1)
def code_of_program(name, path):
    return read_program(name, path)[0]


class FromFile:
    """In place of a global that cannot be pickled: what the program's file makes in the worker, as spawn's workers have it."""

    def __init__(self, name, error):
        self.name, self.why = name, f"{error} {' '.join(error.__notes__)}"

    def __reduce__(self):
        return make_from_file, (self.name, *main_program(), self.why)


def make_from_file(name, module, path, why):
    try:
        return vars(run_program(module, path))[name]
    except Exception as error:
        raise pickle.PicklingError(why) from error


def reduce_imported(cls):
    """A class of the program's file; None of one that is not there, as what was typed after the file had run, and one of
    another program's __main__, which a library has made here."""
    if functools.reduce(lambda at, part: getattr(at, part, None), cls.__qualname__.split("."), sys.modules[MAIN]) is not cls:
        return None
    name, path = main_program()
    is_there = path and (is_worker or name not in (None, MAIN) or os.path.isfile(path))
    if not is_there or "<locals>" in cls.__qualname__ or hasattr(sys, "ps1"):
        return None
    return find_in_main, (name, path, cls.__qualname__)


# --- what other modules have ----------------------------------------------------------------------------------------


def over(buffer, dtype, shape, order, axes=None):
    """An array over memory that has come beside a pickle, as numpy's own function for that makes it."""
    import numpy  # for pickles that have arrays
    array = numpy.frombuffer(buffer, dtype)
    return array.reshape(shape, order=order) if axes is None else array.reshape(shape).transpose(axes)


def own(buffer, dtype, shape, order, axes=None):
    """An array that owns its memory: it can be written to and resized, and is nobody else's."""
    made = None
    if adopt and axes is None:
        import numpy
        made = adopt(buffer, numpy.empty, (shape, dtype, order))
    if made is None:
        made = over(buffer, dtype, shape, order, axes).copy("K")
    return made


def read_only(make, *args):
    array = make(*args)
    array.flags.writeable = False
    return array


adopt = None  # in the host: what makes an array of received memory, without a copy


def view_buffer(buffer, form, shape):
    view = memoryview(buffer)
    if shape == (0,):  # which cannot be cast
        import array
        empty = memoryview(bytearray() if form == "B" else array.array(form))
        return empty.toreadonly() if view.readonly else empty
    return view.cast("B").cast(form, shape)


def reduce_view(view):
    """Memory that is not in C's order crosses as a copy that is: a receiver could not tell which item is where."""
    if not view.c_contiguous:
        copied = view.tobytes()
        return view_buffer, (pickle.PickleBuffer(copied if view.readonly else bytearray(copied)), view.format, view.shape)
    return view_buffer, (pickle.PickleBuffer(view), view.format, view.shape)


class Writable:
    """An array whose memory a call may write to: the caller's own."""

    def __init__(self, array):
        self.array = array
        if isinstance(array, memoryview) and not array.c_contiguous:
            raise TypeError("writable: expected a memoryview whose memory is contiguous, in C's order, found another one")
        self.reduced = reduce_view(array) if isinstance(array, memoryview) else array.__reduce_ex__(5)
        arguments = self.reduced[1] if isinstance(self.reduced, tuple) else ()
        self.buffers = [each for each in arguments if isinstance(each, pickle.PickleBuffer)]
        if not self.buffers:
            raise TypeError("writable: expected a memoryview or a numpy array whose memory is contiguous, found "
                            f"{type(array).__name__}")
        if any(buffer.raw().readonly for buffer in self.buffers):
            raise ValueError(f"writable: this {type(array).__name__} is read-only")


def writable(array):
    """Of an argument of a call: the call may write to the caller's memory itself, as a thread may. A contiguous numpy array,
    or a memoryview; TypeError: another thing, ValueError: it is read-only.

    >>> import gorgon, operator
    >>> block = bytearray(3)
    >>> with gorgon.InterpreterPoolExecutor(1) as pool:
    ...     pool.submit(operator.setitem, gorgon.writable(memoryview(block)), 0, 7).result()
    >>> block[0]
    7
    """
    return Writable(array)


# --- pickles ------------------------------------------------------------------------------------------------------


class Sink(list):
    """A file that a pickle is written to. Large bytes come as they are, and are not copied."""

    def write(self, data):
        self.append(data if type(data) is bytes else bytes(data))

    def pieces(self):
        """What was written, joined but for what is large."""
        return [piece for large, pieces in itertools.groupby(self, lambda piece: len(piece) >= LARGE)
                for piece in (map(memoryview, pieces) if large else [b"".join(pieces)])]


class Pieces(io.RawIOBase):
    """A file of a pickle's pieces."""

    def __init__(self, pieces):
        self.pieces = [memoryview(piece).cast("B") for piece in reversed(pieces)]

    def readable(self):
        return True

    def readinto(self, target):
        if not self.pieces:
            return 0
        piece = self.pieces.pop()
        count = min(len(target), len(piece))
        target[:count] = piece[:count]
        if count < len(piece):
            self.pieces.append(piece[count:])
        return count


class Buffers(list):
    """What goes beside a pickle. is_own: only arrays, which receivers copy, and what calls may write to; in a pickle is what each
    receiver makes for itself. arrays: by id()."""

    def __init__(self, is_own):
        self.is_own, self.arrays, self.writable = is_own, {}, []

    def keep(self, buffer):
        """Whether it goes into the pickle."""
        if self.is_own and id(buffer) not in self.arrays and buffer not in self.writable:
            return True
        self.append(buffer)
        return False


class Pickler(pickle.Pickler):
    """globals: names that functions of __main__ which were pickled look up, with the dict they look into. None: the
    values go along with each function, as from a worker to the host. whole: a global function or class that goes as what
    it is made of. lent: None, or a dict for what calls may add to. roots: what is pickled. is_own: whoever unpickles
    it has arrays for itself."""

    def __init__(self, sink, buffers, roots, globals=None, whole=None, lent=None, is_own=False):
        self.roots, self.globals, self.whole, self.lent, self.is_own = roots, globals, whole, lent, is_own
        self.objects = []  # of threads
        self.is_plain = True  # to unpickle it runs no code of others
        self.ends = []  # of pipes
        self.buffers = buffers
        super().__init__(sink, 5, buffer_callback=buffers.keep)

    def reducer_override(self, value):
        self.is_plain = False
        if isinstance(value, types.FunctionType):
            if is_of_main(value) or "<" in value.__qualname__:
                return self.reduce_function(value)
            if is_renamed(value):
                module, name = value.__globals__.get("__name__"), value.__code__.co_qualname
                return (getattr, (sys.modules[module], name)) if is_at(module, name, value) else self.reduce_function(value)
        elif isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        elif isinstance(value, type):
            if value.__module__ in (MAIN, WORKER_MAIN) or "<locals>" in value.__qualname__:
                return self.reduce_class(value)
        elif isinstance(value, functools._lru_cache_wrapper):
            if value.__module__ in (MAIN, WORKER_MAIN) or is_renamed(value):
                return self.by_name(value) or (remake_cache, (value.__wrapped__, value.cache_parameters()))
        elif isinstance(value, memoryview):
            return reduce_view(value)
        elif is_ndarray(value):
            return self.reduce_array(value)
        elif isinstance(value, io.TextIOBase):
            name = next((name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is value), None)
            # One within another object, as a thread has, is no reason to copy that.
            return (getattr, (sys, name)) if name and id(value) in _threads.found_in(self.roots) else NotImplemented
        elif isinstance(value, Writable):
            self.buffers.writable += value.buffers
            return value.reduced if isinstance(value.array, memoryview) else (over, value.reduced[1])
        return (_processes.reduce_shared(value, self) or _threads.reduce_object(value, self) or
                _classes.reduce_part(value))

    def reduce_array(self, array):
        flags = array.flags
        if pickle.DEFAULT_PROTOCOL < 5 and (array.dtype.byteorder in "<>" or not (flags.c_contiguous or flags.f_contiguous)):
            # As protocol 4 of process pools has it, before CPython 3.14: receivers get this machine's order of bytes, and C's of
            # axes. Code that passes an array's memory on was written for that.
            return array.__reduce__()
        reduced = array.__reduce_ex__(5)
        if not isinstance(reduced[1][0], pickle.PickleBuffer):
            return reduced  # its items are in the pickle
        self.buffers.arrays[id(reduced[1][0])] = reduced[1][0]
        make = own if self.is_own else over
        if pickle.DEFAULT_PROTOCOL < 5 or flags.writeable or is_argument(array):
            return make, reduced[1]
        return read_only, (make, *reduced[1])  # by protocol 5 the receiver's is read-only, too

    def by_name(self, value):
        """A function or class."""
        name, space = value.__name__, vars(sys.modules[MAIN])
        if self.globals is None or value is self.whole or space.get(name) is not value:
            return None
        self.globals[name] = space
        return find_global, (name,)

    def reduce_class(self, cls):
        reduced = reduce_imported(cls) if not is_worker else _classes.reduce_known(cls) or reduce_imported(cls)
        if reduced or not is_worker:
            return reduced or self.by_name(cls) or _classes.reduce_class(cls, cls is self.whole)
        raise pickle.PicklingError(f"{cls.__qualname__}: a class that the host cannot import, put it into a module")

    def reduce_function(self, function):
        named = self.by_name(function)
        if named:
            return named
        if function.__code__ is DISPATCH:
            return remake_dispatch, (dict(function.registry),)
        names, modules, space = (), (), function.__globals__
        cells = tuple(map(cell_contents, function.__closure__ or ()))
        self.roots.extend(itertools.chain.from_iterable(cells))
        if self.lent is not None and _outer.is_direct(function):
            cells = tuple(_outer.lend(contents, self.lent) for contents in cells)
        if is_of_main(function):
            names, modules = sorted(names_in(function.__code__)), submodules_of(function)
        is_other = not is_worker and names and space is not vars(sys.modules[MAIN])  # of another program's __main__
        if self.globals is None or is_other:
            values = {name: space[name] for name in names if name in space}
            return reduce_function(function, values, cells, modules, number_of_space(space) if is_other else MAIN)
        self.globals.update(dict.fromkeys(names, space))
        return reduce_function(function, {}, cells, modules)


def is_argument(array):
    """Whether it is a view of another interpreter's memory, which is read-only here and no process's."""
    while is_ndarray(array):
        array = array.base
    return type(array).__name__ == "Array" and type(array).__module__ == "gorgon"


class Packed:
    """A pickle, in pieces, and the buffers beside it.

    Of the host's they are its memory: receivers may write to it if that is said by Writable, and the owner may. With
    is_own receivers have copies: of arrays they make them themselves (own()). Of a worker's they cross to be the receiver's
    own (given.c), without a copy if nothing else refers to the memory once the value is gone: the last reference to it
    is to be this one's."""

    pickler = Pickler

    def __init__(self, value, **options):
        if type(value) in ATOMS:
            self.is_plain, self.ends, self.objects, self.lent = True, [], [], {}
            self.values = [[pickle.dumps(value, 5)], []]
            return
        sink, buffers = Sink(), Buffers(not is_worker and options.get("is_own"))
        pickler = self.pickler(sink, buffers, [value], **options)
        with _processes.spawning():
            pickler.dump(value)
        self.is_plain, self.ends, self.objects = pickler.is_plain, pickler.ends, pickler.objects
        self.lent = pickler.lent or {}
        if not is_worker:
            lent = set(map(id, buffers.writable))
            buffers = [buffer.raw() if id(buffer) in lent else buffer.raw().toreadonly() for buffer in buffers]
        self.values = [sink.pieces(), list(buffers)]

    def is_same(self, other):
        """Bytes that are pickled anew are others; memory beside them is where it was."""
        def place(buffers):
            return [(id(buffer.obj), buffer.nbytes) for buffer in buffers]
        pieces, buffers = self.values
        return place(buffers) == place(other.values[1]) and pieces == other.values[0]


def is_ndarray(value):
    """Exactly one of numpy's: others pickle what they are made of."""
    kind = type(value)
    return kind.__name__ == "ndarray" and kind.__module__ == "numpy"


def load(pieces, buffers):
    if len(pieces) == 1:
        return pickle.loads(pieces[0], buffers=buffers)
    return pickle.Unpickler(io.BufferedReader(Pieces(pieces), LARGE), buffers=buffers).load()


def dump_error(error):
    """An exception and the text of its traceback; what cannot make the way as text."""
    import traceback  # for errors alone
    # Without the frame of run().
    trace = error.__traceback__.tb_next or error.__traceback__
    text = "".join(traceback.format_exception(type(error), error, trace))
    try:
        values = Packed((error.with_traceback(None), text), is_own=True).values
        load(*values)
        return values
    except Exception:
        return Packed((RemoteError("".join(traceback.format_exception_only(error)).strip()), text)).values


# --- in an interpreter --------------------------------------------------------------------------------------------

# PLAIN: a result without code of others; REFUSED, UNLOADED: globals, or arguments, that do not load; EXHAUSTED: no memory
DONE, PLAIN, FAILED, REFUSED, UNLOADED, EXHAUSTED = range(6)

handled = False
arriving = {}  # globals that have come with a call and are not loaded yet


def use_data_handler():
    """New arrays lie in the host's memory, for results to go without a copy, once numpy is there."""
    global handled
    if not handled and "numpy" in sys.modules:
        import gorgon
        gorgon.use_data_handler()
        handled = True


def take_paths(paths):
    if sys.path != paths["path"]:
        sys.path[:] = paths["path"]
        importlib.invalidate_caches()
    sys.argv[:] = paths["argv"]


# News that are not globals.
TAKE = {"sys.paths": take_paths, "multiprocessing.tracker": _processes.take_tracker}


def take_global(name):
    is_new, pieces, buffers = arriving.pop(name)
    try:
        value = load(pieces, buffers)
    except BaseException:
        arriving[name] = is_new, pieces, buffers
        raise
    mine = vars(sys.modules[MAIN])
    if name in TAKE:
        TAKE[name](value)
    elif not is_new or name not in mine or is_to_replace(name, mine[name], value):
        mine[name] = came[name] = value


def is_to_replace(name, mine, value):
    """Whether the host's value, which comes for the first time, has the place of this worker's. What an initializer or a call
    has put there stays until the host's changes; what the file has put there stays if the host's is no other."""
    if isinstance(value, (types.FunctionType, types.ModuleType, type)):
        return True
    first, content = made.get(name, (made, None))
    return first is mine and digest(mine) == content and not is_equal(value, mine)


def find_global(name):
    """A global that others refer to, which may have come with the same call."""
    if name in arriving:
        take_global(name)
    return vars(sys.modules[MAIN])[name]


def take_news(news):
    arriving.update((name, rest) for name, *rest in news)
    try:
        for name, *_ in news:
            if name in arriving:
                take_global(name)
    finally:
        arriving.clear()


def failed(error, kind=FAILED):
    return [EXHAUSTED if isinstance(error, MemoryError) else kind, *dump_error(error)]


def run(news, function, arguments):
    """What came of a call: its kind and what was packed of it, then of what it has added to lists and sets of the program."""
    try:
        if news:
            take_news(news)
    except BaseException as error:
        return failed(error, REFUSED)
    loans = []
    try:
        answer = call(function, arguments, loans)
        added = _outer.additions(loans)
        try:
            return [*answer, *Packed(added, is_own=True).values] if added else answer
        finally:
            del answer
    except BaseException as error:
        return failed(error)


def call(function, arguments, loans):
    _outer.arrived.clear()
    try:
        use_data_handler()
        try:
            function, (args, kwargs) = load(*function), load(*arguments)
            loans += _outer.begin()
        except Exception as error:
            return failed(error, UNLOADED)
        arguments.clear()
        use_data_handler()
        result = Packed(function(*args, **kwargs), is_own=True)
        try:
            return [PLAIN if result.is_plain else DONE, *result.values]
        finally:
            # A program may keep the frame of its function, in a traceback for one, and with it those of its callers.
            del result, function, args, kwargs
    except BaseException as error:
        return failed(error)


class InterpreterPoolExecutor:
    """What a module that has an executor beside its functions has in a worker, which imports it for these: it does no work."""

    def __init__(self, *args, **kwargs):
        pass

    def submit(self, *args, **kwargs):
        import gorgon
        raise RuntimeError(f"InterpreterPoolExecutor: this is interpreter {gorgon.interpreter}, pools are made in the host "
                           "(in a program: under if __name__ == '__main__')")

    map = submit

    def shutdown(self, *args, **kwargs):
        pass

    interrupt = shutdown

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def find_name(name):
    """Names of the package that only a program which runs here again asks for."""
    import gorgon
    if name in ("BrokenInterpreterPool", "TimeLimitExceeded"):
        from gorgon import _broken
        return getattr(_broken, name)
    if name == "Error":
        gorgon.Error = type(name, (RuntimeError,), {"__module__": "gorgon"})
        return gorgon.Error
    raise AttributeError(f"module 'gorgon' has no attribute {name!r}")


def ask(*question, load=load):
    """What an object of the host's returns or raises."""
    import gorgon
    packed = Packed(question, is_own=True)
    values = [packed.is_plain, *packed.values]
    del packed  # whoever asks gives the list's contents away
    failed, *answer = gorgon._ask(values)
    value = load(*answer)
    if not failed:
        return value
    try:
        raise value[0]
    finally:
        del value  # which would hold this frame


def tell_main(name, path):
    """Processes that multiprocessing spawns for this worker find the host's program as it finds it itself."""
    main = sys.modules[MAIN]
    if path:
        main.__file__ = path
    if name:
        import importlib.machinery
        main.__spec__ = importlib.machinery.ModuleSpec(name, None, origin=path)


def set_up(package, number, main, environment=()):
    """The module gorgon of an interpreter gets what programs import of the package, as they do when they run here again."""
    global is_worker
    import gorgon
    is_worker = _processes.is_worker = _threads.is_worker = True
    _threads.ask = ask
    _processes.worker = number
    gorgon.__path__ = [package]
    tell_main(*main)
    for name, value in environment:  # variables that have changed since this copy's template was made
        if value is None:
            os.environb.pop(name, None)
        else:
            os.environb[name] = value
    gorgon.RemoteError, gorgon.RemoteTraceback, gorgon.writable = RemoteError, RemoteTraceback, writable
    gorgon.InterpreterPoolExecutor = InterpreterPoolExecutor
    gorgon.__getattr__ = find_name


def run_chunk(function, calls):
    """Several calls of map() at once."""
    return [function(*args) for args in calls]
