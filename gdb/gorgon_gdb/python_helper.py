# SPDX-License-Identifier: MIT
"""Load CPython's own gdb helper (py-bt, py-locals, py-list ...) for private copies.

gdb loads such a helper when a file is loaded whose name it fits. Private copies have no file
name in gdb, so the same rule is followed here, with the path that Gorgon publishes: a script
PATH-gdb.py beside the library, or below a directory of "show auto-load scripts-directory";
only with "set auto-load python-scripts on", and only where "show auto-load safe-path" allows.

The helper finds types by name, which are the same in all copies of one build, and frames
through gdb, which are each copy's own. What it asks for by the name of a variable is redirected
to the copy of the selected frame."""

import fnmatch
import itertools
import os
import re
import sys

import gdb

from gorgon_shared import layout, python, root
from . import helper_types, process

_seen_libraries = set()
_seen_build_ids = set()
_checked = None  # the Snapshot of which all are loaded


def directories(parameter):
    """A list of directories as gdb keeps it, with its two variables replaced."""
    result = []
    for item in (gdb.parameter(parameter) or "").split(":"):
        if not item:
            continue
        roots = [item]
        if item.startswith("$datadir"):
            roots = [gdb.parameter("data-directory") + item[len("$datadir"):]]
        elif item.startswith("$debugdir"):
            debug = (gdb.parameter("debug-file-directory") or "").split(":")
            roots = [d + item[len("$debugdir"):] for d in debug if d]
        result += [os.path.expanduser(root) for root in roots]
    return result


def find_script(library):
    """The helper script for a library by gdb's rule, or None."""
    path = os.path.realpath(library) + "-gdb.py"
    candidates = [path] + [d.rstrip("/") + path for d in directories("auto-load scripts-directory")]
    return next((c for c in candidates if os.path.isfile(c)), None)


def is_safe(script):
    """Whether the user's auto-load safe-path allows a script; its links count as their targets."""
    for name in {script, os.path.realpath(script)}:
        for allowed in directories("auto-load safe-path"):
            pattern = allowed.rstrip("/")
            parents = [name[:i] for i in (m.start() for m in re.finditer("/", name))] + [name]
            if any(p == pattern or fnmatch.fnmatchcase(p, pattern) for p in parents):
                return True
            if os.path.realpath(allowed) in map(os.path.realpath, parents[1:]):
                return True
    return False


def is_loaded():
    """gdb itself may have loaded a helper, for a Python that is not private."""
    return hasattr(sys.modules["__main__"], "PyBacktrace")


def use_own_globals():
    """Let the helper find removed entries of sets: each copy of CPython marks them with an object of its own."""
    cls = getattr(sys.modules["__main__"], "PySetObjectPtr", None)
    if hasattr(cls, "_dummy_key"):
        cls._dummy_key = staticmethod(lambda: process.own_global("_PySet_Dummy"))


def python_of_host():
    """The python.Python of the host's own CPython, for a frame outside private code; None if the host has none."""
    try:
        runtime = process.address_of_global("_PyRuntime")
    except gdb.error:
        return None
    if process.find_object(runtime):  # gdb takes a copy's where the host has none
        return None
    return python.Python(process.read_memory, runtime, layout.minor_of(process.read_memory, runtime))


def python_of(namespace):
    """The python.Python of a copy, or of the host's own CPython; None when there is none. Raises root.RootError for a CPython that is not
    known here."""
    return process.python_of(namespace) if namespace else python_of_host()


def thread_state(namespace):
    """The selected thread's PyThreadState there; None when it has none. Raises root.RootError."""
    found = python_of(namespace)
    try:
        address = found.thread_state(process.kernel_id(gdb.selected_thread())) if found else 0
    except root.MemoryProblem:
        return None
    return gdb.Value(address).cast(gdb.lookup_type("PyThreadState").pointer()) if address else None


def use_own_thread_state():
    """Since 3.14 the helper begins with the thread's state. By itself it would read a thread-local variable, for which
    gdb shows other memory in private copies, or call a function in the process, which lets the process run."""
    cls = getattr(sys.modules["__main__"], "PyFramePtr", None)
    theirs = getattr(cls, "get_thread_state", None)
    if cls is None or getattr(theirs, "__module__", None) == __name__:
        return

    def get_thread_state():
        namespace = process.namespace_of_selected_frame()
        try:
            return thread_state(namespace)
        except root.RootError:
            return None if namespace else theirs()
    if theirs:
        cls.get_thread_state = staticmethod(get_thread_state)
    use_frames_of_each(sys.modules["__main__"].Frame, cls, bool(theirs))


def use_frames_of_each(cls, interpreter_frame, only_callers):
    """If the compiler has kept no variables of a call of the evaluation function, as in Debian's CPython 3.13, the helper knows no
    Python frame there. Since 3.14 it goes on with the caller of the last one (@only_callers), which fails where one interpreter, or
    the host's Python, has called another. So look the frame up in the thread's state."""
    theirs = cls.get_pyop
    if theirs.__module__ == __name__:
        return

    def get_pyop(self):
        return theirs(self) or frame_of_call(self, interpreter_frame, only_callers)
    cls.get_pyop = get_pyop


def frame_of_call(frame, interpreter_frame, only_callers):
    """The innermost Python frame of a call of the evaluation function. @only_callers: if the next call further in is another
    interpreter's."""
    def namespace_of(call):
        found = process.find_object(call._gdbframe.pc())
        return found.namespace if found else None

    def is_own(call):
        theirs = namespace_of(call)
        return theirs.id == own.id if theirs and own else theirs is own

    own = namespace_of(frame)
    inner = [each for each in newer(frame) if each.is_evalframe()]
    if only_callers and (not inner or is_own(inner[0])):
        return None
    selected = gdb.selected_frame()
    frame._gdbframe.select()  # there gdb finds the host's variables
    try:
        found = python_of(own)
        calls = found.calls(process.kernel_id(gdb.selected_thread())) if found else ()
        address = next(itertools.islice(calls, sum(map(is_own, inner)), None), 0)
    except (root.RootError, root.MemoryProblem):
        return None
    finally:
        selected.select()
    return interpreter_frame(gdb.Value(address).cast(gdb.lookup_type("_PyInterpreterFrame").pointer())) if address else None


def newer(frame):
    """The frames that a frame has called, from the next to the innermost."""
    frame = frame.newer()
    while frame:
        yield frame
        frame = frame.newer()


def run(script):
    """What "source" does, which an event must not use (execute.py)."""
    names = sys.modules["__main__"].__dict__
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    names["__file__"] = script
    try:
        exec(code, names)
    finally:
        names.pop("__file__", None)


def load(library):
    """Load the helper for a library, once per library."""
    if library in _seen_libraries:
        return
    _seen_libraries.add(library)
    script = find_script(library)
    if not script or not gdb.parameter("auto-load python-scripts"):
        return
    if not is_loaded():
        if not is_safe(script):
            gdb.write(f"gorgon: {script} is not loaded: your auto-load safe-path declines it. "
                      f"To allow it: add-auto-load-safe-path {script}\n")
            return
        try:
            run(script)
        except Exception as error:  # whatever it may be: the script is not ours
            gdb.write(f"gorgon: {script}: {type(error).__name__}: {error}\n")
            return
    adapt()


def adapt():
    """Have the helper read the copy of the selected frame. This is repeated, because gdb loads the helper anew with each file
    that has one."""
    if is_loaded():
        use_own_globals()
        use_own_thread_state()
        helper_types.adapt(sys.modules["__main__"].PyObjectPtr)
        helper_types.adapt_printer(sys.modules["__main__"].PyObjectPtrPrinter)


def check(_event=None):
    """Load helpers for the libpythons that are there now."""
    global _checked
    snapshot = process.try_snapshot()
    if snapshot is _checked:
        return
    _checked = snapshot
    for ns in snapshot.interpreters if snapshot else ():
        if ns.libpython:
            load(ns.libpython.path)


def on_new_objfile(event):
    """A core or an attached process brings its copies without a stop. Once per library."""
    objfile = event.new_objfile
    if not (objfile.filename or "").startswith("<in-memory"):
        return
    if objfile.build_id not in _seen_build_ids:
        _seen_build_ids.add(objfile.build_id)
        check()
