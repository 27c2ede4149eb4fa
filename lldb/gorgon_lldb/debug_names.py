# SPDX-License-Identifier: MIT
"""The section .debug_names of a debug file, made of the index that lldb has made and kept of the file.

lldb reads its own index whole, which takes 20 ms for libpython, and does so for each copy. A table .debug_names (DWARF 5, section
6.1.1) is a hash table that it uses where it is mapped. Both have the same content: names, each with the entries of .debug_info that have it.

The index in lldb's cache is, as of lldb 19 and 21: what file it belongs to, a table of strings ("STAB"), and "DIDX" with a
version and eight tables: "N2DI", their length, and for each name the offset of its string and the offset of its entry. Of another
version no section is made."""

import bisect
import collections
import struct

from gorgon_shared.dwarf_index import uleb

INDEX_VERSION = 2
TABLES_END = 255
ENTRY = struct.Struct("<IQ")

NAMES_VERSION = 5
DW_IDX_COMPILE_UNIT, DW_IDX_DIE_OFFSET = 1, 3
DW_FORM_DATA2, DW_FORM_REF4 = 0x05, 0x13
UNITS_MAX = 1 << 16
FORM_IMPLICIT_CONST = 0x21


def read_index(data):
    """{name: offsets of its entries} of an index that lldb has kept. Raises ValueError or struct.error when the index is not of the
    known form."""
    at = data.index(b"STAB")
    size, = struct.unpack_from("<I", data, at + 4)
    strings, at = data[at + 8:at + 8 + size], at + 8 + size
    if struct.unpack_from("<4sI", data, at) != (b"DIDX", INDEX_VERSION):
        raise ValueError("lldb's index has an unknown version")
    at += 8
    texts, found = {}, collections.defaultdict(set)
    while data[at] != TABLES_END:
        mark, count = struct.unpack_from("<4sI", data, at + 1)
        if mark != b"N2DI":
            raise ValueError("a table of lldb's index is of an unknown kind")
        start, at = at + 9, at + 9 + count * ENTRY.size
        for string, offset in ENTRY.iter_unpack(data[start:at]):
            if string not in texts:
                texts[string] = bytes(strings[string:strings.index(0, string)])
            found[texts[string]].add(offset)
    return found


def put_uleb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def tags_of(abbrevs, at):
    """{code: tag} of a unit's abbreviations."""
    found = {}
    while True:
        code, at = uleb(abbrevs, at)
        if not code:
            return found
        found[code], at = uleb(abbrevs, at)
        at += 1  # whether it has children
        while True:
            name, at = uleb(abbrevs, at)
            form, at = uleb(abbrevs, at)
            if form == FORM_IMPLICIT_CONST:
                _, at = uleb(abbrevs, at)
            if not name and not form:
                break


class Tags:
    """The tags of entries of .debug_info."""

    def __init__(self, info, abbrevs, units):
        self.info, self.abbrevs, self.units = info, abbrevs, units
        self.tables = {}

    def find(self, offset):
        """(number of the unit that has the entry, the entry's tag)"""
        number = bisect.bisect_right(self.units, offset) - 1
        unit = self.units[number]
        version, = struct.unpack_from("<H", self.info, unit + 4)
        where, = struct.unpack_from("<I", self.info, unit + (8 if version >= 5 else 6))
        if where not in self.tables:
            self.tables[where] = tags_of(self.abbrevs, where)
        return number, self.tables[where][uleb(self.info, offset)[0]]


def hash_of(name):
    """The standard's hash of a name, without regard to case. Raises ValueError if a name is not ASCII, because lldb has rules of its
    own for other letters."""
    value = 5381
    for byte in name.decode("ascii").lower().encode():
        value = (value * 33 + byte) & 0xffffffff
    return value


def make(index, info, abbrevs, units, strings_at):
    """(.debug_names, strings), of which the strings are to be appended to .debug_str, whose size is now @strings_at."""
    names = read_index(index)
    if not names or len(units) >= UNITS_MAX or max(map(max, names.values())) >= len(info):
        raise ValueError("lldb's index is empty, or not of .debug_info alone")
    tags, codes = Tags(info, abbrevs, units), {}
    buckets = max(len(names) // 2, 1)
    ordered = sorted((value % buckets, value, name) for name, value in ((name, hash_of(name)) for name in names))
    firsts, strings, pool, places, texts = [0] * buckets, bytearray(), bytearray(), [], []
    for number, (bucket, _, name) in enumerate(ordered, 1):
        firsts[bucket] = firsts[bucket] or number
        texts.append(strings_at + len(strings))
        strings += name + b"\0"
        places.append(len(pool))
        for offset in sorted(names[name]):
            unit, tag = tags.find(offset)
            code = codes.setdefault(tag, len(codes) + 1)
            pool += put_uleb(code) + struct.pack("<HI", unit, offset - units[unit])
        pool.append(0)
    shape = bytes([DW_IDX_COMPILE_UNIT, DW_FORM_DATA2, DW_IDX_DIE_OFFSET, DW_FORM_REF4, 0, 0])
    table = b"".join(put_uleb(code) + put_uleb(tag) + shape for tag, code in codes.items()) + b"\0"
    counts = NAMES_VERSION, 0, len(units), 0, 0, buckets, len(ordered), len(table), 0
    numbers = [*units, *firsts, *(value for _, value, _ in ordered), *texts, *places]
    body = struct.pack("<HH7I", *counts) + struct.pack(f"<{len(numbers)}I", *numbers) + table + pool
    return struct.pack("<I", len(body)) + body, bytes(strings)
