# SPDX-License-Identifier: MIT
"""gorgon symbols: names, lines and variables for copies that gdb was not told of.

gdb hears of private objects by itself, with their debug information, unless the namespace was
created with debugging off (gorgon run --debug off). The debug root lists those too, so the
library's file can be added at the copy's bias."""

import os

import gdb

from . import commands, gil, process, root, tables

_added = {}  # (path, bias) -> address by which gdb removes it


def add(obj):
    """One line of what was done."""
    key = (obj.path, obj.bias)
    if obj.symfile:
        return f"gdb has it: {obj.debug}"
    if key in _added:
        return "added before"
    if not os.path.isfile(obj.path):
        return "there is no such file here"
    gdb.execute(f'add-symbol-file "{obj.path}" -o {obj.bias:#x}', to_string=True)
    _added[key] = (obj.start + obj.end) // 2
    gil.forget()
    return "added"


def remove(key):
    address = _added.pop(key)
    try:
        gdb.execute(f"remove-symbol-file -a {address:#x}", to_string=True)
    except gdb.error:
        pass  # "file" and "kill" have removed it already


def remove_stale(_event=None):
    """Drop files of copies that are gone: no event says so."""
    if _added:
        snapshot = process.try_snapshot()
        living = {(o.path, o.bias) for o in snapshot.objects} if snapshot else set()
        for key in [k for k in _added if k not in living]:
            remove(key)


def matches(obj, library):
    return library is None or library in obj.name


class Symbols(commands.Subcommand):
    """Have gdb know the symbols of chosen copies.

    Usage: gorgon symbols N|all [LIB]
           gorgon symbols off

    N is an interpreter, LIB a part of a library's name. gdb knows private objects by itself,
    and this says with what debug information; those of an interpreter that runs with --debug
    off it does not, and their files are added. "off" takes back what was added.

    Example:
      (gdb) gorgon symbols 2 libpython"""

    name = "gorgon symbols"

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        argv = self.arguments(arg, 2)
        if argv == ["off"]:
            for key in list(_added):
                remove(key)
            return
        if not argv:
            raise gdb.GdbError(f'{self.name}: N, "all" or "off" expected; see "help {self.name}"')
        snapshot = process.snapshot()
        wanted = snapshot.namespaces if argv[0] == "all" else [tables.parse_interp(snapshot, argv[0])]
        library = argv[1] if len(argv) > 1 else None
        objects = [o for ns in wanted for o in ns.objects if matches(o, library)]
        if not objects:
            raise root.RootError(f"no library {library}" if library else "no objects")
        gdb.write(tables.table(["Num", "Name", "Symbols"],
                               [[tables.number(o.namespace), o.name, add(o)] for o in objects]))

    def complete(self, text, word):
        words = text.split()
        if len(words) <= 1 and text.strip() == word:
            return [w for w in ("all", "off") if w.startswith(word)] + commands.interp_numbers(word)
        snapshot = process.try_snapshot()
        return sorted({o.name for o in snapshot.objects if o.name.startswith(word)}) if snapshot else []


def register():
    Symbols()
