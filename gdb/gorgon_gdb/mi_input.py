# SPDX-License-Identifier: MIT
"""Commands of the machine interface (MI), by which editors drive gdb, pass through here before gdb reads them.

gdb lets Python add commands to MI, but neither replace gdb's own commands nor hear of them. So the descriptor from which gdb reads
MI becomes the end of a pipe, and a thread copies what the editor writes into that pipe, line by line. Lines whose meaning depends on
the selected frame (mi_commands.py says which) are rewritten on gdb's own thread, when gdb has done all that came before: the pipe is
empty, no function runs in the process for an expression, and the process does not run, unless "set mi-async on" lets gdb read on
meanwhile.

gdb reads one character at a time, so nothing is lost of what the editor has written before. At a terminal gdb needs the
terminal's own descriptor; nobody drives MI there but by hand, and everything stays as it is."""

import functools
import os
import queue
import signal
import struct
import threading

import gdb

from . import mi_commands

STDIN = 0
LATER = object()
BETWEEN = 0.001  # seconds between two looks at a pipe that gdb has not emptied yet

_events = threading.Event()  # the process has stopped or ended, or a function has returned
_called = False  # a function has begun to run in the process for an expression; gdb does not say so when it cannot begin after all


@functools.cache
def is_driven_by_mi():
    with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
        arguments = iter(file.read().split("\0")[1:])
    for argument in arguments:
        if argument == "--args":
            return False
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name and "interpreter".startswith(name):
            return (value if equals else next(arguments, "")).startswith("mi")
    return False


def is_empty():
    # Imported here: where a core's files are looked at below a sysroot, Python's extension modules may not be there.
    import fcntl
    import termios

    return struct.unpack("i", fcntl.ioctl(STDIN, termios.FIONREAD, b"\0" * 4))[0] == 0


def is_running():
    """Whether gdb will read the next line only after the process has stopped."""
    thread = gdb.selected_thread()
    if thread is None or not thread.is_running():
        return _called and not has_frames()
    return not gdb.parameter("mi-async")


def has_frames():
    try:
        return gdb.newest_frame().is_valid()
    except gdb.error:
        return False


def look(line, answers):
    """Runs on gdb's thread: rewrites a line if it is the line's turn."""
    answer, runs = line, False
    try:
        runs = is_running()
        answer = LATER if runs or not is_empty() else mi_commands.meaning_the_copy(line)
    finally:
        answers.put((answer, runs))


def adapted(line):
    """What gdb is to read instead of a line."""
    answers = queue.Queue()
    while True:
        _events.clear()
        gdb.post_event(lambda: look(line, answers))
        answer, runs = answers.get()
        if answer is not LATER:
            return answer
        _events.wait(None if runs else BETWEEN)


def copy(source, target):
    """Copy lines from the editor to gdb."""
    with os.fdopen(source, encoding="utf-8", errors="surrogateescape") as lines, \
            os.fdopen(target, "w", encoding="utf-8", errors="surrogateescape") as pipe:
        for line in iter(lines.readline, ""):
            pipe.write(adapted(line) if mi_commands.may_mean_a_copy(line) else line)
            pipe.flush()


def on_event(_event=None):
    _events.set()


def on_call(event):
    global _called
    _called = isinstance(event, gdb.InferiorCallPreEvent)
    _events.set()


def begin():
    """Begin to copy; called once. The thread blocks all signals, which are for gdb's own thread."""
    if os.isatty(STDIN) or not is_driven_by_mi():
        return
    source = os.dup(STDIN)
    end, target = os.pipe()
    os.dup2(end, STDIN)
    os.close(end)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        threading.Thread(target=copy, args=(source, target), daemon=True).start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
