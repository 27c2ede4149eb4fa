# SPDX-License-Identifier: MIT
"""Breakpoints outlive the private code that they are in.

gdb keeps a breakpoint in a shared library that is gone, and waits for the library. It does not do so with code that it knows
by the JIT interface. In the next run, or when the last copy is gone, it looks up the location while there is no such code, says
"Error in re-setting breakpoint 2", and disables the breakpoint, unless it was set before the code came and has no condition. So
the scripts disable such a breakpoint before gdb looks, which keeps gdb from complaining, and enable it again when gdb has found its
places. A breakpoint that the user disables stays disabled."""

import contextlib

import gdb

from . import objfiles, process

KINDS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)

_left = set()     # enabled breakpoints with places in private code of a process that has ended
_asked = False    # gdb is looking for places because quietly() has it do so
_heard = []       # (start, end) of the private code that gdb has heard of since breakpoints wait
_waiting = {}     # breakpoint that was disabled here -> whether gdb has found other places for it since


def in_private_code(breakpoint, snapshots):
    return any(snapshot.find_object(place.address) for place in breakpoint.locations for snapshot in snapshots)


def enabled():
    return [b for b in gdb.breakpoints() if b.enabled and b.type in KINDS]


def wait(breakpoint):
    breakpoint.enabled = False
    _waiting[breakpoint] = breakpoint.pending


def on_exited(_event):
    """The process has ended. This runs before process.py forgets what was where."""
    for breakpoint in [b for b in _waiting if b.is_valid()]:
        breakpoint.enabled = True
        _left.add(breakpoint)
    _waiting.clear()
    snapshots = process.known()
    _left.update(b for b in enabled() if in_private_code(b, snapshots))


def on_new_thread(_event):
    """The first thread of a process comes before gdb looks for the places of breakpoints."""
    if not _left and len(gdb.selected_inferior().threads()) > 1:
        return
    for breakpoint in enabled():
        if breakpoint in _left or breakpoint.pending and breakpoint.condition:
            wait(breakpoint)
    _left.clear()


def leave(extent):
    """gdb forgets the code in this (start, end): let breakpoints wait that have places nowhere else."""
    start, end = extent
    for breakpoint in enabled():
        if breakpoint.locations and all(start <= place.address < end for place in breakpoint.locations):
            wait(breakpoint)
            _waiting[breakpoint] = False


def on_free_objfile(event):
    extent = objfiles.covered(event.objfile)
    if extent:
        leave(extent)


@contextlib.contextmanager
def quietly(breakpoints):
    """Disable these breakpoints while gdb is made to look for the places of all breakpoints although no code has come."""
    global _asked
    placed = {breakpoint for breakpoint in breakpoints if not breakpoint.pending}
    for breakpoint in breakpoints:
        breakpoint.enabled = False
    _asked = True
    try:
        yield
    finally:
        _asked = False
        for breakpoint in breakpoints:
            breakpoint.enabled = True
        # In a live process leave() has done this. The memory of a process that was killed cannot be read.
        _left.update(breakpoint for breakpoint in placed if breakpoint.pending)


def is_placed(breakpoint, snapshot):
    """Whether gdb has found a place of it. After `detach` and `attach` places may be those of before, of which gdb knows nothing yet."""
    return any(start <= place.address < end and snapshot.find_object(place.address)
               for place in breakpoint.locations for start, end in _heard)


def on_new_objfile(event):
    if _asked:
        return
    if not _waiting:
        _heard.clear()
        return
    extent = objfiles.covered(event.new_objfile)
    if extent:
        _heard.append(extent)
    snapshot = process.try_snapshot()
    for breakpoint, other in list(_waiting.items()):
        if not breakpoint.is_valid():
            del _waiting[breakpoint]
        elif breakpoint.pending:
            _waiting[breakpoint] = True
        elif other or snapshot and is_placed(breakpoint, snapshot):
            breakpoint.enabled = True


def on_modified(breakpoint):
    if breakpoint.enabled:
        _waiting.pop(breakpoint, None)
