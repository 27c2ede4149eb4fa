# SPDX-License-Identifier: MIT
"""Files of the process on this machine: below "set sysroot" where that names a folder, else, or where
it is not there, under the name that the process knows."""

import os

import gdb

from . import elf


def sysroot():
    """A folder, or "": the files are where the process ran."""
    return (gdb.parameter("sysroot") or "").removeprefix("target:").rstrip("/")


def candidates(path):
    return ([sysroot() + path] if sysroot() and path.startswith("/") else []) + [path]


def find(path):
    """Where a file is; its own name when it is nowhere."""
    return next((c for c in candidates(path) if os.path.isfile(c)), path)


def read(obj):
    """The symbol tables of a private object's file; without symbols when the file is not here or is another one. (While
    an object is being loaded the process does not say its build-id yet.)"""
    found = (elf.read(c) for c in candidates(obj.path))
    return next((f for f in found if f.symbols and obj.build_id in (b"", f.build_id)), elf.File(b""))
