# SPDX-License-Identifier: MIT
"""gorgon check: compares what the process says of its private copies with the files on disk and
lldb's modules."""

import contextlib
import struct

import lldb

from gorgon_shared import root
from . import files, process, reference

DESCRIPTOR = struct.Struct("<IIQQ")  # version, action, relevant entry, first entry
ENTRY = struct.Struct("<QQQQ")       # next, previous, symfile, size
ENTRIES_MAX = 1_000_000
REGISTER, UNREGISTER = 1, 2          # actions


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
    """({symfile: size} of the GDB JIT interface, problems)."""
    found, problems = {}, []
    for address in descriptors(target):
        try:
            entry, seen = DESCRIPTOR.unpack(read(address, DESCRIPTOR.size))[3], set()
            while entry and len(seen) < ENTRIES_MAX:
                if entry in seen:
                    problems.append(f"the list at __jit_debug_descriptor comes back to {entry:#x}")
                    break
                seen.add(entry)
                entry, _, symfile, size = ENTRY.unpack(read(entry, ENTRY.size))
                found[symfile] = size
        except root.MemoryProblem as problem:
            problems.append(f"the list at __jit_debug_descriptor breaks off: {problem}")
    return found, problems


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


def overlaps(snapshot):
    pairs = zip(snapshot.ranges, snapshot.ranges[1:])
    return [f"{a.label} ends at {a.end:#x}, {b.label} starts at {b.start:#x}" for a, b in pairs if b.start < a.end]


def check_object(target, read, o, symfiles):
    """A line for each thing that is wrong with an object."""
    try:
        text = reference.of(o).module.FindSection(".text").GetFileAddress() + o.bias
    except root.RootError as error:
        yield str(error)
        text = None
    if not o.symfile:
        return
    if o.symfile not in symfiles:
        yield f"its symfile at {o.symfile:#x} is not registered with debuggers"
    elif symfiles[o.symfile] != o.symfile_size:
        yield f"its symfile has {o.symfile_size} bytes, registered are {symfiles[o.symfile]}"
    try:
        magic = read(o.symfile, 4)
        if magic != b"\x7fELF":
            yield f"its symfile at {o.symfile:#x} begins with {magic!r}"
    except root.MemoryProblem as problem:
        yield f"its symfile: {problem}"
    if text and not target.ResolveLoadAddress(text).GetModule().IsValid():
        yield 'lldb knows no module for it; "settings show plugin.jit-loader.gdb.enable" must not say off'


def check(target):
    """Returns the text to print."""
    snapshot = process.snapshot(target)
    read = process.reader(target.GetProcess())
    symfiles, problems = registered(target, read)
    problems = snapshot.problems + overlaps(snapshot) + problems
    for o in snapshot.objects:
        problems += [f"{o.label}: {problem}" for problem in check_object(target, read, o, symfiles)]
    if snapshot.changing:
        problems.append("the list is being changed at this moment; check again later")
    return "".join(f"{problem}\n" for problem in problems) + \
        f"{plural(len(snapshot.interpreters), 'interpreter')}, {plural(len(snapshot.objects), 'object')}: " \
        f"{plural(len(problems), 'problem') if problems else 'no problems'}.\n"


def plural(count, noun):
    return f"{count} {noun}{'s' if count != 1 else ''}"
