# SPDX-License-Identifier: MIT
"""When the program has ended gdb still knows private libraries, as it knows libraries of the system's linker.

At the end of the process gdb forgets what the JIT interface has told it: breakpoints would wait, and "break" and "list" would
find no function. So before the first prompt without a process, the file of each library that has debug information is added, at
the place of one copy. Hooks of "run" and other commands that bring a process remove it again; otherwise it is removed at the first
thread of the next process. Editors and command files have no prompt: there breakpoints wait, as they do in plain gdb."""

import os

import gdb

from gorgon_shared import root
from . import displays, execute, files, process, reruns, symbols

AGAIN = "maintenance gorgon-again"
HOOKS = ("hook-run", "hook-start", "hook-starti", "hook-attach", "hook-core-file", "target hook-core", "target hook-remote",
         "target hook-extended-remote")

_seen = None      # the Snapshot that was looked at last
_libraries = {}   # path -> (bias, address of the code); kept because the interpreters end before the process does
_ended = False    # the process has ended, and nothing was added yet
_added = {}       # path -> (address of the code, number of gdb's object files)
_hooked = set()


def on_exited(_event):
    global _ended
    _ended = True


def look():
    """Note the libraries that the process has loaded until now."""
    global _seen
    snapshot = process.try_snapshot()
    if snapshot and snapshot is not _seen:
        _seen = snapshot
        _libraries.update((obj.path, (obj.bias, files.read(obj).code)) for obj in snapshot.objects
                          if obj.symfile and obj.debug_kind != root.DEBUG_NAMES)


def before_prompt(_event=None):
    global _ended
    if not install():
        return
    if gdb.selected_inferior().pid:
        look()
    elif _ended:
        _ended = False
        with reruns.quietly(reruns.enabled()):
            add()


def add():
    for path in _libraries:
        if os.path.isfile(files.find(path)):
            _added[path] = add_file(path)
    for path in list(_added)[:1]:
        # gdb looks for places of breakpoints before it can read the code of a new file, and so finds no end of a prologue. When
        # another file comes and goes it looks again.
        remove_file(*add_file(path))


def add_file(path):
    bias, code = _libraries[path]
    execute.run(f'add-symbol-file "{files.find(path)}" -o {bias:#x}')
    return bias + code, symbols.parts_of(gdb.objfiles()[-1])


def remove_file(address, parts):
    try:
        for _ in range(parts):
            displays.remove_symbol_file(address)
    except gdb.error:
        pass  # "file" has removed it already


def remove():
    """Remove the files, so that breakpoints wait for the next process."""
    global _ended
    _ended = False
    _libraries.clear()
    if _added:
        with reruns.quietly(reruns.enabled()):
            for address, parts in _added.values():
                remove_file(address, parts)
        _added.clear()


def on_new_thread(_event):
    """A process may have come without a command that has a hook."""
    if _added:
        remove()


class Again(gdb.Command):
    """Part of hooks that Gorgon's scripts define: remove the files before a process comes.

    Usage: maintenance gorgon-again"""

    def __init__(self):
        super().__init__(AGAIN, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        remove()


def install():
    """Define the hooks. Returns whether all could be defined: a user's own hooks stay, and then nothing is added."""
    for hook in HOOKS:
        if hook in _hooked:
            continue
        try:
            there = execute.run(f"show user {hook}")
        except gdb.error:
            there = ""
        if there or execute.run(f"define {hook}\n{AGAIN}\nend") is None:
            return False
        _hooked.add(hook)
    return True


def register():
    Again()
