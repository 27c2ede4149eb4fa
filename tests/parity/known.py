# SPDX-License-Identifier: MIT
"""What is broken, and what is seen then, by debugger and habit. A habit that is broken and is not here fails the test.
PLAIN: without scripts only."""

FIRST = "plain gdb takes what has a name from the first copy: docs/debuggers.md"
THREAD = "plain gdb shows other memory for a thread-local variable of a private copy: docs/debuggers.md"
SHARED = "plain gdb knows no private object as a shared library: docs/debuggers.md"
GONE = "plain gdb forgets private code with the process: docs/debuggers.md"

OTHER_MODULES = ("an expression that an editor has lldb evaluate means the first copy's functions, or is ambiguous; \"gorgon print\" in the debug "
                 "console means the frame's copy")

KNOWN = {
    "gdb": {},
    "lldb": {
        "process save-core, and the core": "lldb's cores lack what private code needs, which a line says; gcore makes whole ones",
    },
    "lldb-dap": {
        "a watch of a thread-local variable": "lldb knows no thread-local variables of code that the system's linker has not loaded, and says "
                                              "so; \"gorgon tls NAME\" in the debug console shows them",
        "a Python object": OTHER_MODULES,
    },
    "gdb-dap": {
        "a Python object": "with more than eight interpreters a function of CPython that a watch calls seems to return nothing: docs/editors.md",
    },
}

PLAIN = {
    "gdb": {
        "break *ADDRESS of a function": FIRST,
        "break ... if a global variable": FIRST,
        "catch load": SHARED,
        "set stop-on-solib-events, sharedlibrary": SHARED,
        "print a global, in each thread": FIRST,
        "print a thread-local variable": THREAD,
        "print C++ statics and thread-locals": THREAD,
        "print in a frame above": THREAD,
        "watch of a thread-local": THREAD,
        "info symbol": SHARED,
        "info sharedlibrary": SHARED,
        "info symbol and solib of a pc, in Python": SHARED,
        "jump LINE": "plain gdb jumps to no line that is in several copies: docs/debuggers.md",
        "call a function of CPython": FIRST,
        "call PyObject_Repr, PyUnicode_AsUTF8": FIRST,
        "gcore, and the core in another session": FIRST,
        "rerun": GONE,
        "the program's end": GONE,
        "breakpoints at the program's end": GONE,
        "a crash: where and why": SHARED,
    },
    "lldb": {},
    "gdb-dap": {
        "a watch of globals": FIRST,
        "a watch of a thread-local variable": THREAD,
        "a global is set": FIRST,
    },
}


def why(debugger, habit, variant=""):
    """The reason, or None."""
    reason = KNOWN.get(debugger, {}).get(habit)
    return reason or (PLAIN.get(debugger, {}).get(habit) if str(variant).startswith("plain") else None)
