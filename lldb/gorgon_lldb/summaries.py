# SPDX-License-Identifier: MIT
"""What lldb shows beside a PyObject *: the value of an int, str, bytes, float, bool or None, the size
of a list, tuple or dict, otherwise the name of the type.

Some editors, such as CodeLLDB, show the object in place of a pointer to it. There the object has the summary, beside its members.

An object belongs to a private copy if its type, or its type's type and so on, lies in a private
libpython; then it is read by the layout of that libpython. Everything else, garbage too, gets no summary."""

import struct

from gorgon_shared import root
from . import here, process, reference

CATEGORY = "gorgon"
TYPES = r"^(struct )?(_object|_typeobject|Py[A-Z][A-Za-z]*Object)"

TEXT_MAX = 200
NAME_PART = 64  # of a type's name, read at once
DIGITS_MAX = 40
DIGIT_SIZE, DIGIT_BITS = 4, 30  # of an int, on 64-bit machines
WINDOW = 96     # bytes of an object that are read at once
TYPES_MAX = 4  # from an object to type, which is its own type

# tp_flags: which of these types it is derived from.
LONG, LIST, TUPLE, BYTES, UNICODE, DICT, TYPE = (1 << bit for bit in (24, 25, 26, 27, 28, 29, 31))


class Reader:
    """Objects of one private copy."""

    def __init__(self, target, libpython, moment):
        self.path, self.moment = libpython.path, moment
        self.python = reference.python_of(target, libpython)
        self.get, self.read_process, self.python.read = self.python.get, self.python.read, self.read
        self.types = {}  # address -> (name, flags)
        self.window = 0, b""

    def look_at(self, address):
        """Read the beginning of an object at once, because each read costs lldb as much as everything else here."""
        try:
            self.window = address, self.read_process(address, WINDOW)
        except root.MemoryProblem:  # it is the last in its mapping
            self.window = 0, b""

    def read(self, address, size):
        start, data = self.window
        if start <= address and address + size <= start + len(data):
            return data[address - start:address - start + size]
        return self.read_process(address, size)

    def type_of(self, address):
        return self.get(address, "pyobject.ob_type")

    def type(self, type_address):
        # A type that is a variable of a library does not change while the library is loaded.
        owner = self.moment.snapshot.find_object(type_address)
        known = self.moment.of_library(owner) if owner else self.types
        if type_address not in known:
            known[type_address] = self.type_name(type_address), self.get(type_address, "type_object.tp_flags")
        return known[type_address]

    def type_name(self, type_address):
        address = self.get(type_address, "type_object.tp_name")
        text = b""
        while b"\0" not in text and len(text) < TEXT_MAX:
            text += self.read(address + len(text), NAME_PART - (address + len(text)) % NAME_PART)  # stays within a page
        name = text.partition(b"\0")[0].decode("utf-8", "replace")
        if not name or not name.isprintable():
            raise root.MemoryProblem(f"no type at {type_address:#x}")
        return name

    def size(self, address, name):
        size = self.get(address, name, signed=True)
        if size < 0:
            raise root.MemoryProblem(f"{name} at {address:#x} is {size}")
        return size

    def describe(self, address, type_address):
        name, flags = self.type(type_address)
        if flags & LONG:
            return self.describe_int(address, name)
        if flags & UNICODE:
            return quote(self.python.characters(address, TEXT_MAX), self.size(address, "unicode_object.length"))
        if flags & BYTES:
            size = self.size(address, "bytes_object.ob_size")
            return quote(self.read(address + self.python.offsets["bytes_object.ob_sval"], min(size, TEXT_MAX)), size)
        if flags & LIST:
            return f"{name} of {self.size(address, 'list_object.ob_size')}"
        if flags & TUPLE:
            return f"{name} of {self.size(address, 'tuple_object.ob_size')}"
        if flags & DICT:
            return f"{name} of {self.size(address, 'pyobject.size')}"  # the first of a dict's own members
        if flags & TYPE:
            return f"<class '{self.type_name(address)}'>"
        if name == "float":
            return repr(struct.unpack("<d", self.read(address + self.python.offsets["float_object.ob_fval"], 8))[0])
        return "None" if name == "NoneType" else f"<{name}>"

    def describe_int(self, address, name):
        if "long_object.ob_size" in self.python.offsets:
            # Up to 3.11 ob_size has the sign of the number.
            size = self.get(address, "long_object.ob_size", signed=True)
            negative, count = size < 0, abs(size)
        else:
            # 0, 1 and 2 in the lowest bits: positive, zero, negative.
            tag = self.get(address, "long_object.lv_tag")
            negative, count = tag & 3 == 2, 0 if tag & 3 == 1 else tag >> 3
        if count > DIGITS_MAX:
            return f"{name} of {count} digits of {DIGIT_BITS} bits"
        digits = self.read(address + self.python.offsets["long_object.ob_digit"], count * DIGIT_SIZE)
        value = sum(digit << DIGIT_BITS * i for i, (digit,) in enumerate(struct.iter_unpack("<I", digits)))
        return str(bool(value)) if name == "bool" else str(-value if negative else value)


def quote(text, length):
    return repr(text) + ("..." if len(text) < length else "")


def find_reader(running, address):
    """(a Reader for the copy that an object belongs to, the address of the object's type), or None."""
    moment, target = process.moment_shown(running), running.GetTarget()
    for libpython in moment.keep("libpythons", lambda: libpythons(moment.snapshot)):
        reader = reader_of(target, moment, libpython)
        reader.look_at(address)
        kind = reader.type_of(address)
        owner = moment.keep(("owner", libpython, kind), lambda: find_owner(moment.snapshot, reader, kind))
        if owner:
            found = reader_of(target, moment, owner)
            found.window = reader.window
            return found, kind
    return None


def libpythons(snapshot):
    """The libpythons of the process, only one for each file, because all copies of a file have the same layout."""
    return list({ns.libpython.path: ns.libpython for ns in snapshot.namespaces if ns.libpython}.values())


def find_owner(snapshot, reader, at):
    """The copy of the reader's libpython that a type belongs to, or None."""
    for _ in range(TYPES_MAX):
        owner = snapshot.find_object(at)
        if owner and owner is owner.namespace.libpython and owner.path == reader.path:
            return owner
        at = reader.type_of(at)
    return None


def reader_of(target, moment, libpython):
    return moment.keep(libpython, lambda: Reader(target, libpython, moment))


def object_summary(value):
    """For lldb: the text, "" for none."""
    address = value.GetValueAsUnsigned(0) if value.GetType().IsPointerType() else value.GetLoadAddress()
    try:
        found = find_reader(value.GetProcess(), address) if address else None
        return found[0].describe(address, found[1]) if found else ""
    except (root.RootError, root.MemoryProblem):
        return ""


def register(debugger):
    for ending, options in ((r" \*$", ""), ("$", "--expand --skip-pointers --skip-references"))[:1 if here.is_typed() else 2]:
        debugger.HandleCommand(f"type summary add --category {CATEGORY} {options} --python-function gorgon.object_summary "
                               f"--regex '{TYPES}{ending}'")
    debugger.HandleCommand(f"type category enable {CATEGORY}")
