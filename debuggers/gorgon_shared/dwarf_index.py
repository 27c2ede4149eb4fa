# SPDX-License-Identifier: MIT
"""The debug information of a library of C: its compilation units and their abbreviations.

What is not certain to be read right is refused (Unsure): gdb then keeps to its own index. DWARF 3 to 5 (section 7.5)."""

import struct
import zlib

from . import elf

SHF_COMPRESSED, ELFCOMPRESS_ZLIB = 0x800, 1
CHDR_SIZE = 24
DW_UT_COMPILE = 1
COMPILE_UNIT, SUBPROGRAM, INLINED_SUBROUTINE = 0x11, 0x2E, 0x1D
NAME, LANGUAGE, LOW_PC, ENTRY_PC, RANGES, ORIGIN, SPECIFICATION = 0x03, 0x13, 0x11, 0x52, 0x55, 0x31, 0x47
HAS_CODE = {LOW_PC, ENTRY_PC, RANGES}
ADDR, STRING, STRP, REF_ADDR, REF4, IMPLICIT_CONST = 0x01, 0x08, 0x0E, 0x10, 0x13, 0x21
DATA1, DATA2, DATA4, UDATA, SDATA, SEC_OFFSET = 0x0B, 0x05, 0x06, 0x0F, 0x0D, 0x17
LANGUAGES = {0x01, 0x02, 0x0C, 0x1D, 0x2C, 0x8001}  # C, and assembler
# Sizes of forms in 32-bit DWARF with addresses of 8 bytes.
SIZES = {ADDR: 8, DATA1: 1, DATA2: 2, DATA4: 4, 0x07: 8, 0x0C: 1, 0x11: 1, 0x12: 2, REF4: 4, 0x14: 8, STRP: 4,
         REF_ADDR: 4, SEC_OFFSET: 4, 0x19: 0, 0x1E: 16, 0x1F: 4, 0x20: 8, IMPLICIT_CONST: 0}
# Sections of files that this module does not handle: made by dwz, split, with types apart, or with an index, which gdb takes first.
OTHERS = {".gnu_debugaltlink", ".debug_types", ".gdb_index", ".debug_names", ".debug_str_offsets"}
SECTIONS = {".debug_info", ".debug_abbrev", ".debug_str", ".debug_ranges", ".debug_rnglists"}


class Unsure(Exception):
    """This debug information is not of the kind that can be searched."""


# Unsure, and what else is raised when a file is damaged.
FAILURES = (Unsure, OSError, struct.error, IndexError, ValueError, zlib.error)


def headers(data):
    """The headers of a file's sections, and where their names are."""
    if data[:6] != elf.IDENT:
        raise Unsure
    header = elf.EHDR.unpack_from(data)
    table = [elf.SHDR.unpack_from(data, header[6] + i * elf.SHDR.size) for i in range(header[12])]
    return table, table[header[13]][4]


def content_of(data, section):
    content = data[section[4]:section[4] + section[5]]
    if not section[2] & SHF_COMPRESSED:
        return content
    if struct.unpack_from("<I", content)[0] != ELFCOMPRESS_ZLIB:
        raise Unsure
    return zlib.decompress(content[CHDR_SIZE:])


def expanded(data):
    """A file, followed by its compressed sections as they are when they are not compressed, as far as they can be read."""
    try:
        return b"".join([data, *(content_of(data, section) for section in headers(data)[0] if section[2] & SHF_COMPRESSED)])
    except FAILURES:
        return data


def read_sections(data):
    """{name: content} of debug information."""
    table, names = headers(data)
    found = {}
    for section in table:
        start = names + section[0]
        name = data[start:data.index(b"\0", start)].decode("ascii", "replace")
        if name in OTHERS or name.startswith(".zdebug"):
            raise Unsure
        if name in SECTIONS:
            found[name] = content_of(data, section)
    return found


def uleb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def sleb(data, at):
    value, end = uleb(data, at)
    return value - (1 << 7 * (end - at) if data[end - 1] & 0x40 else 0), end


def skip_leb(data, at):
    while data[at] & 0x80:
        at += 1
    return at + 1


class Abbreviation:
    """The kind of an entry: its code as in the entry, its tag, and (attribute, form, value of an implicit constant) of each
    attribute."""

    def __init__(self, code, tag, attributes):
        self.code, self.tag, self.attributes = code, tag, attributes
        self.has_code = any(attribute in HAS_CODE for attribute, *_ in attributes)


def read_abbreviations(data, at):
    found = []
    while True:
        start = at
        code, at = uleb(data, at)
        if not code:
            return found
        encoded = data[start:at]
        tag, at = uleb(data, at)
        at += 1  # whether it has children
        attributes = []
        while True:
            attribute, at = uleb(data, at)
            form, at = uleb(data, at)
            value = None
            if form == IMPLICIT_CONST:
                value, at = sleb(data, at)
            if not attribute and not form:
                break
            attributes.append((attribute, form, value))
        found.append(Abbreviation(encoded, tag, attributes))


class Unit:
    def __init__(self, info, off):
        self.off = off
        size, self.version = struct.unpack_from("<IH", info, off)
        if self.version == 5:
            kind, address_size, self.abbrev_off = struct.unpack_from("<BBI", info, off + 6)
            self.root = off + 12
        elif self.version in (3, 4):
            kind, (self.abbrev_off, address_size) = DW_UT_COMPILE, struct.unpack_from("<IB", info, off + 6)
            self.root = off + 11
        else:
            raise Unsure
        self.end = off + 4 + size
        if size >= 0xFFFFFFF0 or kind != DW_UT_COMPILE or address_size != 8 or self.end > len(info):
            raise Unsure

    def check_root(self, info, abbreviations, languages):
        root = next((a for a in abbreviations if info.startswith(a.code, self.root)), None)
        if not root or root.tag != COMPILE_UNIT:
            raise Unsure
        if languages is None:
            return
        at = self.root + len(root.code)
        for attribute, form, value in root.attributes:
            if attribute == LANGUAGE and form in (DATA1, DATA2, IMPLICIT_CONST):
                language = value if form == IMPLICIT_CONST else int.from_bytes(info[at:at + SIZES[form]], "little")
                if language in languages:
                    return
            if form in SIZES:
                at += SIZES[form]
            elif form in (UDATA, SDATA):  # what assemblers write for a size
                at = skip_leb(info, at)
            else:
                break
        raise Unsure


class Library:
    """The debug information of one library. @sections: {name: content}. Units of other languages than @languages are refused; with None,
    none are."""

    def __init__(self, sections, languages=LANGUAGES):
        self.sections = sections
        try:
            self.info, self.strings = self.sections[".debug_info"], self.sections[".debug_str"]
            self.abbrev = self.sections[".debug_abbrev"]
        except KeyError:
            raise Unsure from None
        self.units, at = [], 0
        while at < len(self.info):
            self.units.append(Unit(self.info, at))
            at = self.units[-1].end
        known = {}
        for unit in self.units:
            if unit.abbrev_off not in known:
                known[unit.abbrev_off] = read_abbreviations(self.abbrev, unit.abbrev_off)
            unit.check_root(self.info, known[unit.abbrev_off], languages)


def read(path):
    """The debug information in a file, or None: it cannot be searched."""
    try:
        with open(path, "rb") as file:
            return Library(read_sections(file.read()))
    except FAILURES:
        return None
