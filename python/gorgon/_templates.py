# SPDX-License-Identifier: MIT
"""Templates of executors: workers that are copies of an interpreter which has imported what they need.

A template costs as much as some workers that start, so the last one stays for the next executor that wants the same. What
libraries do when they are imported depends on the environment: it is the one of the first worker's start. Copies that are
made later learn what has changed."""

import os
import sys
import threading
import warnings

from . import _gorgon

UNSUPPORTED = 7  # of enum gorgon_error_code

PROGRAM = """
import sys
sys.path[:] = {path!r}
exec({start!r}, {{"files": {files!r}}})
sys.modules["gorgon._crossing"].set_up({package!r}, None, (None, None))
exec(compile({program!r}, "<template>", "exec"), {{"__name__": "__main__"}})
del sys
"""

lock = threading.Lock()
last = None  # what the last one depends on, and that


def renew_lock():
    global lock
    lock = threading.Lock()


os.register_at_fork(after_in_child=renew_lock)


class Template:
    """Of one executor."""

    def __init__(self, program):
        if not isinstance(program, str):
            raise TypeError(f"template must be a str of statements that import, found {program!r}")
        compile(program, "<template>", "exec")  # here, where it was given
        self.program = program
        self.made = self.variables = self.refused = None

    def take(self, python, flags, share_environment, max_workers, start, files):
        """What a worker is to be a copy of; None: it is to start."""
        with lock:
            if not (self.made or self.refused):
                try:
                    self.make(python, flags, share_environment, max_workers, start, files)
                except _gorgon.Error as error:
                    if error.code != UNSUPPORTED:
                        raise
                    self.refuse(str(error).removeprefix("template: "))
            return self.made

    def refuse(self, reason):
        self.refused = reason
        try:
            warnings.warn(f"workers start without a template: {reason}", RuntimeWarning, stacklevel=2)
        except RuntimeWarning as error:  # filters make it an error, which no call of the program waits for on this thread
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))

    def make(self, python, flags, share_environment, max_workers, start, files):
        global last
        self.variables = dict(os.environb)
        path = [each for each in sys.path if isinstance(each, str)]
        program = PROGRAM.format(path=path, start=start, files=files, package=os.path.dirname(__file__), program=self.program)
        threads = max(len(os.sched_getaffinity(0)) // max_workers, 1)  # of a library's pool, in each worker
        needs = python, flags, share_environment, threads, program, self.variables
        if not (last and last[0] == needs):
            last = None  # before there are two
            last = needs, _gorgon._template(*needs[:4], self.label(), program)
        self.made = last[1]

    def label(self):
        lines = self.program.split("\n", 1)
        return ("template: " + lines[0]).encode(errors="replace")[:63].decode(errors="ignore")

    def changes(self):
        """Variables of the environment that are others now, and those that are gone: None."""
        now = dict(os.environb)
        return [[name, now.get(name)] for name in {**self.variables, **now} if self.variables.get(name) != now.get(name)]
