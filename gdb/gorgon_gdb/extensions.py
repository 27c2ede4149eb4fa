# SPDX-License-Identifier: MIT
"""Extensions have arguments, variables and types in every copy, whether they are in the stack or not.

With many interpreters gdb hears of names and lines only, because a libpython's debug information costs it a second and 80 MB for
each copy. The debug information of an extension is small, and extensions are what people debug. So an extension's file is added for each
copy as soon as gdb hears of the copy. Conditions, handlers of stops in Python and the line that gdb prints at a stop then have
arguments, and gdb need not look for all breakpoints again when it has stopped.

libpython, large files, files without a word of any breakpoint, and copies beyond FILES_MAX are left out, because each file makes each
event of gdb's take longer: for each event gdb looks for all breakpoints in all that it has read, and once a breakpoint is in a file, gdb
reads it for each copy. What is left out gets its file when it is in the stack (symbols.py)."""

import functools
import os
import re

import gdb

from gorgon_shared import dwarf_index
from . import files, lines, objfiles, process, symbols

FILES_MAX = 128
SIZE_MAX = 1 << 20
KINDS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)
WORD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")

_settled = None  # (Snapshot, words of breakpoints) for which nothing is left to do


def words():
    """For each breakpoint the last word of its location, which is the name of a function or of a file; "" if that is unusual."""
    locations = {breakpoint.location or "" for breakpoint in gdb.breakpoints() if breakpoint.type in KINDS}
    # What follows "(" are types of arguments.
    found = (WORD.findall(location.partition("(")[0]) for location in locations if not location.startswith("*"))
    return frozenset(each[-1] if each else "" for each in found)


@functools.lru_cache(maxsize=256)
def content(path, _mtime):
    with open(path, "rb") as file:
        return dwarf_index.expanded(file.read())


def has_word(path, wanted):
    """Whether a small file has one of these words."""
    try:
        state = os.stat(path)
        return state.st_size <= SIZE_MAX and any(word.encode() in content(path, state.st_mtime_ns) for word in wanted)
    except OSError:
        return False


def is_wanted(obj, names):
    # When gdb hears of a libpython, its namespace does not say yet that this object is the libpython.
    return (obj.lacks_dwarf and not obj.name.startswith("libpython") and not symbols.is_added(obj)
            and has_word(files.find(obj.debug_path or obj.path), names))


def wanted(objects):
    names = words()
    return [obj for obj in objects if is_wanted(obj, names)][:max(FILES_MAX - symbols.count_everywhere(), 0)] if names else []


def add(objects):
    """Add the files of these extensions. Returns whether that could be done now."""
    return all([symbols.add_everywhere(obj) for obj in wanted(objects)])


def refresh():
    """Add the files of all extensions that lack them. Returns whether nothing is left to do."""
    global _settled
    snapshot = process.try_snapshot()
    if snapshot is None or (snapshot, words()) == _settled:
        return True
    done = add(snapshot.objects)
    _settled = (snapshot, words()) if done and not snapshot.changing else None
    return done


def on_new_objfile(event):
    """Add files at once, so that breakpoints have their places, and gdb can read their conditions, before the first
    instruction of the copy runs."""
    match = objfiles.SYMFILE.match(event.new_objfile.filename or "")
    extent = objfiles.covered(event.new_objfile) if match and lines.wants_lines() else None
    snapshot = process.try_snapshot() if extent else None
    if snapshot:
        add(snapshot.objects_between(*extent))
        lines.on_new_pack(int(match[1], 16), symbols.added())
