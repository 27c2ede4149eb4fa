# SPDX-License-Identifier: MIT
"""gdb.solib_name(), gdb.lookup_objfile(), and "info sharedlibrary" and "sharedlibrary" that are typed, know private objects.

The functions of gdb's Python module are wrapped: they answer about private objects what gdb cannot. The commands get hooks, unless
the user has defined some. The hooks work as hooks.py says: they add the private objects to what gdb says, and print it by the text
of an error that ends the command. In scripts "info sharedlibrary" only adds a line that says where private objects are listed."""

import os
import re

import gdb

from gorgon_shared import root
from . import execute, hooks, info_line, info_symbol, objfiles, ordinary, process, symbols

NOTE = "maintenance gorgon-note"
LIST = "maintenance gorgon-shared"
HOOKS = {"info hookpost-sharedlibrary": NOTE, "info hook-sharedlibrary": f"{LIST} info", "hook-sharedlibrary": LIST,
         info_symbol.HOOK: info_symbol.COMMAND, info_line.HOOK: f"{symbols.DESCRIBE}\n{info_line.COMMAND}",
         **dict.fromkeys(("hook-list", "info hook-functions", "info hook-scope", "info hook-types"), symbols.DESCRIBE)}
TYPED = {"info": re.compile(r"i(?:nf?|nfo)?\s+(?:sh[a-z]*|dll)\b\s*(.*)"), "": re.compile(r"sha[a-z]*\b\s*(.*)")}
ROW = "{:<18}  {:<18}  {:<10}  {}\n"

_solib_name = gdb.solib_name
_lookup_objfile = gdb.lookup_objfile
_hooked = set()


def solib_name(address):
    name = _solib_name(address)
    obj = process.find_object(int(address)) if name is None else None
    return obj.path if obj and not obj.link_map else name


def lookup_objfile(name, by_build_id=False):
    try:
        return _lookup_objfile(name, by_build_id)
    except ValueError:
        found = find_objfile(name, by_build_id)
        if found is None:
            raise
        return found


def find_objfile(name, by_build_id):
    """gdb's object file of a private object: of the selected frame's copy, or of the first that has it."""
    snapshot = process.try_snapshot()
    objects = [o for o in snapshot.objects if is_called(o, name, by_build_id) and o.symfile] if snapshot else []
    mine = process.namespace_of_selected_frame() if objects else None
    obj = next((o for o in objects if o.namespace is mine), objects[0] if objects else None)
    for objfile in gdb.objfiles() if obj else ():
        match = objfiles.SYMFILE.match(objfile.filename or "")
        if match and int(match[1], 16) == obj.symfile:
            return objfile
    return None


def is_called(obj, name, by_build_id):
    return obj.build_id.hex() == name.lower() if by_build_id else name in (obj.path, os.path.basename(obj.path))


class Note(gdb.Command):
    """Part of a hook that Gorgon's scripts define: say where private objects are listed.

    Usage: maintenance gorgon-note"""

    def __init__(self):
        super().__init__(NOTE, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        newest = hooks.newest_command()
        if newest and TYPED["info"].fullmatch(newest[1]):
            return  # the other hook has looked for private objects, and has found none
        snapshot = process.try_snapshot()
        count = sum(not o.link_map for o in snapshot.objects) if snapshot else 0
        if count:
            gdb.write(f'gorgon: and {count} private objects: "gorgon modules"\n')


class List(gdb.Command):
    """Part of hooks that Gorgon's scripts define: "info sharedlibrary" and "sharedlibrary" with private objects.

    Usage: maintenance gorgon-shared [info]"""

    def __init__(self):
        super().__init__(LIST, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        snapshot = None if execute.is_passing() else process.try_snapshot()
        newest = hooks.newest_command() if snapshot else None
        found = TYPED[arg].fullmatch(newest[1]) if newest else None
        if not found:
            return
        try:
            objects = [o for o in snapshot.objects if not o.link_map and re.search(found[1], o.path)]
            text = ordinary.run(newest[1], to_string=True)
        except (re.error, gdb.error):
            return  # gdb says what is wrong
        if objects:
            raise gdb.GdbError((rows if arg else loaded)(text, objects).rstrip("\n"))


def rows(text, objects):
    """What "info sharedlibrary" says, with rows for private objects."""
    text, star, note = text.partition("(*):")
    if not text.startswith("From"):
        text = ROW.format("From", "To", "Syms Read", "Shared Object Library")
    for obj in sorted(objects, key=lambda obj: obj.path):
        has_lines = obj.debug_kind != root.DEBUG_NAMES
        text += ROW.format(f"{obj.start:#018x}", f"{obj.end:#018x}", "Yes" if has_lines else "Yes (*)",
                           f"{obj.path} [{obj.namespace.label}]")
        star, note = (star, note) if has_lines else ("(*):", " Shared library is missing debugging information.\n")
    return text + star + note


def loaded(text, objects):
    """What "sharedlibrary" says."""
    own = "" if text.startswith("No loaded shared libraries match") else text
    return own + "".join(f"Symbols already loaded for {path}\n" for path in dict.fromkeys(o.path for o in objects))


def install():
    """Define the hooks. If that is not possible yet, the next prompt does it."""
    for hook, command in HOOKS.items():
        if hook in _hooked:
            continue
        try:
            there = execute.run("show user " + hook)
        except gdb.error:
            there = ""
        if there is not None and (there != "" or execute.run(f"define {hook}\n{command}\nend") is not None):
            _hooked.add(hook)


def register():
    Note()
    List()
    gdb.solib_name, gdb.lookup_objfile = solib_name, lookup_objfile
