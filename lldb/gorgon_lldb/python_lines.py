# SPDX-License-Identifier: MIT
"""Python lines (docs/mixed.md) while `gorgon symbols auto` is on: lldb then reads no registrations
itself, so their symfiles become modules here. Those of other compilers do not.

When the process registers a symfile, that one is looked at. The whole list is read when lldb comes to
a process that has run before."""

import contextlib
import os
import tempfile

from gorgon_shared import root
from . import check, files, process, symbols, symfiles

MARK = b"gorgon, Python lines\0"  # their DW_AT_producer

_modules = {}  # key of a process -> {address of a symfile: module}


def follow(target):
    """Have modules for the lines that are registered."""
    key, snapshot = process.key(target.GetProcess()), process.try_snapshot(target)
    if snapshot is None:
        return
    drop_others(target, key)
    read, others = process.reader(target.GetProcess()), {o.symfile for o in snapshot.objects}
    if key not in _modules:
        _modules[key] = {}
        registered = check.registered(target, read)[0]
        gone = set()
    else:
        registered, gone = check.latest(target, read)
    for symfile in gone & _modules[key].keys():
        target.RemoveModule(_modules[key].pop(symfile))
    for symfile in registered.keys() - others - _modules[key].keys():
        with contextlib.suppress(root.MemoryProblem):
            data = read(symfile, registered[symfile])
            if MARK in data:
                _modules[key][symfile] = add(target, read, data)


def drop_others(target, key):
    """Remove modules of processes that are gone."""
    for other in [k for k in _modules if k != key]:
        for module in _modules.pop(other).values():
            target.RemoveModule(module)


def add(target, read, data):
    # The file may go at once: lldb has mapped it.
    with tempfile.TemporaryDirectory(prefix=files.REST) as folder:
        path = os.path.join(folder, "python_lines")
        with open(path, "wb") as file:
            file.write(symfiles.as_library(data, read))
        os.utime(path, (0, 0))
        with symbols.switched_off(target.GetDebugger(), files.INDEX):  # no session sees this file again
            module = target.AddModule(path, None, None)
            module.GetNumSymbols()
    target.SetModuleLoadAddress(module, 0)  # its addresses are absolute
    return module
