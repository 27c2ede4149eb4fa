# SPDX-License-Identifier: MIT
"""Tells the user when a debug file of private objects is not here, because the core is of another machine, or of another day.

With more than eight interpreters the names and unwind data of private code are in a companion file, in the cache of the user who
has started the process. Without that file frames are "??", and gdb does not say why. If the library's own file is here,
"gorgon symbols" gives gdb its names and debug information."""

import os

import gdb

from gorgon_shared import elf, root
from . import files, objfiles, process

LINK = b".gnu_debuglink\0"
SECTION_MAX = 4096

_said = False


def forget(_event=None):
    global _said
    _said = False


def link_of(address):
    """The path in the .gnu_debuglink of a symfile in memory, or None. Raises root.MemoryProblem."""
    header = elf.EHDR.unpack(process.read_memory(address, elf.EHDR.size))
    shoff, shnum, shstrndx = header[6], header[12], header[13]
    if header[0][:6] != elf.IDENT or not shstrndx < shnum <= SECTION_MAX:
        return None
    table = process.read_memory(address + shoff, shnum * elf.SHDR.size)
    sections = list(elf.SHDR.iter_unpack(table))
    names = process.read_memory(address + sections[shstrndx][4], min(sections[shstrndx][5], SECTION_MAX))
    for section in sections:
        if names.startswith(LINK, section[0]):
            content = process.read_memory(address + section[4], min(section[5], root.PATH_MAX))
            return content.partition(b"\0")[0].decode("utf-8", "replace")
    return None


def is_bare(symfile):
    """Whether a pack refers to no companion file: the process could keep none."""
    try:
        return not link_of(symfile)
    except root.MemoryProblem:
        return False


def only_named(snapshot):
    """The objects of which gdb has names only, because the process could keep no files."""
    found = [obj for obj in snapshot.objects if obj.symfile_kind == root.PACK and obj.lacks_dwarf]
    bare = set(filter(is_bare, {obj.symfile for obj in found}))
    return [obj for obj in found if obj.symfile in bare]


def without_lines(snapshot):
    """The namespaces with objects of which gdb lacks lines because the process could keep no files."""
    named = {obj.namespace.id for obj in only_named(snapshot)}
    return [ns for ns in snapshot.namespaces if ns.id in named or any(map(files.registers_itself, ns.objects))]


def by_build_id(objfile):
    """The files that gdb looks for by the build-id, before it follows the link (companions.py)."""
    name = objfile.build_id or ""
    folders = (gdb.parameter("debug-file-directory") or "").split(":")
    return [f"{folder}/.build-id/{name[:2]}/{name[2:]}.debug" for folder in folders if name]


def check(objfile):
    global _said
    match = objfiles.SYMFILE.match(objfile.filename or "")
    if _said or not match:
        return
    try:
        path = link_of(int(match[1], 16))
    except root.MemoryProblem:
        return
    if path and path.startswith("/") and not any(map(os.path.isfile, files.candidates(path) + by_build_id(objfile))):
        _said = True
        gdb.write(f"gorgon: {path} is not here: names of private code will be missing, and frames where no backtrace has looked. Copy it from where the "
                  'process ran, and load the core again; or say "gorgon symbols all"\n')


def on_new_objfile(event):
    check(event.new_objfile)


def register():
    for objfile in gdb.objfiles():
        check(objfile)
