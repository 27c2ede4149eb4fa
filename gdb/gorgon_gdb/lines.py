# SPDX-License-Identifier: MIT
"""Lines and static functions of copies whose debug information gdb has not read.

With many interpreters gdb hears of each by one symfile (a pack). The pack refers to a companion file with functions and lines,
and by its build-id to another companion, which has neither; companions.py makes gdb read the second. This module adds the first
by "add-symbol-file", once for each pack: 0.3 ms and 60 KB a pack, because gdb reads a file only once.

An added file, unlike a file that the symfile refers to, can be removed, and added again at the end of gdb's list of object files.
That matters because gdb uses what comes first in that list. So before symbols.py adds the whole debug information of a copy,
the pack's lines are removed. If another object of the pack still needs them they are added again afterwards, behind the
debug information. Then gdb finds arguments and variables in copies in the stack, and lines in all others.

Within an event, gdb's commands are run only where a breakpoint wants the lines (execute.py says why they are few)."""

import functools
import os

import gdb

from gorgon_shared import elf, root
from . import displays, execute, files, missing_files, objfiles, process

SHF_TLS = 0x400
TEXT, INFO = b".text", b".debug_info"

_added = {}      # address of a pack's symfile -> Lines
_stale = []      # Lines of a process that has ended
_gone = []       # Lines of packs that are gone, at whose addresses there are other packs by now
_settled = None  # (Snapshot, what else gdb knows) for which nothing is left to do
_paths = set()    # paths of the files that have been added
_without = set()  # addresses of symfiles that have no lines to add


class Lines:
    """A companion that was added for a pack, with the address ranges of the pack's code."""

    def __init__(self, runs):
        self.runs = runs

    def has(self, address):
        return any(start <= address < end for start, end in self.runs)


@functools.lru_cache(maxsize=64)
def first_code(path, _mtime):
    """The address of a companion's first code, or None: it has no lines."""
    with open(path, "rb") as file:
        data = file.read()
    sections = dict(reversed(elf.sections(lambda off, size: data[off:off + size], 0)))
    return sections[TEXT][3] if TEXT in sections and INFO in sections else None


def runs_of(symfile):
    """[(start, end)] of a pack's code, in the order of the companion's sections."""
    like = elf.sections(lambda off, size: process.read_memory(symfile + off, size))
    return [(s[3], s[3] + s[5]) for name, s in like if name.startswith(TEXT) and s[2] & SHF_TLS]


def add(symfile):
    """Add the lines of a pack. Returns whether that could be done now."""
    try:
        path, runs = missing_files.link_of(symfile), runs_of(symfile)
        code = first_code(path, os.stat(path).st_mtime_ns) if path and runs else None
    except (root.MemoryProblem, ValueError, OSError, elf.struct.error):
        code = None  # missing_files.py says what is not here
    if code is None or has_them_already(path, symfile):
        _without.add(symfile)
        return True
    execute.places_change()
    if execute.run(files.add_command(path, runs[0][0] - code)) is None:
        return False
    _added[symfile] = Lines(runs)
    _paths.add(path)
    return True


def has_them_already(path, symfile):
    """Whether gdb had heard of the pack before it was told of the companion without lines."""
    owners = (o.owner.filename for o in gdb.objfiles() if o.owner and o.filename == path)
    return any(int(match[1], 16) == symfile for match in map(objfiles.SYMFILE.match, owners) if match)


def remove(lines, covered=()):
    """Remove the lines of a pack, unless other files were added for all of its code, because gdb would remove those instead.
    Returns whether the lines were removed."""
    address = next((start for start, _ in lines.runs if not any(a <= start < b for a, b in covered)), None)
    if address is None:
        return False
    execute.places_change()
    try:
        return displays.remove_symbol_file(address) is not None
    except gdb.error:
        return True  # "file" has removed it already


def remove_pack(symfile, covered=()):
    if remove(_added[symfile], covered):
        del _added[symfile]


def remove_gone(covered, chosen=lambda lines: True):
    """Of two files with lines of the same code gdb removes what was added first: that is the pack that is gone. Where the code is still
    there these files do no harm, so they stay until the prompt: gdb warns when places change in a stop."""
    _gone[:] = [lines for lines in _gone if not (chosen(lines) and remove(lines, covered))]


def leave(is_going, covered):
    """Remove lines of code that goes now; what remains of a pack has lines again with its next one. @is_going tells of a (start, end)."""
    for symfile in [symfile for symfile, lines in _added.items() if any(map(is_going, lines.runs))]:
        remove_pack(symfile, covered)
    remove_gone(covered, lambda lines: any(map(is_going, lines.runs)))


def has_only_lines(symbol):
    """Whether the symbol of a function comes from lines that were added here, so that gdb does not know its type."""
    return symbol is not None and symbol.symtab is not None and symbol.symtab.objfile.filename in _paths


def remove_stale():
    """Remove the lines of a process that has ended, before any are added for the next process, which as a rule has the
    same addresses."""
    _stale[:] = [lines for lines in _stale if not remove(lines)]


def make_way(obj, covered):
    """Remove the lines of a copy whose whole debug information is to be added, since gdb uses what comes first."""
    global _settled
    middle = obj.start + (obj.end - obj.start) // 2
    for symfile in [symfile for symfile, lines in _added.items() if lines.has(middle) or obj.symfile == symfile]:
        remove_pack(symfile, covered)
        _settled = None
    remove_gone(covered, lambda lines: any(obj.start <= start < obj.end for start, _ in lines.runs))


def serves(obj):
    """Whether gdb will have lines of this object again when its whole debug information is removed."""
    return obj.symfile_kind == root.PACK and obj.symfile not in _without


def packs(snapshot, known):
    """Symfiles of the packs with an object whose lines gdb does not know. @known: (path, bias) of objects that it knows."""
    return {obj.symfile for obj in snapshot.objects if obj.symfile_kind == root.PACK and obj.lacks_dwarf
            and (obj.path, obj.bias) not in known}


def follow(objects, known):
    """The files of these objects have been added; the lines of their packs are to come behind them. Returns whether there
    are any."""
    snapshot = process.try_snapshot()
    needing = packs(snapshot, known) - _added.keys() - _without if snapshot else ()
    return any(obj.symfile in needing for obj in objects)


def refresh(known, covered):
    """Add and remove lines, so that each pack that needs lines has them. Returns whether nothing is left to do."""
    global _settled
    snapshot = process.try_snapshot()
    if snapshot is None or (snapshot, known) == _settled:
        return True
    remove_gone(covered, lambda lines: not snapshot.find_object(lines.runs[0][0]))
    wanted = packs(snapshot, known)
    for symfile in [symfile for symfile in _added if symfile not in wanted]:
        remove_pack(symfile, covered)
    _without.intersection_update(obj.symfile for obj in snapshot.objects)
    done = all([add(symfile) for symfile in sorted(wanted) if symfile not in _added and symfile not in _without])
    _settled = (snapshot, known) if done and not snapshot.changing else None
    return done


def wants_lines():
    return any(breakpoint.type == gdb.BP_BREAKPOINT for breakpoint in gdb.breakpoints())


def on_new_objfile(event):
    """gdb has heard of a symfile: what was known of another one at this address is over."""
    global _settled
    match = objfiles.SYMFILE.match(event.new_objfile.filename or "")
    symfile = match and int(match[1], 16)
    _without.discard(symfile)
    if symfile in _added:
        _gone.append(_added.pop(symfile))
        _settled = None


def on_new_pack(symfile, known):
    """Add lines at once, so that a breakpoint by file and line has its places before the first instruction of the copy runs."""
    snapshot = process.try_snapshot()
    members = [obj for obj in snapshot.objects if obj.symfile == symfile]
    if symfile not in _added and is_pack(symfile) and (not members or symfile in packs(snapshot, known)):
        add(symfile)


def is_pack(symfile):
    try:
        return bool(runs_of(symfile))
    except (root.MemoryProblem, ValueError):
        return False


def forget(_event=None):
    global _settled
    _settled = None
    _without.clear()


def on_exited(_event):
    forget()
    _stale.extend([*_gone, *_added.values()])
    _gone.clear()
    _added.clear()
