# SPDX-License-Identifier: MIT
"""Source-level debug information for chosen copies.

The symfile that lldb reads of each copy has addresses and exported names; lldb takes no
further debug file for it. So the library file itself is added as one more module per copy,
and the module made from the symfile is removed: two modules at one address make breakpoints
double and backtraces show the poorer one.

lldb gives the same module back for the same path, and for the same UUID if one is passed.
So every copy gets a symbolic link of its own to the file, and no UUID; the link's name is
what lldb shows: libpython3.11.so.1.0 [interp 3].

lldb 19 takes the unwind rules of the wrong part for a function that the compiler has split
and that it knows from DWARF: a backtrace ends there, in any process. In CPython that is
_PyEval_EvalFrameDefault. With exported names alone the backtrace goes on, so there is a way
back: remove() reads the symfile again."""

import contextlib
import fnmatch
import os
import struct
import tempfile

import lldb

from . import process

_added = {}    # key of a process -> {identity of a copy: SBModule of its file}
_restored = {}  # the same, for modules that remove() has made from symfiles


@contextlib.contextmanager
def link_to(o):
    """A link for one copy, for as long as lldb opens it: what it reads later it has mapped, and
    lldb does not run Python's exit handlers that could remove the folder."""
    with tempfile.TemporaryDirectory(prefix="gorgon-lldb-") as folder:
        link = os.path.join(folder, o.label)
        os.symlink(o.path, link)
        yield link


def find_jit_module(target, o):
    """The module that lldb has made from the symfile of a copy, or None."""
    again = _restored.get(process.key(target.GetProcess()), {}).pop(identity(o), None)
    if again:
        return again
    name = f"JIT({o.symfile:#x})"
    return next((m for m in target.module_iter() if m.GetFileSpec().GetFilename() == name), None)


def identity(o):
    # All three: an address may be used again for another object.
    return o.address, o.start, o.label


def matches(o, pattern):
    return pattern is None or pattern in o.name or fnmatch.fnmatchcase(o.name, pattern)


def has_symbols(target, o):
    return identity(o) in _added.get(process.key(target.GetProcess()), {})


def add_one(target, o):
    """Returns (module, None) or (None, why not)."""
    if not os.path.isfile(o.path):
        return None, f"{o.path} is not there"
    debug = o.debug_path if o.debug_path and os.path.isfile(o.debug_path) and o.debug_path != o.path else None
    with link_to(o) as link:
        module = target.AddModule(link, None, None, debug)
        module.GetNumSymbols()  # opens what it needs, while the link is there
    if not module.IsValid():
        return None, f"lldb cannot read {o.path}"
    jit = find_jit_module(target, o)
    if jit:
        target.RemoveModule(jit)
    error = target.SetModuleLoadAddress(module, o.bias)
    if error.Fail():
        target.RemoveModule(module)
        return None, error.GetCString()
    return module, None


def add(target, namespaces, pattern):
    """gorgon symbols. Returns the text to print."""
    added = _added.setdefault(process.key(target.GetProcess()), {})
    count = {"added": 0, "there": 0}
    text = ""
    for o in (o for ns in namespaces for o in ns.objects if matches(o, pattern)):
        if has_symbols(target, o):
            count["there"] += 1
            continue
        module, problem = add_one(target, o)
        if module is None:
            text += f"{o.label}: {problem}\n"
            continue
        added[identity(o)] = module
        count["added"] += 1
    if not sum(count.values()) and not text:
        return f"No object's name fits {pattern}.\n" if pattern else "No objects.\n"
    there = f", {count['there']} had them already" if count["there"] else ""
    return text + f"Symbols added to {count['added']} objects{there}.\n"


def as_library(data):
    """A symfile as a shared library with absolute names. When it is a relocatable file, lldb gives
    its sections addresses of its own as soon as it comes from disk."""
    if struct.unpack_from("<H", data, 0x10) != (1,):  # e_type: ET_REL
        return data
    data = bytearray(data)
    table, = struct.unpack_from("<Q", data, 0x28)  # e_shoff
    count, = struct.unpack_from("<H", data, 0x3C)  # e_shnum
    headers = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(count)]
    for _, kind, _, _, start, size in headers:
        for at in range(start, start + size, 24) if kind == 2 else ():  # SHT_SYMTAB
            index, = struct.unpack_from("<H", data, at + 6)
            value, = struct.unpack_from("<Q", data, at + 8)
            struct.pack_into("<Q", data, at + 8, (value + headers[index][3]) % 2**64)
    struct.pack_into("<H", data, 0x10, 3)  # e_type: ET_DYN
    return data


def read_symfile(target, o):
    """What lldb does by itself when a symfile is registered. By way of a file: of a module
    that scripts make from memory it reads the first page only."""
    error = lldb.SBError()
    data = target.GetProcess().ReadMemory(o.symfile, o.symfile_size, error) if o.symfile else None
    if not data:
        return None
    with tempfile.TemporaryDirectory(prefix="gorgon-lldb-") as folder:
        path = os.path.join(folder, o.label)
        with open(path, "wb") as file:
            file.write(as_library(data))
        module = target.AddModule(path, None, None)
        module.GetNumSymbols()
    # The addresses in a symfile are absolute.
    target.SetModuleLoadAddress(module, 0)
    return module


def remove(target):
    """gorgon symbols off: every copy as lldb knows it by itself. Returns the text to print."""
    key = process.key(target.GetProcess())
    added = _added.pop(key, {})
    restored = _restored.setdefault(key, {})
    objects = {identity(o): o for o in process.snapshot(target).objects}
    for which, module in added.items():
        target.RemoveModule(module)
        module = read_symfile(target, objects[which]) if which in objects else None
        if module:
            restored[which] = module
    return f"Symbols removed from {len(added)} objects.\n"


def drop_stale(target):
    """Remove modules whose copy has been unloaded, or whose process is gone."""
    current = process.key(target.GetProcess()) if target.GetProcess().IsValid() else None
    snapshot = process.try_snapshot(target)
    if snapshot is None and current is not None and target.GetProcess().is_alive:
        return  # running, or unreadable: nothing is known
    alive = {identity(o): o for o in snapshot.objects} if snapshot else {}
    drop_late(target, _added.get(current, {}), alive)
    if snapshot and (snapshot.changing or snapshot.problems):
        return  # what is missing here may still be there
    for modules in (_added, _restored):
        for process_key, added in list(modules.items()):
            for which in [w for w in added if process_key != current or w not in alive]:
                target.RemoveModule(added.pop(which))


def drop_late(target, added, alive):
    """Remove modules made of symfiles that lldb has heard of after the copy had got symbols, because
    another thread was registering it: they would win."""
    late = {f"JIT({alive[which].symfile:#x})": which for which in added if which in alive}
    for module in list(target.module_iter()) if late else ():
        which = late.get(module.GetFileSpec().GetFilename())
        if which:
            target.RemoveModule(module)
            # lldb has forgotten whose the addresses were before.
            target.ClearModuleLoadAddress(added[which])
            target.SetModuleLoadAddress(added[which], alive[which].bias)
