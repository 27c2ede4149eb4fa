# SPDX-License-Identifier: MIT
"""CPython's own structures in a private copy: threads, frames, who holds the GIL.

Offsets come from the DWARF of that libpython (reference.py), so each version is read by its own
layout; where versions differ in what a structure means, it is said here. Memory may be garbage:
lists are capped, and what cannot be read ends them."""

import collections
import functools

import lldb

from . import reference, root
from .members import SECTIONS, Field, Members

LIST_MAX = 10_000    # threads, interpreters of one runtime
FRAMES_MAX = 10_000
TEXT_MAX = 1000      # characters of a name or file
LINE_TABLE_MAX = 10_000_000

# In some version of CPython. lldb complains of what is in a mutex: members.py.
WITH_MUTEXES = ("_PyRuntimeState", "_gil_runtime_state", "PyInterpreterState")

Frame = collections.namedtuple("Frame", "function file line outermost")


class Layout:
    """Where the members of a libpython's structures are."""

    def __init__(self, ref, libpython):
        self.ref = ref
        self.name = libpython.name
        self.types = {}
        self.fields = {}

    def find_type(self, name):
        """The structure of that name with its members; LTO leaves several equal ones."""
        if name not in self.types:
            found = (t.GetCanonicalType() for t in self.ref.module.FindTypes(name))
            self.types[name] = next((t for t in found if t.GetByteSize()), None)
        if self.types[name] is None:
            raise root.RootError(f"{self.name} has no debug information that describes {name}")
        return self.types[name]

    def size(self, name):
        return self.find_type(name).GetByteSize()

    @functools.cached_property
    def members(self):
        return Members(*map(self.section, SECTIONS))

    def section(self, name):
        found, error = self.ref.module.FindSection(name), lldb.SBError()
        data = found.GetSectionData() if found.IsValid() else lldb.SBData()
        return data.ReadRawData(error, 0, data.GetByteSize()) or b"" if data.GetByteSize() else b""

    def find(self, name, path):
        """The Field that a path such as interpreters.head leads to, or None."""
        if (name, path) not in self.fields:
            known, found = self.members.find(name, path) if name in WITH_MUTEXES else (False, None)
            self.fields[name, path] = found if known else follow(self.find_type(name), path.split("."))
        return self.fields[name, path]

    def field(self, name, path):
        found = self.find(name, path)
        if found is None:
            raise root.RootError(f"{name} of {self.name} has no member {path}")
        return found


def follow(structure, names):
    offset = 0
    for name in names:
        member = next((f for f in structure.fields if f.GetName() == name), None)
        if member is None:
            return None
        bits, offset = member.GetOffsetInBits(), offset + member.GetOffsetInBytes()
        structure = member.GetType().GetCanonicalType()
    size = member.GetBitfieldSizeInBits()
    return Field(offset, structure.GetByteSize(), bits % 8 if size else 0, size)


_layouts = {}  # Reference -> Layout


class Python:
    """The libpython of one interpreter, in memory. Raises root.RootError and root.MemoryProblem."""

    def __init__(self, target, libpython):
        self.object = libpython
        self.read = reference.reader(target)
        ref = reference.of(libpython)
        self.layout = _layouts.setdefault(ref, Layout(ref, libpython))

    def integer(self, address, size, signed=False):
        return int.from_bytes(self.read(address, size), "little", signed=signed)

    def get(self, address, structure, path, signed=False):
        """A member of a structure at an address, as an integer."""
        if not address:
            raise root.MemoryProblem(f"no {structure} at 0")
        field = self.layout.field(structure, path)
        if not field.bit_size:
            return self.integer(address + field.offset, field.size, signed)
        value = self.integer(address + field.offset, (field.bit_offset + field.bit_size + 7) // 8)
        return value >> field.bit_offset & (1 << field.bit_size) - 1

    def address_of(self, symbol):
        found = [s for s in self.layout.ref.find_symbols(symbol) if s.GetStartAddress().IsValid()]
        if not found:
            raise root.RootError(f"{self.object.name} has no symbol {symbol}")
        return self.object.bias + found[0].GetStartAddress().GetFileAddress()

    def chain(self, address, structure, path="next"):
        """A linked list, as long as it can be read."""
        seen = set()
        while address and address not in seen and len(seen) < LIST_MAX:
            seen.add(address)
            yield address
            address = self.get(address, structure, path)

    # ---- threads ---------------------------------------------------------------

    def threads(self):
        """The PyThreadStates."""
        first = self.get(self.address_of("_PyRuntime"), "_PyRuntimeState", "interpreters.head")
        for interp in self.chain(first, "PyInterpreterState"):
            yield from self.chain(self.get(interp, "PyInterpreterState", "threads.head"), "PyThreadState")

    def kernel_id(self, tstate):
        return self.get(tstate, "PyThreadState", "native_thread_id")

    def thread_state(self, tid):
        return next((tstate for tstate in self.threads() if self.kernel_id(tstate) == tid), None)

    def gil_holder(self):
        """Kernel id of the thread that holds the GIL of the main interpreter, or None."""
        runtime = self.address_of("_PyRuntime")
        if self.layout.find("_PyRuntimeState", "ceval.gil.locked"):
            # To 3.11: one in the runtime.
            gil = runtime + self.layout.field("_PyRuntimeState", "ceval.gil").offset
        else:
            main = self.get(runtime, "_PyRuntimeState", "interpreters.main")
            gil = self.get(main, "PyInterpreterState", "ceval.gil") if main else 0
        # -1 before the GIL is made.
        if not gil or self.get(gil, "_gil_runtime_state", "locked", signed=True) != 1:
            return None
        holder = self.get(gil, "_gil_runtime_state", "last_holder")
        return self.kernel_id(holder) if holder else None

    # ---- frames ------------------------------------------------------------------

    def frames(self, tstate):
        """The Frames of a thread, innermost first. `outermost` marks the last one that a call of
        the evaluation function runs: calls from Python to Python do not go through C."""
        if self.layout.find("PyThreadState", "cframe"):
            # 3.11 and 3.12.
            address = self.get(self.get(tstate, "PyThreadState", "cframe"), "_PyCFrame", "current_frame")
        else:
            address = self.get(tstate, "PyThreadState", "current_frame")
        found = []
        while address and len(found) < FRAMES_MAX:
            if self.is_boundary(address):
                if found:
                    found[-1] = found[-1]._replace(outermost=True)
            else:
                found.append(self.frame(address))
            address = self.get(address, "_PyInterpreterFrame", "previous")
        return found

    def is_boundary(self, frame):
        """From 3.12 a frame without code stands between calls of the evaluation function. Its owner is
        FRAME_OWNED_BY_CSTACK, from 3.14 also FRAME_OWNED_BY_INTERPRETER: both are behind those of
        frames with code."""
        return not self.layout.find("_PyInterpreterFrame", "is_entry") and \
            self.get(frame, "_PyInterpreterFrame", "owner") >= 3

    def frame(self, address):
        def member(*paths):
            path = next(p for p in paths if self.layout.find("_PyInterpreterFrame", p))
            return self.get(address, "_PyInterpreterFrame", path)

        # The lowest bits of a _PyStackRef (3.14) are flags.
        code = member("f_code", "f_executable.bits", "f_executable") & ~3
        entry = self.layout.find("_PyInterpreterFrame", "is_entry")
        return Frame(self.text(self.get(code, "PyCodeObject", "co_qualname")),
                     self.text(self.get(code, "PyCodeObject", "co_filename")),
                     self.line(code, member("prev_instr", "instr_ptr")), bool(entry and member("is_entry")))

    def line(self, code, instruction):
        """The line of an instruction, or None where the compiler has given it none."""
        first = code + self.layout.field("PyCodeObject", "co_code_adaptive").offset
        table = self.bytes(self.get(code, "PyCodeObject", "co_linetable"), LINE_TABLE_MAX)
        return find_line(table, self.get(code, "PyCodeObject", "co_firstlineno"), (instruction - first) // 2)

    # ---- objects -------------------------------------------------------------------

    def bytes(self, address, limit):
        size = min(self.get(address, "PyBytesObject", "ob_base.ob_size"), limit)
        return self.read(address + self.layout.field("PyBytesObject", "ob_sval").offset, size)

    def text(self, address, limit=TEXT_MAX):
        """A str, no longer than limit."""
        ascii_size, compact_size = self.layout.size("PyASCIIObject"), self.layout.size("PyCompactUnicodeObject")
        length = min(self.get(address, "PyASCIIObject", "length"), limit)
        kind = self.get(address, "PyASCIIObject", "state.kind")
        if not self.get(address, "PyASCIIObject", "state.compact"):
            data = self.get(address, "PyUnicodeObject", "data")
        elif self.get(address, "PyASCIIObject", "state.ascii"):
            data = address + ascii_size
        else:
            data = address + compact_size
        if kind not in (1, 2, 4):
            raise root.MemoryProblem(f"no str at {address:#x}")
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind]
        return self.read(data, length * kind).decode(encoding, "replace")


def gil(target, ns, thread_name):
    """What "gorgon list" says of an interpreter's GIL."""
    if not ns.libpython:
        return "-"
    try:
        holder = Python(target, ns.libpython).gil_holder()
    except (root.RootError, root.MemoryProblem):
        return "?"
    return thread_name(holder) if holder else "-"


def find_line(table, line, wanted):
    """The line of code unit number `wanted` by co_linetable; the format is in CPython's
    Objects/locations.md (before 3.13 locations.md is beside codeobject.c)."""
    position, unit, i = line, 0, 0
    while i < len(table):
        kind, length = table[i] >> 3 & 15, (table[i] & 7) + 1
        if kind in (13, 14):
            position += read_signed(table, i + 1)
        elif kind in (10, 11, 12):
            position += kind - 10
        if unit <= wanted < unit + length:
            return None if kind == 15 else position
        unit += length
        # Only the first byte of an entry has its highest bit set.
        i += 1
        while i < len(table) and not table[i] & 128:
            i += 1
    # Before its first instruction.
    return line


def read_signed(table, i):
    value, shift = 0, 0
    while i < len(table):
        value |= (table[i] & 63) << shift
        if not table[i] & 64:
            break
        i, shift = i + 1, shift + 6
    return -(value >> 1) if value & 1 else value >> 1
