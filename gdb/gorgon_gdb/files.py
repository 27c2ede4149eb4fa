# SPDX-License-Identifier: MIT
"""Where a file of the process is on this machine: below "set sysroot" if that names a folder which has the file, otherwise under
the name that the process knows."""

import os

import gdb

from . import elf


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
    return next((f for f in found if f.symbols and obj.build_id in (b"", f.build_id)), elf.File(b""))
