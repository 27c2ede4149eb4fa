# SPDX-License-Identifier: MIT
"""gdb.solib_name() and gdb.lookup_objfile() know private objects; "info sharedlibrary" says where they are listed.

The functions of gdb's Python module are wrapped: what gdb knows itself it answers itself. "info sharedlibrary" gets a hook
that adds a line, unless the user has one."""

import os

import gdb

from . import breakpoints, execute, process

NOTE = "maintenance gorgon-note"
HOOK = "info hookpost-sharedlibrary"

_solib_name = gdb.solib_name
_lookup_objfile = gdb.lookup_objfile
_hooked = False


def solib_name(address):
    name = _solib_name(address)
    obj = process.find_object(int(address)) if name is None else None
    return obj.path if obj and not obj.link_map else name


def lookup_objfile(name, by_build_id=False):
    try:
        return _lookup_objfile(name, by_build_id)
    except ValueError:
        found = find_objfile(name, by_build_id)
        if found is None:
            raise
        return found


def find_objfile(name, by_build_id):
    """gdb's object file of a private object: of the selected frame's copy, or of the first that has it."""
    snapshot = process.try_snapshot()
    objects = [o for o in snapshot.objects if is_called(o, name, by_build_id) and o.symfile] if snapshot else []
    mine = process.namespace_of_selected_frame() if objects else None
    obj = next((o for o in objects if o.namespace is mine), objects[0] if objects else None)
    for objfile in gdb.objfiles() if obj else ():
        match = breakpoints.SYMFILE.match(objfile.filename or "")
        if match and int(match[1], 16) == obj.symfile:
            return objfile
    return None


def is_called(obj, name, by_build_id):
    return obj.build_id.hex() == name.lower() if by_build_id else name in (obj.path, os.path.basename(obj.path))


class Note(gdb.Command):
    """Part of a hook that Gorgon's scripts define: say where private objects are listed.

    Usage: maintenance gorgon-note"""

    def __init__(self):
        super().__init__(NOTE, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        snapshot = process.try_snapshot()
        count = sum(not o.link_map for o in snapshot.objects) if snapshot else 0
        if count:
            gdb.write(f'gorgon: and {count} private objects: "gorgon modules"\n')


def install():
    """Define the hook. Where that is not possible yet, the next prompt does."""
    global _hooked
    if not _hooked:
        try:
            there = execute.run("show user " + HOOK)
        except gdb.error:
            there = ""
        _hooked = there is not None and (there != "" or execute.run(f"define {HOOK}\n{NOTE}\nend") is not None)


def register():
    Note()
    gdb.solib_name, gdb.lookup_objfile = solib_name, lookup_objfile
