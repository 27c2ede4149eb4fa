# SPDX-License-Identifier: MIT
"""Says so when a plain "print" that was typed has shown another variable, or "set var" has set one.

gdb cannot be taught where thread-local variables of private objects are, nor which copy's
external variable a name means; it shows other memory without a word. "define hook-print" gets no
arguments, and there is one, which is the user's. So what was typed is looked up in the history
of commands when it has run, before the next prompt. Commands of scripts are not in it."""

import re

import gdb

from . import process, root, values

HISTORY = re.compile(r"^\s*(\d+)  (.*)\n\Z", re.M)
PRINT = re.compile(r"(?:p|print|inspect|call|output|display|x|set\s+var\w*|[ra]?watch)\b(?:\s*/(\S+))?\s*"
                   r"(?:-\w+\s+)*(.*)", re.S)

_last = None  # the newest command that was looked at, or that was there before


def newest_command():
    """(number, text) of the last line that was typed, or None."""
    found = HISTORY.search(gdb.execute("show commands", to_string=True))
    return (int(found[1]), found[2].strip()) if found else None


def address_of(name):
    """Where gdb's own expressions find a name."""
    try:
        return int(gdb.parse_and_eval(f"&({name})")) & values.MASK
    except gdb.error:
        return None


def misread(expression, copy):
    """(name, what is wrong with what gdb has shown for it)"""
    for match in values.TOKEN.finditer(expression):
        name = match["name"]
        if not name or name in values.WORDS:
            continue
        try:
            variable = values.find(name, copy)
        except root.RootError as error:
            yield name, str(error)
            continue
        if variable is None or variable.type is None:
            continue
        if variable.thread_local:
            yield name, "it is a thread-local variable of private code, and that was some other memory"
        elif address_of(name) not in (None, variable.address):
            yield name, f"that was not the one of {copy.namespace.label}"


def on_prompt(_event=None):
    global _last
    newest, before = newest_command(), _last
    _last = newest or ()
    if before is None or newest in (None, before):
        return
    found = PRINT.fullmatch(newest[1])
    if not found or not process.try_snapshot():
        return
    try:
        copy = values.copy_of()
        for name, problem in dict(misread(found[2], copy) if copy else ()).items():
            gdb.write(f'gorgon: {name}: {problem}; see "help gorgon print"\n')
    except (gdb.error, root.RootError, root.MemoryProblem):
        pass  # what is wrong with the expression gdb has said


def register():
    """What was typed before the scripts came is not looked at: that is the newest before the next prompt."""
    global _last
    _last = None
