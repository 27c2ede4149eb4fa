# SPDX-License-Identifier: MIT
"""Typed sessions in which habits are tried: on the ordinary host and on Gorgon's, with several habits to a session.

A session is a debugger at a terminal that has stopped in turn_sync() of host.c, where nobody is in the middle of
anything. From there each habit begins with the same turn, so that numbers and order are the same in both hosts. After
a habit the session goes back to that place; where it cannot, because the debugger hangs or the process is gone, the next
habit gets a session of its own."""

import functools
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(harness.BUILD, "parity")
PROGRAM = os.path.join(HERE, "program.py")
SECONDS = 60  # for one command; the slowest takes a tenth of it
QUIET = 3  # to wait for more when something was printed behind a prompt
ENDING = 20  # for a debugger that is told to quit


class Lost(Exception):
    """The debugger hangs or has ended. The text is what it has printed last."""


@dataclass(frozen=True)
class Variant:
    """A host: the ordinary one, or Gorgon's with or without our scripts; @count threads, which are interpreters there.
    Without a @home there is no folder in which Gorgon could keep names and lines of libraries."""
    kind: str  # "ordinary", "plain" or "scripts"
    count: int
    home: bool = True

    def __str__(self):
        return f"{self.kind}-{self.count}" + ("" if self.home else "-no-home")

    @property
    def command(self):
        folder = "ordinary" if self.kind == "ordinary" else "gorgon"
        return [os.path.join(FOLDER, folder, "host"), str(self.count), os.path.join(FOLDER, "modules"), PROGRAM]

    @property
    def peer(self):
        return Variant("ordinary", self.count, self.home)


COUNTS = (1, 3, 20)
VARIANTS = [Variant(kind, count, home) for home in (True, False) for kind in ("scripts", "plain") for count in COUNTS
            if home or count > 1]


@functools.cache
def line_of(function):
    """Where a function of libpython begins."""
    return int(re.search(r"^Line (\d+) of", harness.gdb([f"info line {function}"], harness.LIBPYTHON), re.M)[1])


def resolved(line, folder):
    """A typed line with the numbers of lines ("cext.c:[text on it]") and the name of a folder for files ("{folder}")."""
    line = re.sub(r"(\w+\.\w+):\[([^]]+)\]", lambda m: f"{m[1]}:{harness.source_line(os.path.join(HERE, m[1]), m[2])}", line)
    line = re.sub(r"(\w+\.\w+)#\[([^]]+)\]", lambda m: str(harness.source_line(os.path.join(HERE, m[1]), m[2])), line)
    line = re.sub(r"\{([a-z_]+_[a-z]+)\}", lambda m: str(line_of(m[1])), line)
    return line.replace("{folder}", folder).replace("{modules}", os.path.join(FOLDER, "modules"))


def is_stopped(pid):
    """Whether a debugger holds the process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "tTZX"
    except FileNotFoundError:
        return True


class Session:
    """What both debuggers have in common. They say how a program is started, where a turn is set, and what is taken back
    after a habit."""

    PROMPT = None
    BLOCKS = ()  # commands that are followed by lines up to "end"
    MORE = ">"
    SETTINGS = ()
    WHENEVER = None  # what a thread of the debugger prints at any moment, also after the prompt

    def __init__(self, variant, folder):
        self.variant, self.folder = variant, folder
        self.host = None
        self.terminal, slave = pty.openpty()
        environment = dict(os.environ, TERM="dumb", LINES="200", COLUMNS="400")
        environment.pop("DEBUGINFOD_URLS", None)
        # Ctrl-C reaches the group in the foreground of a session's controlling terminal.
        self.process = subprocess.Popen(["setsid", "--ctty", *self.arguments()], env=environment, stdin=slave, stdout=slave,
                                        stderr=slave, cwd=harness.ROOT)
        os.close(slave)
        self.read()
        for line in [*self.SETTINGS, *(self.scripts() if self.variant.kind == "scripts" else [])]:
            self.ask(line)

    def read(self, prompt=None, seconds=SECONDS):
        prompt = prompt or self.PROMPT
        text, end = "", time.monotonic() + seconds
        while not text.endswith(prompt):
            late = self.WHENEVER and prompt in text
            if not select.select([self.terminal], [], [], QUIET if late else max(end - time.monotonic(), 0))[0]:
                if late:
                    return self.readable(text.replace(prompt, ""))
                raise Lost(self.readable(text))
            try:
                more = os.read(self.terminal, 65536)
            except OSError:
                more = b""
            if not more:
                raise Lost(self.readable(text) + "\n(the debugger has ended)")
            text += more.decode("utf-8", "replace")
            if self.WHENEVER:
                text = self.WHENEVER.sub("", text)
        return self.readable(text[:-len(prompt)])

    @staticmethod
    def readable(text):
        return re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]|\r", "", text)

    def send(self, line):
        os.write(self.terminal, f"{line}\n".encode())

    def ask(self, line, prompt=None, seconds=SECONDS):
        self.send(line)
        return self.read(prompt, seconds).partition("\n")[2]  # the terminal shows first what was typed

    def interrupt(self, line):
        """Types a line that makes the process run, and Ctrl-C when it runs."""
        pid = self.inferior()
        self.send(line)
        end = time.monotonic() + SECONDS
        while is_stopped(pid):
            if time.monotonic() > end:
                raise Lost("the process did not run")
            time.sleep(0.02)
        os.write(self.terminal, b"\x03")
        return self.read().partition("\n")[2]

    def type(self, lines):
        """Types lines, one after the other; yields each with its answer."""
        lines = iter(lines)
        for line in lines:
            typed = resolved(line, self.folder)
            if line.startswith("^C "):
                yield line, self.interrupt(typed[3:])
                continue
            if self.opens_block(line):
                self.ask(typed, self.MORE)
                block = [line]
                for line in lines:
                    block.append(line)
                    if line == self.END:
                        break
                    self.ask(resolved(line, self.folder), self.MORE)
                yield "\n".join(block), self.ask(self.END)
            else:
                yield line, self.ask(typed)

    def opens_block(self, line):
        return line in self.BLOCKS or line.partition(" ")[0] in ("commands", "define")

    def begin(self, turn):
        who = turn.get("who", -1) % self.variant.count
        self.set_turn(who, turn.get("number", 10), self.variant.count if turn.get("left") == "all" else turn.get("left", 1))

    def close(self):
        for line in self.QUIT:
            try:
                self.send(line)
            except OSError:
                break
        end = time.monotonic() + ENDING
        try:
            while self.process.poll() is None and time.monotonic() < end:
                if select.select([self.terminal], [], [], 0.05)[0]:
                    os.read(self.terminal, 65536)
        except OSError:
            pass  # the other end is closed
        for pid in [self.inferior(), self.process.pid]:
            if pid and (pid != self.process.pid or self.process.poll() is None):
                try:
                    os.kill(pid, 9)
                except ProcessLookupError:
                    pass
        self.process.wait()
        os.close(self.terminal)
        if self.host:
            self.host.stop()
            self.host = None

    def background(self):
        """A host that runs by itself, to attach to; returns its process id."""
        self.host = harness.Background(*self.variant.command, until="", asleep=1)
        return self.host.pid


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except FileNotFoundError:
        pass  # the host has ended
    return found


class Gdb(Session):
    NAME = "gdb"
    PROMPT, END = "(gdb) ", "end"
    BLOCKS = ("python",)
    SETTINGS = ("set pagination off", "set width 0", "set height 0", "set confirm off", "set breakpoint pending on",
                "set debuginfod enabled off", "set style enabled off")
    QUIT = ("kill", "quit")

    def arguments(self):
        return [harness.GDB, "-nx", "-q", "--args", *self.variant.command]

    @staticmethod
    def scripts():
        return [f"source {harness.GDB_SCRIPT}"]

    def inferior(self):
        """The process that is debugged; gdb starts it by way of a shell that becomes it."""
        return self.host.pid if self.host else next(iter(children(self.process.pid)), None)

    def run(self):
        self.ask("tbreak turn_sync")
        text = self.ask("run")
        if "turn_sync" not in text:
            raise AssertionError(f"the host did not come to turn_sync():\n{text}")
        if self.variant.kind == "ordinary":
            self.ask(f"source {os.path.join(HERE, 'ordinary.py')}")
        return []

    def attach(self):
        return [("attach", self.ask(f"attach {self.background()}")), ("tbreak turn_sync", self.ask("tbreak turn_sync")),
                ("continue", self.ask("continue"))]

    def set_turn(self, who, number, left):
        self.ask(f"set var turn.who = {who}, turn.number = {number}, turn.left = {left}")
        self.ask("tbreak turn_sync")

    def again(self):
        """Back to turn_sync(), with nothing left of a habit."""
        for line in ("delete", "undisplay", "skip delete"):
            self.ask(line)
        self.ask("tbreak turn_sync")
        for _ in range(4):
            text = self.ask("continue")
            if re.search(r"^(#0 +)?turn_sync \(|, turn_sync \(", text, re.M):
                return True
            if "exited" in text or "not being run" in text:
                return False
        return False


class Lldb(Session):
    NAME = "lldb"
    WHENEVER = re.compile(r"(?:error: \S+ 0x\w+: DW_TAG_member '\w+' refers to type 0x\w+ which extends beyond the bounds of 0x\w+|"
                          r"\d+ locations? added to breakpoint \d+)\r?\n")
    PROMPT, END = "(lldb) ", "DONE"
    MORE = "> "
    SETTINGS = ("settings set use-color false", "settings set auto-confirm true", "script lldb.debugger.SetAsync(False)",
                "settings set stop-line-count-before 0", "settings set stop-line-count-after 1",
                "settings set interpreter.prompt-on-quit false")
    QUIT = ("process kill", "quit")

    def arguments(self):
        return [harness.LLDB, "--no-lldbinit", "--no-use-colors", "--", *self.variant.command]

    @staticmethod
    def scripts():
        return [f"command script import {harness.LLDB_SCRIPT}", "gorgon symbols auto"]

    def opens_block(self, line):
        return line.startswith("breakpoint command add") and " -o" not in line

    def inferior(self):
        """lldb-server starts it."""
        if self.host:
            return self.host.pid
        return next((pid for server in children(self.process.pid) for pid in children(server)), None)

    def run(self):
        self.ask("breakpoint set -o true -n turn_sync")
        text = self.ask("run")
        if "turn_sync" not in text:
            raise AssertionError(f"the host did not come to turn_sync():\n{text}")
        return []

    def attach(self):
        return [("attach", self.ask(f"process attach -p {self.background()}")),
                ("tbreak turn_sync", self.ask("breakpoint set -o true -n turn_sync")), ("continue", self.ask("process continue"))]

    def set_turn(self, who, number, left):
        self.ask(f"expression -- turn.who = {who}, turn.number = {number}, turn.left = {left}")
        self.ask("breakpoint set -o true -n turn_sync")

    def again(self):
        for line in ("breakpoint delete --force", "watchpoint delete --force", "target stop-hook delete"):
            self.ask(line)
        self.ask("breakpoint set -o true -n turn_sync")
        for _ in range(4):
            text = self.ask("process continue")
            if re.search(r"frame #0: .*`turn_sync", text):
                return True
            if "exited" in text or "invalid process" in text or "must be launched" in text:
                return False
        return False


class Bench:
    """The sessions of one debugger on one variant, opened as they are needed."""

    def __init__(self, debugger, variant):
        self.debugger, self.variant = debugger, variant
        self.session = None
        self.folder = tempfile.TemporaryDirectory()

    def open(self):
        self.session = self.debugger(self.variant, self.folder.name)

    def close(self):
        if self.session:
            self.session.close()
            self.session = None

    def try_habit(self, habit):
        """[(what was typed, the answer)]"""
        found = []
        if habit.alone:
            self.close()
        try:
            if not self.session:
                self.open()
                found += self.session.attach() if habit.attach else self.session.run()
            self.session.begin(habit.turn)
            found += self.session.type(habit.lines)
            if habit.fresh:
                self.close()
                self.open()
                found += self.session.type(habit.fresh_lines)
            if habit.alone or not self.session.again():
                self.close()
        except Lost as error:
            found.append(("(the debugger does not answer)", str(error)))
            self.close()
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self.folder.cleanup()


TYPED = {"gdb": Gdb, "lldb": Lldb}


def progress(text):
    """A line that overwrites itself on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
