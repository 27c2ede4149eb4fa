# SPDX-License-Identifier: MIT
"""gorgon symbols --dwarf: the process itself puts debug information into its symfiles.

The library moves every address in the debug information of a copy to where the copy is, and
registers the result in place of the small symfile. lldb then shows lines and variables by itself, in
cores of the process, too. These scripts call nothing else in a process. The call
allocates memory and reads files. If one of the library's own locks is taken, it returns at once.

Only the selected thread runs meanwhile. The call is refused inside the C library's allocator and
inside dlopen(). It may still wait for a lock that a stopped thread holds; then
it is given up when its time is over."""

import re

import lldb

from . import process, root, symbols

FUNCTION = "gorgon_debug_set_dwarf"
SECONDS = 60  # a libpython takes one second, the first time

UNSAFE = re.compile(r"(_int_|__libc_|__GI___libc_)?(malloc|calloc|realloc|memalign|free)|dl(m?open|close)|_dl_\w+")
INNERMOST = 12


def find_function(target):
    for context in target.FindSymbols(FUNCTION):
        address = context.GetSymbol().GetStartAddress().GetLoadAddress(target)
        if address != lldb.LLDB_INVALID_ADDRESS:
            return address
    raise root.RootError(f"there is no {FUNCTION} in this process")


def options():
    chosen = lldb.SBExpressionOptions()
    chosen.SetTimeoutInMicroSeconds(SECONDS * 1_000_000)
    chosen.SetTryAllThreads(False)
    chosen.SetStopOthers(True)
    chosen.SetIgnoreBreakpoints(True)
    chosen.SetUnwindOnError(True)
    return chosen


def call(frame, function, o, whole):
    """Call the function for an object. Returns why that has failed, or None. The expression has types and addresses in
    it, so lldb looks up no names."""
    kind = "int (*)(unsigned long, bool, const char **)"
    value = frame.EvaluateExpression(
        f"const char *why = 0; int error = (({kind}){function:#x})({o.address:#x}, {int(whole)}, &why); "
        "error ? why : (const char *)0", options())
    if value.GetError().Fail():
        return " ".join(value.GetError().GetCString().split())
    reason, error = value.GetValueAsUnsigned(), lldb.SBError()
    if not reason:
        return None
    return frame.GetThread().GetProcess().ReadCStringFromMemory(reason, 1000, error) or error.GetCString()


def set_dwarf(target, frame, objects, whole):
    """Have the process put debug information into symfiles, or take it out. Returns (how many objects are as wanted now, lines
    about the others)."""
    running = target.GetProcess()
    if not running.IsValid() or running.GetPluginName() == "elf-core":
        raise root.RootError("debug information is moved by the process itself, and a core does not run; "
                             "without --dwarf lldb reads the files")
    if not frame.IsValid():
        raise root.RootError("no thread is selected to do it")
    thread = frame.GetThread()
    for name in (thread.GetFrameAtIndex(i).GetFunctionName() for i in range(min(INNERMOST, thread.GetNumFrames()))):
        if UNSAFE.fullmatch(name or ""):
            raise root.RootError(f"thread {thread.GetIndexID()} is inside of {name}; select another one, or let it "
                                 'go on ("finish")')
    function = find_function(target)
    count, text = 0, ""
    for o in objects:
        problem = call(frame, function, o, whole)
        if problem:
            text += f"{o.label}: {problem}\n"
        else:
            count += 1
    return count, text


def add(target, frame, namespaces, pattern):
    """gorgon symbols --dwarf. Returns the text to print."""
    objects = [o for ns in namespaces for o in ns.objects if symbols.matches(o, pattern)]
    if not objects:
        return f"No object's name fits {pattern}.\n" if pattern else "No objects.\n"
    # Without a pattern, objects without debug information are only counted: nobody has asked for them.
    none = [o for o in objects if not pattern and not o.debug_kind]
    taken = [o for o in objects if symbols.has_symbols(target, o)]
    count, problems = set_dwarf(target, frame, [o for o in objects if o not in none + taken], True)
    text = "".join(f'{o.label}: has the symbols of its file; "gorgon symbols off" removes them\n' for o in taken)
    left = f", {len(none)} have none" if none else ""
    return text + problems + f"{count} objects have their debug information in the process{left}.\n"


def remove(target, frame):
    """gorgon symbols --dwarf off. Returns the text to print."""
    count, problems = set_dwarf(target, frame, [o for o in process.snapshot(target).objects if o.symfile], False)
    return problems + f"{count} objects have small symfiles.\n"
