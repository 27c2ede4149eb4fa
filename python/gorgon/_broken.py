# SPDX-License-Identifier: MIT
"""Exceptions that the standard library has from 3.14 on, and what stands for them before. Workers import this only when a
program asks for it."""

import types

from ._crossing import RemoteTraceback

try:
    from concurrent.futures.interpreter import BrokenInterpreterPool
    from concurrent.interpreters import ExecutionFailed
except ImportError:
    from concurrent.futures import BrokenExecutor

    ExecutionFailed = None

    class BrokenInterpreterPool(BrokenExecutor):
        """An interpreter could not be made, its initializer failed, or it ended in the middle of a call."""


def cause_of(error, text):
    """What the traceback of the interpreter is the text of, for the __cause__ of an error."""
    if ExecutionFailed is None:
        return RemoteTraceback(text)
    name = type(error).__name__
    return ExecutionFailed(types.SimpleNamespace(type=type(error), msg=str(error), formatted=f"{name}: {error}".removesuffix(": "),
                                                 errdisplay=text.rstrip()))
