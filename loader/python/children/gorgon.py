# SPDX-License-Identifier: MIT
"""The module `gorgon` in a process of its own that a program inside an interpreter has started.

multiprocessing (spawn, forkserver), concurrent.futures and joblib run a program again in their workers, which are plain
python3 processes: there are no interpreters here, and no memory to share with them. A package of this name that is
installed comes first."""

interpreter = None


def _refuse(what):
    raise RuntimeError(f"gorgon.{what}: this is a process of its own, which a program in an interpreter has started: it has "
                       "no interpreters; arrays and descriptors come and go with its calls")


def count():
    """Number of interpreters alive in this process."""
    return 0


def progress(value):
    """Nobody listens."""
    return False


def use_data_handler(handler=None):
    """numpy keeps its own memory: there is nobody to share it with."""
    return None


def share(array, name, *, copy=False, writable=False):
    """RuntimeError: only inside an interpreter and in its host."""
    _refuse("share()")


def receive(name, *, writable=False, plain=False):
    """RuntimeError: only inside an interpreter and in its host."""
    _refuse("receive()")


def withdraw(name):
    """RuntimeError: only inside an interpreter and in its host."""
    _refuse("withdraw()")


def send_fd(fd, name):
    """RuntimeError: only inside an interpreter and in its host."""
    _refuse("send_fd()")


def receive_fd(name):
    """RuntimeError: only inside an interpreter and in its host."""
    _refuse("receive_fd()")


def InterpreterPoolExecutor(*args, **kwargs):
    """RuntimeError: only in the host."""
    _refuse("InterpreterPoolExecutor()")
