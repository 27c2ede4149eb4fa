# SPDX-License-Identifier: MIT
"""The selected process as the other files see it: its snapshot, and whose an address is.

A snapshot is kept until the sequence number in the process has moved, so that a frame
filter or a breakpoint condition costs one read of 64 bytes."""

import gdb

from gorgon_shared import python, root
from . import files

SYMBOL = "gorgon_debug_root"

# Frames between shared code (libc) and the private code that called it; a bound, because
# a breakpoint condition may ask at every hit.
CALLERS_MAX = 64

_root_addresses = {}  # (inferior, pid) -> address
_snapshots = {}       # (inferior, pid) -> Snapshot


def forget(_event=None):
    """Drop what is known: a process has ended, or gdb has other files."""
    _root_addresses.clear()
    _snapshots.clear()


def known():
    """Snapshots of processes, as they were when somebody looked last, also of a process that has just ended."""
    return list(_snapshots.values())


def read_memory(address, size):
    try:
        return gdb.selected_inferior().read_memory(address, size).tobytes()
    except (gdb.error, OverflowError):
        raise root.MemoryProblem(f"cannot read {size} bytes at {address:#x}") from None


def _key():
    inferior = gdb.selected_inferior()
    if not inferior.pid:
        raise root.RootError("the program is not running, and there is no core file")
    return inferior.num, inferior.pid


def address_of_global(name):
    """The address of a global variable or function by its name, whatever the language of the selected frame is. Raises gdb.error."""
    symbol = gdb.lookup_global_symbol(name)
    if symbol is not None:
        return int(symbol.value().address) & 0xFFFFFFFFFFFFFFFF
    # gdb knows no type of a variable in a library that was stripped of everything but .dynsym, so it has no symbol for the variable.
    return int(gdb.parse_and_eval(f"&{name}")) & 0xFFFFFFFFFFFFFFFF


def _find_root():
    try:
        return address_of_global(SYMBOL)
    except gdb.error:
        raise root.RootError(f"this process does not use Gorgon: there is no {SYMBOL}") from None


def snapshot():
    """The current Snapshot of the selected process. Raises root.RootError."""
    key = _key()
    if key not in _root_addresses:
        _root_addresses[key] = _find_root()
    address = _root_addresses[key]
    known = _snapshots.get(key)
    header = root.read_header(read_memory, address)
    if not known or known.changing or known.sequence != header.sequence:
        known = _snapshots[key] = root.read_snapshot(read_memory, address, known)
    return known


def try_snapshot():
    """The current Snapshot, or None for a process without Gorgon."""
    try:
        return snapshot()
    except root.RootError:
        return None


def find_object(address):
    known = try_snapshot()
    return known.find_object(address) if known else None


def interp_of_address(address):
    """Number of the interpreter whose private code or data an address is, or -1."""
    found = find_object(address)
    if not found or found.namespace.interp is None:
        return -1
    return found.namespace.interp


def object_of_frame(frame):
    """The private object a frame runs in or, for shared code, the nearest of its callers; or None."""
    known = try_snapshot()
    if not known or not known.ranges:
        return None
    for _ in range(CALLERS_MAX):
        found = known.find_object(frame.pc())
        if found:
            return found
        frame = frame.older()
        if frame is None:
            break
    return None


def namespace_of_selected_frame():
    """The Namespace the selected frame works for, or None."""
    try:
        found = object_of_frame(gdb.selected_frame())
    except gdb.error:  # no thread, or it runs
        return None
    return found.namespace if found else None


def interp_of_selected_frame():
    ns = namespace_of_selected_frame()
    return -1 if ns is None or ns.interp is None else ns.interp


def thread_name(lwp):
    """gdb's number of the thread with this kernel id, for people."""
    for thread in gdb.selected_inferior().threads():
        if kernel_id(thread) == lwp:
            return f"{thread.num} (LWP {lwp})"
    return f"LWP {lwp}"


def kernel_id(thread):
    return thread.ptid[1] or thread.ptid[0]


def python_of(namespace):
    """The python.Python of a namespace, which reads CPython's own structures. Raises root.RootError."""
    libpython = namespace.libpython
    runtime = files.read(libpython).symbols.get("_PyRuntime") if libpython else None
    if runtime is None:
        raise root.RootError(f"the file of {libpython.label}, {libpython.path}, is not here" if libpython else
                             f"{namespace.label} has no libpython")
    return python.Python(read_memory, libpython.bias + runtime.value, namespace.python_minor)


def own_global(name):
    """The value of a global variable in the copy that the selected frame belongs to.

    gdb resolves the name of an external global to the first copy of a library, whichever
    copy the frame is in. Copies differ by their biases alone."""
    symbol = gdb.lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError(f"no global variable {name}")
    value = symbol.value()
    ns = namespace_of_selected_frame()
    theirs = find_object(int(value.address))
    if ns is None or theirs is None or theirs.namespace.id == ns.id:
        return value
    mine = next((o for o in ns.objects if o.path == theirs.path), None)
    if mine is None:
        return value
    address = int(value.address) - theirs.bias + mine.bias
    return gdb.Value(address).cast(value.type.pointer()).dereference()
