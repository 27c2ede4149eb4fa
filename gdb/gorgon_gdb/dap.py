# SPDX-License-Identifier: MIT
"""In editors that use gdb's debug adapter (DAP), an expression (a watch, a hover, the new value of a variable) means the frame's
copy, as with "print", and a thread has the name of the interpreter whose program it runs.

The adapter is a part of gdb in Python, which is loaded when the session begins, after our scripts. For a request it selects
the frame, then it calls a function of its own modules. Two such functions are replaced at the first stop. gdb 14 and 15 call
gdb.parse_and_eval() instead, which all scripts use and which stays: there expressions are as in plain gdb."""

import functools
import sys

from . import ordinary, process


def on_stop(_event):
    replace("gdb.dap.evaluate", "parse_and_eval", meaning_the_copy)
    replace("gdb.dap.threads", "_thread_name", with_the_interpreter)


def replace(module_name, name, wrapped):
    module = sys.modules.get(module_name)
    before = getattr(module, name, None)
    if before and getattr(before, "wrapped_by", None) is not wrapped:
        after = functools.wraps(before)(wrapped(before))
        after.wrapped_by = wrapped
        setattr(module, name, after)


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
