# SPDX-License-Identifier: MIT
"""Makes of a library's debug file a file of which a further copy costs lldb little.

lldb has a module with tables of its own for each copy, so whatever it makes of the debug file when a copy is in a stack, or when
a breakpoint looks for a name, it makes once for each. The file that is made here differs from the library's own debug file in these ways:

- Sections are not compressed. lldb decompresses a section for each module into memory of its own; what is not compressed is mapped,
  by all modules together.
- .symtab has functions and variables only. Of libpython with link-time optimisation six symbols in ten have neither a name
  nor a type.
- .debug_aranges has each unit. If a unit without code is missing there, lldb looks for code in its line table. A unit that was missing has a
  range at which no code can be.
- .debug_names, the standard's index by name, which lldb reads in place: debug_names.py.
- For versions of lldb that need it, a function that the compiler has split has its first part only: split_functions.py."""

import struct
import zlib

from . import split_functions
from .symfiles import SECTION, SHT_NOBITS, SHT_SYMTAB, SYMBOL, TABLES, TABLES_AT

SHF_COMPRESSED, SHT_PROGBITS, SHN_LORESERVE = 0x800, 1, 0xff00
COMPRESSION = struct.Struct("<IIQQ")  # kind, nothing, size, alignment
ZLIB = 1
ALIGNMENT_MAX = 4096

STT_OBJECT, STT_FUNC = 1, 2

UNIT_LENGTH_MAX = 0xfffffff0  # greater values announce 64-bit DWARF
ARANGES = struct.Struct("<IHIBB4xQQQQ")  # length, version, unit, sizes of address and segment; a range; the end
ARANGES_AT = 16  # where the first range is
NOWHERE = 1 << 63  # no user's code is at such an address


class DebugFile:
    """An ELF file whose sections can be replaced. Raises ValueError or struct.error if it is damaged."""

    def __init__(self, data):
        self.data = bytearray(data)
        self.head = list(TABLES.unpack_from(self.data, TABLES_AT))
        self.sections = [list(SECTION.unpack_from(self.data, self.head[5] + i * SECTION.size)) for i in range(self.head[11])]
        self.new = {}  # number of a section -> its bytes, in place of what the file has
        names = self.content(self.head[12])
        self.numbers = {bytes(names[s[0]:names.index(0, s[0])]): i for i, s in enumerate(self.sections)}

    def content(self, number):
        section = self.sections[number]
        return self.new[number] if number in self.new else self.data[section[4]:section[4] + section[5]]

    def find(self, name):
        """A section's bytes; empty if there is no such section."""
        return self.content(self.numbers[name]) if name in self.numbers else b""

    def replace(self, name, content):
        self.new[self.numbers[name]] = content

    def add(self, name, content):
        names = self.head[12]
        start = len(self.content(names))
        self.new[names] = bytes(self.content(names)) + name + b"\0"
        self.numbers[name] = len(self.sections)
        self.new[len(self.sections)] = content
        self.sections.append([start, SHT_PROGBITS, 0, 0, 0, 0, 0, 0, 4, 0])
        if len(self.sections) >= SHN_LORESERVE:
            raise ValueError("too many sections")

    def inflate(self):
        """Decompress all sections."""
        for number, section in enumerate(self.sections):
            if section[1] == SHT_NOBITS or not section[2] & SHF_COMPRESSED:
                continue
            content = self.content(number)
            how, _, size, alignment = COMPRESSION.unpack_from(content)
            plain = zlib.decompress(content[COMPRESSION.size:]) if how == ZLIB else b""
            if len(plain) != size or not 0 < alignment <= ALIGNMENT_MAX:
                raise ValueError("a section is damaged, or compressed in an unknown way")
            section[2], section[8] = section[2] & ~SHF_COMPRESSED, alignment
            self.new[number] = plain

    def trim_symbols(self):
        """Drop what is neither a function nor a variable."""
        for number, section in enumerate(self.sections):
            if section[1] != SHT_SYMTAB:
                continue
            content = self.content(number)
            symbols = [(at, SYMBOL.unpack_from(content, at)[1]) for at in range(SYMBOL.size, section[5], SYMBOL.size)]
            kept = [(at, info) for at, info in symbols if info & 15 in (STT_OBJECT, STT_FUNC)]
            self.new[number] = bytes(SYMBOL.size) + b"".join(content[at:at + SYMBOL.size] for at, _ in kept)
            section[7] = 1 + sum(not info >> 4 for _, info in kept)  # the first symbol that is not local

    def functions(self):
        """[(name, address, size)] of the symbols that are functions."""
        found = []
        for number, section in enumerate(self.sections):
            if section[1] == SHT_SYMTAB:
                names = bytes(self.content(section[6]))
                found += [(names[name:names.index(0, name)], address, size) for name, info, _, _, address, size in
                          SYMBOL.iter_unpack(self.content(number)) if info & 15 == STT_FUNC]
        return found

    def trim_split_functions(self):
        """Nothing has changed when this raises an exception, which may also be one of dwarf_index.FAILURES."""
        parts = split_functions.SecondParts(self.functions())
        if not parts or len(self.find(b".debug_info")) > split_functions.INFO_MAX:
            return
        changed = {b".debug_info": split_functions.move_blocks({name.decode(): self.find(name) for name in self.numbers}, parts)}
        for name, trim in ((b".debug_rnglists", split_functions.trim_lists), (b".debug_ranges", split_functions.trim_pairs)):
            if self.find(name):
                changed[name] = trim(self.find(name), parts)
        for name, content in changed.items():
            self.replace(name, bytes(content))

    def units(self):
        """Where each unit of .debug_info begins."""
        info, at, found = self.find(b".debug_info"), 0, []
        while at < len(info):
            found.append(at)
            at = unit_end(info, at)
        return found

    def complete_aranges(self):
        ranges, at, known = self.find(b".debug_aranges"), 0, set()
        while at < len(ranges):
            if any(ranges[at + ARANGES_AT:at + ARANGES_AT + 16]):  # otherwise it ends at once
                known.add(struct.unpack_from("<I", ranges, at + 6)[0])
            at = unit_end(ranges, at)
        if ranges:
            missing = [unit for unit in self.units() if unit not in known]
            self.replace(b".debug_aranges", bytes(ranges) + b"".join(
                ARANGES.pack(ARANGES.size - 4, 2, unit, 8, 0, NOWHERE + unit, 1, 0, 0) for unit in missing))

    def write(self, path):
        """Write the file. What is new is behind all that the file had; where that was the file has holes."""
        end, parts, holes = len(self.data), [], []
        for number, content in self.new.items():
            section = self.sections[number]
            end = -(-end // max(section[8], 1)) * max(section[8], 1)
            holes.append((section[4], section[4] + section[5]))
            section[4], section[5] = end, len(content)
            parts.append((end, content))
            end += len(content)
        self.head[5], self.head[11] = -(-end // 8) * 8, len(self.sections)
        parts.append((self.head[5], b"".join(SECTION.pack(*section) for section in self.sections)))
        TABLES.pack_into(self.data, TABLES_AT, *self.head)
        starts = [0, *(stop for _, stop in sorted(holes))]
        stops = [*(start for start, _ in sorted(holes)), len(self.data)]
        with open(path, "wb") as file:
            for offset, content in [(start, self.data[start:stop]) for start, stop in zip(starts, stops)] + parts:
                file.seek(offset)
                file.write(content)


def unit_end(content, at):
    """Where a unit of a section of DWARF ends."""
    length, = struct.unpack_from("<I", content, at)
    if length >= UNIT_LENGTH_MAX:
        raise ValueError("64-bit DWARF")
    return at + 4 + length
