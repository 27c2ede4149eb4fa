# SPDX-License-Identifier: MIT
"""When the program has ended gdb still knows private libraries, as it does those of the system's linker.

gdb forgets what the JIT interface has told it: breakpoints would wait, and "break" and "list" find no function. So before the
first prompt without a process the file of each library that has debug information is added, at the place of one
copy; and taken away before the next process, by hooks of the commands that bring one. An editor has no prompt, and a command
file none either: there breakpoints wait, as they do in plain gdb."""

import os

import gdb

from . import execute, files, process, reruns, root

AGAIN = "maintenance gorgon-again"
COMMANDS = ("run", "start", "starti", "attach", "core-file")

_seen = None      # the Snapshot that was looked at last
_libraries = {}   # path -> (bias, address of the code), of the process; its interpreters go before it ends
_ended = False    # and nothing was added yet
_added = {}       # as _libraries
_hooked = set()   # commands


def on_exited(_event):
    global _ended
    _ended = True


def look():
    """What the process has loaded until now."""
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
        with reruns.quietly([breakpoint for breakpoint in reruns.enabled() if breakpoint.pending]):
            add()


def add():
    for path, (bias, _) in _libraries.items():
        if os.path.isfile(files.find(path)):
            execute.run(f'add-symbol-file "{files.find(path)}" -o {bias:#x}')
            _added[path] = _libraries[path]


def remove():
    """Breakpoints wait for the next process."""
    global _ended
    _ended = False
    _libraries.clear()
    if _added:
        with reruns.quietly(reruns.enabled()):
            for bias, code in _added.values():
                try:
                    execute.run(f"remove-symbol-file -a {bias + code:#x}")
                except gdb.error:
                    pass  # "file" has removed it already
        _added.clear()


class Again(gdb.Command):
    """Part of hooks that Gorgon's scripts define: a process is to come.

    Usage: maintenance gorgon-again"""

    def __init__(self):
        super().__init__(AGAIN, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        remove()


def install():
    """Define the hooks. Whether all are there: a user's own stay, and nothing is added then."""
    for command in COMMANDS:
        if command in _hooked:
            continue
        try:
            there = execute.run(f"show user hook-{command}")
        except gdb.error:
            there = ""
        if there or execute.run(f"define hook-{command}\n{AGAIN}\nend") is None:
            return False
        _hooked.add(command)
    return True


def register():
    Again()
