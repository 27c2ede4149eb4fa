# SPDX-License-Identifier: MIT
"""Private CPythons, each with its own GIL and with numpy, in this process.

    >>> from gorgon import InterpreterPoolExecutor
    >>> with InterpreterPoolExecutor(2) as pool:
    ...     print(list(pool.map(abs, [-1, -2])))
    [1, 2]

The module of the same name that programs inside an interpreter import has the same surface."""

from ._broken import BrokenInterpreterPool, TimeLimitExceeded
from ._crossing import RemoteError, RemoteTraceback, writable
from ._executor import InterpreterPoolExecutor
from ._gorgon import (Error, count, interpreter, progress, receive, receive_fd, send_fd, share, use_data_handler,
                      withdraw)

__version__ = "1.0.0"
__all__ = ["BrokenInterpreterPool", "Error", "InterpreterPoolExecutor", "RemoteError", "RemoteTraceback",
           "TimeLimitExceeded", "count", "interpreter", "progress", "receive", "receive_fd", "send_fd", "share",
           "use_data_handler", "withdraw", "writable"]

# For help(): they are this module's.
InterpreterPoolExecutor.__module__ = __name__
