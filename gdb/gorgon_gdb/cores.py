# SPDX-License-Identifier: MIT
"""A core brings no event of a stop. So the debug information for the thread that has crashed is added as soon as gdb has loaded
the whole core, and "gdb -batch -ex bt HOST CORE" shows arguments and variables. When somebody selects another thread,
symbols.on_prompt() adds what its stack lacks."""

import gdb

from . import objfiles, process, symbols

_missing = set()  # addresses of symfiles of a core that gdb has not read yet


def is_core():
    connection = gdb.selected_inferior().connection
    return connection is not None and connection.type == "core"


def on_new_objfile(event):
    """gdb reads the symfiles of a core one after the other."""
    global _missing
    match = objfiles.SYMFILE.match(event.new_objfile.filename or "")
    if not match or not is_core():
        return
    if not _missing:
        snapshot = process.try_snapshot()
        _missing = {obj.symfile for obj in snapshot.objects if obj.symfile} if snapshot else set()
    symfile = int(match[1], 16)
    if symfile in _missing:
        _missing.remove(symfile)
        if not _missing:
            symbols.attach_stack()


def forget(_event=None):
    _missing.clear()
