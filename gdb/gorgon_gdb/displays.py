# SPDX-License-Identifier: MIT
"""Expressions that gdb displays at each stop are still displayed after the scripts have removed a file.

gdb forgets all such expressions when a symbol file is removed. They are set again, with new numbers, as soon as there is a frame
that knows their names."""

import re

import gdb

from . import execute

ROW = re.compile(r"^(\d+):\s+([yn])\s+(\S.*)$", re.M)

_forgotten = []  # ("y" or "n": whether it is enabled; what follows "display")


def listed():
    """[(number, whether it is enabled, what follows "display")]"""
    return ROW.findall(execute.run("info display") or "")


def remove_symbol_file(address):
    """Remove a symbol file. Returns what gdb has printed, or None if the command cannot be run here. Raises gdb.error if
    gdb has no such file."""
    before = listed()
    text = execute.run(f"remove-symbol-file -a {address:#x}")
    if text is not None:
        _forgotten.extend((enabled, expression) for _, enabled, expression in before)
    return text


def restore(_event=None):
    """Display the expressions again. An expression that cannot be parsed in this frame waits for another frame."""
    for entry in list(_forgotten):
        enabled, expression = entry
        try:
            if execute.run(f"display{'' if expression[0] == '/' else ' '}{expression}") is None:
                return
        except gdb.error:
            continue
        _forgotten.remove(entry)
        if enabled == "n":
            execute.run(f"disable display {listed()[-1][0]}")
