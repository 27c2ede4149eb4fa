# SPDX-License-Identifier: MIT
"""Debug information of private objects that gdb finds only where the process ran.

The DWARF of a private object may be in its own file, or in a file that this file names. Then the symfile
refers to that file by an absolute path. gdb looks up build-ids below "set sysroot", but no such paths. So
if the sysroot has the file, this module adds it when gdb hears of the object."""

import gdb

from gorgon_shared import elf
from . import files, objfiles, process

IN_LIBRARY, LINK = 2, 3  # enum jitreg_debug_kind

_known = None, {}     # a Snapshot, and its objects by symfile
_settled = None, None # the Snapshot and the sysroot for which nothing is left to do


def file_of(obj):
    """The file on this machine with the debug information to which a private object refers by a path, or None."""
    if obj.debug_kind not in (IN_LIBRARY, LINK):
        return None
    name = obj.path if obj.debug_kind == IN_LIBRARY else obj.debug_path
    return next((c for c in files.candidates(name) if elf.read(c).tables and elf.read(c).build_id == obj.build_id), None)


def object_of(objfile):
    """The private object that an object file of gdb's describes, or None."""
    global _known
    match = objfiles.SYMFILE.match(objfile.filename or "")
    snapshot = process.try_snapshot() if match else None
    if not snapshot:
        return None
    if _known[0] is not snapshot:
        _known = snapshot, {obj.symfile: obj for obj in snapshot.objects}
    return _known[1].get(int(match[1], 16))


def attach(objfile):
    obj = object_of(objfile)
    path = file_of(obj) if obj and not any(other.owner is objfile for other in gdb.objfiles()) else None
    if path:
        objfile.add_separate_debug_file(path)


def on_new_objfile(event):
    if files.sysroot():
        attach(event.new_objfile)


def on_stop(_event=None):
    """Look again: while an object is being loaded the process does not say its build-id yet, and the user may have set another
    sysroot."""
    global _settled
    state = process.try_snapshot(), files.sysroot()
    if state[1] and state != _settled:
        _settled = state
        for objfile in gdb.objfiles():
            attach(objfile)
