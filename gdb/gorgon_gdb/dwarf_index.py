# SPDX-License-Identifier: MIT
"""Finds the compilation units that have a function's code, so that gdb reads only these.

gdb's own index of an optimised library (link-time optimisation above all) also names each unit that calls the
function, and gdb reads all of these units whole when it looks up the function: nearly all of libpython. This module
finds the units that have code of a function, out of line or inlined, and writes a .gdb_index with
these, which gdb takes from its index cache. gdb itself then reads the units and answers.

It does not walk the debug information but searches it: for references to the function's name, then for
references to the entries (DIEs) that have that name. An abbreviation tells what comes before a reference in an
entry, so each hit is compared with what each abbreviation of its unit would have there. If bytes look like an entry
and are none, gdb reads a unit in vain. Code is never missed: if that is not certain,
index() is None and gdb makes its own index.

DWARF 3 to 5 (section 7.5), of C only; the format of .gdb_index is version 8 of gdb's manual, appendix J."""

import bisect
import re
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
FUNCTION = 3 << 28  # in .gdb_index


class Unsure(Exception):
    """This debug information is not of the kind that can be searched."""


# Unsure, and what else is raised when a file is damaged.
FAILURES = (Unsure, OSError, struct.error, IndexError, ValueError, zlib.error)


def read_sections(data):
    """{name: content} of debug information."""
    if data[:6] != elf.IDENT:
        raise Unsure
    header = elf.EHDR.unpack_from(data)
    table = [elf.SHDR.unpack_from(data, header[6] + i * elf.SHDR.size) for i in range(header[12])]
    names = table[header[13]][4]
    found = {}
    for section in table:
        start = names + section[0]
        name = data[start:data.index(b"\0", start)].decode("ascii", "replace")
        if name in OTHERS or name.startswith(".zdebug"):
            raise Unsure
        if name in SECTIONS:
            content = data[section[4]:section[4] + section[5]]
            if section[2] & SHF_COMPRESSED:
                if struct.unpack_from("<I", content)[0] != ELFCOMPRESS_ZLIB:
                    raise Unsure
                content = zlib.decompress(content[CHDR_SIZE:])
            found[name] = content
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
    """The kind of an entry: its code as in the entry, its tag, and (attribute, form, distance from the end of the
    code, or None where it varies, value of an implicit constant) of each attribute."""

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
        attributes, off = [], 0
        while True:
            attribute, at = uleb(data, at)
            form, at = uleb(data, at)
            value = None
            if form == IMPLICIT_CONST:
                value, at = sleb(data, at)
            if not attribute and not form:
                break
            attributes.append((attribute, form, off, value))
            off = None if off is None or form not in SIZES else off + SIZES[form]
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

    def learn(self, info, abbreviations):
        """Note which abbreviations have names of functions, and references to functions."""
        self.names, self.references, self.global_references = [], [], False
        for abbreviation in abbreviations:
            for attribute, form, off, _ in abbreviation.attributes:
                if attribute == NAME and abbreviation.tag == SUBPROGRAM and form != STRING:
                    if form != STRP or off is None:
                        raise Unsure
                    self.names.append((abbreviation, off))
                if attribute in (ORIGIN, SPECIFICATION) and abbreviation.tag in (SUBPROGRAM, INLINED_SUBROUTINE):
                    if form not in (REF_ADDR, REF4):
                        raise Unsure
                    self.references.append((abbreviation, form, off))
                    self.global_references |= form == REF_ADDR
        self.check_root(info, abbreviations)

    def check_root(self, info, abbreviations):
        self.root_abbreviation = root = next((a for a in abbreviations if info.startswith(a.code, self.root)), None)
        if not root or root.tag != COMPILE_UNIT:
            raise Unsure
        at = self.root + len(root.code)
        for attribute, form, _, value in root.attributes:
            if attribute == LANGUAGE and form in (DATA1, DATA2, IMPLICIT_CONST):
                language = value if form == IMPLICIT_CONST else int.from_bytes(info[at:at + SIZES[form]], "little")
                if language in LANGUAGES:
                    return
            if form in SIZES:
                at += SIZES[form]
            elif form in (UDATA, SDATA):  # what assemblers write for a size
                at = skip_leb(info, at)
            else:
                break
        raise Unsure


def occurrences(data, word, start, end):
    at = data.find(word, start, end)
    while at >= 0:
        yield at
        at = data.find(word, at + 1, end)


class Library:
    """The debug information of one library."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.sections = read_sections(file.read())
        try:
            self.info, self.strings = self.sections[".debug_info"], self.sections[".debug_str"]
            self.abbrev = self.sections[".debug_abbrev"]
        except KeyError:
            raise Unsure from None
        self.units, at = [], 0
        while at < len(self.info):
            self.units.append(Unit(self.info, at))
            at = self.units[-1].end
        self.starts = [unit.off for unit in self.units]
        known = {}
        for unit in self.units:
            if unit.abbrev_off not in known:
                known[unit.abbrev_off] = read_abbreviations(self.abbrev, unit.abbrev_off)
            unit.learn(self.info, known[unit.abbrev_off])
        # Units that refer into others, as stretches.
        self.referring = []
        for unit in self.units:
            if unit.global_references and self.referring and self.referring[-1][1] == unit.off:
                self.referring[-1][1] = unit.end
            elif unit.global_references:
                self.referring.append([unit.off, unit.end])

    def unit_at(self, off):
        return self.units[bisect.bisect_right(self.starts, off) - 1]

    def named(self, name):
        """(Abbreviation, offset) of each place that may be the entry of a function with this name."""
        text = name.encode() + b"\0"
        if text in self.info:
            raise Unsure  # short names can be in the entries themselves
        for string in occurrences(self.strings, text, 0, len(self.strings)):
            for at in occurrences(self.info, struct.pack("<I", string), 0, len(self.info)):
                for abbreviation, off in self.unit_at(at).names:
                    entry = at - off - len(abbreviation.code)
                    if self.info.startswith(abbreviation.code, entry):
                        yield abbreviation, entry

    def references_to(self, entry):
        """(Unit, Abbreviation, offset of the entry, or None) of each place that may be an entry which refers to this entry."""
        own = self.unit_at(entry)
        stretches = [(REF_ADDR, entry, start, end) for start, end in self.referring]
        for form, value, start, end in [*stretches, (REF4, entry - own.off, own.off, own.end)]:
            for at in occurrences(self.info, struct.pack("<I", value), start, end):
                unit = self.unit_at(at)
                for abbreviation, wanted, off in unit.references:
                    if wanted != form:
                        continue
                    if off is None:  # it may be anywhere before
                        yield unit, abbreviation, None
                    elif self.info.startswith(abbreviation.code, at - off - len(abbreviation.code)):
                        yield unit, abbreviation, at - off - len(abbreviation.code)

    def units_of(self, name):
        """Units with code of a function."""
        found, pending, seen = set(), [], set()
        for abbreviation, entry in self.named(name):
            pending.append(entry)
            if abbreviation.has_code:
                found.add(self.unit_at(entry))
        while pending:
            entry = pending.pop()
            if entry in seen:
                continue
            seen.add(entry)
            for unit, abbreviation, other in self.references_to(entry):
                if abbreviation.has_code or other is None:
                    found.add(unit)
                if other is None and abbreviation.tag == SUBPROGRAM:
                    raise Unsure
                if abbreviation.tag == SUBPROGRAM:
                    pending.append(other)
        return found


def make_index(units, functions):
    """A .gdb_index with these functions: {name: units}."""
    numbers = {unit: number for number, unit in enumerate(units)}
    slots = 16
    while slots < 2 * len(functions):
        slots *= 2
    table, pool = [(0, 0)] * slots, bytearray()
    for name, having in functions.items():
        vector = len(pool)
        pool += struct.pack(f"<{len(having) + 1}I", len(having), *sorted(numbers[unit] | FUNCTION for unit in having))
        code = 0
        for byte in name.lower().encode():
            code = (code * 67 + byte - 113) & 0xFFFFFFFF
        slot, step = code & (slots - 1), (code * 17 & (slots - 1)) | 1
        while table[slot] != (0, 0):
            slot = (slot + step) & (slots - 1)
        table[slot] = len(pool), vector
        pool += name.encode() + b"\0"
    list_of_units = b"".join(struct.pack("<QQ", unit.off, unit.end - unit.off) for unit in units)
    hash_table = b"".join(struct.pack("<II", *slot) for slot in table)
    # Neither type units nor addresses: gdb looks addresses up in what it has read by then.
    addresses = 24 + len(list_of_units)
    return struct.pack("<6I", 8, 24, addresses, addresses, addresses, addresses + len(hash_table)) \
        + list_of_units + hash_table + bytes(pool)


def read(path):
    """The debug information in a file, or None: it cannot be searched."""
    try:
        return Library(path)
    except FAILURES:
        return None


def is_name(location):
    """Whether a location is a plain name, which can be searched for."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", location) is not None


def index(library, names):
    """A .gdb_index with these functions only, or None: gdb has to make its own."""
    if not all(map(is_name, names)):
        return None
    try:
        functions = {name: library.units_of(name) for name in names}
    except FAILURES:
        return None
    return make_index(library.units, {name: units for name, units in functions.items() if units})
