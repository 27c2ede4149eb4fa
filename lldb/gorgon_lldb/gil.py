# SPDX-License-Identifier: MIT
"""Which thread holds an interpreter's GIL, as its copy of CPython says. A subinterpreter with a
GIL of its own is not looked at."""

from gorgon_shared import root
from . import reference


def text(target, namespace, thread_name):
    """The column of "gorgon list"; "?" where that cannot be told."""
    try:
        tid = reference.python_of(target, namespace.libpython).gil_holder() if namespace.libpython else 0
    except (root.RootError, root.MemoryProblem):
        return "?"
    return thread_name(tid) if tid else "-"
