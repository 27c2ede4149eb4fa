# SPDX-License-Identifier: MIT
"""Finds for every function of a library the compilation units that have its code, out of line or inlined.

gdb's own index of an optimised library (link-time optimisation above all) also names each unit that calls a function, and gdb
reads all of these units whole when it looks the function up: nearly all of libpython. With an index of units that have code it
reads little, and finds the same places.

This walks all entries (DIEs) of the debug information once: a second for an optimised libpython. It notes names of functions, which
entry another one completes (DW_AT_abstract_origin, DW_AT_specification), and which entries have code. Code is never missed: what
is not certain is refused. DWARF 3 to 5, sections 7.5.2 and 7.5.6."""

from . import dwarf_index
from .dwarf_index import Unsure

SIBLING = 0x01
# Entries below these have no code: array, enumeration, structure, subroutine type, union.
WITHOUT_CODE = {0x01, 0x04, 0x13, 0x15, 0x17}
FUNCTIONS = {dwarf_index.SUBPROGRAM, dwarf_index.INLINED_SUBROUTINE}
BLOCKS = {dwarf_index.INLINED_SUBROUTINE, 0x0B}  # of code within a function
REFERENCES = {dwarf_index.REF_ADDR, dwarf_index.REF4}
BLOCK2, BLOCK4, BLOCK, BLOCK1, EXPRLOC = 0x03, 0x04, 0x09, 0x0A, 0x18
LEBS = {dwarf_index.UDATA, dwarf_index.SDATA, 0x15, 0x1A, 0x1B, 0x22, 0x23}  # numbers, and indexes of other tables
# What is done at an attribute.
NOTE_NAME, NOTE_ORIGIN, NOTE_START, SKIP_CHILDREN, PASS_LEB, PASS_BLOCK, PASS_STRING = range(7)
LENGTHS = {BLOCK1: 1, BLOCK2: 2, BLOCK4: 4}


class Plan:
    """How to read entries of one kind: steps of (bytes to skip before, what to do, form), and bytes to skip at the end."""

    def __init__(self, abbreviation):
        self.is_code = abbreviation.has_code and abbreviation.tag in FUNCTIONS
        self.steps, skipped = [], 0
        for attribute, form, _ in abbreviation.attributes:
            what = self.interest(abbreviation.tag, attribute, form)
            if what is not None:
                self.steps.append((skipped, what, form))
                skipped = 0
            if form in dwarf_index.SIZES:
                skipped += dwarf_index.SIZES[form]
            else:
                self.steps.append((skipped, self.passing(form), form))
                skipped = 0
        self.rest = skipped

    @staticmethod
    def interest(tag, attribute, form):
        if attribute == dwarf_index.NAME and tag == dwarf_index.SUBPROGRAM:
            if form not in (dwarf_index.STRP, dwarf_index.STRING):
                raise Unsure
            return NOTE_NAME
        if attribute in (dwarf_index.ORIGIN, dwarf_index.SPECIFICATION) and tag in FUNCTIONS:
            if form not in REFERENCES:
                raise Unsure
            return NOTE_ORIGIN
        if attribute == dwarf_index.LOW_PC and tag in BLOCKS and form == dwarf_index.ADDR:
            return NOTE_START
        return SKIP_CHILDREN if attribute == SIBLING and tag in WITHOUT_CODE and form == dwarf_index.REF4 else None

    @staticmethod
    def passing(form):
        if form in LEBS:
            return PASS_LEB
        if form in LENGTHS or form in (BLOCK, EXPRLOC):
            return PASS_BLOCK
        if form == dwarf_index.STRING:
            return PASS_STRING
        raise Unsure


class Functions:
    """What the entries of a library say of functions, by the entries' offsets."""

    def __init__(self, library):
        self.debug = library
        self.names = {}  # offset of the name
        self.origins = {}  # offset of the entry that this one completes
        self.code = []  # (entry, its Unit)
        self.starts = []  # where a block of code has the address of its start (DW_AT_low_pc)
        plans = {}
        for unit in library.units:
            if unit.abbrev_off not in plans:
                plans[unit.abbrev_off] = {dwarf_index.uleb(each.code, 0)[0]: Plan(each) for each in
                                          dwarf_index.read_abbreviations(library.abbrev, unit.abbrev_off)}
            self.walk(unit, plans[unit.abbrev_off])
        self.units = self.units_by_name()

    def walk(self, unit, plans):
        info, at = self.debug.info, unit.root
        while at < unit.end:
            entry = at
            code = info[at]
            at += 1
            if code >= 0x80:
                code, at = dwarf_index.uleb(info, entry)
            if not code:
                continue
            plan = plans.get(code)
            if not plan:
                raise Unsure
            if plan.is_code:
                self.code.append((entry, unit))
            rest = plan.rest
            for skipped, what, form in plan.steps:
                at += skipped
                if what == PASS_LEB:
                    at = dwarf_index.skip_leb(info, at)
                elif what == PASS_BLOCK:
                    at = pass_block(info, at, form)
                elif what == NOTE_ORIGIN:
                    self.origins[entry] = int.from_bytes(info[at:at + 4], "little") + (unit.off if form == dwarf_index.REF4 else 0)
                elif what == NOTE_NAME:
                    self.names[entry] = int.from_bytes(info[at:at + 4], "little") if form == dwarf_index.STRP else ~at
                elif what == NOTE_START:
                    self.starts.append(at)
                elif what == PASS_STRING:
                    at = info.index(b"\0", at) + 1
                else:
                    target = unit.off + int.from_bytes(info[at:at + 4], "little")
                    if not at < target <= unit.end:
                        raise Unsure
                    at, rest = target, 0
                    break
            at += rest

    def definition(self, entry):
        """The entry with the name of the function to which an entry belongs, or None."""
        for _ in range(8):  # an instance, the function's definition, its declaration; hostile ones run in circles
            if entry in self.names:
                return entry
            entry = self.origins.get(entry)
        return None

    def text(self, name):
        strings, at = (self.debug.strings, name) if name >= 0 else (self.debug.info, ~name)
        return bytes(strings[at:strings.index(b"\0", at)]).decode()

    def units_by_name(self):
        """{name: the Units that have code of functions with that name}."""
        by_offset, found = {}, {}
        for entry, unit in self.code:
            definition = self.definition(entry)
            if definition is not None:
                by_offset.setdefault(self.names[definition], set()).add(unit)
        for name, units in by_offset.items():
            found.setdefault(self.text(name), set()).update(units)
        return found


def pass_block(info, at, form):
    if form in LENGTHS:
        return at + LENGTHS[form] + int.from_bytes(info[at:at + LENGTHS[form]], "little")
    size, at = dwarf_index.uleb(info, at)
    return at + size
