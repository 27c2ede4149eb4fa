# SPDX-License-Identifier: MIT
"""gdb at a terminal, as somebody types into it."""

import os
import pty
import re
import select
import subprocess
import time

import harness

PROMPT = "(gdb) "
SECONDS = 60  # seconds in which gdb has to end


class Terminal:
    """A session; ask() types a line and returns what comes until the next prompt."""

    def __init__(self, *command, before=()):
        self.terminal, slave = pty.openpty()
        environment = dict(os.environ, TERM="dumb")
        environment.pop("DEBUGINFOD_URLS", None)
        self.process = subprocess.Popen([*before, harness.GDB, "-nx", "-q", "--args", *map(str, command)], env=environment,
                                        stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.read()
        for line in ("set pagination off", "set width 0", "set confirm off", "set breakpoint pending on",
                     "set debuginfod enabled off"):
            self.ask(line)

    def read(self, timeout=harness.TIMEOUT, prompt=PROMPT):
        text, end = "", time.monotonic() + timeout
        while not text.endswith(prompt):
            if not select.select([self.terminal], [], [], max(end - time.monotonic(), 0))[0]:
                raise AssertionError(f"gdb has not come back to its prompt but said:\n{text}")
            text += os.read(self.terminal, 65536).decode("utf-8", "replace")
        return re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]|\r", "", text[:-len(prompt)])

    def ask(self, line):
        os.write(self.terminal, f"{line}\n".encode())
        return self.read().partition("\n")[2]  # the terminal shows first what was typed

    def block(self, *lines):
        """Types the lines of "commands", "python" or "define", and "end"; returns what is printed after it."""
        for line in lines:
            os.write(self.terminal, f"{line}\n".encode())
            self.read(prompt=">")
        return self.ask("end")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends the session, also one that hangs."""
        os.write(self.terminal, b"kill\nquit\n")
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.terminal)
