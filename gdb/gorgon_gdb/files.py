# SPDX-License-Identifier: MIT
"""Where a file of the process is on this machine: below "set sysroot" if that names a folder which has the file, otherwise under
the name that the process knows."""

import functools
import os
import re

import gdb

from gorgon_shared import elf

REGISTRAR = "__jit_debug_register_code"


def sysroot():
    """A folder, or "": the files are where the process ran."""
    return (gdb.parameter("sysroot") or "").removeprefix("target:").rstrip("/")


def candidates(path):
    return ([sysroot() + path] if sysroot() and path.startswith("/") else []) + [path]


def find(path):
    """The path of a file on this machine; its own name when it is not here."""
    return next((c for c in candidates(path) if os.path.isfile(c)), path)


def read(obj):
    """The elf.File of a private object; without symbols if the file is not here, or is another file of that name. (While
    an object is being loaded the process does not say its build-id yet.)"""
    found = (elf.read(c) for c in candidates(obj.path))
    return next((f for f in found if f.tables and obj.build_id in (b"", f.build_id)), elf.File(b""))


def registers_itself(obj):
    """Whether gdb was told no debug file of a libpython because the file has the names of GDB's JIT interface, which CPython itself
    defines since 3.15: gdb would take their addresses from the file as they are."""
    return bool(obj.symfile) and not obj.debug_kind and obj.name.startswith("libpython") and REGISTRAR in read(obj).symbols


def add_command(path, bias):
    """The "add-symbol-file" of a library at a bias. It names the address of each section, because after "-o" gdb looks for the places of
    all breakpoints twice: when it has read the file, and when it moves it."""
    starts = _starts(path, os.stat(path).st_mtime_ns)
    moved = " ".join(f"-s {name} {start + bias:#x}" for name, start in starts)
    return f'add-symbol-file "{path}" {moved or f"-o {bias:#x}"}'


@functools.lru_cache(maxsize=256)
def _starts(path, _mtime):
    """[(name, address)] of a file's sections in memory; empty: gdb cannot be told of them by their names."""
    with open(path, "rb") as file:
        def read(off, size):
            file.seek(off)
            return file.read(size)

        try:
            found = [(name.decode("ascii"), header[3]) for name, header in elf.sections(read)]
        except (ValueError, elf.struct.error):
            return []
    names = [name for name, _ in found]
    # gdb moves what has no section with .text.
    usual = ".text" in names and len(set(names)) == len(names) and all(re.fullmatch(r"[\w.+-]+", name) for name in names)
    return found if usual else []
