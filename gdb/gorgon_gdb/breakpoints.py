# SPDX-License-Identifier: MIT
"""gorgon break: one breakpoint for all copies of a library, or for those of one interpreter.

A location is looked up once per library (reference.py). Where it is in each copy follows from
the copy's bias; there gdb gets an internal breakpoint at an address, a part. gdb's own
breakpoint by name looks the name up anew in all copies whenever an object comes.

Parts come when gdb hears of an object, which is before its first instruction runs, and go when
gdb drops the object, while its memory is still there: a breakpoint that stays in memory that
is unmapped is an error at the next stop. At the first moment gorgon_debug_root lists the object
with its symfile, at the second without it, unless another symfile describes the object now.
Objects that debuggers are not told of (--debug off) bring no events, and those of the system's linker
are listed after gdb has heard of them: there parts follow at the next stop.

With a thousand interpreters there are events for each of them, so an event looks at nothing
but the namespaces that have changed."""

import collections
import re

import gdb

from . import commands, elf, files, process, reference, root, tables, values

_breakpoints = {}  # number -> Breakpoint
_places = {}       # (path of a library, location) -> [address in the file]
_failed = set()    # of these keys: not known, and not asked again for each interpreter that comes
_dropped = []      # (start, end) of objects that gdb has let go of, while they may still be listed
_handled = {}      # address of a namespace -> the Namespace, as of some snapshot, that the parts are for
_last_number = 0
_refreshed = None  # the Snapshot that the parts are for

SYMFILE = re.compile(r"<in-memory@(0x[0-9a-f]+)")


class Part(gdb.Breakpoint):
    """One address of a Breakpoint."""

    def __init__(self, owner, address, obj):
        super().__init__(f"*{address:#x}", internal=True)
        self.owner = owner
        self.interp = obj.namespace.label
        self.stopped = False

    def stop(self):
        self.stopped = self.owner.wants_stop()
        return self.stopped


class Breakpoint:
    """What "gorgon break" made."""

    def __init__(self, number, location, interp, condition, temporary):
        self.number = number
        self.location = location
        self.interp = interp
        self.condition = condition
        self.temporary = temporary
        self.hits = 0
        self.spent = False
        self.parts = {}  # address -> Part
        self.used = collections.defaultdict(set)  # address of a namespace -> addresses of its parts

    def places_in(self, obj):
        if self.interp is not None and obj.namespace.interp != self.interp:
            return []
        return [obj.bias + address for address in _places.get((obj.path, self.location), ())]

    def wants_stop(self):
        """Asked by gdb in the frame that has come to a part."""
        if self.spent:
            return False
        if self.condition:
            try:
                if not gdb.parse_and_eval(values.in_own_copy(self.condition)):
                    return False
            except (gdb.error, root.RootError) as error:
                gdb.write(f"Error in testing the condition of gorgon breakpoint {self.number}: {error}\n")
        self.hits += 1
        self.spent = self.temporary
        return True

    def update(self, namespace, objects):
        """Have parts where these objects of a namespace have the location, and nowhere else in it."""
        wanted = {address: obj for obj in objects for address in self.places_in(obj)}
        used = self.used[namespace]
        for address in [a for a in used if a not in wanted]:
            self.remove(address)
        for address, obj in wanted.items():
            if address not in self.parts:
                self.parts[address] = Part(self, address, obj)
                used.add(address)

    def remove(self, address):
        part = self.parts.pop(address)
        for used in self.used.values():
            used.discard(address)
        if part.is_valid():
            part.delete()

    def remove_all(self):
        for address in list(self.parts):
            self.remove(address)

    def delete(self):
        _breakpoints.pop(self.number, None)
        self.remove_all()

    @property
    def interps(self):
        return "all" if self.interp is None else f"interp {self.interp}"


def look_up(objects, locations):
    """Fill _places for the libraries of these objects and for these locations."""
    one = {obj.path: obj for obj in objects}  # of thousands
    missing = {(path, location): may_have(obj, location) for path, obj in one.items() for location in locations
               if (path, location) not in _places}
    paths = sorted({path for (path, _), maybe in missing.items() if maybe})
    asked = sorted({location for (_, location), maybe in missing.items() if maybe})
    try:
        found = dict(zip(asked, reference.find(paths, asked)))
    except root.RootError:
        _failed.update(missing)
        _places.update(dict.fromkeys(missing, []))
        raise
    for path, location in missing:
        _places[path, location] = found.get(location, {}).get(path, [])


def may_have(obj, location):
    """False when the names in the file say so: most libraries come without debug information."""
    if location.startswith("*"):
        return False
    if not obj.symfile or obj.debug_kind:
        return True
    words = re.findall(r"[A-Za-z_]\w*", location)
    return not words or any(words[-1] in name for name in files.read(obj).symbols)


def refresh():
    """Bring all parts up to date with the process."""
    global _refreshed
    snapshot = process.try_snapshot() if _breakpoints else None
    if snapshot is None or snapshot is _refreshed:
        return
    listed = {ns.address: ns for ns in snapshot.namespaces}
    changed = [ns for ns in snapshot.namespaces if _handled.get(ns.address) is not ns]
    objects = {ns.address: [obj for obj in ns.objects if (obj.start, obj.end) not in _dropped] for ns in changed}
    look_up([obj for ns in changed for obj in objects[ns.address]], {b.location for b in _breakpoints.values()})
    for breakpoint in list(_breakpoints.values()):
        for address in [a for a in _handled if a not in listed]:
            breakpoint.update(address, [])
        for ns in changed:
            breakpoint.update(ns.address, objects[ns.address])
    if _dropped:
        there = {(obj.start, obj.end) for obj in snapshot.objects}
        _dropped[:] = [extent for extent in _dropped if extent in there]
    _handled.clear()
    _handled.update(listed)
    _refreshed = None if snapshot.changing else snapshot


def start_again():
    """What the parts are for is not known any more: a breakpoint is new, or the process is."""
    global _refreshed
    _refreshed = None
    _handled.clear()
    for key in _failed:
        _places.pop(key, None)
    _failed.clear()


def create(location, interp, condition, temporary):
    """A new Breakpoint. Raises gdb.error when its location can never be one."""
    global _last_number
    snapshot = process.try_snapshot()
    location = absolute(location)
    if location.startswith("*"):
        at_address(location, snapshot)
    else:
        look_up(snapshot.objects if snapshot else [], [location])
    _last_number += 1
    breakpoint = _breakpoints[_last_number] = Breakpoint(_last_number, location, interp, condition, temporary)
    start_again()
    refresh()
    return breakpoint


def absolute(location):
    """A line number alone belongs to the file of the selected frame, as in gdb."""
    if not re.fullmatch(r"[+-]?\d+", location):
        return location
    place = gdb.selected_frame().find_sal()
    if not place.symtab:
        raise root.RootError("the selected frame has no source file; say FILE:LINE")
    line = int(location) + (place.line if location[0] in "+-" else 0)
    return f"{place.symtab.filename}:{line}"


def at_address(location, snapshot):
    """*EXPRESSION: an address in one copy stands for the same place in all."""
    address = commands.evaluate_address(values.in_own_copy(location[1:]))
    obj = snapshot.find_object(address) if snapshot else None
    if not obj:
        raise root.RootError(f"{address:#x} is in no private object")
    _places[obj.path, location] = [address - obj.bias]


def covered(objfile):
    """(start, end) of the private code that an in-memory objfile of gdb describes, or None: it is none."""
    found = SYMFILE.match(objfile.filename or "")
    if not found:
        return None
    address = int(found[1], 16)
    try:
        header = elf.EHDR.unpack(process.read_memory(address, elf.EHDR.size))
        table = process.read_memory(address + header[6], header[12] * elf.SHDR.size)
    except root.MemoryProblem:
        return None
    sections = [s for s in elf.SHDR.iter_unpack(table) if s[2] & elf.SHF_ALLOC]
    # libjitreg announces objects without content too, after one has gone.
    return (min(s[3] for s in sections), max(s[3] + s[5] for s in sections)) if sections else None


def on_new_objfile(event):
    extent = covered(event.new_objfile) if _breakpoints else None
    if not extent:
        return
    start, end = extent
    _dropped[:] = [(s, e) for s, e in _dropped if e <= start or end <= s]
    try_refresh()


def on_free_objfile(event):
    extent = covered(event.objfile) if _breakpoints else None
    snapshot = process.try_snapshot() if extent else None
    if not snapshot:
        return
    start, end = extent
    for obj in snapshot.objects_between(start, end):
        if not obj.symfile:
            _dropped.append((obj.start, obj.end))
            for breakpoint in _breakpoints.values():
                for address in [a for a in breakpoint.parts if obj.start <= a < obj.end]:
                    breakpoint.remove(address)


def try_refresh():
    try:
        refresh()
    except (gdb.error, root.RootError) as error:
        gdb.write(f"gorgon break: {error}\n")


def on_exited(_event):
    """Addresses are others in the next run."""
    start_again()
    _dropped.clear()
    for breakpoint in _breakpoints.values():
        breakpoint.remove_all()


def on_stop(event):
    # Among them are those at the same address that did not want to stop.
    for part in getattr(event, "breakpoints", ()):
        if isinstance(part, Part) and part.stopped:
            owner = part.owner
            kind = "temporary breakpoint" if owner.temporary else "breakpoint"
            gdb.write(f"Gorgon {kind} {owner.number}, {owner.location}, {part.interp}\n")
            if owner.spent:
                owner.delete()
    try_refresh()


def on_deleted(part):
    """One part deleted by hand: the breakpoint goes."""
    if isinstance(part, Part) and part in part.owner.parts.values():
        part.owner.delete()


def describe(breakpoint):
    text = f"Gorgon {'temporary ' if breakpoint.temporary else ''}breakpoint {breakpoint.number}: {breakpoint.location}"
    if not breakpoint.parts:
        return f"{text}, pending: {reason(breakpoint)}\n"
    interps = list(dict.fromkeys(part.interp for part in breakpoint.parts.values()))
    count = len(breakpoint.parts)
    return f"{text}, {count} place{'s' if count > 1 else ''} in {', '.join(interps)}\n"


def reason(breakpoint):
    """Why it has no place."""
    snapshot = process.try_snapshot()
    interps = [ns.interp for ns in snapshot.interpreters] if snapshot else []
    if interps and breakpoint.interp is not None:
        if breakpoint.interp not in interps:
            return f"there is no interpreter {breakpoint.interp} yet"
        return f"no private library of interpreter {breakpoint.interp} has it yet"
    return "no private library has it yet"


def overview():
    if not _breakpoints:
        return "No gorgon breakpoints.\n"
    rows = [[b.number, "del" if b.temporary else "keep", b.interps, len(b.parts) or "pending", b.hits, b.location,
             b.condition or "-"] for b in _breakpoints.values()]
    return tables.table(["Num", "Disp", "In", "Places", "Hits", "Location", "Condition"], rows)


class Break(commands.Subcommand):
    """Set a breakpoint in every private copy of a library, those to come included.

    Usage: gorgon break [-i N] LOCATION [if CONDITION]
           gorgon break

    LOCATION is a function, FILE:LINE, LINE, *ADDRESS or anything else that "break" takes.
    It is looked up once per library and counts as one breakpoint, whatever the number of
    copies; without a library that has it, it waits for one. With -i, only interpreter N,
    which may be one that is yet to come. CONDITION is evaluated in the frame of the copy
    that has come there, with that copy's global and thread-local variables, as "gorgon
    print" does.

    Without arguments: the breakpoints that were set so. They are not in "info
    breakpoints"; delete them with "gorgon delete".

    Example:
      (gdb) gorgon break -i 2 list_append if op->ob_type == &PyList_Type
      (gdb) gorgon break mymodule.c:120"""

    name = "gorgon break"
    temporary = False

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_BREAKPOINTS)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        interp, rest = commands.interp_option(self.name, arg)
        location, condition = split_condition(rest)
        if location:
            gdb.write(describe(create(location, interp, condition, self.temporary)))
        elif condition or interp is not None or self.temporary:
            raise gdb.GdbError(f'{self.name}: a LOCATION expected; see "help {self.name}"')
        else:
            gdb.write(overview())

    def completions(self, text, word):
        return commands.complete_interp_option(text, word) or gdb.COMPLETE_LOCATION


class TemporaryBreak(Break):
    """Set a breakpoint in every private copy that is deleted when it is hit once.

    Usage: gorgon tbreak [-i N] LOCATION [if CONDITION]

    See "help gorgon break"."""

    name = "gorgon tbreak"
    temporary = True


class Delete(commands.Subcommand):
    """Delete breakpoints that were set with "gorgon break".

    Usage: gorgon delete [NUM]...

    NUM as "gorgon break" shows it; without one, all of them."""

    name = "gorgon delete"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_BREAKPOINTS)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        words = arg.split()
        for word in words:
            if not word.isdigit() or int(word) not in _breakpoints:
                raise gdb.GdbError(f'{self.name}: no gorgon breakpoint {word}; "gorgon break" lists them')
        for number in [int(word) for word in words] or list(_breakpoints):
            if number in _breakpoints:
                _breakpoints[number].delete()

    def completions(self, text, word):
        return [str(number) for number in _breakpoints if str(number).startswith(word)]


def split_condition(text):
    """LOCATION if CONDITION"""
    location, _, condition = re.match(r"\s*(.*?)\s*(?:(^|\s)if\b\s*(.*))?$", text, re.S).groups()
    return location, (condition or "").strip()


def register():
    for command in (Break, TemporaryBreak, Delete):
        command()
