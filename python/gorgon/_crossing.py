# SPDX-License-Identifier: MIT
"""What calls carry between the host and its interpreters; both sides run this file.

Everything is pickled (protocol 5), with the memory of arrays beside it instead of in it: they lie where they were.
Two things go in another way than pickle's own:

- A function of `__main__`, a lambda or a function within another one goes as its code, with its defaults and cells as
  they are at that moment. One of `__main__` takes the globals along that it uses, and has them in the worker's
  `__main__`: functions, classes and modules are replaced there, everything else is set once. So no worker runs the
  program again for them, and what an initializer leaves in a global is there for the calls after it.
- A class of `__main__` goes as its name and the program's file, which a worker runs once when it meets the first, as
  the module `__mp_main__`: what must not run there stands under `if __name__ == "__main__"`."""

import importlib
import importlib.util
import io
import marshal
import os
import pickle
import sys
import traceback
import types

MAIN, WORKER_MAIN = "__main__", "__mp_main__"


class RemoteError(RuntimeError):
    """An exception that cannot be pickled: its type and text."""


class RemoteTraceback(Exception):
    """The cause of an exception that comes from an interpreter: the traceback there, as text."""

    def __str__(self):
        return f'\n"""\n{self.args[0]}"""'


# --- functions ----------------------------------------------------------------------------------------------------

is_worker = False


def make_function(magic, code, name, qualname, module, cells):
    if magic != importlib.util.MAGIC_NUMBER:
        raise ImportError(f"{qualname}: is code of another version of Python, put it into a module")
    space = vars(importlib.import_module(module))
    function = types.FunctionType(marshal.loads(code), space, name, None,
                                  tuple(types.CellType() for _ in range(cells)))
    function.__qualname__ = qualname
    return function


def fill_function(function, state):
    space, cells, attributes = state
    mine = function.__globals__
    for name, value in space.items():
        if name not in mine or is_worker and isinstance(value, (types.FunctionType, types.ModuleType, type)):
            mine[name] = value
    for cell, contents in zip(function.__closure__ or (), cells):
        if contents:
            cell.cell_contents = contents[0]
    for name, value in attributes.items():
        setattr(function, name, value)


def names_in(code):
    """Names that code and the code within it may look up as globals."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names


def cell_contents(cell):
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()  # not filled yet


def reduce_function(function):
    code, space = function.__code__, function.__globals__
    is_main = function.__module__ in (MAIN, WORKER_MAIN)
    used = {name: space[name] for name in sorted(names_in(code)) if name in space} if is_main else {}
    attributes = {"__defaults__": function.__defaults__, "__kwdefaults__": function.__kwdefaults__,
                  **function.__dict__}
    cells = function.__closure__ or ()
    made = (importlib.util.MAGIC_NUMBER, marshal.dumps(code), function.__name__, function.__qualname__,
            MAIN if is_main else function.__module__, len(cells))
    # The contents come after the function is known, which may be among them.
    return make_function, made, (used, tuple(map(cell_contents, cells)), attributes), None, None, fill_function


# --- classes ------------------------------------------------------------------------------------------------------


def main_path(module):
    path = getattr(module, "__file__", None)
    return path and os.path.abspath(path)


def main_module(path):
    """The program at path: this process's own, or in an interpreter a module made of it."""
    main = sys.modules[MAIN]
    if main_path(main) == path:
        return main
    if WORKER_MAIN not in sys.modules:
        spec = importlib.util.spec_from_file_location(WORKER_MAIN, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[WORKER_MAIN] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[WORKER_MAIN]
            raise
    return sys.modules[WORKER_MAIN]


def find_in_main(path, qualname):
    value = main_module(path)
    for name in qualname.split("."):
        value = getattr(value, name)
    return value


def reduce_class(cls):
    path = main_path(sys.modules.get(cls.__module__))
    if not path or "<locals>" in cls.__qualname__:
        raise pickle.PicklingError(f"{cls.__qualname__}: a class that no worker can import, put it into a module")
    return find_in_main, (path, cls.__qualname__)


# --- pickles ------------------------------------------------------------------------------------------------------


class Pickler(pickle.Pickler):
    def reducer_override(self, value):
        if isinstance(value, types.FunctionType):
            if value.__module__ in (MAIN, WORKER_MAIN) or "<" in value.__qualname__:
                return reduce_function(value)
        elif isinstance(value, types.ModuleType):
            return importlib.import_module, (value.__name__,)
        elif isinstance(value, type) and value.__module__ in (MAIN, WORKER_MAIN):
            return reduce_class(value)
        return NotImplemented


def dump(value, writable=True):
    """A pickle, and the buffers beside it. Receivers may write to them if that is said and the owner may."""
    file, buffers = io.BytesIO(), []
    Pickler(file, 5, buffer_callback=buffers.append).dump(value)
    raw = [buffer.raw() for buffer in buffers]
    return [file.getvalue(), raw if writable else [buffer.toreadonly() for buffer in raw]]


def load(pickled, buffers):
    return pickle.loads(pickled, buffers=buffers)


def dump_error(error):
    """An exception and the text of its traceback; what cannot make the way as text."""
    # Without the frame of run().
    trace = error.__traceback__.tb_next or error.__traceback__
    text = "".join(traceback.format_exception(type(error), error, trace))
    try:
        pickled = dump((error.with_traceback(None), text))
        load(*pickled)
        return pickled
    except Exception:
        return dump((RemoteError("".join(traceback.format_exception_only(error)).strip()), text))


# --- in an interpreter --------------------------------------------------------------------------------------------

handled = False


def set_up(path):
    """Import what the host would."""
    global is_worker
    is_worker = True
    sys.path[:] = path
    importlib.invalidate_caches()


def use_data_handler():
    """New arrays lie in the host's memory, for results to go without a copy, once numpy is there."""
    global handled
    if not handled and "numpy" in sys.modules:
        import gorgon
        gorgon.use_data_handler()
        handled = True


def run(pickled, buffers):
    try:
        use_data_handler()
        function, args, kwargs = load(pickled, buffers)
        buffers.clear()
        use_data_handler()
        return [True, *dump(function(*args, **kwargs))]
    except BaseException as error:
        return [False, *dump_error(error)]
