# SPDX-License-Identifier: MIT
"""What is broken, and what is seen then, by debugger and habit. A habit that is broken and is not here fails the test."""

COPY = "a global variable or function of another copy than the frame's is taken"
TLS = "a thread-local variable of private code is some other memory"
OBJECT = "gdb does not know a private object as a shared library, nor by its file's name"
PLT = "entries of the PLT have no names in private objects"
HELPERS = "CPython's own commands are not there without our scripts"
ENDED = "breakpoints in private code lose their places when the program ends"

KNOWN = {"gdb": {
    "break *ADDRESS of a function": COPY,
    "break of a function of CPython": "in a function that many threads call another one may be stopped first",
    "catch load": OBJECT,
    "set stop-on-solib-events, sharedlibrary": OBJECT,
    "print a global, in each thread": COPY,
    "print a thread-local variable": TLS,
    "print C++ statics and thread-locals": TLS,
    "print a variable of CPython": COPY,
    "print in a frame above": TLS,
    "set var of a thread-local": TLS,
    "watch of a thread-local": TLS,
    "info symbol": OBJECT,
    "info sharedlibrary": OBJECT,
    "info symbol and solib of a pc, in Python": OBJECT,
    "disassemble names the PLT": PLT,
    "x/i of a call": PLT,
    "stepi into the PLT": PLT,
    "jump LINE": "gdb refuses a line that is in several copies",
    "call a function of CPython": COPY,
    "call PyObject_Repr, PyUnicode_AsUTF8": COPY,
    "a breakpoint in a function that is called": "our frame filter shows gdb's own frame as one that has an address",
    "finish of a function that returns an object": HELPERS,
    "py-bt": HELPERS, "py-list": HELPERS, "py-bt-full": HELPERS, "print of a PyObject *": HELPERS,
    "print of objects of other modules": HELPERS, "print of a Python frame's objects": HELPERS,
    "py-locals": "the helper takes the built-in function's frame, which it cannot read",
    "py-print": "the helper takes the built-in function's frame, which it cannot read",
    "py-up, py-down": "the helper counts the built-in function as a frame",
    "gcore, and the core in another session": COPY,
    "rerun": ENDED, "the program's end": ENDED, "breakpoints at the program's end": ENDED,
    "a crash: where and why": OBJECT,
    "info proc, info inferiors, info files": "the hosts differ",
    "attach": COPY,
}}


def why(debugger, habit):
    """The reason, or None."""
    return KNOWN.get(debugger, {}).get(habit)
