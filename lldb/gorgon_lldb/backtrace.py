# SPDX-License-Identifier: MIT
"""gorgon bt: the native frames of a thread, and after each call of CPython's evaluation function
the Python functions that it runs.

    #2  0x00007ffff66d159f in _PyEval_EvalFrameDefault  libpython3.11.so.1.0 [interp 1]  ceval.c:5000
          py inner  program.py:24
          py <module>  program.py:27

Functions and lines of private code come from the library files, so "gorgon symbols" is not
needed. LLDB's unwinding is at its best without it."""

import contextlib
import os

from gorgon_shared import python, root
from . import process, reference

EVALUATE = "_PyEval_EvalFrameDefault"


def describe(target, snapshot, frame):
    """[(function, module, place)] of a native frame: functions inlined into it first."""
    o = snapshot.find_object(frame.GetPC())
    ref = None
    # In a copy with symbols lldb shows inlined functions as frames of their own.
    if o and not frame.GetFunction().IsValid():
        with contextlib.suppress(root.RootError):
            ref = reference.of(o)
    if ref is None:
        line, module = frame.GetLineEntry(), o.label if o else frame.GetModule().GetFileSpec().GetFilename() or ""
        name = plain_name(frame.GetDisplayFunctionName(), frame.GetSymbol())
        return [(name, module, place(line.GetFileSpec(), line.GetLine()))]
    # A return address is that of the instruction behind the call.
    back = 1 if frame.GetFrameID() else 0
    return [(function, o.label, where) for function, where in functions_at(ref, frame.GetPC() - o.bias - back)]


def functions_at(ref, vaddr):
    """[(function, place)] of an address in a library file, innermost first."""
    context = ref.context(vaddr)
    line = context.GetLineEntry()
    where, found = place(line.GetFileSpec(), line.GetLine()), []
    block = context.GetBlock().GetContainingInlinedBlock()
    while block.IsValid():
        found.append((block.GetInlinedName(), where))
        where = place(block.GetInlinedCallSiteFile(), block.GetInlinedCallSiteLine())
        block = block.GetParent().GetContainingInlinedBlock()
    return [*found, (plain_name(context.GetFunction().GetName(), context.GetSymbol()), where)]


def plain_name(function, symbol):
    """lldb gives extern "C" functions of C++ their types: ::name(int)."""
    return symbol.GetName() or "??" if not function or function.startswith("::") else function


def place(file, line):
    return f"{file.GetFilename()}:{line}" if file.IsValid() and line else ""


def python_frames(target, thread, ns):
    """(Python frames of a thread, with python.CALL where a call of the evaluation function ends; an error's text or None)"""
    if not ns.libpython:
        return [], f"{ns.label} has no libpython"
    try:
        return list(reference.python_of(target, ns.libpython).frames(thread.GetThreadID())), None
    except (root.RootError, root.MemoryProblem) as error:
        return [], str(error)


def python_line(frame):
    return f"      py {frame.function}  {os.path.basename(frame.file)}:{frame.line or '?'}\n"


def backtrace(target, thread):
    """gorgon bt. Returns the text to print."""
    snapshot = process.snapshot(target)
    waiting, text, problems = {}, "", []
    for frame in thread:
        o = snapshot.find_object(frame.GetPC())
        described = describe(target, snapshot, frame)
        for function, module, where in described:
            text += f"#{frame.GetFrameID():<3} {frame.GetPC():#018x} in {function}  {module}" + \
                (f"  {where}\n" if where else "\n")
        if not o or not described[-1][0].startswith(EVALUATE) or frame.IsInlined():
            continue
        if o.namespace.id not in waiting:
            waiting[o.namespace.id], problem = python_frames(target, thread, o.namespace)
            problems += [f"no Python frames of {o.namespace.label}: {problem}\n"] if problem else []
        text += take(waiting[o.namespace.id])
    # If lldb could not unwind the whole stack, there are Python frames left.
    for frames in waiting.values():
        text += "".join(python_line(frame) for frame in frames if frame is not python.CALL)
    return text + "".join(problems)


def take(frames):
    """The lines of the Python frames that one call of the evaluation function runs."""
    text = ""
    while frames and (frame := frames.pop(0)) is not python.CALL:
        text += python_line(frame)
    return text
