# SPDX-License-Identifier: MIT
"""Which thread holds an interpreter's GIL, as its copy of _PyRuntime says.

Where the lock is differs between versions of CPython, so the offsets come from the debug
information of libpython, once per library; afterwards a look is two or three reads of memory.
A subinterpreter with a GIL of its own is not looked at."""

import gdb

from . import elf, process, root

_layouts = {}  # path of a libpython -> Layout, or None: nothing describes it


class Layout:
    """Offsets: of the lock in _PyRuntime, or of a pointer to it in the main interpreter; inside the lock; of the
    kernel id in a thread state."""

    def __init__(self, runtime):
        self.steps, gil = self.find_lock(runtime)
        self.locked, self.locked_size = offset(gil, "locked"), 4
        self.holder = offset(gil, "last_holder")
        self.tid = offset(gdb.lookup_type("PyThreadState").strip_typedefs(), "native_thread_id")

    @staticmethod
    def find_lock(runtime):
        """([offset, ...], type of the lock): add each offset, following a pointer before every one but the first."""
        ceval = member(runtime, "ceval")
        if has(ceval, "gil"):  # 3.11: one for the process
            return [offset(runtime, "ceval") + offset(ceval, "gil")], member(ceval, "gil")
        interpreters = member(runtime, "interpreters")  # 3.12: one for an interpreter
        main = member(interpreters, "main").target().strip_typedefs()
        gil = member(member(main, "ceval"), "gil").target().strip_typedefs()
        return [offset(runtime, "interpreters") + offset(interpreters, "main"),
                offset(main, "ceval") + offset(member(main, "ceval"), "gil"), 0], gil


def forget():
    """Debug information has come."""
    _layouts.clear()


def has(kind, name):
    return any(field.name == name for field in kind.fields())


def member(kind, name):
    return kind[name].type.strip_typedefs()


def offset(kind, name):
    return kind[name].bitpos // 8


def layout_of(python):
    """The Layout of a libpython, or None without debug information for it."""
    if python.path not in _layouts:
        _layouts[python.path] = None
        build_id = elf.read(python.path).build_id.hex()
        for objfile in gdb.objfiles():
            if build_id and objfile.build_id == build_id:
                symbol = objfile.lookup_global_symbol("_PyRuntime", gdb.SYMBOL_VAR_DOMAIN)
                if symbol:
                    _layouts[python.path] = Layout(symbol.type.strip_typedefs())
                    break
    return _layouts[python.path]


def read_word(address, size=8):
    return int.from_bytes(process.read_memory(address, size), "little")


def holder(namespace):
    """The kernel id of the thread that holds the GIL, 0 when nobody does, None when that cannot be told."""
    python = namespace.libpython
    runtime = elf.read(python.path).symbols.get("_PyRuntime") if python else None
    try:
        layout = layout_of(python) if runtime else None
        if layout is None:
            return None
        first, *others = layout.steps
        gil = python.bias + runtime.value + first
        for step in others:
            pointer = read_word(gil)
            if not pointer:
                return 0  # Python has not been started
            gil = pointer + step
        if read_word(gil + layout.locked, layout.locked_size) != 1:
            return 0
        state = read_word(gil + layout.holder)
        return read_word(state + layout.tid) if state else 0
    except (gdb.error, KeyError, root.RootError):
        return None


def text(namespace, thread_name):
    tid = holder(namespace)
    return "?" if tid is None else thread_name(tid) if tid else "-"
