# SPDX-License-Identifier: MIT
"""gorgon break: one breakpoint of gdb's for all copies of a library, or for the copies of one interpreter.

A location is looked up once per library (location_resolver.py). Its address in each copy follows from the copy's bias. The
address gets a name there: LOCATION@all or, for interpreter 2 only, LOCATION@2 (place_names.py). "break" with that name is an ordinary
breakpoint: gdb finds its places, as it does for any name, whenever it hears of an object, and counts, lists, saves and
deletes it. This file only remembers which names it has given to which of gdb's object files. It reads from gdb's breakpoints
which names are wanted, so that breakpoints which "save breakpoints" has written work, too.

An object gets its names when gdb hears of it, which is before its first instruction runs, and they go with gdb's object file.
At that moment gorgon_debug_root lists the object without its symfile. gdb sends no event for objects that debuggers are not told
of (--debug off), and hears of objects of the system's linker before they are listed: both get their names at the next stop."""

import os
import re
import tempfile

import gdb

from gorgon_shared import elf, root
from . import commands, files, languages, location_resolver, methods, objfiles, ours, place_names, process, reruns, symbols, values

_places = {}       # (path of a library, location) -> [address in the file]
_failed = set()    # keys of _places that could not be looked up, and are not tried again for each further interpreter
_given = {}        # object file -> {(name, address)}
_settled = None    # (Snapshot, names wanted) for which nothing is left to do
_folder = None     # the folder of the files with names

# An object of gdb's can have two files: one with the name of a place, and another with the place's line. When the object goes, gdb 16
# and later end with "internal error" if the file with the name goes first.
NAMES_GO_FIRST = int(re.search(r"\d+", gdb.VERSION)[0]) >= 16
# What may follow a location.
REST = re.compile(r"\s*(.*?)\s*((?:(?:^|\s)(?:thread|task|inferior)\s+\S+)*)\s*(?:(?:^|\s)if\b\s*(.*))?$", re.S)
PLACE = re.compile(r"([^\s:]+)\+(0x[0-9a-f]+)")  # OBJECT+OFFSET, which is what *ADDRESS becomes


def look_up(objects, locations):
    """Fill _places for the libraries of these objects and for these locations."""
    one = {obj.path: obj for obj in objects}  # a single copy of each library, out of thousands
    missing = {(path, location): may_have(obj, location) for path, obj in one.items() for location in locations
               if (path, location) not in _places}
    paths = sorted({path for (path, _), maybe in missing.items() if maybe})
    asked = sorted({location for (_, location), maybe in missing.items() if maybe})
    try:
        found = dict(zip(asked, location_resolver.find(paths, asked)))
    except root.RootError:
        _failed.update(missing)
        _places.update(dict.fromkeys(missing, []))
        raise
    for path, location in missing:
        _places[path, location] = found.get(location, {}).get(path, [])


def may_have(obj, location):
    """Whether an object may have a location. Most libraries come without debug information, and the names in their files tell."""
    if PLACE.fullmatch(location):
        return False
    if not obj.symfile or obj.debug_kind:
        return True
    words = re.findall(r"[A-Za-z_]\w*", location)
    return not words or any(words[-1] in name for name in files.read(obj).symbols)


def places_in(obj, location):
    """Addresses of a location in an object."""
    place = PLACE.fullmatch(location)
    if place:
        return [obj.bias + int(place[2], 16)] if place[1] == obj.name else []
    return [obj.bias + address for address in _places.get((obj.path, location), ())]


def names_for(objects, names):
    """The set of (name, address) that these objects should have."""
    return {(f"{location}@{scope}", address) for location, scope in names for obj in objects
            if scope in ("all", str(obj.namespace.interp)) for address in places_in(obj, location)}


def give(objfile, objects, names):
    """Give names to the wanted places in these objects, which this object file of gdb's describes."""
    missing = names_for(objects, names) - _given.get(objfile, set())
    if not missing:
        return
    like = objfiles.sections_in_memory(objfile) or sections_of_file(objfile)
    if not like and objfile is not owners()[0]:
        give(owners()[0], objects, names)  # its file was a copy, and is gone
    elif like:
        _given.setdefault(objfile, set()).update(missing)
        objfile.add_separate_debug_file(file_with(place_names.build(like, sorted(missing))))


def file_with(content):
    global _folder
    if not _folder:
        _folder = tempfile.TemporaryDirectory(prefix="gorgon-gdb-")
    handle, path = tempfile.mkstemp(".debug", dir=_folder.name)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return path


def owners():
    """Object files that may be given a file of debug information. gdb crashes if they are themselves given to another."""
    return [objfile for objfile in gdb.objfiles() if objfile.owner is None]


def holds_names(objfile):
    return bool(_folder) and (objfile.filename or "").startswith(_folder.name + "/")


def sections_of_file(objfile):
    try:
        with open(objfile.filename, "rb") as file:
            data = file.read()
        return place_names.sections(lambda off, size: data[off:off + size])
    except (OSError, ValueError, elf.struct.error):
        return None


def refresh(names=None):
    """Give names to all wanted places that have none yet."""
    global _settled
    names = names or ours.wanted()
    snapshot = process.try_snapshot() if names else None
    if snapshot is None or (snapshot, names) == _settled:
        return
    look_up(snapshot.objects, {location for location, _ in names})
    groups = {}
    for obj in snapshot.objects:
        groups.setdefault(obj.symfile or obj.path, []).append(obj)
    known = {}
    for objfile in owners():
        found = objfiles.SYMFILE.match(objfile.filename or "")
        known[int(found[1], 16) if found else objfile.filename] = objfile
    for key, objects in groups.items():
        # If gdb has not heard of an object, the names are given to the program's object file: a file that somebody has added for
        # the object may be removed, and the names with it. Object files of the system's linker stay.
        objfile = known.get(key) if objects[0].symfile or objects[0].link_map else None
        if not objfile and not objects[0].symfile:
            objfile = owners()[0]
        if objfile:
            give(objfile, objects, names)
    forget_gone(snapshot)
    _settled = None if snapshot.changing else (snapshot, names)


def forget_gone(snapshot):
    """A name that was given to the program's object file does not go with its private object: disable the place."""
    for breakpoint in filter(ours.is_ours, gdb.breakpoints()):
        for place in breakpoint.locations:
            if place.enabled and place.address and not snapshot.find_object(place.address):
                place.enabled = False


def start_again():
    """A breakpoint or the process is new: try once more what could not be looked up."""
    global _settled
    _settled = None
    for key in _failed:
        _places.pop(key, None)
    _failed.clear()


def on_new_objfile(event):
    names = ours.wanted()
    extent = objfiles.covered(event.new_objfile) if names else None
    snapshot = process.try_snapshot() if extent else None
    if not snapshot:
        return
    objects = snapshot.objects_between(*extent)
    try:
        look_up(objects, {location for location, _ in names})
        give(event.new_objfile, objects, names)
    except (gdb.error, root.RootError) as error:
        gdb.write(f"gorgon break: {error}\n")


def on_free_objfile(event):
    _given.pop(event.objfile, None)
    if NAMES_GO_FIRST and holds_names(event.objfile):
        look_again()
    extent = objfiles.covered(event.objfile)
    if extent:
        reruns.leave(extent)


def look_again():
    """Have gdb find the places of breakpoints anew, as it does for any new file, before it removes a file with names."""
    program = owners()[0]
    like = sections_of_file(program)
    if like:
        with reruns.quietly(reruns.enabled()):
            program.add_separate_debug_file(file_with(place_names.build(like, [])))


def on_exited(_event):
    start_again()


def on_stop(_event):
    try:
        refresh()
    except (gdb.error, root.RootError) as error:
        gdb.write(f"gorgon break: {error}\n")


def absolute(location, snapshot):
    """A location that means the same in each copy. Raises root.RootError, gdb.error."""
    if location.startswith("*"):
        address = commands.evaluate_address(methods.in_own_copy(location[1:], values.copy_of()))
        obj = snapshot.find_object(address) if snapshot else None
        if not obj:
            raise root.RootError(f"{address:#x} is in no private object")
        return f"{obj.name}+{address - obj.bias:#x}"
    if not re.fullmatch(r"[+-]?\d+", location):
        return location
    place = gdb.selected_frame().find_sal()
    if not place.symtab:
        raise root.RootError("the selected frame has no source file; say FILE:LINE")
    line = int(location) + (place.line if location[0] in "+-" else 0)
    return f"{place.symtab.filename}:{line}"


def create(command, location, interp, rest, condition):
    """Have gdb make a breakpoint, which it announces. Raises gdb.error when its location can never be one."""
    snapshot = process.try_snapshot()
    location = absolute(location, snapshot)
    scope = "all" if interp is None else str(interp)
    start_again()
    look_up(snapshot.objects if snapshot else [], [location])
    refresh(ours.wanted() | {(location, scope)})
    name = f"{location}@{scope}"
    text = f"{command} -function {languages.quoted(name) if re.search('[ ,]', name) else name} {rest}"
    if condition:
        text += f" if $gorgon_eval({languages.argument(condition, location)})"
    gdb.execute(f"with breakpoint pending on -- {text}", from_tty=True)
    breakpoint = max(filter(ours.is_ours, gdb.breakpoints()), key=lambda b: b.number)
    if breakpoint.pending:
        gdb.write(f"gorgon break: {reason(interp)}\n")
    elif PLACE.fullmatch(location):
        check_place(breakpoint, names_for(snapshot.objects, {(location, scope)}))


def check_place(breakpoint, names):
    """Refuse a name at the first instruction of a function: gdb would take it for the function's name, and stop behind the
    prologue."""
    if {place.address for place in breakpoint.locations} - {address for _, address in names}:
        breakpoint.delete()
        raise root.RootError("at the first instruction of a function \"break *ADDRESS\" stops, in one copy")


def reason(interp):
    """Why a breakpoint has no place."""
    snapshot = process.try_snapshot()
    interps = [ns.interp for ns in snapshot.interpreters] if snapshot else []
    if interps and interp is not None:
        if interp not in interps:
            return f"there is no interpreter {interp} yet"
        return f"no private library of interpreter {interp} has it yet"
    return "no private library has it yet"


class Break(commands.Subcommand):
    """Set a breakpoint in every private copy of a library, also in copies that are loaded later.

    Usage: gorgon break [-i N] LOCATION [thread THREAD] [if CONDITION]
           gorgon break

    LOCATION is a function, FILE:LINE, LINE, *ADDRESS or anything else that "break" takes.
    It is looked up once per library, whatever the number of copies. If no library has it yet,
    the breakpoint waits for a library that has. With -i, the breakpoint is for interpreter N
    only, which need not exist yet. CONDITION is evaluated in the frame of the copy that has
    come there, with that copy's global and thread-local variables, as "gorgon print" does.

    It is one of gdb's breakpoints, on a name that stands for its places: LOCATION@all, or
    LOCATION@N. "info breakpoints", "delete", "condition", "commands", "ignore" and "save
    breakpoints" know it. Without arguments, the command lists such breakpoints.

    Example:
      (gdb) gorgon break -i 2 list_append if op->ob_type == &PyList_Type
      (gdb) gorgon break mymodule.c:120"""

    name = "gorgon break"
    command = "break"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_BREAKPOINTS)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        interp, text = commands.interp_option(self.name, arg)
        location, rest, condition = split(text)
        if location:
            create(self.command, location, interp, rest, condition)
        elif rest or condition or interp is not None or self.command != "break":
            raise gdb.GdbError(f'{self.name}: a LOCATION expected; see "help {self.name}"')
        else:
            numbers = [str(b.number) for b in gdb.breakpoints() if ours.is_ours(b)]
            gdb.execute(f"info breakpoints {' '.join(numbers)}") if numbers else gdb.write("No gorgon breakpoints.\n")

    def completions(self, text, word):
        return commands.complete_interp_option(text, word) or gdb.COMPLETE_LOCATION


class TemporaryBreak(Break):
    """Set a breakpoint in every private copy, and delete it when it is first hit.

    Usage: gorgon tbreak [-i N] LOCATION [thread THREAD] [if CONDITION]

    See "help gorgon break"."""

    name = "gorgon tbreak"
    command = "tbreak"


class Delete(commands.Subcommand):
    """Delete breakpoints that were set with "gorgon break".

    Usage: gorgon delete [NUM]...

    NUM is the number that "info breakpoints" shows. Without NUM, all such breakpoints are deleted.
    gdb's own "delete" deletes them, too."""

    name = "gorgon delete"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_BREAKPOINTS)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        known = {str(b.number): b for b in gdb.breakpoints() if ours.is_ours(b)}
        for word in arg.split():
            if word not in known:
                raise gdb.GdbError(f'{self.name}: no gorgon breakpoint {word}; "gorgon break" lists them')
        for word in set(arg.split()) or known:
            known[word].delete()

    def completions(self, text, word):
        return [str(b.number) for b in gdb.breakpoints() if ours.is_ours(b) and str(b.number).startswith(word)]


class GorgonEval(gdb.Function):
    """The value of an expression in the copy that the selected frame belongs to.

    Usage: $gorgon_eval (STRING)

    Global, static and thread-local variables in it are those of the frame's copy, as with
    "gorgon print". In a condition it is evaluated in the frame that has come to the breakpoint;
    where gdb knows names only, debug information is added first.

    Example:
      (gdb) break walk_step if $gorgon_eval("walk_counter == number")"""

    def __init__(self):
        super().__init__("gorgon_eval")

    def invoke(self, text):
        obj = None
        try:
            obj = values.selected_object()
            if obj and gdb.parameter("gorgon auto-symbols"):
                if symbols.attach_for_condition(obj):
                    gdb.selected_frame().find_sal()
                    symbols.refresh_lines()
            if obj:
                languages.follow_frame()
            return gdb.parse_and_eval(methods.in_own_copy(languages.text(text), values.copy_of()))
        except (gdb.error, root.RootError, root.MemoryProblem) as error:
            # gdb does not stop where a condition's names mean nothing. It cannot see that here, so the function does.
            if "No symbol " in str(error) and (obj is None or gdb.selected_frame().function() is None):
                return 0
            raise gdb.GdbError(str(error)) from None


def split(text):
    """LOCATION [thread N] [if CONDITION]"""
    location, rest, condition = REST.match(text).groups()
    return location, rest.strip(), (condition or "").strip()


def register():
    for part in (Break, TemporaryBreak, Delete, GorgonEval):
        part()
