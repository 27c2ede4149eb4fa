# SPDX-License-Identifier: MIT
"""The files of libraries by which lldb knows the copies: a link for each copy, to the library or to what is made of it.

What is made of a library, once for all copies, is kept in the folder "quiet" or "whole" (files.py):

- quiet: for libraries in a pack, a copy whose header says that it is a core. In each executable and shared library lldb looks for
  ten symbols, by which it finds the runtimes of sanitizers, and reads all names for that: seven eighths of what a further copy
  costs. Of other kinds of files it reads names and lines only when somebody asks for them.
- whole: for libraries that have debug information of their own and functions in parts, a copy in which backtraces are whole:
  split_functions.py. (lldb takes no other file for debug information of such a library.) It may be quiet, too."""

import contextlib
import functools
import mmap
import os
import shutil
import struct

from gorgon_shared import dwarf_index, elf, root
from . import files, split_functions
from .debug_files import DebugFile

PHDR = struct.Struct("<IIQQQQQQ")
NOTE = struct.Struct("<III")
PT_NOTE, NT_GNU_BUILD_ID = 4, 3
NOTES_MAX = 1 << 16  # bytes
SIZE_MAX = 64 << 20  # bytes; of larger libraries nothing is made
TYPE_AT, ET_CORE, ENTRY_AT = 0x10, b"\4\0", 0x18


def link_to(debugger, o):
    """The path under which lldb is to know a copy. Raises OSError."""
    path = o.path
    may_be_split = o.debug_kind == root.DEBUG_IN_LIBRARY and not split_functions.are_known(files.version(debugger))
    with contextlib.suppress(OSError):  # lldb says that the file is not there
        found = os.stat(path)
        path = prepared(path, found.st_size, found.st_mtime_ns, o.symfile_kind == root.PACK, may_be_split)
    link = os.path.join(files.folder("links"), files.digest(o.path), o.namespace.label, o.name)
    with contextlib.suppress(OSError):
        if os.readlink(link) == path:
            return link
    os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
    files.replace(link, lambda unfinished: os.symlink(path, unfinished))
    return link


def is_replaced(o):
    """Whether the file of an object is no longer the one that the process has mapped: its build-id is another. Raises OSError."""
    status = os.stat(o.path)
    return bool(o.build_id) and build_id(o.path, status.st_size, status.st_mtime_ns) != o.build_id


def build_id_of_notes(notes, align):
    at = 0
    while at + NOTE.size <= len(notes):
        name_size, size, kind = NOTE.unpack_from(notes, at)
        name = at + NOTE.size
        start = at + -(-(NOTE.size + name_size) // align) * align
        if kind == NT_GNU_BUILD_ID and notes[name:name + name_size] == b"GNU\0":
            return notes[start:start + size]
        at = start + -(-size // align) * align
    return b""


@functools.lru_cache(maxsize=1024)
def build_id(path, _size, _time_ns):
    """Of a file; b"" if it has none. Only a few pages of the file are read."""
    with open(path, "rb") as file:
        head = file.read(elf.EHDR.size)
        if head[:6] != elf.IDENT or len(head) < elf.EHDR.size:
            return b""
        header = elf.EHDR.unpack(head)
        file.seek(header[5])
        segments = file.read(header[10] * PHDR.size)
        for kind, _, at, _, _, size, _, align in PHDR.iter_unpack(segments[:len(segments) // PHDR.size * PHDR.size]):
            if kind != PT_NOTE:
                continue
            file.seek(at)
            found = build_id_of_notes(file.read(min(size, NOTES_MAX)), max(align, 4))
            if found:
                return found
    return b""


@functools.cache
def prepared(library, size, time_ns, is_quiet, may_be_split):
    """The path of what is made of a library, or the library's own."""
    def make(unfinished):
        trimmed = trim_split_functions(library) if is_split else None
        if trimmed:
            trimmed.write(unfinished)
        else:
            shutil.copyfile(library, unfinished)
        if is_quiet:
            with open(unfinished, "r+b") as file:
                for at, content in ((TYPE_AT, ET_CORE), (ENTRY_AT, bytes(8))):
                    file.seek(at)
                    file.write(content)
        os.utime(unfinished, ns=(time_ns, time_ns))  # an index belongs to a file with this time

    try:
        is_split = may_be_split and size <= SIZE_MAX and has_split_functions(library)
        if size > SIZE_MAX or not is_quiet and not is_split:
            return library
        place = files.folder("whole" if is_split else "quiet")
        form = [split_functions.FORM, is_quiet] if is_split else []
        path = os.path.join(place, files.digest(library, size, time_ns, *form), os.path.basename(library))
        if os.path.isfile(path):
            os.utime(os.path.dirname(path))  # the folder's time tells when it was used
        else:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            files.replace(path, make)
            files.remove_unused(place)
    except (OSError, ValueError):
        return library  # lldb reads it as it is, or says what is wrong with it
    return path


def has_split_functions(library):
    with open(library, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        return data.find(split_functions.MARK) >= 0


def trim_split_functions(library):
    """A DebugFile of the library, or None if its functions are of an unknown form."""
    try:
        with open(library, "rb") as source:
            file = DebugFile(source.read())
        file.inflate()
        file.trim_split_functions()
    except dwarf_index.FAILURES:
        return None
    return file
