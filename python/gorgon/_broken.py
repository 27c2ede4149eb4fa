# SPDX-License-Identifier: MIT
"""BrokenInterpreterPool: the standard library's where it has one. Workers import this only when a program asks for it."""

try:
    from concurrent.futures.interpreter import BrokenInterpreterPool
except ImportError:  # before 3.14
    from concurrent.futures import BrokenExecutor

    class BrokenInterpreterPool(BrokenExecutor):
        """An interpreter could not be made, its initializer failed, or it ended in the middle of a call."""
