# SPDX-License-Identifier: MIT
"""Functions that the compiler has split end, for lldb, where their first part ends.

GCC moves what a function does seldom to a second part, away from the first: in CPython, of _PyEval_EvalFrameDefault above all. DWARF gives
such a function a list of ranges (version 5, sections 2.17.3 and 7.25). lldb before version 21 makes one range of them, from the lowest
address to the highest. So it ends backtraces in the function, and in other functions that lie in between, as it takes the rules for
unwinding from the part with the lowest address; and it sets a breakpoint there, where nobody enters the function.

Without the other ranges all of this is right. A frame in the second part has the name that the symbol table has for it (NAME.cold) and its
line, but no variables. Blocks of the second part (inlined functions, above all) are moved behind all code: lldb complains of blocks before
their function.

Entries of lists keep their places in the section: GCC lets 395 lists of Debian's libpython begin in the middle of others."""

import bisect
import struct

from gorgon_shared import dwarf_index, function_units

MARK = b".cold\0"  # the end of the name of each second part, in the table of symbols
KNOWN_SINCE = 21
FORM = 1  # of what is made here; files of another form are not used any more
INFO_MAX = 64 << 20  # bytes; of more debug information the entries are not walked, which would take more than three seconds
# The kinds of entries of a list (DW_RLE_...). PARTS says how many addresses an entry of a kind has, and how many numbers of variable length
# follow these.
END, BASE_ADDRESSX, STARTX_ENDX, STARTX_LENGTH, OFFSET_PAIR, BASE_ADDRESS, START_END, START_LENGTH = range(8)
PARTS = {BASE_ADDRESSX: (0, 1), STARTX_ENDX: (0, 2), STARTX_LENGTH: (0, 2), OFFSET_PAIR: (0, 2), BASE_ADDRESS: (1, 0), START_END: (2, 0),
         START_LENGTH: (1, 1)}
ADDRESS, PAIR = struct.Struct("<Q"), struct.Struct("<QQ")
HEAD = struct.Struct("<IHBBI")  # length, version, size of an address, size of a segment, number of offsets
BASE = (1 << 64) - 1  # the first of a pair that says the base of the following pairs


def are_known(version):
    """Whether a version of lldb knows the parts of a function."""
    return version >= KNOWN_SINCE


class SecondParts:
    def __init__(self, functions):
        """@functions: [(name, address, size)], names as bytes."""
        others = {address for name, address, _ in functions if MARK[:-1] not in name}
        found = sorted({(address, address + max(size, 1)) for name, address, size in functions
                        if MARK[:-1] in name and (size or address not in others)})
        self.starts, self.ends = [start for start, _ in found], [end for _, end in found]
        self.behind_all = max((address + size for _, address, size in functions), default=0)

    def __bool__(self):
        return bool(self.starts)

    def has(self, address):
        """Whether code of a second part is there."""
        number = bisect.bisect(self.starts, address)
        return any(address < end for end in self.ends[max(number - 2, 0):number])  # an empty part may begin where another one does


def read_entry(content, at):
    """(kind, addresses and numbers, where the next entry begins) of an entry of a list."""
    kind = content[at]
    if kind not in PARTS:
        raise ValueError("ranges of an unknown form")
    addresses, numbers = PARTS[kind]
    values = list(struct.unpack_from(f"<{addresses}Q", content, at + 1))
    at += 1 + ADDRESS.size * addresses
    for _ in range(numbers):
        value, at = dwarf_index.uleb(content, at)
        values.append(value)
    return kind, values, at


def trim_list(content, at, parts):
    """Take the ranges of second parts out of a list. The list ends before them if only such ranges follow. Otherwise they move behind all
    code, and so do offsets from a base in a second part. Returns where the list ends."""
    last, has_others = [], False  # last: the ranges of second parts that no other range follows
    while content[at] != END:
        kind, values, end = read_entry(content, at)
        if kind in (START_END, START_LENGTH) and parts.has(values[0]):
            last.append((at, kind, values))
        else:
            if kind == BASE_ADDRESS and parts.has(values[0]):
                ADDRESS.pack_into(content, at + 1, parts.behind_all)
            move_ranges(content, last, parts)
            last, has_others = [], True
        at = end
    if has_others and last:
        content[last[0][0]:at] = bytes(at - last[0][0])
    else:
        move_ranges(content, last, parts)
    return at + 1


def move_ranges(content, ranges, parts):
    for at, kind, values in ranges:
        ADDRESS.pack_into(content, at + 1, parts.behind_all)
        if kind == START_END:
            ADDRESS.pack_into(content, at + 1 + ADDRESS.size, parts.behind_all + values[1] - values[0])


def trim_lists(content, parts):
    """.debug_rnglists, of DWARF 5."""
    content, at = bytearray(content), 0
    while at < len(content):
        length, version, address_size, _, count = HEAD.unpack_from(content, at)
        end, at = at + 4 + length, at + HEAD.size + 4 * count
        if version != 5 or address_size != ADDRESS.size or end > len(content):
            raise ValueError("ranges of an unknown form")
        while at < end:
            at = trim_list(content, at, parts)
    return content


def trim_pairs(content, parts):
    """.debug_ranges, of DWARF 2 to 4: lists of pairs, each of which ends with (0, 0). What is done is what trim_list() does."""
    content, base, last, has_others = bytearray(content), 0, [], False

    def move():
        for place, length, its_base in last:
            PAIR.pack_into(content, place, parts.behind_all - its_base, parts.behind_all - its_base + length)

    for at in range(0, len(content) - PAIR.size + 1, PAIR.size):
        start, end = PAIR.unpack_from(content, at)
        if (start, end) == (0, 0):
            if has_others and last:
                content[last[0][0]:at] = bytes(at - last[0][0])
            else:
                move()
            base, last, has_others = 0, [], False
        elif start != BASE and parts.has(start + base):
            last.append((at, end - start, base))
        else:
            base = end if start == BASE else base
            move()
            last, has_others = [], True
    return content


def move_blocks(sections, parts):
    """.debug_info, in which blocks of second parts are behind all code. @sections: {name: content}."""
    content = bytearray(sections[".debug_info"])
    for at in function_units.Functions(dwarf_index.Library(sections, languages=None)).starts:
        address, = ADDRESS.unpack_from(content, at)
        if parts.has(address):
            ADDRESS.pack_into(content, at, parts.behind_all)
    return content
