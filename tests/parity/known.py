# SPDX-License-Identifier: MIT
"""What is broken, and what is seen then, by debugger and habit. A habit that is broken and is not here fails the test.
PLAIN: without scripts only; MANY_PLAIN: with twenty interpreters, too."""

FIRST = "plain gdb takes what has a name from the first copy: docs/debugging.md"
THREAD = "plain gdb shows other memory for a thread-local variable of a private copy: docs/debugging.md"
SHARED = "plain gdb knows no private object as a shared library: docs/debugging.md"
GONE = "plain gdb forgets private code with the process: docs/debugging.md"

NO_MODULE = "to plain lldb a private library is a module JIT(ADDRESS): docs/debugging.md"
UNTYPED = "plain lldb has no variables and no types of private copies, and takes a variable's symbol for a pointer: docs/debugging.md"
ATTACHED = "plain lldb has names of functions only in copies that are there when it attaches: docs/debugging.md"
CORES = "plain lldb writes no core with up to eight interpreters, and finds no names in that of more: docs/debugging.md"

KNOWN = {
    "gdb": {},
    "lldb": {},
    "lldb-dap": {},
    "gdb-dap": {},
}

PLAIN = {
    "gdb": {
        "break *ADDRESS of a function": FIRST,
        "break ... if a global variable": FIRST,
        "dprintf of a global and a static variable": FIRST,
        "printf of a global variable in commands": FIRST,
        "catch load": SHARED,
        "set stop-on-solib-events, sharedlibrary": SHARED,
        **dict.fromkeys(("print a global variable", "print a global, in each thread", "print a local that hides another",
                         "print a static variable", "set var of a global", "watch of a global", "rwatch of a global", "display",
                         "output, printf, echo", "call a function with an effect on its copy"), FIRST),
        "print a thread-local variable": THREAD,
        "print C++ statics and thread-locals": THREAD,
        "print in a frame above": THREAD,
        "watch of a thread-local": THREAD,
        "info symbol": SHARED,
        "info sharedlibrary": SHARED,
        "info symbol and solib of a pc, in Python": SHARED,
        "jump LINE": "plain gdb jumps to no line that is in several copies: docs/debugging.md",
        "call a function of CPython": FIRST,
        "call PyObject_Repr, PyUnicode_AsUTF8": FIRST,
        "attach": FIRST,
        "gcore, and the core in another session": FIRST,
        "rerun": GONE,
        "the program's end": GONE,
        "breakpoints at the program's end": GONE,
        "a crash: where and why": SHARED,
    },
    "lldb": {
        "breakpoint set -s LIBRARY -n": NO_MODULE, "image list": NO_MODULE,
        "image lookup -t": UNTYPED, "print a global": UNTYPED, "print a static": UNTYPED, "print a thread-local variable": UNTYPED,
        "expression sets a local": UNTYPED, "expression sets a global": UNTYPED, "expression sets a static": UNTYPED,
        "watchpoint set variable of a global": UNTYPED, "watchpoint of a local": UNTYPED,
        "attach": ATTACHED,
        "process save-core, and the core": CORES, "process save-core --style full, and the core": CORES,
    },
    "lldb-dap": {
        **dict.fromkeys(("a conditional function breakpoint", "a data breakpoint on a local variable", "thread-local variables among the locals",
                         "members of a structure", "containers of C++", "a watch", "a watch of globals", "a watch of a thread-local variable",
                         "a local variable is set", "a global is set"), UNTYPED),
        "the call stack into CPython": "plain lldb goes on where lldb with debug information ends a backtrace",
        "modules": NO_MODULE, "attach": ATTACHED, "attach, and leave the program alone": ATTACHED,
    },
    "gdb-dap": {
        "a watch of globals": FIRST,
        "a watch of a thread-local variable": THREAD,
        "a global is set": FIRST,
    },
}

LINES_ONLY = "plain gdb has functions and lines of more than eight interpreters, and neither arguments, variables nor types: docs/debugging.md"
MANY_PLAIN = {"gdb": {**dict.fromkeys((
    "commands ... continue ... end", "commands that end in finish", "break FUNCTION, in each thread",
    "break here (no argument)", "break in a lambda, by line", "pending break: a function of a library to come",
    "rbreak REGEX", "rbreak FILE:REGEX", "break ... if CONDITION", "break ... if $_streq()",
    "break ... if a static variable", "info breakpoints with hits", "save breakpoints, source", "info locals, info args",
    "print/x, print ARRAY@N, enumerations", "print a static variable", "set var of a local", "print an assignment", "watch of a global",
    "watch of a static", "watch of a local, to the end of its frame", "watch -l", "rwatch of a global",
    "awatch of a static", "display", "ptype, whatis", "convenience variables", "tab completion", "info source",
    "info scope", "info functions REGEX", "info functions of C++", "info variables REGEX", "info types REGEX",
    "disassemble names the PLT", "stepi into the PLT", "x/i of a call", "info frame", "frame function NAME, frame level",
    "up-silently, frame apply", "info frame of a caller", "thread N and back", "step into a function", "step into C++",
    "next out of an extension into CPython", "step in CPython", "step N, next N", "finish", "finish twice, and on",
    "finish of a function that returns an object", "finish of a method", "return VALUE",
    "call a function of the extension", "call a function with an effect on its copy", "call strlen of the C library",
    "a breakpoint in a function that is called", "print of a Python frame's objects", "the core of a crash",
    "set scheduler-locking on", "set logging, shell, pipe", "a stop handler in Python",
    "gdb.Breakpoint, gdb.FinishBreakpoint",
), LINES_ONLY), "hbreak": "the processor has four hardware breakpoints, and each copy needs one"},
    "gdb-dap": dict.fromkeys((
        "a breakpoint in the margin", "a breakpoint in a library that is not loaded yet", "a conditional breakpoint",
        "a condition on an argument, in each thread", "a hit count", "a log point", "a function breakpoint",
        "a function breakpoint on a static function", "a conditional function breakpoint",
        "a data breakpoint on a local variable", "locals and arguments", "locals of a caller", "members of a structure",
        "containers of C++", "a watch", "a watch in a caller's frame", "a Python object", "a local variable is set", "scopes",
        "attach", "a crash"), LINES_ONLY),
    "lldb": dict.fromkeys(("image lookup -n", "image lookup -a $pc", "disassemble -f"),
                          "to plain lldb all libraries of an interpreter are one section: docs/debugging.md")}


NO_FOLDER = "without a folder for names and lines gdb has functions of more than eight interpreters, and no lines: docs/debugging.md"
NO_HOME = {
    "plain-20-no-home": {"gdb": NO_FOLDER, "lldb": UNTYPED, "lldb-dap": UNTYPED},
}


def why(debugger, habit, variant=""):
    """The reason, or None."""
    reason = KNOWN.get(debugger, {}).get(habit)
    without = NO_HOME.get(str(variant), {}).get(debugger, {})
    if isinstance(without, dict):
        reason = reason or without.get(habit)
    if str(variant).startswith("plain-20"):
        reason = reason or MANY_PLAIN.get(debugger, {}).get(habit)
    reason = reason or (PLAIN.get(debugger, {}).get(habit) if str(variant).startswith("plain") else None)
    return reason or (without if isinstance(without, str) else None)
