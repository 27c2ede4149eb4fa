# SPDX-License-Identifier: MIT
"""gorgon bt, gorgon apply: the threads of an interpreter, native and Python frames together.

Each call of CPython's evaluation function runs a chain of Python frames, which the copy's own thread state
lists (python.py). So only the file of libpython is needed, and versions of CPython may be mixed."""

import contextlib
import itertools
import re

import gdb

from gorgon_shared import python, root, tables
from . import commands, files, functions, process, symbols

EVALUATE = "_PyEval_EvalFrameDefault"
FRAME_LINE = re.compile(r"^#(\d+) ", re.M)


@contextlib.contextmanager
def selection():
    """Select the thread and frame again that are selected now, unless the process has run meanwhile."""
    thread = gdb.selected_thread()
    frame = gdb.selected_frame() if thread else None
    try:
        yield
    finally:
        if thread and thread.is_valid() and thread.is_stopped():
            thread.switch()
            if frame.is_valid():
                frame.select()
        functions.update_variable()


def frame_of(namespace):
    """The innermost frame of the selected thread that runs private code, if the thread works for this namespace; or None."""
    frame = gdb.newest_frame()
    found = process.object_of_frame(frame)
    if not found or found.namespace.id != namespace.id:  # they may be of different snapshots
        return None
    while not process.find_object(frame.pc()):
        frame = frame.older()
    return frame


def threads_of(namespace):
    """The threads that work for a namespace, the thread of its program first. A thread is selected when it is yielded."""
    def order(thread):
        return process.kernel_id(thread) != namespace.thread, thread.num

    for thread in sorted(gdb.selected_inferior().threads(), key=order):
        if thread.is_stopped():
            thread.switch()
            if frame_of(namespace):
                yield thread


def title(namespace, thread):
    return f"{'Interpreter ' if namespace.interp is not None else ''}{tables.number(namespace)}, " \
           f"thread {process.thread_name(process.kernel_id(thread))}:\n"


def python_calls(namespace, tid):
    """(a list of Python frames for each call of the evaluation function, innermost first; a text that says why there are
    no more, or "")"""
    calls, call = [], []
    try:
        for frame in process.python_of(namespace).frames(tid):
            if frame is python.CALL:
                calls.append(call)
                call = []
            else:
                call.append(frame)
    except (root.RootError, root.MemoryProblem) as error:
        return calls + [call], f"(Python frames of {namespace.label}: {error})\n"
    return calls + [call] if call else calls, ""


def text_of(frames):
    return "".join(f'      File "{frame.file}", line {frame.line or "?"}, in {frame.function}\n{source_line(frame)}'
                   for frame in frames)


def source_line(frame):
    """The text of a frame's line, if its file is here; otherwise ""."""
    with contextlib.suppress(OSError), open(files.find(frame.file), encoding="utf-8", errors="replace") as file:
        text = next(itertools.islice(file, frame.line - 1, None), "").strip() if frame.line else ""
        return f"        {text}\n" if text else ""
    return ""


def evaluating():
    """{namespace: [level of each native frame that runs Python code, innermost first]} of the selected thread, for each
    namespace that has a frame there."""
    snapshot, found = process.snapshot(), {}
    frame, level = gdb.newest_frame(), 0
    while frame:
        obj = snapshot.find_object(frame.pc())
        levels = found.setdefault(obj.namespace, []) if obj and obj.namespace.libpython else []
        if frame.type() == gdb.NORMAL_FRAME and (frame.name() or "").startswith(EVALUATE):
            levels.append(level)
        frame, level = frame.older(), level + 1
    return found


def python_frames():
    """({level of a native frame: text of the Python frames that it runs}, text of others, what went wrong)"""
    texts, others, problems = {}, "", ""
    for namespace, levels in evaluating().items():
        calls, problem = python_calls(namespace, process.kernel_id(gdb.selected_thread()))
        # A call that has only just begun has no frames yet.
        begun = levels if problem else levels[max(len(levels) - len(calls), 0):]
        texts.update(zip(begun, map(text_of, calls)))
        # There can be more calls than native frames, if gdb could not follow the stack to its end.
        others += "".join(map(text_of, calls[len(begun):]))
        problems += problem
    return texts, others, problems


def backtrace(options):
    """gdb's backtrace of the selected thread, each native frame followed by the Python frames that it runs."""
    symbols.attach_stack()
    native = gdb.execute(f"bt {options}", to_string=True)
    texts, others, problems = python_frames()
    starts = list(FRAME_LINE.finditer(native))
    text = native[:starts[0].start()] if starts else native
    for start, end in zip(starts, [s.start() for s in starts[1:]] + [len(native)]):
        text += native[start.start():end] + texts.pop(int(start[1]), "")
    return text + (others if not texts else "") + problems


class Backtrace(commands.Subcommand):
    """Show the native and the Python frames of a thread, or of an interpreter's threads.

    Usage: gorgon bt [-i N] [BT-ARGUMENT]...

    Below each native frame that runs Python code stand the Python frames that it runs, the
    innermost first. Without -i, the selected thread; with it, every thread that works for
    interpreter N, that of its program first. BT-ARGUMENTs are those of "backtrace".

    They are read out of the copy's own structures, so neither debug information nor CPython's
    helper for gdb ("py-bt") is needed, only the file of libpython.

    Example:
      (gdb) gorgon bt -i 2 -frame-arguments none"""

    name = "gorgon bt"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_STACK)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        interp, options = commands.interp_option(self.name, arg)
        if interp is None:
            gdb.selected_frame()  # or gdb's error
            gdb.write(backtrace(options))
            return
        namespace = tables.parse_interp(process.snapshot(), str(interp))
        with selection():
            text = "".join(f"\n{title(namespace, thread)}{backtrace(options)}" for thread in threads_of(namespace))
        gdb.write(text or f"No thread works for interpreter {interp}.\n")

    def completions(self, text, word):
        return commands.complete_interp_option(text, word)


class Apply(commands.Subcommand):
    """Run a command for an interpreter, or for every interpreter in turn.

    Usage: gorgon apply N|all COMMAND

    COMMAND runs with the thread of the interpreter's program selected (or another thread that
    works for it, if that thread has left it) and the innermost frame of its private code;
    $gorgon_interp() and $_gorgon_interp are its number. Afterwards the former thread and frame
    are selected again. An error ends the command; with "all" it goes on to the next interpreter.

    Example:
      (gdb) gorgon apply all gorgon print _PyRuntime.main_thread
      (gdb) gorgon apply 2 py-bt"""

    name = "gorgon apply"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_STACK)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        who, _, command = arg.strip().partition(" ")
        if not command.strip():
            raise gdb.GdbError(f'{self.name}: N or "all" and a COMMAND expected; see "help {self.name}"')
        snapshot = process.snapshot()
        if who != "all":
            self.run(tables.parse_interp(snapshot, who), command)
            return
        for namespace in snapshot.interpreters:
            try:
                self.run(namespace, command)
            except (gdb.error, gdb.GdbError, root.RootError) as error:
                gdb.write(f"{error}\n")

    def run(self, namespace, command):
        with selection():
            thread = next(threads_of(namespace), None)
            if not thread:
                raise root.RootError(f"no thread works for interpreter {namespace.interp}")
            frame_of(namespace).select()
            functions.update_variable()
            gdb.write(f"\n{title(namespace, thread)}")
            gdb.execute(command)

    def completions(self, text, word):
        if text.strip() == word:
            return commands.interp_numbers(word) + [w for w in ("all",) if w.startswith(word)]
        return gdb.COMPLETE_COMMAND


def register():
    for command in (Backtrace, Apply):
        command()
