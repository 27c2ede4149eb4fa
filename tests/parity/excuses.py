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


def values_once(text):
    """Values of a variable in several modules as one, without the line that says whose they are."""
    lines = (re.sub(r"^(\(int\) \w+ =) \d+$", r"\1 N", line) for line in text.splitlines() if '; "gorgon print ' not in line)
    return "\n".join(dict.fromkeys(lines))


EXCUSES = {
    "thread-local locals": Excuse("lldb knows no thread-local variables of code that the system's linker has not loaded, and says so; it "
                                  "lists them among the locals", instead(r"^(depth|inner_depth) = .*", r"\1 = VALUE")),
    "a module each": Excuse("each copy is a module", lambda text: "\n".join(dict.fromkeys(text.splitlines()))),
    "a variable each": Excuse("lldb shows that of each module, and a line says whose they are, in this order", values_once),
    "a line each": Excuse("gdb answers for each place of a function, and each copy is one", once),
    "a note each": Excuse("gdb's note that another breakpoint is there comes for each place, and each copy is one", once),
    "built-in functions": Excuse("our scripts give CPython's helper the name of the function that is called, which it cannot read "
                                 "beside an optimized libpython", without(r"^  <built-in method .*\n"), ("scripts",)),
    "values of objects": Excuse("CPython's own printers for gdb come with a libpython that gdb knows as a shared library, or with our "
                                "scripts", instead(r"\b(self|args|func|callable|timeout_obj|kwargs|object)( ?= ?)(<.*? at remote ADDR>|\(.*?\)"
                                                   r"|ADDR|\d+)(?=[,)\n]|$)", r"\1\2OBJECT"), ("plain",)),
}
GENERAL = ("values of objects",)
