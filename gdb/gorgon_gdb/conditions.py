# SPDX-License-Identifier: MIT
"""Conditions of gdb's breakpoints are evaluated in the copy that has come to them.

gdb reads a condition once for each place, when the breakpoint is set. A global variable is then the first copy's. And where gdb has
lines only (of libpython, with more than eight interpreters), it does not know a local variable, and gives up that place. So
the scripts change a condition into $gorgon_eval("CONDITION"), which is evaluated when a thread comes there:

    where gdb knows variables    if the condition names a global variable or a function of private code
    where gdb has lines only     if the condition names anything but gdb's own variables

They do so when gdb says that a breakpoint is new or has changed, and when gdb hears of private code. But "break" and
"condition" refuse a condition that gdb can read at no place at all. So hooks.py changes a condition that somebody types before
gdb sees it; for a command of a script gdb gets the variables of one copy of each library first.

What names nothing, in gdb's symbols or in the files of the copies, stays as it is, so that gdb marks it as invalid. A condition that
was changed before its places were known is given back to gdb when they have debug information, and gdb refuses it at each."""

import functools
import re

import gdb

from gorgon_shared import root
from . import breakpoints, execute, languages, objfiles, process, symbols, values

FEW = 8  # interpreters with debug information of their own
PREFIX = "$gorgon_eval("
# LOCATION if CONDITION, NUMBER CONDITION
PARTS = {"condition": re.compile(r"((?:-force\s+)?(?:\d+|\$\w+)\s+)(\S.*)", re.S)}
LOCATION = re.compile(r"(.*?(?:^|\s)if\b\s*)(\S.*)", re.S)
OWN = re.compile(r"\$gorgon_eval\((?:\"((?:\\.|[^\"\\])*)\"|\$(\w+))\)")
NO_SYMBOL = re.compile(r'No symbol "(.*?)"')
PENDING = re.compile(r"^\d+ .*<PENDING> +(.*)$", re.M)
COMMANDS = ("break", "tbreak", "hbreak", "thbreak", "condition")

_changing = False
_judged = {}  # (number, condition) of which gdb was asked whether it refuses it -> its answer


def names_in(condition):
    return languages.names(condition) - values.WORDS


def is_many(snapshot):
    """Whether there are copies of which gdb has lines only, or there will be soon."""
    return len(snapshot.interpreters) >= FEW or any(obj.symfile_kind == root.PACK for obj in snapshot.objects)


def scopes(block):
    """The C++ namespaces that a block's function is in, the innermost first; at last the global one."""
    while block and not block.function:
        block = block.superblock
    name = re.sub(r"<.*|\(.*", "", block.function.name) if block else ""
    parts = name.split("::")[:-1]
    return ["::".join(parts[:count]) + "::" for count in range(len(parts), 0, -1)] + [""]


def lookup(name, block):
    """(gdb's symbol for a name at a block or None, whether nothing more need be known of it). The frame's language is not that of
    the block, so gdb does not look into the namespaces around the block."""
    if block:
        symbol, is_member = gdb.lookup_symbol(name, block)
        if is_member:
            return values.static_member(name, block), True
        if symbol and (symbol.needs_frame or symbol.is_argument):
            return None, True
    for scope in scopes(block):
        symbol = gdb.lookup_global_symbol(scope + name) or gdb.lookup_static_symbol(scope + name)
        if symbol:
            return symbol, False
    return None, not block


def is_of_copies(name, snapshot, block):
    """Whether a name is that of a global variable or function of private code, as far as can be known: what a "use" of
    Fortran or a "using" of C++ has brought into a block is known only when somebody is there."""
    try:
        symbol, is_sure = lookup(name, block)
        if symbol is None:
            return not is_sure
        if symbol.addr_class in values.NO_ADDRESS or symbol.is_argument:
            return False
        if symbol.addr_class == gdb.SYMBOL_LOC_COMPUTED:
            return True  # thread-local
        address = symbol.value().address
        return address is not None and snapshot.find_object(int(address) & values.MASK) is not None
    except gdb.error:
        return False


def is_in_copies(breakpoint, snapshot):
    return breakpoint.pending or any(snapshot.find_object(place.address) for place in breakpoint.locations
                                     if place.address)


def needs(condition, snapshot, addresses):
    names = names_in(condition) if condition and PREFIX not in condition else ()
    if not names or is_many(snapshot) and not are_described(addresses, snapshot):
        return bool(names)
    block = next(filter(None, map(gdb.block_for_pc, filter(None, addresses))), None)
    return any(is_of_copies(name, snapshot, block) for name in names)


def are_described(addresses, snapshot):
    """Whether there are addresses, and gdb knows arguments and variables at all of them."""
    found = [snapshot.find_object(address) for address in addresses if address]
    return bool(found) and not symbols.missing(list(filter(None, found)))


def places(location):
    """The addresses where "break" would set a breakpoint; none if gdb does not find the location, or will refuse it."""
    try:
        return [place.pc for place in gdb.decode_line(location)[1] or ()]
    except gdb.error:
        return []


def places_of(number):
    """The addresses of a breakpoint's places."""
    try:
        number = int(gdb.parse_and_eval(number))
    except gdb.error:
        return []
    return [place.address for breakpoint in gdb.breakpoints() if breakpoint.number == number for place in breakpoint.locations]


def own(condition, addresses=(), location=""):
    """A condition that is evaluated by our scripts, for a breakpoint with these places or of which only the location is known."""
    files = [place.symtab.filename for place in map(gdb.find_pc_line, filter(None, addresses)) if place.symtab]
    return f"{PREFIX}{languages.argument(condition, location, *files)})"


def as_typed(condition):
    """The condition that own() was made from, or None."""
    found = OWN.fullmatch(condition)
    if not found:
        return None
    if found[2]:
        text = gdb.convenience_variable(found[2])
        return text and languages.text(text)
    return re.sub(r"\\(.)", r"\1", found[1])


def is_refused(breakpoint, condition, addresses, snapshot):
    """Whether gdb refuses the condition at every place because of a name that nothing has there, nor any library of these copies."""
    global _changing
    _changing, before = True, breakpoint.condition
    try:
        breakpoint.condition = condition
        breakpoint.condition = before
        return False
    except gdb.error as error:
        missing = NO_SYMBOL.match(str(error))
    finally:
        _changing = False
    copies = {obj.namespace.label: values.Copy(snapshot, obj.namespace, obj) for obj in map(snapshot.find_object, addresses) if obj}
    return bool(missing) and not any(values.is_in_files(missing[1], copy) for copy in copies.values())


def judge(_event=None):
    """Have gdb mark the places of conditions that were changed before the places were known, if gdb would have refused them."""
    global _changing
    snapshot = process.try_snapshot() if not _changing and process.known() and gdb.breakpoints() else None
    for breakpoint in gdb.breakpoints() if snapshot else ():
        condition = as_typed(breakpoint.condition or "")
        known = (breakpoint.number, condition)
        if condition is None or known in _judged or breakpoint.pending:
            continue
        addresses = [place.address for place in breakpoint.locations]
        if not are_described(addresses[:1], snapshot) or not are_described(addresses, snapshot):
            continue
        _judged[known] = is_refused(breakpoint, condition, addresses, snapshot)
        if _judged[known]:
            _changing = True
            try:
                gdb.write(execute.run(f"condition -force {breakpoint.number} {condition}") or "")
            finally:
                _changing = False


def forget(_event):
    """Another process may have another library there."""
    _judged.clear()


def adapt(breakpoint):
    global _changing
    # gdb also sends this event while it starts a program. It fails to start the program if a script reads memory then.
    can_need = breakpoint.condition and PREFIX not in breakpoint.condition and not _changing and process.known()
    if _judged.get((breakpoint.number, breakpoint.condition)):
        return  # in a copy that has come only now, too, which has no debug information yet
    snapshot = process.try_snapshot() if can_need else None
    if not snapshot or not breakpoint.visible or breakpoint.type not in (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT):
        return
    addresses = [place.address for place in breakpoint.locations]
    if needs(breakpoint.condition, snapshot, addresses) and is_in_copies(breakpoint, snapshot):
        if are_described(addresses, snapshot) and is_refused(breakpoint, breakpoint.condition, addresses, snapshot):
            return
        _changing = True
        try:
            breakpoint.condition = own(breakpoint.condition, addresses)
        except gdb.error:
            pass  # of a place that is gone
        finally:
            _changing = False


def on_new_objfile(event):
    extent = objfiles.covered(event.new_objfile) if gdb.breakpoints() else None
    snapshot = process.try_snapshot() if extent else None
    for breakpoint in gdb.breakpoints() if snapshot else ():
        adapt(breakpoint)
    for location in unread() if snapshot and is_many(snapshot) else ():
        symbols.introduce([obj for obj in snapshot.objects_between(*extent) if breakpoints.may_have(obj, location)])


def unread():
    """Locations of breakpoints that a script has set before the code was there. gdb has not read their conditions yet, and
    will when it knows a place where the names are known."""
    if not any(breakpoint.pending for breakpoint in gdb.breakpoints()):
        return []
    places = PENDING.findall(execute.run("info breakpoints") or "")
    return [found[1].rpartition("if")[0].strip() for found in map(LOCATION.fullmatch, places) if found]


def is_of(command, line):
    """Whether a line is this command, perhaps abbreviated."""
    word = line.split(maxsplit=1)[:1]
    return bool(word) and command.startswith(word[0])


def typed(command, line):
    """The line to run instead of a line that was typed, or None if that is right."""
    found = PARTS.get(command, LOCATION).fullmatch(line.strip().partition(" ")[2].strip())
    if not found or not names_in(found[2]) or PREFIX in found[2] or not can_be_many():
        return None
    snapshot = process.try_snapshot()
    addresses = () if not snapshot else places_of(found[1].split()[-1]) if command in PARTS else places(found[1].rpartition("if")[0])
    if snapshot and are_described(addresses, snapshot):
        return None  # adapt() sees to global variables
    return f"{command} {found[1]}{own(found[2], addresses, found[1])}"


def can_be_many():
    snapshot = process.try_snapshot()
    return is_many(snapshot) if snapshot else is_gorgon()


def is_gorgon():
    """Whether there is private code, or may be later because the program is linked with libgorgon."""
    if process.try_snapshot():
        return True
    program = gdb.current_progspace().filename
    return bool(program) and uses_gorgon(program)


@functools.lru_cache(maxsize=16)
def uses_gorgon(program):
    try:
        with open(program, "rb") as file:
            return b"\0libgorgon.so" in file.read()
    except OSError:
        return False
