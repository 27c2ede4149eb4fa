# SPDX-License-Identifier: MIT
"""Breakpoints in private code outlive the process.

gdb keeps a breakpoint in a shared library that is gone, and waits for the library. Of what the JIT interface has told it
does not: in the next run it looks the location up before there is any private code, says "Error in re-setting breakpoint 2"
and disables it; but for one that was set before the code came and has no condition. So a breakpoint that has places in
private code when the process ends is disabled here at the start of the next, which keeps gdb from complaining, and enabled
again when gdb has found its places. What the user disables or enables meanwhile stays so."""

import gdb

from . import process

KINDS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)

_left = set()     # enabled, and with places in private code that has gone
_waiting = set()  # disabled here


def in_private_code(breakpoint, snapshots):
    return any(snapshot.find_object(place.address) for place in breakpoint.locations for snapshot in snapshots)


def on_exited(_event):
    """Before process.py forgets what was where."""
    for breakpoint in [b for b in _waiting if b.is_valid()]:
        breakpoint.enabled = True
        _left.add(breakpoint)
    _waiting.clear()
    snapshots = process.known()
    _left.update(b for b in gdb.breakpoints() if b.enabled and b.type in KINDS and in_private_code(b, snapshots))


def on_new_thread(_event):
    """The first of a process comes before gdb looks anything up."""
    for breakpoint in [b for b in _left if b.is_valid() and b.enabled]:
        breakpoint.enabled = False
        _waiting.add(breakpoint)
    _left.clear()


def on_new_objfile(_event):
    snapshot = process.try_snapshot() if _waiting else None
    for breakpoint in [b for b in _waiting if b.is_valid() and in_private_code(b, [snapshot])] if snapshot else ():
        breakpoint.enabled = True


def on_modified(breakpoint):
    if breakpoint.enabled:
        _waiting.discard(breakpoint)
