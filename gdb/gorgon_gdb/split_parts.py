# SPDX-License-Identifier: MIT
"""Finds inlined instances of a function that are no calls.

GCC splits the unlikely part off a function (-fipa-partial-inlining, from -O2), so that the rest can be inlined into
callers. If such a part is put back into the function, DWARF describes it as an instance of the function that is inlined into
the function itself, and gives the position of the function's own name as the position of the call. gdb sets a breakpoint there, too,
and would stop in the middle of a call as if it were a further call. A function that does call itself does so at another
position.

find() returns both the lowest address of such an instance and its entry address, because gdb versions differ in which of them they
use (18: the entry address, with an empty range). DWARF 5, sections 2.17.3 and 3.3.8; ranges are read in the forms that GCC
writes."""

import struct

from gorgon_shared import dwarf_index

CALL_LINE, CALL_COLUMN, DECL_LINE, DECL_COLUMN = 0x59, 0x57, 0x3B, 0x39
FIXED = {dwarf_index.ADDR, dwarf_index.DATA1, dwarf_index.DATA2, dwarf_index.DATA4, dwarf_index.SEC_OFFSET}
END_OF_LIST, OFFSET_PAIR, BASE_ADDRESS, START_END, START_LENGTH = 0, 4, 5, 6, 7
NEW_BASE = 2 ** 64 - 1


def number(library, abbreviation, entry, attribute):
    """The value of an entry's attribute; None if it has none, or if its offset varies between entries of this kind."""
    for other, form, off, constant in abbreviation.attributes:
        if other == attribute and form == dwarf_index.IMPLICIT_CONST:
            return constant
        if other == attribute and form in FIXED and off is not None:
            at = entry + len(abbreviation.code) + off
            return int.from_bytes(library.info[at:at + dwarf_index.SIZES[form]], "little")
    return None


def position(library, abbreviation, entry, *attributes):
    found = [number(library, abbreviation, entry, attribute) for attribute in attributes]
    return None if None in found else found


def ranges_3(data, at, base):
    """(start, end) of DWARF 3 and 4, section 2.17.3."""
    while True:
        start, end = struct.unpack_from("<QQ", data, at)
        at += 16
        if start == NEW_BASE:
            base = end
        elif start or end:
            yield base + start, base + end
        else:
            return


def ranges_5(data, at, base):
    while True:
        kind = data[at]
        at += 1
        if kind == END_OF_LIST:
            return
        if kind == OFFSET_PAIR:
            start, at = dwarf_index.uleb(data, at)
            end, at = dwarf_index.uleb(data, at)
            yield base + start, base + end
            continue
        if kind not in (BASE_ADDRESS, START_END, START_LENGTH):
            raise dwarf_index.Unsure
        start, at = struct.unpack_from("<Q", data, at)[0], at + 8
        if kind == BASE_ADDRESS:
            base = start
        elif kind == START_END:
            yield start, struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            size, at = dwarf_index.uleb(data, at)
            yield start, start + size


def lowest(library, unit, abbreviation, entry):
    """The first address of an instance, or None."""
    ranges = number(library, abbreviation, entry, dwarf_index.RANGES)
    if ranges is None:
        return number(library, abbreviation, entry, dwarf_index.LOW_PC)
    base = number(library, unit.root_abbreviation, unit.root, dwarf_index.LOW_PC)
    if base is None:
        if any(attribute == dwarf_index.LOW_PC for attribute, *_ in unit.root_abbreviation.attributes):
            return None
        base = 0
    found = ranges_5(library.sections[".debug_rnglists"], ranges, base) if unit.version == 5 else \
        ranges_3(library.sections[".debug_ranges"], ranges, base)
    return min((start for start, end in found if start < end), default=None)


def find(functions, name):
    """The addresses, in a library of which function_units.py has told the functions. An instance that is not certain to be such a part
    is not among them."""
    library, found = functions.debug, set()
    try:
        for entry, unit, abbreviation in functions.code:
            definition = functions.origins.get(entry)
            if abbreviation.tag != dwarf_index.INLINED_SUBROUTINE or definition not in functions.named or \
                    functions.text(functions.names[definition]) != name:
                continue
            declared = position(library, functions.named[definition], definition, DECL_LINE, DECL_COLUMN)
            if declared and position(library, abbreviation, entry, CALL_LINE, CALL_COLUMN) == declared:
                found |= {lowest(library, unit, abbreviation, entry), number(library, abbreviation, entry, dwarf_index.ENTRY_PC)}
    except (*dwarf_index.FAILURES, KeyError):
        pass
    return found - {None}
