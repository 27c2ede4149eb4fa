# SPDX-License-Identifier: MIT
"""Exceptions that the standard library has from 3.14 on, and what stands for them before. Workers import this only when a
program asks for it."""

try:
    from concurrent.futures.interpreter import BrokenInterpreterPool
    from concurrent.interpreters import ExecutionFailed, NotShareableError
except ImportError:
    from concurrent.futures import BrokenExecutor

    ExecutionFailed = NotShareableError = None

    class BrokenInterpreterPool(BrokenExecutor):
        """An interpreter could not be made, its initializer failed, or it ended in the middle of a call."""


class TimeLimitExceeded(TimeoutError):
    """A call was stopped because it took longer than the executor's time_limit.

    >>> import gorgon, time
    >>> with gorgon.InterpreterPoolExecutor(1, time_limit=0.1) as pool:
    ...     print(pool.submit(time.sleep, 60).exception())
    sleep: did not end within 0.1 s
    """
