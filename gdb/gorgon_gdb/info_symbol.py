# SPDX-License-Identifier: MIT
"""info symbol ADDRESS, typed: of private code it says the file and the interpreter, as of a library of the system's linker.

gdb says "in section .text of <in-memory@0x...>", and of an interpreter among many that no symbol matches: the names are
in a file that several share. The hook says it as hints.py does: the text is that of an error that ends the command."""

import re

import gdb

from . import commands, elf, files, hints, marks, ordinary, process, root, values

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
        newest = hints.newest_command() if process.try_snapshot() else None
        found = TYPED.fullmatch(newest[1]) if newest else None
        try:
            text = describe(commands.evaluate_address(ordinary.own(found[1]))) if found else None
        except (gdb.error, root.RootError, root.MemoryProblem, values.NoType):
            return  # gdb says what is wrong
        if text:
            raise gdb.GdbError(text)


def describe(address):
    """What to say of an address, or None: it is of no private object, or has no name."""
    obj = process.find_object(address)
    if not obj or obj.link_map:
        return None
    named = NAMED.search(ordinary.run(f"output/a {address:#x}", to_string=True))
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
        sections = marks.sections(lambda off, size: data[off:off + size])
    except (OSError, ValueError, elf.struct.error):
        return None
    return next((name.decode() for name, s in sections if s[3] <= address < s[3] + s[5]), None)


def register():
    Symbol()
