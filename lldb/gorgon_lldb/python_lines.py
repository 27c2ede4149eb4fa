# SPDX-License-Identifier: MIT
"""Python lines (docs/mixed.md) while `gorgon symbols auto` is on: lldb then reads no registrations
itself, so their symfiles become modules here. Those of other compilers do not.

When the process registers a symfile, that one is looked at. The whole list is read when lldb comes to
a process that has run before."""

import contextlib
import os
import struct
import tempfile

import lldb

from gorgon_shared import root
from . import files, process, symbols, symfiles

MARK = b"gorgon, Python lines\0"  # their DW_AT_producer

DESCRIPTOR = struct.Struct("<IIQQ")  # version, action, relevant entry, first entry
ENTRY = struct.Struct("<QQQQ")       # next, previous, symfile, size
ENTRIES_MAX = 1_000_000
REGISTER, UNREGISTER = 1, 2          # actions

_modules = {}  # key of a process -> {address of a symfile: module}


def descriptors(target):
    """The addresses of __jit_debug_descriptor, which no module of ours has: a search there would have lldb read all its symbols."""
    for module in target.modules:
        # lldb 19 must not be asked for the folder of the kernel's own module in a core.
        folder = module.GetFileSpec().GetDirectory() if module.GetNumSections() else None
        if files.has_links(folder) or files.is_rest(folder):
            continue
        address = module.FindSymbol("__jit_debug_descriptor").GetStartAddress().GetLoadAddress(target)
        if address != lldb.LLDB_INVALID_ADDRESS:
            yield address


def registered(target, read):
    """{symfile: size} of the GDB JIT interface."""
    found = {}
    for address in descriptors(target):
        with contextlib.suppress(root.MemoryProblem):
            entry, seen = DESCRIPTOR.unpack(read(address, DESCRIPTOR.size))[3], set()
            while entry and entry not in seen and len(seen) < ENTRIES_MAX:
                seen.add(entry)
                entry, _, symfile, size = ENTRY.unpack(read(entry, ENTRY.size))
                found[symfile] = size
    return found


def latest(target, read):
    """({symfile: size}, {symfile}): what the process has just registered, or taken back."""
    found, gone = {}, set()
    for address in descriptors(target):
        with contextlib.suppress(root.MemoryProblem):
            _, action, entry, _ = DESCRIPTOR.unpack(read(address, DESCRIPTOR.size))
            _, _, symfile, size = ENTRY.unpack(read(entry, ENTRY.size)) if entry else (0, 0, 0, 0)
            if action == REGISTER:
                found[symfile] = size
            elif action == UNREGISTER:
                gone.add(symfile)
    return found, gone


def follow(target):
    """Have modules for the lines that are registered."""
    key, snapshot = process.key(target.GetProcess()), process.try_snapshot(target)
    if snapshot is None:
        return
    drop_others(target, key)
    read, others = process.reader(target.GetProcess()), {o.symfile for o in snapshot.objects}
    if key not in _modules:
        _modules[key] = {}
        there = registered(target, read)
        gone = set()
    else:
        there, gone = latest(target, read)
    for symfile in gone & _modules[key].keys():
        target.RemoveModule(_modules[key].pop(symfile))
    for symfile in there.keys() - others - _modules[key].keys():
        with contextlib.suppress(root.MemoryProblem):
            data = read(symfile, there[symfile])
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
