# SPDX-License-Identifier: MIT
"""A typed "info symbol ADDRESS" names the file of private code, as for a library of the system's linker, and its interpreter.

gdb by itself says "in section .text of <in-memory@0x...>" or, with many interpreters, "No symbol matches", because the names are
in a file that several interpreters share. The hook works as hooks.py says: it prints by the text of an error that ends the
command."""

import re

import gdb

from gorgon_shared import elf, root
from . import commands, files, hooks, ordinary, process, values

COMMAND = "maintenance gorgon-symbol"
HOOK = "info hook-symbol"
TYPED = re.compile(r"i(?:nf?|nfo)?\s+sym[a-z]*\s+(.*)")
NAMED = re.compile(r"<(.+?)(?:\+(\d+))?>\s*$")


class Symbol(gdb.Command):
    """Part of a hook that Gorgon's scripts define: "info symbol" of private code.

    Usage: maintenance gorgon-symbol"""

    def __init__(self):
        super().__init__(COMMAND, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        newest = hooks.newest_command() if process.try_snapshot() else None
        found = TYPED.fullmatch(newest[1]) if newest else None
        try:
            text = describe(commands.evaluate_address(ordinary.own(found[1]))) if found else None
        except (gdb.error, root.RootError, root.MemoryProblem, values.NoType):
            return  # gdb says what is wrong
        if text:
            raise gdb.GdbError(text)


def describe(address):
    """The answer for an address; None if it is in no private object, or has no name."""
    obj = process.find_object(address)
    if not obj or obj.link_map:
        return None
    named = NAMED.search(ordinary.run(f"with print asm-demangle on -- output/a {address:#x}", to_string=True))
    section = section_of(obj, address - obj.bias)
    if not named or not section:
        return None
    off = f" + {named[2]}" if named[2] else ""
    return f"{named[1]}{off} in section {section} of {obj.path} [{obj.namespace.label}]"


def section_of(obj, address):
    """The name of the section that an address in the file is in."""
    try:
        with open(files.find(obj.path), "rb") as file:
            data = file.read()
        sections = elf.sections(lambda off, size: data[off:off + size])
    except (OSError, ValueError, elf.struct.error):
        return None
    return next((name.decode() for name, s in sections if s[3] <= address < s[3] + s[5]), None)


def register():
    Symbol()
