# SPDX-License-Identifier: MIT
"""Makes of a symfile in the process's memory a file that lldb reads as a library.

If a script makes a module from memory lldb reads only its first page; so the symfile is written to
a file. In a relocatable file from disk lldb gives the sections addresses of its own choice; so
the file becomes a shared library with absolute values.

The symfile of a pack describes many objects by segments that cover all of them. If some of the objects
have modules of their own, the pack's module must not cover these: lldb knows only one module for an address,
and breakpoints would have locations in both. So the file gets a segment for each of the other objects, and loses
all names outside of these segments, and all lines if none of the other objects has any."""

import bisect
import struct

PT_LOAD, READ_EXECUTE, ALLOCATED = 1, 5, 2
SHT_PROGBITS, SHT_SYMTAB, SHT_NOBITS = 1, 2, 8
ET_REL, ET_DYN = 1, 3

HEADER_SIZE, SEGMENT_SIZE = 64, 56
# The fields of an ELF header from e_type on: type, machine, version, entry, tables of segments and sections.
TABLES = struct.Struct("<HHIQQQIHHHHHH")
TABLES_AT = 0x10
SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, align, entry size
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")


class Symfile:
    def __init__(self, data):
        self.data = bytearray(data)
        self.head = list(TABLES.unpack_from(self.data, TABLES_AT))
        self.sections_at, count = self.head[5], self.head[11]
        self.sections = [list(SECTION.unpack_from(self.data, self.sections_at + i * SECTION.size))
                         for i in range(count)]

    def finish(self):
        """The bytes of the shared library."""
        self.head[0] = ET_DYN
        TABLES.pack_into(self.data, TABLES_AT, *self.head)
        for i, section in enumerate(self.sections):
            SECTION.pack_into(self.data, self.sections_at + i * SECTION.size, *section)
        return bytes(self.data)

    def symbols(self, table):
        """(offset, fields with an absolute value) of each symbol."""
        start, size = table[4], table[5]
        for at in range(start, start + size, SYMBOL.size):
            name, info, other, index, value, symbol_size = SYMBOL.unpack_from(self.data, at)
            if self.head[0] == ET_REL:
                value = (value + self.sections[index][3]) % 2**64
            yield at, (name, info, other, index, value, symbol_size)

    def make_absolute(self):
        for table in (s for s in self.sections if s[1] == SHT_SYMTAB):
            for at, symbol in self.symbols(table):
                SYMBOL.pack_into(self.data, at, *symbol)

    def fill(self, read):
        """Give sections that are only in memory their contents, in which lldb looks for branches when it steps."""
        for section in (s for s in self.sections if s[1] == SHT_NOBITS):
            content = read(section[3], section[5])
            section[1], section[4] = SHT_PROGBITS, len(self.data)
            self.data += content

    def add_segments(self):
        """Let a segment have each section that is in memory: without one lldb does not save cores."""
        loaded = [s for s in self.sections if s[2] & ALLOCATED]
        self.head[4], self.head[8], self.head[9] = len(self.data), SEGMENT_SIZE, len(loaded)
        for section in loaded:
            kept = section[5] if section[1] != SHT_NOBITS else 0
            self.data += SEGMENT.pack(PT_LOAD, READ_EXECUTE, section[4], section[3], section[3], kept, section[5], 1)

    def keep_names(self, ranges):
        """Keep only symbols within the ranges, as symbols of the first section, which is the pack's .text."""
        starts = [start for start, _ in ranges]
        for table in (s for s in self.sections if s[1] == SHT_SYMTAB):
            kept = [bytes(SYMBOL.size)]
            for _, (name, info, other, _, value, size) in self.symbols(table):
                i = bisect.bisect_right(starts, value) - 1
                if i >= 0 and value < ranges[i][1]:
                    kept.append(SYMBOL.pack(name, info, other, 1, value, size))
            table[5] = len(kept) * SYMBOL.size
            self.data[table[4]:table[4] + table[5]] = b"".join(kept)

    def keep_addresses(self, ranges):
        """Let no section cover addresses, but a segment for each range."""
        for section in self.sections:
            if section[1] == SHT_NOBITS or section is self.sections[1]:
                section[1:6] = 0, 0, 0, 0, 0
        # lldb needs a section to which names belong, which has to be in a segment and in the file.
        self.sections[1][2:6] = 6, ranges[0][0], 0, HEADER_SIZE  # allocated, executable
        self.head[4], self.head[8], self.head[9] = len(self.data), SEGMENT_SIZE, len(ranges)
        for start, end in ranges:
            self.data += SEGMENT.pack(PT_LOAD, READ_EXECUTE, 0, start, start, 0, end - start, 1)

    def drop_lines(self):
        """Drop all debug information."""
        names = self.sections[self.head[-1]]
        for section in self.sections:
            if self.data.startswith(b".debug", names[4] + section[0]):
                section[1:6] = 0, 0, 0, 0, 0


def join(packs):
    """The file for the objects of several packs, without lines. @packs: [(data, ranges)]."""
    names, symbols = b"", [bytes(SYMBOL.size)]
    for data, ranges in packs:
        symfile = Symfile(data)
        symfile.keep_names(sorted(ranges))
        for table in (s for s in symfile.sections if s[1] == SHT_SYMTAB):
            strings = symfile.sections[table[6]]
            kept = SYMBOL.iter_unpack(symfile.data[table[4]:table[4] + table[5]])
            symbols += [SYMBOL.pack(len(names) + name, *rest) for name, *rest in kept][1:]
            names += data[strings[4]:strings[4] + strings[5]]
    whole = Symfile(packs[0][0])
    whole.drop_lines()
    table = next(s for s in whole.sections if s[1] == SHT_SYMTAB)
    for section, content in ((whole.sections[table[6]], names), (table, b"".join(symbols))):
        whole.data += bytes(-len(whole.data) % 8)
        section[4], section[5] = len(whole.data), len(content)
        whole.data += content
    whole.keep_addresses(sorted(r for _, ranges in packs for r in ranges))
    return whole.finish()


def as_library(data, read=None):
    """The file for a whole symfile; with the code, if there is a function that reads memory."""
    symfile = Symfile(data)
    symfile.make_absolute()
    if read:
        symfile.fill(read)
    if not symfile.head[9]:
        symfile.add_segments()
    return symfile.finish()


def part_of_pack(data, ranges, lines):
    """The file for the objects of a pack in these ranges (start, end). @lines: whether any of them has lines."""
    symfile, ranges = Symfile(data), sorted(ranges)
    if not lines:  # otherwise lldb would read the lines of objects that have modules of their own
        symfile.drop_lines()
    symfile.keep_names(ranges)
    symfile.keep_addresses(ranges)
    return symfile.finish()
