# SPDX-License-Identifier: MIT
"""Extensions have arguments, variables and types in every copy, whether they are in the stack or not.

With many interpreters gdb hears of names and lines only, because a libpython's debug information costs it a second and 80 MB for
each copy. The debug information of an extension is small, and extensions are what people debug. So an extension's file is added for each
copy as soon as gdb hears of the copy. Conditions, handlers of stops in Python and the line that gdb prints at a stop then have
arguments, and gdb need not look for all breakpoints again when it has stopped.

libpython, large files, and copies beyond FILES_MAX are left out, because each file makes each event of gdb's take longer. They get their
files when they are in the stack (symbols.py)."""

import os

from . import files, lines, objfiles, process, symbols

FILES_MAX = 128
SIZE_MAX = 8 << 20

_settled = None  # a Snapshot for which nothing is left to do


def has_small_file(obj):
    try:
        return os.path.getsize(files.find(obj.debug_path or obj.path)) <= SIZE_MAX
    except OSError:
        return False


def is_wanted(obj):
    # When gdb hears of a libpython, its namespace does not say yet that this object is the libpython.
    return (obj.lacks_dwarf and not obj.name.startswith("libpython") and not symbols.is_added(obj)
            and has_small_file(obj))


def wanted(objects):
    return [obj for obj in objects if is_wanted(obj)][:max(FILES_MAX - symbols.count_everywhere(), 0)]


def add(objects):
    """Add the files of these extensions. Returns whether that could be done now."""
    return all([symbols.add_everywhere(obj) for obj in wanted(objects)])


def are_to_come():
    snapshot = process.try_snapshot()
    return snapshot is not None and snapshot is not _settled and bool(wanted(snapshot.objects))


def refresh():
    """Add the files of all extensions that lack them. Returns whether nothing is left to do."""
    global _settled
    snapshot = process.try_snapshot()
    if snapshot is None or snapshot is _settled:
        return True
    done = add(snapshot.objects)
    _settled = snapshot if done and not snapshot.changing else None
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
