#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw a session with gdb or lldb as a terminal shows it, a real session that is typed into a pseudo terminal; or a flame graph.

Usage: picture.py gdb|lldb|mixed|flames PICTURE.svg

Runs the debugger with our scripts on `gorgon run -n 3`, or plain gdb on the program of docs/mixed.md, and draws what it has printed,
with colours, but without its notices of threads; or records two interpreters with gorgon-symdump. `make docs-pictures` makes the
pictures in docs/."""

import html
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("BUILD", f"{ROOT}/build"))
PROGRAM = ["gorgon", "run", "-n", "3", "-c", "import time; time.sleep(1)"]
MIXED = ["gorgon", "run", "shop.py"]
TITLES = {"mixed": "plain gdb: Python and C in one stack"}
SECONDS = 300  # how long to wait for an answer
COLUMNS, PITCH, ADVANCE, MARGIN, BAR = 116, 17, 7.83, 14, 30
PLAIN = ["set pagination off", "set width 0", "set confirm off", "set debuginfod enabled off", "set breakpoint pending on",
         "set print thread-events off"]
QUIET = {
    "gdb": [*PLAIN, f"source {ROOT}/gdb/gorgon.py"],
    "mixed": PLAIN,
    "lldb": ["settings set auto-confirm true", "settings set stop-line-count-before 0", "settings set stop-line-count-after 0",
             "settings set stop-disassembly-display never", f"command script import {ROOT}/lldb/gorgon.py"],
}
TYPED = {
    "gdb": ["break time_sleep", "run", "gorgon list", "bt 2", "py-bt", "continue"],
    "mixed": ["break shop.py:5", "run", "bt -frame-arguments none -frame-info short-location 12", "next", 'print py("[total, cost, price]")',
              "finish", "frame function functools_reduce", "info locals"],
    "lldb": ["gorgon symbols auto", "breakpoint set -n time_sleep", "run", "gorgon list", "frame variable", "gorgon whose $pc"],
}
# Interpreter 0 parses in two threads that want one GIL, while 1 compresses without its own and a thread of it rests.
RECORDED = """
import gorgon, json, threading, time, zlib
text = json.dumps([{"id": n, "name": str(n)} for n in range(500)], indent=1)
def parse():
    while True:
        json.loads(text)
        json.dumps(json.loads(text), indent=1)
def pack():
    while True:
        zlib.compress(bytes(1 << 22), 6)
def rest():
    time.sleep(600)
second, first = [(parse, parse), (rest, pack)][gorgon.interpreter]
threading.Thread(target=second, daemon=True).start()
print("ready", flush=True)
first()
"""
# Lines that a picture leaves out: new threads, the file of a breakpoint's library, missing source files.
LEFT_OUT = re.compile(r"\[(New Thread|Thread debugging|Switching|Thread 0x)|Using host|Function \"|No source file|warning: |\d+\t(?! )|"
                      r".*No such file or directory|WARNING: |Process \d+ (launched|stopped)|Target \d|\d+ locations? added|(gdb|lldb)?$")
COLOURS = {30: "#7f8590", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea", 37: "#e6edf3"}
FOREGROUND, BACKGROUND, FRAME = "#d6dde6", "#151b23", "#262d37"


class Session:
    """A debugger at a terminal."""

    def __init__(self, debugger, command, environment):
        self.prompt = f"({debugger}) "
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execvpe(command[0], command, environment)

    def read(self):
        """What is printed until the next prompt, without movements of the cursor."""
        data, end = b"", time.monotonic() + SECONDS
        while True:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise SystemExit(f"picture: no prompt came within {SECONDS} s after:\n{data.decode(errors='replace')}")
            try:
                data += os.read(self.terminal, 1 << 16)
            except OSError:
                raise SystemExit(f"picture: the debugger has ended:\n{data.decode(errors='replace')}") from None
            text = re.sub(r"\x1b\[[?>=\d;]*[A-Za-ln-z]|\r", "", data.decode(errors="replace"))
            if re.sub(r"\x1b\[[\d;]*m", "", text).endswith(self.prompt):
                return text

    def ask(self, line):
        """The answer: all but what was typed, and the prompt."""
        os.write(self.terminal, f"{line}\n".encode())
        # lldb draws the prompt and the line anew while they are typed.
        lines = self.read().split("\n")[:-1]
        while lines and (line in re.sub(r"\x1b\[[\d;]*m", "", lines[0]) or not lines[0]):
            lines.pop(0)
        return lines

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def program_of_page(folder):
    with open(f"{ROOT}/docs/mixed.md") as page, open(f"{folder}/shop.py", "w") as file:
        file.write(re.search(r"```python\n(.*?)```", page.read(), re.S)[1])


def record(kind):
    """[(typed or None, line with colours)]."""
    if kind == "mixed":
        with tempfile.TemporaryDirectory() as folder:
            program_of_page(folder)
            command = [*MIXED[:-1], f"{folder}/{MIXED[-1]}"]
            return [(typed, line.replace(f"{folder}/" if typed == "$ " else folder, "" if typed == "$ " else "/home/me"))
                    for typed, line in record_session(kind, "gdb", command)]
    return record_session(kind, kind, PROGRAM)


def record_session(kind, debugger, command):
    program = shutil.which("gdb") if debugger == "gdb" else next(filter(None, map(shutil.which, ("lldb-19", *(f"lldb-{n}" for n in range(20, 30)), "lldb"))))
    options = ["-nx", "-q", "--args"] if debugger == "gdb" else ["--no-lldbinit", "--"]
    environment = dict(os.environ, TERM="xterm-256color", PATH=f"{BUILD}:/usr/bin:{os.environ['PATH']}", COLUMNS="500", PYTHONWARNINGS="ignore")
    environment.pop("DEBUGINFOD_URLS", None)
    session = Session(debugger, [program, *options, shutil.which("gorgon", path=BUILD) or sys.exit("picture: make all"), *command[1:]], environment)
    session.read()
    for line in QUIET[kind]:
        session.ask(line)
    name = command[0] if debugger == "gdb" else f"$(command -v {command[0]})"  # lldb takes a folder of that name for the program
    shown = [("$ ", f"{debugger} {options[-1]} {name} {shlex.join(command[1:])}")]
    for line in TYPED[kind]:
        answer = session.ask(line)
        shown.append((session.prompt, line))
        shown += [(None, text) for text in answer if not LEFT_OUT.match(re.sub(r"\x1b\[[\d;]*m", "", text))]
    session.close()
    return shown


def pieces(text):
    """[(text, colour, bold)] of a line."""
    found, colour, bold = [], FOREGROUND, False
    for piece in re.split(r"(\x1b\[[\d;]*m)", text):
        if piece.startswith("\x1b"):
            for code in map(int, (piece[2:-1] or "0").split(";")):
                bold = code == 1 or bold and code not in (0, 22)
                colour = FOREGROUND if code in (0, 39) else COLOURS.get(code - 60 * (code >= 90), colour)
        elif piece:
            found.append((piece, colour, bold))
    return found


def folded(text):
    """The lines that a terminal makes of a line: a short line as it is, the parts of a long line without colours."""
    if len(re.sub(r"\x1b\[[\d;]*m", "", text)) <= COLUMNS:
        return [text]
    return textwrap.wrap(re.sub(r"\x1b\[[\d;]*m", "", text), COLUMNS, subsequent_indent="    ", break_on_hyphens=False)


def draw(title, shown):
    rows = []
    for prompt, line in shown:
        first, *rest = folded((prompt or "") + line)
        rows.append(([(prompt, "#8b949e", False), (first[len(prompt):], "#ffffff", True)] if prompt else pieces(first)))
        rows += [pieces(text) for text in rest]
    width, height = round(COLUMNS * ADVANCE + 2 * MARGIN), BAR + PITCH * len(rows) + MARGIN
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">',
             f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
             f'<path d="M0 {BAR - 8}V8a8 8 0 0 1 8-8h{width - 16}a8 8 0 0 1 8 8v{BAR - 8 - 8}z" fill="{FRAME}"/>',
             f'<text x="{width / 2:.0f}" y="16" fill="#8b949e" text-anchor="middle" font-size="12">{html.escape(title)}</text>']
    for number, row in enumerate(rows):
        spans = "".join(f'<tspan fill="{colour}"{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""}>{html.escape(text)}</tspan>'
                        for text, colour, bold in row)
        lines.append(f'<text x="{MARGIN}" y="{BAR + PITCH * number + 8}" xml:space="preserve">{spans}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def flames():
    """What gorgon-symdump makes of RECORDED, with paths of files from the sources' folder on."""
    with subprocess.Popen([f"{BUILD}/gorgon", "run", "-n", "2", "-c", RECORDED], stdout=subprocess.PIPE, text=True) as process:
        try:
            if [process.stdout.readline() for _ in range(2)] != ["ready\n"] * 2:
                raise SystemExit("picture: the program to record has not started")
            drawn = subprocess.run([f"{BUILD}/gorgon-symdump", str(process.pid), "--record", "1", "--native", "--format", "svg"],
                                   stdout=subprocess.PIPE, text=True, check=True).stdout
            return drawn.replace(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/", "")
        finally:
            process.kill()


def main(debugger, picture):
    image = flames() if debugger == "flames" else draw(
        TITLES.get(debugger, f"{debugger}: three interpreters in one process, one breakpoint"), record(debugger))
    with open(picture, "w") as file:
        file.write(image)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in [*TYPED, "flames"]:
        sys.exit(__doc__)
    main(*sys.argv[1:])
