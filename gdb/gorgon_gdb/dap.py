# SPDX-License-Identifier: MIT
"""In editors that use gdb's debug adapter (DAP), an expression (a watch, a hover, the new value of a variable) means the frame's
copy, as with "print", and a thread has the name of the interpreter whose program it runs.

The adapter is a part of gdb in Python, which is loaded when the session begins, after our scripts. For a request it selects
the frame, then it calls a function of its own modules. Two such functions are replaced at the first stop. gdb 14 and 15 call
gdb.parse_and_eval() instead, which all scripts use and which stays: there expressions are as in plain gdb.

For gdb 16 an expression that calls a function with a text has gone on for good, and each request after it is refused ("notStopped"),
in programs of C, too: gdb calls malloc() for the text within that call. It is told of the outermost call only."""

import functools
import sys

import gdb

from . import ordinary, process


def on_stop(_event):
    replace("gdb.dap.evaluate", "parse_and_eval", meaning_the_copy)
    replace("gdb.dap.threads", "_thread_name", with_the_interpreter)
    before, after = replace("gdb.dap.events", "_on_inferior_call", of_outermost_calls)
    if after:
        gdb.events.inferior_call.disconnect(before)
        gdb.events.inferior_call.connect(after)


def replace(module_name, name, wrapped):
    module = sys.modules.get(module_name)
    before = getattr(module, name, None)
    if not before or getattr(before, "wrapped_by", None) is wrapped:
        return before, None
    after = functools.wraps(before)(wrapped(before))
    after.wrapped_by = wrapped
    setattr(module, name, after)
    return before, after


def meaning_the_copy(before):
    def parse_and_eval(expression, *args, **kwargs):
        return before(ordinary.own(expression), *args, **kwargs)

    return parse_and_eval


def with_the_interpreter(before):
    def thread_name(thread):
        name, snapshot = before(thread), process.try_snapshot()
        owner = next((ns for ns in snapshot.namespaces if ns.thread == process.kernel_id(thread)), None) if snapshot else None
        return f"{name} [{owner.label}]" if owner else name

    return thread_name


def of_outermost_calls(before):
    depth = 0

    def on_inferior_call(event):
        nonlocal depth
        begins = isinstance(event, gdb.InferiorCallPreEvent)
        if begins and not sys.modules["gdb.dap.events"].inferior_running:
            depth = 0  # the end of a call that failed may have been told to nobody
        depth -= not begins
        if depth <= 0:
            before(event)
        depth = max(depth, 0) + begins

    return on_inferior_call
