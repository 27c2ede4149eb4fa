# SPDX-License-Identifier: MIT
"""Makes of gdb's index of a library an index in which the name of a function leads to the units with its code.

gdb's own index of an optimised library (link-time optimisation above all) also names each unit that calls the function, and gdb
reads all of these units whole when it looks up the function: nearly all of libpython, two seconds for each copy.
PyList_Append has code in one unit, and gdb's index names 41. Types, variables and addresses stay as gdb has them.

make() runs in a gdb of its own (index_cache.py). The format is that of gdb's manual, appendix J, versions 8 and 9: a head of offsets, the
list of units, types, addresses, a hash table of symbols, and a pool of vectors (which units) and names, which comes last."""

import os
import struct
import tempfile

from gorgon_shared import dwarf_index, elf, function_units

WORDS = {8: 6, 9: 7}  # of the head
UNITS, TYPES, SYMBOLS = 1, 2, 4  # where each begins, as words of the head; the last word is the pool's
UNIT, SLOT = struct.Struct("<QQ"), struct.Struct("<II")
UNIT_MASK, KIND_SHIFT, KIND_MASK, FUNCTION = (1 << 24) - 1, 28, 7, 3
FAILURES = (*dwarf_index.FAILURES, KeyError)


def is_function(entry):
    return entry >> KIND_SHIFT & KIND_MASK == FUNCTION


def narrow(index, units):
    """An index without units that have no code of a function. @units: {name: {offset of a unit}}; names that are not there stay."""
    version = struct.unpack_from("<I", index)[0]
    if version not in WORDS:
        raise dwarf_index.Unsure
    head = struct.unpack_from(f"<{WORDS[version]}I", index)
    pool_at, symbols_end = head[-1], head[SYMBOLS + 1]
    numbers = {UNIT.unpack_from(index, at)[0]: number for number, at in enumerate(range(head[UNITS], head[TYPES], UNIT.size))}
    changed, pool, known = bytearray(index[:pool_at]), bytearray(index[pool_at:]), {}
    for at in range(head[SYMBOLS], symbols_end, SLOT.size):
        name_at, vector_at = SLOT.unpack_from(index, at)
        if not name_at and not vector_at:
            continue
        name = index[pool_at + name_at:index.index(b"\0", pool_at + name_at)].decode()
        if name not in units:
            continue
        count = struct.unpack_from("<I", index, pool_at + vector_at)[0]
        entries = struct.unpack_from(f"<{count}I", index, pool_at + vector_at + 4)
        wanted = narrowed(entries, {numbers[off] for off in units[name]})
        if wanted == entries:
            continue
        if wanted not in known:
            known[wanted] = len(pool)
            pool += struct.pack(f"<{len(wanted) + 1}I", len(wanted), *wanted)
        SLOT.pack_into(changed, at, name_at, known[wanted])
    return bytes(changed + pool)


def narrowed(entries, wanted):
    """The entries of a symbol, of which functions are in the wanted units only."""
    functions = {entry & UNIT_MASK: entry for entry in entries if is_function(entry)}
    if not functions:
        return entries
    form = next(iter(functions.values())) & ~UNIT_MASK
    return (*(entry for entry in entries if not is_function(entry)),
            *(functions.get(number, form | number) for number in sorted(wanted)))


def make(debug, path, build_id):
    """In a gdb that has read a debug file: write the narrowed index; an empty file if there can be none, or the file is of another
    build."""
    import gdb  # tests of narrow() have none
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        content = b""
        library = dwarf_index.read(debug) if elf.read(debug).build_id == build_id else None
        if library:
            gdb.execute(f"save gdb-index {folder}")  # the rest of the line is the folder, without quotes
            name = next(name for name in os.listdir(folder) if name.endswith(".gdb-index"))
            with open(os.path.join(folder, name), "rb") as file:
                index = file.read()
            try:
                units = function_units.Functions(library).units
                content = narrow(index, {name: {unit.off for unit in found} for name, found in units.items()})
            except FAILURES:
                pass
        unfinished = os.path.join(folder, "unfinished")
        with open(unfinished, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
