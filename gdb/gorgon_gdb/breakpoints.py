# SPDX-License-Identifier: MIT
"""gorgon break: a breakpoint of gdb's that waits for the code without a question, that can be one interpreter's, and whose condition
means the copy that has come there. gdb itself finds the places, in each copy, also in copies that come later."""

import re

import gdb

from gorgon_shared import root
from . import commands, files, languages, methods, ordinary, process, symbols, values

# What may follow a location.
REST = re.compile(r"\s*(.*?)\s*((?:(?:^|\s)(?:thread|task|inferior)\s+\S+)*)\s*(?:(?:^|\s)if\b\s*(.*))?$", re.S)


def may_have(obj, location):
    """Whether an object may have a location. Most libraries come without debug information, and the names in their files tell."""
    if not obj.symfile or obj.debug_kind:
        return True
    words = re.findall(r"[A-Za-z_]\w*", location)
    return not words or any(words[-1] in name for name in files.read(obj).symbols)


class Break(commands.Subcommand):
    """Set a breakpoint in every private copy of a library, also in copies that are loaded later.

    Usage: gorgon break [-i N] LOCATION [thread THREAD] [if CONDITION]

    LOCATION is a function, FILE:LINE, LINE or anything else that "break" takes, but an address. If nothing has
    it yet, the breakpoint waits. With -i, it stops in interpreter N only, which need not exist yet. CONDITION is
    evaluated in the frame of the copy that has come there, with that copy's global and thread-local
    variables, as "gorgon print" does. "info breakpoints", "delete" and the like know the breakpoint.

    Example:
      (gdb) gorgon break -i 2 list_append if op->ob_type == &PyList_Type
      (gdb) gorgon break mymodule.c:120"""

    name = "gorgon break"
    command = "break"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_BREAKPOINTS)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        interp, text = commands.interp_option(self.name, arg)
        location, rest, condition = split(text)
        if not location:
            raise gdb.GdbError(f'{self.name}: a LOCATION expected; see "help {self.name}"')
        if location.startswith("*"):
            raise gdb.GdbError(f'{self.name}: an address is in one copy: say "{self.command} {location}"')
        if condition:
            only = "" if interp is None else f", {interp}"
            condition = f" if $gorgon_eval({languages.argument(condition, location)}{only})"
        elif interp is not None:
            condition = f" if $gorgon_interp($pc) == {interp}"
        ordinary.run(f"with breakpoint pending on -- {self.command} {location} {rest}{condition}", from_tty=True)

    def completions(self, text, word):
        return commands.complete_interp_option(text, word) or gdb.COMPLETE_LOCATION


class TemporaryBreak(Break):
    """Set a breakpoint in every private copy, and delete it when it is first hit.

    Usage: gorgon tbreak [-i N] LOCATION [thread THREAD] [if CONDITION]

    See "help gorgon break"."""

    name = "gorgon tbreak"
    command = "tbreak"


class GorgonEval(gdb.Function):
    """The value of an expression in the copy that the selected frame belongs to.

    Usage: $gorgon_eval (STRING[, N])

    Global, static and thread-local variables in it are those of the frame's copy, as with
    "gorgon print". In a condition it is evaluated in the frame that has come to the breakpoint;
    where gdb knows names only, debug information is added first. With N, it is 0 in other
    interpreters than N.

    Example:
      (gdb) break walk_step if $gorgon_eval("walk_counter == number")"""

    def __init__(self):
        super().__init__("gorgon_eval")

    def invoke(self, text, interp=None):
        obj = None
        try:
            if interp is not None and process.interp_of_selected_frame() != int(interp):
                return 0
            obj = values.selected_object()
            if obj and gdb.parameter("gorgon auto-symbols"):
                if symbols.attach_for_condition(obj):
                    gdb.selected_frame().find_sal()
                    symbols.refresh_lines()
            if obj:
                languages.follow_frame()
            return gdb.parse_and_eval(methods.in_own_copy(languages.text(text), values.copy_of()))
        except (gdb.error, root.RootError, root.MemoryProblem) as error:
            # gdb does not stop where a condition's names mean nothing. It cannot see that here, so the function does.
            if "No symbol " in str(error) and (obj is None or gdb.selected_frame().function() is None):
                return 0
            raise gdb.GdbError(str(error)) from None


def split(text):
    """LOCATION [thread N] [if CONDITION]"""
    location, rest, condition = REST.match(text).groups()
    return location, rest.strip(), (condition or "").strip()


def register():
    for part in (Break, TemporaryBreak, GorgonEval):
        part()
