# SPDX-License-Identifier: MIT
"""The debug files that lldb reads for copies: made once of the debug file of a library (debug_files.py), and kept."""

import contextlib
import os
import struct
import zlib

import lldb

from gorgon_shared import dwarf_index
from . import debug_names, files, split_functions
from .debug_files import DebugFile

FORM = 6  # of the files that are made; files of another form are not used any more
INDEX_MAX = 16 << 20  # bytes of an index; of greater indexes, which take several seconds, no names are made
ANY_NAME = "main"  # looking up any name makes lldb write the index

_made = {}  # (path, size, time) of a debug file -> the path of what is made of it


def debug_file(debugger, o):
    """The file with a library's debug information for lldb, or None when that is in the library itself, or nowhere."""
    if not o.debug_path or not os.path.isfile(o.debug_path) or o.debug_path == o.path:
        return None
    found = os.stat(o.debug_path)
    key = o.debug_path, found.st_size, found.st_mtime_ns
    if key not in _made:
        _made[key] = make(debugger, o.path, *key)
    return _made[key]


def make(debugger, library, debug_path, *state):
    """The path of the file that is made of a debug file, or the debug file's own. @state changes with the debug file."""
    place, knows_parts = files.folder("inflated"), split_functions.are_known(files.version(debugger))
    path = os.path.join(place, files.digest(FORM, knows_parts, debug_path, *state), os.path.basename(debug_path))
    if os.path.isfile(path):
        with contextlib.suppress(OSError):
            os.utime(os.path.dirname(path))  # the folder's time tells when it was used
        return path
    try:
        with open(debug_path, "rb") as source:
            file = DebugFile(source.read())
        file.inflate()
        file.trim_symbols()
        file.complete_aranges()
        if not knows_parts:
            with contextlib.suppress(*dwarf_index.FAILURES):  # functions of an unknown form stay as they are
                file.trim_split_functions()
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        files.replace(path, lambda unfinished: write(file, unfinished, files.keep_indexes(debugger), library))
        files.remove_unused(place)
        return path
    except (OSError, ValueError, struct.error, zlib.error):
        return debug_path  # lldb reads it as it is, or says what is wrong with it


def write(file, path, indexes, library):
    """Write a debug file, and once more with names if lldb can make an index of it."""
    file.write(path)
    index = indexes and index_of(indexes, library, path)
    with contextlib.suppress(ValueError, IndexError, KeyError, UnicodeError, struct.error):
        if index and len(index) <= INDEX_MAX:
            names, strings = debug_names.make(index, file.find(b".debug_info"), file.find(b".debug_abbrev"), file.units(),
                                              len(file.find(b".debug_str")))
            file.replace(b".debug_str", bytes(file.find(b".debug_str")) + strings)
            file.add(b".debug_names", names)
            file.write(path)


def index_name(triple, link):
    """The beginning of the name of lldb's file with the index of a module's debug information. It has a hash of the module's
    path."""
    value = 5381
    for byte in f"{triple}-{link}".encode():
        value = (value * 33 + byte) & 0xffffffff
    return f"llvmcache-{triple}-{os.path.basename(link)}-{value:#010x}-dwarf-index-"


def index_of(place, library, debug):
    """The index that lldb makes of a debug file, or None. The library is read by a link of its own, so that lldb's module is none of a
    target's."""
    link = os.path.join(files.folder("links"), files.digest(library, debug), os.path.basename(library))
    os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
    os.symlink(library, link)
    try:
        spec = lldb.SBModuleSpec()
        spec.SetFileSpec(lldb.SBFileSpec(link))
        spec.SetSymbolFileSpec(lldb.SBFileSpec(debug))
        module = lldb.SBModule(spec)
        module.FindFunctions(ANY_NAME)
        name = index_name(module.GetTriple(), link)
        del module
        lldb.SBDebugger.MemoryPressureDetected()  # lldb lets the module go
        for entry in os.listdir(place):
            if entry.startswith(name):
                with open(os.path.join(place, entry), "rb") as file:
                    data = file.read()
                os.unlink(os.path.join(place, entry))
                return data
    finally:
        os.unlink(link)
        os.rmdir(os.path.dirname(link))
    return None
