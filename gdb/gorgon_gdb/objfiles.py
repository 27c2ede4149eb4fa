# SPDX-License-Identifier: MIT
"""Object files of gdb's that are symfiles in the process's memory."""

import re

from gorgon_shared import elf, root
from . import process

SYMFILE = re.compile(r"<in-memory@(0x[0-9a-f]+)")


def sections_in_memory(objfile):
    """[(name, header)] of the symfile that an object file of gdb's describes, or None: it is of none."""
    found = SYMFILE.match(objfile.filename or "")
    if not found:
        return None
    try:
        return elf.sections(lambda off, size: process.read_memory(int(found[1], 16) + off, size))
    except (root.MemoryProblem, ValueError):
        return None  # libjitreg announces objects without content, too, after one has gone


def is_empty(objfile):
    """Whether it is the object without content, which libjitreg announces when an object has gone whose memory is still there."""
    return bool(SYMFILE.match(objfile.filename or "")) and not sections_in_memory(objfile)


def covered(objfile):
    """(start, end) of the private code that an in-memory objfile of gdb describes, or None: it is none."""
    like = sections_in_memory(objfile)
    return (min(s[3] for _, s in like), max(s[3] + s[5] for _, s in like)) if like else None
