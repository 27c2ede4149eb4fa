# SPDX-License-Identifier: MIT
"""What is broken, and what is seen then, by debugger and habit. A habit that is broken and is not here fails the test."""

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
    "gdb-dap": {},
}


def why(debugger, habit):
    """The reason, or None."""
    return KNOWN.get(debugger, {}).get(habit)
