# SPDX-License-Identifier: MIT
"""gorgon check: compares what gorgon_debug_root says with the process, the files and gdb."""

import collections
import os
import re
import struct

import gdb

from gorgon_shared import elf, root
from . import commands, files, objfiles, process

Mapping = collections.namedtuple("Mapping", "start end path")
MAPPING = re.compile(r"^\s*(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+(?:\s+[r-][w-][x-][ps-])?[ \t]*(.*)$", re.M)
# jitreg_debug_root leads to the descriptor of GDB's JIT interface, which leads to the entry of a symfile.
REGISTRAR, DESCRIPTOR_OFF, SYMFILE_OFF = "jitreg_debug_root", 24, 16
ADDRESS, DESCRIPTOR, REGISTERED = struct.Struct("<Q"), struct.Struct("<IIQQ"), 1
ELF_MAGIC = b"\x7fELF"


def mappings():
    """The mappings of the process, or the mappings of files that a core has noted."""
    text = gdb.execute("info proc mappings", to_string=True)
    return [Mapping(int(start, 16), int(end, 16), path.strip().removesuffix(" (deleted)"))
            for start, end, path in MAPPING.findall(text)]


def check_counts(snapshot):
    header = root.read_header(process.read_memory, snapshot.address)
    for what, found, expected in (("namespaces", len(snapshot.namespaces), header.ns_count),
                                  ("objects", len(snapshot.objects), header.object_count),
                                  ("threads with thread-local variables", len(snapshot.threads), header.thread_count)):
        if found != expected:
            yield f"gorgon_debug_root: {found} {what} in the list, {expected} expected"


def is_file_of(path, obj):
    """Whether a mapped path is an object's file: by name, or by build-id if symbolic links of another machine are missing here."""
    here, there = files.find(path), files.find(obj.path)
    return os.path.realpath(here) == os.path.realpath(there) or (obj.build_id and elf.read(here).build_id == obj.build_id)


def is_copy(path, obj):
    """Whether a path may be a copy that --isolate copy has made of an object's file, under the file's name."""
    return obj.link_map and os.path.basename(path) == obj.name


def check_mapping(obj, maps):
    inside = [m for m in maps if m.start < obj.end and obj.start < m.end and m.path]
    others = [m.path for m in inside if not is_file_of(m.path, obj) and not is_copy(m.path, obj)]
    if others:
        yield f"{others[0]} is mapped at {obj.start:#x}-{obj.end:#x}, {obj.path} expected"
    elif not inside:
        yield f"nothing of {obj.path} is mapped at {obj.start:#x}-{obj.end:#x}"


def check_symfile(obj, known):
    if not obj.symfile:
        return
    try:
        magic = process.read_memory(obj.symfile, len(ELF_MAGIC))
        process.read_memory(obj.symfile + obj.symfile_size - 1, 1)
    except root.MemoryProblem as problem:
        yield f"symfile: {problem}"
        return
    if magic != ELF_MAGIC:
        yield f"symfile: begins with {magic!r}, {ELF_MAGIC!r} expected"
    elif obj.symfile not in known:
        yield f"symfile: gdb has no object file at {obj.symfile:#x}"


def announced():
    """The symfile that a thread is about to register, or None: gdb hears of it only when the thread goes on."""
    try:
        registrar = process.address_of_global(REGISTRAR)
        (descriptor,) = ADDRESS.unpack(process.read_memory(registrar + DESCRIPTOR_OFF, ADDRESS.size))
        _, action, entry, _ = DESCRIPTOR.unpack(process.read_memory(descriptor, DESCRIPTOR.size))
        if action != REGISTERED:
            return None
        return ADDRESS.unpack(process.read_memory(entry + SYMFILE_OFF, ADDRESS.size))[0]
    except (gdb.error, root.MemoryProblem):
        return None


def check_file(obj):
    path = files.find(obj.path)
    if not os.path.isfile(path):
        yield f"{path}: there is no such file here: no lines, no variables"
        return
    found = elf.read(path).build_id
    if obj.build_id and found != obj.build_id:
        yield f"{path}: build-id is {found.hex() or 'missing'}, {obj.build_id.hex()} was loaded"


def check_thread(namespace):
    lwps = {number for thread in gdb.selected_inferior().threads() for number in thread.ptid[:2]}
    if namespace.thread and namespace.thread not in lwps:
        yield f"its thread, LWP {namespace.thread}, is not in the process"


def problems(snapshot):
    yield from snapshot.problems
    yield from check_counts(snapshot)
    try:
        maps = mappings()
    except gdb.error as error:
        yield f"mappings cannot be compared: {error}"
        maps = None
    known = {int(found[1], 16) for found in (objfiles.SYMFILE.match(o.filename or "") for o in gdb.objfiles()) if found}
    known.add(announced())
    for namespace in snapshot.namespaces:
        yield from (f"{namespace.label}: {problem}" for problem in check_thread(namespace))
    for obj in snapshot.objects:
        found = [*(check_mapping(obj, maps) if maps is not None else ()), *check_symfile(obj, known), *check_file(obj)]
        yield from (f"{obj.label}: {problem}" for problem in found)


class Check(commands.Subcommand):
    """Compare what Gorgon says of itself with the process or core, the files, and gdb.

    Usage: gorgon check

    For each private object: whether its file is mapped where it says, whether its symfile can
    be read and gdb has it, whether the file on disk is the one that was loaded. Prints a line
    for each thing that does not agree."""

    name = "gorgon check"

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        self.arguments(arg, 0)
        snapshot = process.snapshot(afresh=True)
        lines = list(problems(snapshot))
        if snapshot.changing:
            lines.insert(0, "the list is being changed at this moment")
        gdb.write("".join(f"{line}\n" for line in lines))
        hidden = sum(not obj.symfile and not obj.link_map for obj in snapshot.objects)
        gdb.write(f"{len(snapshot.namespaces)} namespaces, {len(snapshot.objects)} objects"
                  f"{f', {hidden} of them not told to debuggers' if hidden else ''}: "
                  f"{f'{len(lines)} problems' if len(lines) > 1 else '1 problem' if lines else 'consistent'}.\n")

    def completions(self, text, word):
        return []


def register():
    Check()
