# SPDX-License-Identifier: MIT
"""CPython's own structures in a private copy: its threads, their Python frames, who holds the GIL.

A thread of CPython (PyThreadState) heads a list of frames, innermost first. One call of the
evaluation function in C runs several frames, because calls from Python to Python do not go
through C. In 3.11 the outermost frame of such a call is marked (is_entry); since 3.12 a frame without
code stands between the frames of two calls.

Knows no debugger. Memory may be garbage: lists are capped and stop at what cannot be read."""

import collections

from . import layout, root

INTERPRETERS_MAX = 1000
THREADS_MAX = 10_000
FRAMES_MAX = 10_000
TEXT_MAX = 1000      # characters of a name
LINE_TABLE_MAX = 10_000_000

# Owners of frames without code: FRAME_OWNED_BY_CSTACK and, since 3.14, FRAME_OWNED_BY_INTERPRETER.
OWNER_NO_CODE = 3
KIND_BIT = 2         # of a str's state: two bits of "interned" come first
NO_LINE = 15         # kinds of entries in a line table
LONG, NO_COLUMNS = 14, 13
ONE_LINE = (10, 11, 12)

Frame = collections.namedtuple("Frame", "function file line")
CALL = None


class Python:
    """One libpython in memory. Methods raise root.RootError and root.MemoryProblem."""

    def __init__(self, read, runtime, minor):
        self.read = read
        self.runtime = runtime
        self.offsets = layout.find(read, runtime, minor)

    def integer(self, address, size=8, signed=False):
        return int.from_bytes(self.read(address, size), "little", signed=signed)

    def get(self, address, name, size=8, signed=False):
        """A member of the structure at an address."""
        if not address:
            raise root.MemoryProblem(f"there is no {name.partition('.')[0]} at 0")
        return self.integer(address + self.offsets[name], size, signed)

    def chain(self, address, name, most):
        """A linked list, as long as it can be read."""
        seen = set()
        while address and address not in seen and len(seen) < most:
            seen.add(address)
            yield address
            address = self.get(address, name)

    def interpreters(self):
        yield from self.chain(self.get(self.runtime, "runtime_state.interpreters_head"), "interpreter_state.next",
                              INTERPRETERS_MAX)

    def thread_state(self, tid):
        """The PyThreadState of a thread by its kernel id, 0 when it has none."""
        for interpreter in self.interpreters():
            for state in self.chain(self.get(interpreter, "interpreter_state.threads_head"), "thread_state.next",
                                    THREADS_MAX):
                if self.get(state, "thread_state.native_thread_id") == tid:
                    return state
        return 0

    def gil_holder(self):
        """Kernel id of the thread that holds the GIL of the main interpreter, 0 when nobody does."""
        at = self.offsets
        if "runtime_state.gil_locked" in at:  # 3.11: one in the process
            locked, holder = self.runtime + at["runtime_state.gil_locked"], self.runtime + at["runtime_state.gil_holder"]
        else:
            main = next((i for i in self.interpreters() if not self.get(i, "interpreter_state.id")), 0)
            gil = self.get(main, "interpreter_state.ceval_gil") if main else 0
            if not gil:
                return 0  # Python has not been started
            start = at["interpreter_state.gil_runtime_state"]
            locked = gil + at["interpreter_state.gil_runtime_state_locked"] - start
            holder = gil + at["interpreter_state.gil_runtime_state_holder"] - start
        # -1 before it is made.
        state = self.integer(holder) if self.integer(locked, 4) == 1 else 0
        return self.get(state, "thread_state.native_thread_id") if state else 0

    def frames(self, tid):
        """The Python frames of a thread, innermost first, and CALL where a call of the evaluation function ends."""
        for frame in self.addresses(tid):
            if self.has_code(frame):
                yield self.frame(frame)
            if self.ends_call(frame):
                yield CALL

    def calls(self, tid):
        """For each call of the evaluation function, innermost first, the address of its innermost Python frame; 0: it has none yet."""
        first = 0
        for frame in self.addresses(tid):
            if not first and self.has_code(frame):
                first = frame
            if self.ends_call(frame):
                yield first
                first = 0

    def addresses(self, tid):
        """The frames of a thread, innermost first, also those without code."""
        state = self.thread_state(tid)
        if not state:
            return
        if "thread_state.cframe" in self.offsets:
            innermost = self.get(self.get(state, "thread_state.cframe"), "cframe.current_frame")
        else:
            innermost = self.get(state, "thread_state.current_frame")
        # Since 3.15 a frame that no call runs is the last one.
        base = self.get(state, "thread_state.base_frame") if "thread_state.base_frame" in self.offsets else 0
        for frame in self.chain(innermost, "interpreter_frame.previous", FRAMES_MAX):
            if frame == base:
                return
            yield frame

    def has_code(self, frame):
        return "interpreter_frame.owner" not in self.offsets or \
            self.get(frame, "interpreter_frame.owner", 1) < OWNER_NO_CODE

    def ends_call(self, frame):
        if "interpreter_frame.is_entry" in self.offsets:
            return self.get(frame, "interpreter_frame.is_entry", 1) != 0
        return not self.has_code(frame)

    def frame(self, address):
        # The lowest bits of a reference are flags, since 3.14.
        code = self.get(address, "interpreter_frame.executable") & ~3
        return Frame(self.text(self.get(code, "code_object.qualname")), self.text(self.get(code, "code_object.filename")),
                     self.line(code, self.get(address, "interpreter_frame.instr_ptr")))

    def line(self, code, instruction):
        """The line of an instruction, or None where the compiler has given it none."""
        table = self.get(code, "code_object.linetable")
        size = min(self.get(table, "bytes_object.ob_size"), LINE_TABLE_MAX)
        first = self.get(code, "code_object.firstlineno", 4)
        start = code + self.offsets["code_object.co_code_adaptive"]
        if instruction < start:
            return first  # it has not begun
        return find_line(self.read(table + self.offsets["bytes_object.ob_sval"], size), first, (instruction - start) // 2)

    def text(self, address):
        """A str as a terminal may show it: no control characters from a broken process."""
        return "".join(c if c.isprintable() else "?" for c in self.characters(address, TEXT_MAX))

    def characters(self, address, most):
        """A str, or as many of its first characters. They follow the structure (the compiler's strings), or are where a
        pointer behind it leads (objects of derived types)."""
        state = self.get(address, "unicode_object.state", 4) >> KIND_BIT
        kind, compact, ascii_only = state & 7, state & 8, state & 16
        length = min(self.get(address, "unicode_object.length"), most)
        if kind not in (1, 2, 4):
            raise root.MemoryProblem(f"there is no str at {address:#x}")
        data = address + self.offsets[f"unicode_object.{'asciiobject' if compact and ascii_only else 'compact'}_size"]
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind]
        return self.read(data if compact else self.integer(data), length * kind).decode(encoding, "replace")


def find_line(table, line, wanted):
    """The line of the code unit with a number, by co_linetable: entries of a byte with its highest bit set (kind,
    number of units) and bytes without it (CPython's Objects/locations.md)."""
    entries = [i for i, byte in enumerate(table) if byte & 128]
    units = 0
    for start in entries:
        kind = table[start] >> 3 & 15
        if kind in (LONG, NO_COLUMNS):
            line += signed(table, start + 1)
        elif kind in ONE_LINE:
            line += kind - ONE_LINE[0]
        units += (table[start] & 7) + 1
        if wanted < units:
            return None if kind == NO_LINE else line
    return line


def signed(table, i):
    """Six bits a byte, the lowest first; the seventh says that more follow. The lowest bit of all is the sign."""
    value, shift = 0, 0
    while i < len(table):
        value |= (table[i] & 63) << shift
        if not table[i] & 64:
            break
        i, shift = i + 1, shift + 6
    return -(value >> 1) if value & 1 else value >> 1
