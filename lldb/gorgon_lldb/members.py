# SPDX-License-Identifier: MIT
"""Where members of C structures are, from a library's DWARF (versions 4 and 5).

For structures that have mutexes of the C library in them. lldb reads a type with all that it contains, and lldb 19 says
of each union with an array that its member "extends beyond the bounds", in any program. Here nothing is read but the
structure that is asked for.

A structure is found by its name: by the places in .debug_info that refer to the name in .debug_str, as GCC writes
it. Of other debug information (indexed names, split files, type units) find() knows nothing. What the sections hold may be
garbage."""

import bisect
import collections
import struct

SECTIONS = (".debug_info", ".debug_abbrev", ".debug_str")

TYPEDEF, STRUCTURE, UNION, ARRAY, MEMBER, SUBRANGE = 0x16, 0x13, 0x17, 0x01, 0x0d, 0x21
NAME, BYTE_SIZE, UPPER_BOUND, COUNT, DECLARATION, LOCATION, TYPE, BIT_OFFSET, BIT_SIZE, DATA_BIT_OFFSET = \
    0x03, 0x0b, 0x2f, 0x37, 0x3c, 0x38, 0x49, 0x0c, 0x0d, 0x6b

STRP, REF_ADDR, IMPLICIT_CONST = 0x0e, 0x10, 0x21
# Bytes of a form's value. None: it ends by itself.
SIZES = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0b: 1, 0x0c: 1, STRP: 4, REF_ADDR: 4, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x17: 4,
         0x19: 0, 0x1e: 16, 0x1f: 4, 0x20: 8, IMPLICIT_CONST: 0, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2a: 2, 0x2b: 3, 0x2c: 4}
UNIT_REFERENCES = (0x11, 0x12, 0x13, 0x14, 0x15)
STRING, SDATA, NUMBERS = 0x08, 0x0d, (0x0f, 0x15, 0x1a, 0x1b, 0x22, 0x23)
BLOCKS = {0x03: 2, 0x04: 4, 0x0a: 1, 0x09: 0, 0x18: 0}  # bytes of the length; 0: a LEB128 number

CODE_BYTES = 3  # of the number that an entry begins with
DEPTH_MAX = 32  # names of names of types

Field = collections.namedtuple("Field", "offset size bit_offset bit_size")
Unit = collections.namedtuple("Unit", "start end abbreviations")
Entry = collections.namedtuple("Entry", "unit at tag values next has_children")


class Unknown(Exception):
    """Debug information that this does not understand."""


GARBAGE = (Unknown, IndexError, KeyError, ValueError, TypeError, RecursionError, struct.error)


def number(data, at, signed=False):
    """(value, what follows) of a LEB128 number."""
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if not byte & 128:
            return (value - (1 << shift) if signed and byte & 64 else value), at


class Members:
    """@info, @abbrev, @strings: the bytes of SECTIONS."""

    def __init__(self, info, abbrev, strings):
        self.info, self.abbrev, self.strings = info, abbrev, strings
        self.tables = {}
        self.units = []
        at = 0
        while at + 12 <= len(self.info):
            length, version = struct.unpack_from("<IH", self.info, at)
            table, = struct.unpack_from("<I", self.info, at + (8 if version >= 5 else 6))
            if not length or length >= 0xfffffff0 or version not in (4, 5):
                break
            self.units.append(Unit(at, at + 4 + length, table))
            at += 4 + length
        self.starts = [unit.start for unit in self.units]

    def find(self, name, path):
        """(whether there is a structure of that name, the Field that the path leads to or None)"""
        try:
            entry = self.structure(name)
            return (True, self.follow(entry, path.split("."))) if entry else (False, None)
        except GARBAGE:
            return False, None

    def structure(self, name):
        """The first entry of a structure with that name, or with a type definition's. The name may be the end of another one in
        .debug_str."""
        text, where = name.encode() + b"\0", -1
        while (where := self.strings.find(text, where + 1)) >= 0:
            reference, at = struct.pack("<I", where), -1
            while (at := self.info.find(reference, at + 1)) >= 0:
                for entry in self.begun_before(at, where):
                    found = self.plain(entry) if entry.tag == TYPEDEF else entry
                    if found and found.tag == STRUCTURE and BYTE_SIZE in found.values and DECLARATION not in found.values:
                        return found
        return None

    def begun_before(self, at, name):
        """Entries whose name, right behind the number that they begin with, is here."""
        i = bisect.bisect_right(self.starts, at) - 1
        for start in range(at - 1, at - 1 - CODE_BYTES, -1):
            try:
                code, end = number(self.info, start)
                entry = self.entry(self.units[i], start) if code and end == at else None
            except GARBAGE:
                continue  # these bytes are something else
            if entry and entry.tag in (TYPEDEF, STRUCTURE) and entry.values.get(NAME) == name:
                yield entry

    def follow(self, entry, names):
        bits = width = 0
        for name in names:
            member = next((m for m in self.children(entry) if m.tag == MEMBER and self.name(m) == name), None)
            if member is None:
                return None
            entry, width = self.type_of(member), member.values.get(BIT_SIZE, 0)
            bits += self.place_in_bits(member, entry)
        return Field(bits // 8, self.size_of(entry), bits % 8, width)

    def place_in_bits(self, member, kind):
        values = member.values
        if DATA_BIT_OFFSET in values:
            return values[DATA_BIT_OFFSET]
        bits = values.get(LOCATION, 0) * 8
        if BIT_OFFSET in values:  # DWARF 4: from the highest bit of what it is stored in
            bits += values.get(BYTE_SIZE, kind.values.get(BYTE_SIZE, 0)) * 8 - values[BIT_OFFSET] - values[BIT_SIZE]
        return bits

    def name(self, entry):
        where = entry.values.get(NAME)
        if isinstance(where, bytes):
            return where.decode("utf-8", "replace")
        return self.strings[where:self.strings.index(b"\0", where)].decode("utf-8", "replace") if where is not None else None

    def type_of(self, entry):
        """What the type of a member or of a type is, without further names for it and without qualifiers."""
        found = self.plain(self.named(entry))
        if not found:
            raise Unknown("a type without a size")
        return found

    def plain(self, entry):
        for _ in range(DEPTH_MAX):
            if BYTE_SIZE in entry.values or entry.tag == ARRAY:
                return entry
            if TYPE not in entry.values:
                return None
            entry = self.named(entry)
        raise Unknown("a type that is itself")

    def named(self, entry):
        """What an entry names as its type."""
        at = entry.values[TYPE]
        return self.entry(self.units[bisect.bisect_right(self.starts, at) - 1], at)

    def size_of(self, entry):
        if BYTE_SIZE in entry.values:
            return entry.values[BYTE_SIZE]
        size = self.size_of(self.type_of(entry))
        for part in self.children(entry):
            if part.tag == SUBRANGE:
                size *= part.values.get(COUNT, part.values.get(UPPER_BOUND, -1) + 1)
        return size

    def children(self, entry):
        """Of structures and arrays: their own, not those of others within."""
        at, depth = entry.next, 1 if entry.has_children else 0
        while depth:
            if not self.info[at]:
                depth, at = depth - 1, at + 1
                continue
            child = self.entry(entry.unit, at)
            if depth == 1:
                yield child
            depth, at = depth + child.has_children, child.next

    def entry(self, unit, start):
        code, at = number(self.info, start)
        tag, has_children, attributes = self.table(unit.abbreviations, code)
        values = {}
        for name, form, constant in attributes:
            values[name], at = self.value(unit, form, constant, at)
        if at > unit.end:
            raise Unknown("an entry that goes on behind its unit")
        return Entry(unit, start, tag, values, at, has_children)

    def value(self, unit, form, constant, at):
        if form == IMPLICIT_CONST:
            return constant, at
        if form in SIZES:
            value = int.from_bytes(self.info[at:at + SIZES[form]], "little")
            return (value + unit.start if form in UNIT_REFERENCES else value), at + SIZES[form]
        if form in NUMBERS or form == SDATA:
            value, at = number(self.info, at, form == SDATA)
            return (value + unit.start if form in UNIT_REFERENCES else value), at
        if form == STRING:
            end = self.info.index(b"\0", at)
            return self.info[at:end], end + 1
        if form not in BLOCKS:
            raise Unknown(f"form {form:#x}")
        width = BLOCKS[form]
        size, at = (int.from_bytes(self.info[at:at + width], "little"), at + width) if width else number(self.info, at)
        return None, at + size

    def table(self, at, code):
        """(tag, whether there are children, [(attribute, form, constant)]) of a unit's abbreviation."""
        if at not in self.tables:
            self.tables[at], start = {}, at
            while True:
                known, at = number(self.abbrev, at)
                if not known:
                    break
                tag, at = number(self.abbrev, at)
                has_children, at, attributes = self.abbrev[at], at + 1, []
                while True:
                    name, at = number(self.abbrev, at)
                    form, at = number(self.abbrev, at)
                    constant, at = number(self.abbrev, at, True) if form == IMPLICIT_CONST else (None, at)
                    if not name and not form:
                        break
                    attributes.append((name, form, constant))
                self.tables[start][known] = tag, has_children, attributes
            at = start
        if code not in self.tables[at]:
            raise Unknown(f"abbreviation {code}")
        return self.tables[at][code]
