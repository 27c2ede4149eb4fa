# SPDX-License-Identifier: MIT
"""gorgon bt, gorgon apply: the threads of an interpreter, native and Python frames together.

Which Python frames a native frame runs, CPython's own helper knows (python_helper.py): since
3.11 one _PyEval_EvalFrameDefault runs a whole chain of them."""

import contextlib
import io
import re
import sys

import gdb

from . import commands, functions, process, root, symbols, tables

FRAME_LINE = re.compile(r"^#(\d+) ", re.M)


@contextlib.contextmanager
def selection():
    """The selected thread and frame, as they were, afterwards; unless the command has let the process run."""
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
    """The innermost frame of the selected thread that runs this namespace's code, if that is whom it works for."""
    frame = gdb.newest_frame()
    found = process.object_of_frame(frame)
    if not found or found.namespace is not namespace:
        return None
    while not process.find_object(frame.pc()):
        frame = frame.older()
    return frame


def threads_of(namespace):
    """The threads that work for a namespace, that of its program first. Selects each on the way."""
    def order(thread):
        return (thread.ptid[1] or thread.ptid[0]) != namespace.thread, thread.num

    for thread in sorted(gdb.selected_inferior().threads(), key=order):
        if thread.is_stopped():
            thread.switch()
            if frame_of(namespace):
                yield thread


def title(namespace, thread):
    return f"{'Interpreter ' if namespace.interp is not None else ''}{tables.number(namespace)}, " \
           f"thread {process.thread_name(thread.ptid[1] or thread.ptid[0])}:\n"


def python_frames(frame):
    """The lines of CPython's helper about a native frame; "" when it runs no Python code."""
    helper = getattr(sys.modules["__main__"], "Frame", None)
    if helper is None or not helper(frame).is_evalframe():
        return ""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            helper(frame).print_traceback()
    except (gdb.error, RuntimeError) as error:
        text.write(f"  (Python frames cannot be read: {error})\n")
    return re.sub(r"^", "    ", text.getvalue(), flags=re.M).rstrip(" ")


def backtrace(options):
    """gdb's backtrace of the selected thread, each native frame followed by the Python frames that it runs."""
    symbols.attach_stack()
    native = gdb.execute(f"bt {options}", to_string=True)
    starts = list(FRAME_LINE.finditer(native))
    frames, frame = {}, gdb.newest_frame()
    while frame and starts and len(frames) <= max(int(start[1]) for start in starts):
        frames[frame.level()] = frame
        frame = frame.older()
    text = native[:starts[0].start()] if starts else native
    for start, end in zip(starts, [s.start() for s in starts[1:]] + [len(native)]):
        text += native[start.start():end]
        number = int(start[1])
        if number in frames:
            text += python_frames(frames[number])
    return text


class Backtrace(commands.Subcommand):
    """Show the native and the Python frames of a thread, or of an interpreter's threads.

    Usage: gorgon bt [-i N] [BT-ARGUMENT]...

    Below each native frame that runs Python code stand the Python frames that it runs, the
    innermost first. Without -i, the selected thread; with it, every thread that works for
    interpreter N, that of its program first. BT-ARGUMENTs are those of "backtrace".

    Python frames need CPython's own helper for gdb, which comes with the debug information
    of libpython ("help py-bt" says whether it is there).

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
            gdb.write(backtrace(options) + without_helper())
            return
        namespace = tables.parse_interp(process.snapshot(), str(interp))
        with selection():
            text = "".join(f"\n{title(namespace, thread)}{backtrace(options)}" for thread in threads_of(namespace))
        gdb.write((text or f"No thread works for interpreter {interp}.\n") + without_helper())

    def complete(self, text, word):
        return commands.complete_interp_option(text, word)


def without_helper():
    if hasattr(sys.modules["__main__"], "Frame"):
        return ""
    return "(Python frames are not shown: CPython's helper for gdb, libpython...-gdb.py, is not loaded.)\n"


class Apply(commands.Subcommand):
    """Run a command for an interpreter, or for each.

    Usage: gorgon apply N|all COMMAND

    COMMAND runs with the thread of the interpreter's program selected (or, where that is not
    in it any more, another that works for it) and the innermost frame of its private code;
    $gorgon_interp() and $_gorgon_interp are its number. Afterwards thread and frame are those
    from before. An error ends it, or goes on to the next interpreter with "all".

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

    def complete(self, text, word):
        if text.strip() == word:
            return commands.interp_numbers(word) + [w for w in ("all",) if w.startswith(word)]
        return gdb.COMPLETE_COMMAND


def register():
    for command in (Backtrace, Apply):
        command()
