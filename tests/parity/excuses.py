# SPDX-License-Identifier: MIT
"""Why answers may differ. Habit.excuses names these; GENERAL ones belong to every habit."""

import re

from habits import Excuse, instead, without


def once(text):
    """Lines that follow a line that says the same are left out."""
    found = []
    for line in text.splitlines():
        if not found or line != found[-1]:
            found.append(line)
    return "\n".join(found)


def gone(text):
    """Breakpoints that have no place are as those that have one."""
    text = re.sub(r'Function "\w+" not defined\.\nBreakpoint N \(\w+\) pending\.', "Breakpoint N is set", text)
    return re.sub(r" keep y (?:ADDR in \w+ at \S+|<PENDING> \S+)$", " keep y PLACE", text, flags=re.M)


EXCUSES = {
    "a line each": Excuse("gdb answers for each place of a function, and each copy is one", once),
    "a breakpoint each": Excuse("gdb has one address to a breakpoint of `break *ADDRESS`, so our scripts set one in each copy",
                                once, ("scripts",)),
    "gone with the process": Excuse("gdb forgets objects of the JIT interface when the process ends: a breakpoint waits for the next run",
                                    gone),
    "display says whose": Excuse("our scripts show what belongs to the copy, and gdb repeats what it was told",
                                 instead(r'\$gorgon\("(\w+)", \d+\)', r"\1"), ("scripts",)),
    "no frame": Excuse("`gdb.lookup_global_symbol()` knows no frame, so it finds the first copy's", instead(
        r"(lookup_global_symbol.*\n)\d+$", r"\1N")),
    "values of objects": Excuse("CPython's own printers for gdb come with a libpython that gdb knows as a shared library, or with our "
                                "scripts", instead(r"\b((?:self|args|func|callable|kwargs|object)(?: ?= ?))(?:<[^<>\n]*? at remote ADDR>|"
                                                   r"\([^()\n]*\)|ADDR)(?=[,)\n]|$)|\b(timeout_obj ?= ?)(?:0|ADDR)(?=[,)\n]|$)",
                                                   r"\1\2OBJECT"), ("plain",)),
}
GENERAL = ("values of objects",)
