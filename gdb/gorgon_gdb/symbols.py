# SPDX-License-Identifier: MIT
"""gorgon symbols: gives gdb lines and variables of chosen copies, and at each stop of the copies in the stack.

With few interpreters gdb hears of private objects with their debug information. With many
(gorgon run --debug lazy, and auto from the ninth on) it hears of names and unwind data only, because
it takes gdb seconds to read the debug information of each copy. It hears nothing of objects of
--debug off. The debug root lists all objects, so the scripts can add a library's file at the bias of a
copy that matters.

At a stop, the copies in the stack of the selected thread matter and, so that a step into them is printed with arguments,
the libraries that the innermost one calls, unless breakpoints have very many places. From libpython, which calls extensions
through pointers, that can be every library of the interpreter. A step through another library's pointer is printed twice:
as gdb has it, with lines only, and then with arguments.
A file that was added in this way is removed again. The file of a libpython goes when the stack is another interpreter's; the
files of extensions, of libraries that have no lines otherwise, and of copies that a condition needs, go when AUTO_MAX further
interpreters have had files added."""

import functools
import os

import gdb

from gorgon_shared import root, tables
from . import commands, displays, execute, files, hits, index_cache, lines, missing_files, objfiles, process, python_helper

AUTO_MAX = 8
DESCRIBE = "maintenance gorgon-describe"
FRAMES_MAX = 64
PLACES_MAX = 200

_added = {}  # (path, bias) -> Addition, the latest last
_last_stack = None, (), []  # the Snapshot and the added files (which let gdb follow a stack further) at the last stack(), and its result
_looked_at = None  # (Snapshot, thread) of the stack that was looked at last
_prompted = None  # (sequence of the Snapshot, thread) at the last prompt, unless the process has run since
_left = False  # the stop has left work for the prompt


class Addition:
    def __init__(self, obj, by_itself, everywhere):
        self.interp = obj.namespace.label
        self.start = obj.start
        self.end = obj.end
        self.code = obj.bias + files.read(obj).code  # by which gdb removes it
        self.told = bool(obj.symfile)
        self.by_itself = by_itself    # nobody has asked for it by "gorgon symbols"
        self.everywhere = everywhere  # for an extension, whose every copy gets its file (extensions.py)
        # A file stays longer if breakpoints by line would lose their places without it, or if it is small: then it costs
        # little, and the next stop there has arguments at once.
        self.lasting = not lines.serves(obj) or obj is not obj.namespace.libpython
        self.parts = parts_of(gdb.objfiles()[-1])
        self.stale = False  # gdb has let go of the object; another may come to its place


def parts_of(added):
    """How often "remove-symbol-file" has to be run for an added file: once for the file, once for each debug file of it."""
    return 1 + sum(objfile.owner == added for objfile in gdb.objfiles())


class AutoSymbols(gdb.Parameter):
    """Whether gdb gets lines and variables of the copies in the stack at each stop.

    This matters for interpreters of which gdb knows names only: of "gorgon run --debug lazy", or of a
    process with more than eight interpreters. The first time it takes seconds for a libpython
    that was optimised as a whole. "gorgon symbols" adds lines and variables of other copies."""

    set_doc = "Set whether gdb gets lines and variables of the copies in the stack at each stop."
    show_doc = "Show whether gdb gets lines and variables of the copies in the stack at each stop."

    def __init__(self):
        super().__init__("gorgon auto-symbols", gdb.COMMAND_FILES, gdb.PARAM_BOOLEAN)
        self.value = True

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return f"Copies in the stack get lines and variables at a stop: {value}."


def is_known(obj):
    """Whether gdb has lines and variables of an object, as far as there are any."""
    if obj.link_map:  # gdb knows it, unless its file was a copy that is gone
        return gdb.solib_name(obj.bias + files.read(obj).code) is not None
    return bool(obj.symfile) and not lacks_dwarf(obj)


def lacks_dwarf(obj):
    """Whether gdb lacks the debug information of an object. A file that gdb was not told of, because it has the names of the JIT
    interface, can be added all the same: "add-symbol-file" moves addresses by the bias."""
    return obj.lacks_dwarf or files.registers_itself(obj)


def add(obj, by_itself=False):
    """Add the file of an object. Returns what was done, in a few words for the user."""
    key = (obj.path, obj.bias)
    if key in _added:
        _added[key].by_itself &= by_itself
        return "added before"
    if is_known(obj):
        return f"gdb has it: {obj.debug}"
    return add_file(obj, by_itself)


def add_file(obj, by_itself, everywhere=False):
    key = (obj.path, obj.bias)
    path = files.find(obj.path)
    if not os.path.isfile(path):
        return "there is no such file here"
    execute.places_change()
    lines.make_way(obj, covered())
    index_cache.prepare(obj)
    if execute.run(files.add_command(path, obj.bias)) is None:
        leave()
        return "later"
    _added[key] = Addition(obj, by_itself, everywhere)
    python_helper.adapt()
    return "added"


def added():
    """{(path, bias)} of the objects that files were added for."""
    return set(_added)


def is_added(obj):
    return (obj.path, obj.bias) in _added


def add_everywhere(obj):
    """Add the file of an object, to stay for as long as the object is there. Returns whether that could be done now."""
    return add_file(obj, True, True) != "later"


def count_everywhere():
    return sum(addition.everywhere for addition in _added.values())


def covered():
    """[(start, end)] of the objects that files were added for."""
    return [(addition.start, addition.end) for addition in _added.values()]


def remove(key):
    """Remove a file that was added. gdb removes one object file at a time: first that of the debug information, then
    the library's own."""
    addition = _added[key]
    execute.places_change()
    try:
        while addition.parts and displays.remove_symbol_file(addition.code) is not None:
            addition.parts -= 1
    except gdb.error:
        addition.parts = 0  # "file" and "kill" have removed it already
    if not addition.parts:
        del _added[key]


def leave():
    global _left
    _left = True


def is_listed(snapshot, key):
    obj = snapshot.find_object(_added[key].start)
    return obj is not None and (obj.path, obj.bias) == key and bool(obj.symfile) == _added[key].told


def stale():
    """Keys of the files that were added for copies which are gone."""
    snapshot = process.try_snapshot() if _added else None
    return [key for key in _added if not snapshot or not is_listed(snapshot, key)]


def remove_stale():
    for key in stale():
        remove(key)


def on_free_objfile(event):
    """gdb forgets objects. The files that were added for them are removed at the next stop: gdb 13 crashes if they are
    removed here."""
    extent = objfiles.covered(event.objfile) if _added else None
    snapshot = process.try_snapshot() if extent else None
    for key in _added if snapshot else ():
        _added[key].stale |= not is_listed(snapshot, key)


def on_settled(event):
    """An object has gone, and its memory is still there. Breakpoints must have no place in it any more: gdb would believe for ever that
    they are inserted there, also when other code has come to this address. Their places are those of the files that were added."""
    snapshot = process.try_snapshot() if objfiles.is_empty(event.new_objfile) else None
    places = {place.address for breakpoint in gdb.breakpoints() for place in breakpoint.locations} if snapshot else ()

    def is_going(run):
        obj = snapshot.find_object(run[0])
        return not (obj and obj.symfile) and any(run[0] <= place < run[1] for place in places)

    if places:
        for key in [key for key, addition in _added.items() if addition.stale and is_going((addition.start, addition.end))]:
            remove(key)
        lines.leave(is_going, covered())


def attach(objects):
    """Add the files of the objects that gdb knows by names only. Returns the objects whose files were added."""
    return [obj for obj in missing(objects) if add(obj, by_itself=True) == "added"]


def missing(objects):
    return [obj for obj in objects if lacks_dwarf(obj) and not is_added(obj)]


def attach_for_condition(obj):
    """Add the file of an object for a condition. It stays for longer, since the breakpoint may be hit again in this copy."""
    added = attach([obj])
    for each in added:
        _added[each.path, each.bias].lasting = True
    return added


def read_frames():
    """Have gdb read the units of the stack's frames now, while the lines of these copies are removed: gdb looks first at
    the units that it has read first."""
    try:
        frame = gdb.newest_frame()
        for _ in range(FRAMES_MAX):
            if frame is None:
                break
            frame.find_sal()
            frame = frame.older()
    except gdb.error:
        pass  # no thread, or a stack that cannot be followed further


def refresh_lines():
    if not lines.refresh(added(), covered()):
        leave()


def describe(objects):
    """Have gdb know the types and variables of these libraries, no matter from which copy."""
    libraries = {obj.path: obj for obj in objects if lacks_dwarf(obj)}
    if libraries:
        known = {path for path, _ in _added}
        known.update(o.path for o in process.snapshot().objects if is_known(o))
        attach([obj for path, obj in libraries.items() if path not in known])


class Describe(gdb.Command):
    """Part of hooks that Gorgon's scripts define: have gdb know lines of each library where the process could keep no files.

    Usage: maintenance gorgon-describe

    One copy of each library gets its file, and not earlier, because a libpython can take gdb seconds."""

    def __init__(self):
        super().__init__(DESCRIBE, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        snapshot = None if execute.is_passing() else process.try_snapshot()
        if snapshot:
            describe(missing_files.only_named(snapshot))


def introduce(objects):
    """As describe(), for objects that gdb hears of at this moment, when the debug root does not say yet what gdb has of them."""
    for obj in objects:
        if not obj.link_map and not any(path == obj.path for path, _ in _added):
            add_file(obj, by_itself=True)


def described(symbol, name):
    """The symbol of a name with its type. @symbol is what gdb has found, which may come from lines and have no type."""
    if not lines.has_only_lines(symbol):
        return symbol
    paths = {path for path, _ in _added}
    found = (objfile.lookup_global_symbol(name) or objfile.lookup_static_symbol(name)
             for objfile in gdb.objfiles() if objfile.filename in paths)
    return next(filter(None, found), symbol)


def limit(objects):
    """Remove files of interpreters that are not in the stack. A "break PyErr_SetString" takes gdb 1.5 s for each libpython
    with debug information, and gdb looks into each whenever it gets a file. Files that are `lasting` stay for the
    last AUTO_MAX interpreters."""
    kept = {obj.namespace.label for obj in objects}
    mine = {key: addition for key, addition in _added.items()
            if addition.by_itself and not addition.everywhere and addition.interp not in kept}
    interps = list(dict.fromkeys(addition.interp for addition in mine.values() if addition.lasting))[-AUTO_MAX:]
    for key, addition in mine.items():
        if not addition.lasting or addition.interp not in interps:
            remove(key)


def stack(snapshot):
    """[(frame, its object or None)] of the selected thread, innermost first. Each frame takes gdb 0.1 ms, and a step leaves
    most of a stack as it was. So from the first frame on that is also in the last stack, the rest of the last stack is taken. Code
    that runs is not unloaded, so such a frame still has the object that it had."""
    global _last_stack
    added = tuple(_added)
    before = _last_stack[2] if _last_stack[0] is snapshot and _last_stack[1] == added else []
    found = []
    try:
        frame = gdb.newest_frame()
        while frame is not None and len(found) < FRAMES_MAX:
            same = next((level for level, (known, _) in enumerate(before) if known == frame), None)
            if same is not None:
                found += before[same:]
                break
            found.append((frame, snapshot.find_object(frame.pc())))
            frame = frame.older()
    except gdb.error:
        pass  # no thread, or a stack that cannot be followed further
    _last_stack = snapshot, added, found
    return found


def objects_in_stack():
    snapshot = process.try_snapshot()
    if not snapshot or not has_names_only(snapshot):
        return []  # nothing can be missing
    objects = [obj for _, obj in stack(snapshot)]
    innermost = next(filter(None, objects), None)
    around = called_by(innermost) if innermost and is_cheap() else []
    return list(dict.fromkeys([obj for obj in objects if obj] + around))


def called_by(innermost):
    """Libraries of the interpreter in which a step from this one may end, and those that gdb has no lines of otherwise."""
    namespace = innermost.namespace
    if innermost is namespace.libpython:
        return namespace.objects
    caller = files.read(innermost)
    return [obj for obj in namespace.objects if not lines.serves(obj) or caller.calls(files.read(obj))]


@functools.lru_cache(maxsize=4)
def has_names_only(snapshot):
    """Whether gdb has heard of objects without their debug information."""
    return any(map(lacks_dwarf, snapshot.objects))


def is_cheap():
    """Whether a further file costs gdb little. For each file it looks for all places of all breakpoints again, which takes a
    second for a thousand places."""
    return sum(len(b.locations) for b in gdb.breakpoints() if b.is_valid() and b.type == gdb.BP_BREAKPOINT) < PLACES_MAX


def selection():
    thread = gdb.selected_thread()
    return process.try_snapshot(), thread and thread.ptid


def attach_stack():
    """Add the files of the objects in the selected thread's stack, unless the user has switched that off ("set gorgon
    auto-symbols off"). Returns the objects whose files were added."""
    global _looked_at
    _looked_at = selection()
    objects = objects_in_stack() if gdb.parameter("gorgon auto-symbols") else []
    added = attach(objects)
    if added:
        limit(objects)
        if lines.follow(added, set(_added)):
            read_frames()
    refresh_lines()
    if all(obj.symfile for obj in added):  # gdb could follow the stack without these files, so there is no more to see
        _looked_at = selection()
    return added


def show_frame():
    """Print the selected frame, now with lines and variables."""
    text = execute.run("frame")
    if text is None:
        leave()
    else:
        gdb.write(text)


def on_stop(event, is_shown=False):
    """@is_shown: gdb has printed the selected frame with its variables already."""
    global _left
    breakpoints = getattr(event, "breakpoints", ())
    if execute.waits(event) and (hits.can_wait(event) or hits.leads() or not is_innermost(missing(objects_in_stack()))):
        leave()
        return []
    _left = False
    added = attach_stack()
    if hits.is_held():
        hits.show()
    elif not is_shown and is_innermost(added) and not any(hits.is_silent(breakpoint) for breakpoint in breakpoints):
        show_frame()
    elif added:
        look_here()
    return added


def on_commands(is_silent):
    """The first of the commands of a breakpoint that was hit in a copy without variables (hits.py)."""
    try:
        on_stop(None, is_silent)
    except gdb.error as error:
        gdb.write(f"{error}\n")  # the user's commands are run all the same


def on_continue(_event):
    global _prompted
    _prompted = None


def on_hit(breakpoint):
    """gdb is about to print a stop: load CPython's helper first, so that the stop shows values of Python objects."""
    if hits.on_modified(breakpoint, lacks_variables):
        python_helper.check()


def lacks_variables(address):
    """Whether gdb lacks the variables of the code at an address, and gets them in the stop."""
    obj = process.find_object(address) if gdb.parameter("gorgon auto-symbols") else None
    return obj is not None and bool(missing([obj]))


def attach_for_backtrace():
    """Called before a backtrace: add the files if the thread's stack was not looked at. That is so when there was no prompt after
    the thread stopped or was selected: with -batch, in a breakpoint's commands, in "thread apply"."""
    global _left
    if is_to_look():
        _left = False
        attach_stack()


def is_innermost(objects):
    """Whether the innermost frame is in one of these objects, so that gdb prints the stop without variables."""
    return any(obj.start <= gdb.newest_frame().pc() < obj.end for obj in objects)


def is_to_look():
    thread = gdb.selected_thread()
    return bool(thread) and thread.is_stopped() and (_left or selection() != _looked_at)


def look_here():
    """Tell gdb again where "list" and "info line" go on, which it forgets when lines are removed."""
    try:
        execute.run("frame")
    except gdb.error:
        pass  # of a stack that cannot be read


def on_prompt(_event=None):
    """Somebody may have selected another thread, or loaded a core, which has no stop. The selected frame stays."""
    global _prompted
    snapshot, thread = selection()
    # The sequence, because removing files makes the scripts read a new Snapshot of an unchanged process.
    before, _prompted = _prompted, (snapshot and snapshot.sequence, thread)
    if not is_to_look():
        return
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        frame = None  # of a stack that cannot be read
    added = on_stop(None, before == _prompted)
    if frame and frame.is_valid():
        frame.select()
    if added:
        look_here()


def matches(obj, library):
    return library is None or library in obj.name


class Symbols(commands.Subcommand):
    """Give gdb lines and variables of chosen copies.

    Usage: gorgon symbols N|all [LIB]
           gorgon symbols off

    N is an interpreter, LIB a part of a library's name. With up to eight interpreters gdb knows
    private objects with their debug information, and this command says where that is. With more
    interpreters gdb knows names only, and with --debug off nothing: then the command adds the
    files of the copies. "off" removes them. See also "set gorgon auto-symbols".

    Example:
      (gdb) gorgon symbols 2 libpython"""

    name = "gorgon symbols"

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        argv = self.arguments(arg, 2)
        if argv == ["off"]:
            for key in list(_added):
                remove(key)
            return
        if not argv:
            raise gdb.GdbError(f'{self.name}: N, "all" or "off" expected; see "help {self.name}"')
        snapshot = process.snapshot()
        wanted = snapshot.namespaces if argv[0] == "all" else [tables.parse_interp(snapshot, argv[0])]
        library = argv[1] if len(argv) > 1 else None
        objects = [o for ns in wanted for o in ns.objects if matches(o, library)]
        if not objects:
            raise root.RootError(f"no library {library}" if library else "no objects")
        gdb.write(tables.table(["Num", "Name", "Symbols"],
                               [[tables.number(o.namespace), o.name, add(o)] for o in objects]))
        refresh_lines()

    def completions(self, text, word):
        words = text.split()
        if len(words) <= 1 and text.strip() == word:
            return [w for w in ("all", "off") if w.startswith(word)] + commands.interp_numbers(word)
        snapshot = process.try_snapshot()
        return sorted({o.name for o in snapshot.objects if o.name.startswith(word)}) if snapshot else []


class SetPrefix(gdb.Command):
    """Settings of Gorgon."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_DATA, prefix=True)


def register():
    Symbols()
    Describe()
    SetPrefix("set gorgon")
    SetPrefix("show gorgon")
    AutoSymbols()
