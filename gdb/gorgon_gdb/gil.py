# SPDX-License-Identifier: MIT
"""Which thread holds an interpreter's GIL, as its copy of CPython says. A subinterpreter with a
GIL of its own is not looked at."""

from gorgon_shared import root
from . import process


def text(namespace, thread_name):
    """The column GIL of "gorgon list"; "?" if CPython's structures cannot be read."""
    try:
        tid = process.python_of(namespace).gil_holder()
    except (root.RootError, root.MemoryProblem):
        return "?"
    return thread_name(tid) if tid else "-"
