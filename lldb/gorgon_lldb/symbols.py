# SPDX-License-Identifier: MIT
"""Source-level debug information for chosen copies.

The symfile that lldb reads of each copy has addresses and exported names; lldb takes no
further debug file for it. So the library file itself is added as a further module per copy,
and the module that lldb has made from the symfile is removed: with two modules at one address breakpoints
have double locations, and backtraces show the module with less information. If the symfile is a pack, it describes other
objects, too; then a module for those other objects, called the rest here, takes its place. settle() does that, also after the
process has replaced symfiles by a pack.

For a path that it knows, lldb returns the module that it has, and for a known UUID, too, if one is passed.
So every copy gets a symbolic link of its own to the file, and no UUID. The link has the file's
name, which lldb shows as the module's name, in a folder that names the interpreter: interp 3/libpython3.11.so.1.0 (files.py).

When a module is removed whose file has changed, lldb forgets the types of the results of all
expressions: each condition that it has evaluated before fails then ("can't get size of type
<invalid>"), and $variables are gone. To lldb, a missing file was last written at the beginning of time (1970). So the files that this
module writes and deletes have that time, and links are not removed."""

import collections
import contextlib
import fnmatch
import os
import tempfile

import lldb

from gorgon_shared import root
from . import editors, files, inflated, libraries, process, symfiles

# The module of a copy's file, the link by which it was read, and whether the copy had a symfile (if it loses that, the module goes).
Added = collections.namedtuple("Added", "module link listed")
# The module of those objects of a symfile that have no module of their own: identities of the objects, and the module, which several
# symfiles may share.
Rest = collections.namedtuple("Rest", "which module")

_added = {}    # key of a process -> {identity of a copy: Added}
_rests = {}    # key of a process -> {address of a symfile: Rest}
_settled = {}  # key of a process -> the Snapshot that its modules follow
_without = {}  # key of a process -> whether lldb makes no modules of symfiles in it

automatic = {}  # id of a debugger with "gorgon symbols auto" -> lldb's setting before, which says whether it makes modules of symfiles


@contextlib.contextmanager
def switched_off(debugger, name):
    """While this lasts, one of lldb's settings is false."""
    instance = debugger.GetInstanceName()
    before = debugger.GetInternalVariableValue(name, instance).GetStringAtIndex(0)
    debugger.SetInternalVariable(name, "false", instance)
    try:
        yield
    finally:
        debugger.SetInternalVariable(name, before, instance)


def reading_late(target):
    """While this lasts, lldb does not index all debug information of a module that is added, but reads what breakpoints and
    the user ask for. For a further copy of libpython that takes between a tenth and half of the time."""
    return switched_off(target.GetDebugger(), "target.preload-symbols")


def identity(o):
    # All three: an address may be used again for another object.
    return o.address, o.start, o.label


def matches(o, pattern):
    return pattern is None or pattern in o.name or fnmatch.fnmatchcase(o.name, pattern)


def has_symbols(target, o):
    # LLDB takes objects of the system's linker from the linker's list. In a core it lacks them if their files are gone.
    known = o.link_map and target.ResolveLoadAddress(o.start).GetModule().IsValid()
    return known or identity(o) in _added.get(process.key(target.GetProcess()), {})


def has_more(o):
    """Whether an object's file has more for lldb than its symfile has. A pack has all names, so the file of a library without
    debug information has nothing more; and a module costs lldb more than all names of a pack."""
    return o.symfile_kind != root.PACK or o.debug_kind != root.DEBUG_NAMES


def open_file(target, o, forget):
    """Add a copy's file as a module, which is at no address yet. forget(link) is called first, to remove an older module of this
    link. Returns (Added, None) or (None, an error's text)."""
    if not os.path.isfile(o.path):
        return None, f"{o.path} is not there"
    try:
        if libraries.is_replaced(o):
            return None, f"{o.path} was replaced: its build-id is not that of the file that the process has loaded"
        link = libraries.link_to(target.GetDebugger(), o)
    except OSError as error:
        return None, f"no link to it can be made: {error}"
    forget(link)  # a module stands for a single copy
    module = target.AddModule(link, None, None, inflated.debug_file(target.GetDebugger(), o))
    if not module.GetObjectFileHeaderAddress().IsValid():
        target.RemoveModule(module)
        return None, f"lldb cannot read {o.path}"
    return Added(module, link, bool(o.symfile)), None


def open_symfiles(target, groups):
    """A module for these objects of a symfile, as lldb makes it of a whole symfile. @groups: the objects, of each of several symfiles
    if can_join() says so of all of them. None: a symfile cannot be read."""
    error, parts = lldb.SBError(), []
    for o, *_ in groups:
        data = target.GetProcess().ReadMemory(o.symfile, o.symfile_size, error)
        if not data:
            return None
        parts.append(data)
    objects = [o for group in groups for o in group]
    o, ranges = objects[0], [[(o.start, o.end) for o in group] for group in groups]
    if len(groups) > 1:
        data = symfiles.join(list(zip(parts, ranges)))
    elif o.symfile_kind == root.PACK:
        data = symfiles.part_of_pack(data, ranges[0], any(map(has_more, objects)))
    else:
        data = symfiles.as_library(data)
    # The file may go at once: lldb has mapped it.
    with tempfile.TemporaryDirectory(prefix=files.REST) as folder:
        path = os.path.join(folder, o.label if o.symfile_kind != root.PACK else pack_label(objects))
        with open(path, "wb") as file:
            file.write(data)
        os.utime(path, (0, 0))
        with switched_off(target.GetDebugger(), files.INDEX):  # no session sees this file again
            module = target.AddModule(path, None, None)
            module.GetNumSymbols()  # makes lldb read the symbols, or addresses would have no names
    return module


def can_join(objects):
    """Whether objects of a pack can have a module with those of others: lines cannot be joined."""
    return objects[0].symfile_kind == root.PACK and not any(map(has_more, objects))


def pack_label(objects):
    """The name of the module of a pack. With very many interpreters a pack describes several."""
    first, last = objects[0].namespace, objects[-1].namespace
    return f"pack [{first.label}]" if first is last else f"pack [{first.label} to {last.label}]"


def lacks_loader(target):
    """Whether lldb makes no modules of symfiles in this process because "gorgon symbols auto" does. lldb decides that
    when a process begins, so this must be called early."""
    key = process.key(target.GetProcess())
    if key not in _without:
        _without[key] = target.GetDebugger().GetID() in automatic
    return _without[key]


def settle(target, snapshot, fresh=()):
    """If some objects of a symfile have modules of their own, give lldb a module for the other objects, in place of the module
    of the whole symfile. Symfiles without such objects are left to lldb, unless it does not read them. @fresh: identities
    of the objects whose files have just been opened."""
    key, alone = process.key(target.GetProcess()), lacks_loader(target)
    added, rests = _added.setdefault(key, {}), _rests.setdefault(key, {})
    if not added and not rests and not alone:
        return
    _settled[key] = snapshot
    modules = {} if alone else {module.GetFileSpec().GetFilename(): module for module in target.module_iter()}
    symfiles_there, open_now, moved = by_symfile(snapshot), {}, set()
    for symfile, objects in symfiles_there.items():
        jit, old = modules.get(process.jit_name(symfile)), rests.get(symfile)
        if old and (jit or old.which != others_of(objects, added)):
            moved |= forget_rest(target, rests, symfile)
    for symfile, objects in symfiles_there.items():
        jit = modules.get(process.jit_name(symfile))
        if symfile not in rests and (alone or symfile in moved and not jit or any(identity(o) in added for o in objects)):
            which = others_of(objects, added)
            others = [o for o in objects if identity(o) in which]
            if jit:
                target.RemoveModule(jit)
                moved.add(symfile)
            # Of packs that are new at once, as when lldb attaches, each interpreter's are one module.
            if alone and others and can_join(others):
                open_now.setdefault(others[0].namespace.address, {})[symfile] = others
            else:
                open_now[symfile] = {symfile: others}
    for groups in open_now.values():
        module = open_symfiles(target, list(groups.values())) if all(groups.values()) else None
        for symfile, others in groups.items():
            rests[symfile] = Rest(frozenset(map(identity, others)), module)
        if module:
            place(target, module, 0)  # its addresses are absolute
            moved |= set(groups)
    for symfile, objects in symfiles_there.items():
        for o in objects:
            if identity(o) in added and (symfile in moved or identity(o) in fresh):
                place(target, added[identity(o)].module, o.bias)


def others_of(objects, added):
    """The identities of those objects of a symfile that have no module of their own."""
    return frozenset(identity(o) for o in objects if identity(o) not in added)


def forget_rest(target, rests, symfile):
    """Remove the module of a symfile's other objects. Returns all symfiles that have lost their module by that."""
    module = rests[symfile].module
    gone = {s for s, rest in rests.items() if s == symfile or module and rest.module is module}
    for s in gone:
        del rests[s]
    if module:
        target.RemoveModule(module)
    return gone


class StopHook:
    """Runs at each stop, before lldb shows the stop, because the process may have packed or unloaded something meanwhile."""

    def __init__(self, target, _args, _dict):
        self.target = target

    def handle_stop(self, _context, _stream):
        drop_stale(self.target)
        return True  # the process stays stopped


def add_stop_hook(target):
    """Add the stop hook to a target, unless it is there."""
    interpreter, context = target.GetDebugger().GetCommandInterpreter(), lldb.SBExecutionContext(target)
    result = lldb.SBCommandReturnObject()
    interpreter.HandleCommand("target stop-hook list", context, result)
    if "gorgon.StopHook" not in (result.GetOutput() or ""):
        interpreter.HandleCommand("target stop-hook add -P gorgon.StopHook", context, result)


def by_symfile(snapshot):
    found = collections.defaultdict(list)
    for o in snapshot.objects:
        if o.symfile:
            found[o.symfile].append(o)
    return found


def place(target, module, slide):
    """Set the addresses of a module. That is repeated when another module was at these addresses, because lldb then forgets to which
    module they belong."""
    if module:
        target.ClearModuleLoadAddress(module)
        target.SetModuleLoadAddress(module, slide)


def open_files(target, objects):
    """Add the files of these objects. Returns (how many were added, lines about the objects whose files cannot be added)."""
    key = process.key(target.GetProcess())
    if not _added.get(key):
        look_in_frames_only(target.GetDebugger())
        files.keep_indexes(target.GetDebugger())
        if target.GetProcess().GetPluginName() == "minidump":
            drop_merged(target)
    added = _added.setdefault(key, {})
    links = {opened.link: which for which, opened in added.items()}
    fresh, text = set(), ""

    def forget(link):
        if link in links:
            target.RemoveModule(added.pop(links[link]).module)

    with reading_late(target):
        for o in objects:
            opened, problem = open_file(target, o, forget)
            if opened is None:
                text += f"{o.label}: {problem}\n"
                continue
            added[identity(o)] = opened
            fresh.add(identity(o))
            if not o.symfile:
                place(target, opened.module, o.bias)
    settle(target, process.snapshot(target), fresh)
    return len(fresh), text


def look_in_frames_only(debugger):
    """Have "frame variable" say that there is no such variable in the frame. From lldb 21 on it looks in all modules then, and takes
    the first copy's. So do "print" and an editor's watch, which ask "frame variable" first; the setting is unknown to older
    versions."""
    debugger.SetInternalVariable("target.experimental.use-DIL", "false", debugger.GetInstanceName())


def drop_merged(target):
    """Remove the modules of copies from a core that lldb has written: it takes modules with one build-id for one module, at the
    address of any of them."""
    for module in [m for m in target.module_iter() if files.has_links(m.GetFileSpec().GetDirectory())]:
        target.RemoveModule(module)


def add(target, namespaces, pattern):
    """gorgon symbols. Returns the text to print."""
    wanted = [o for ns in namespaces for o in ns.objects if matches(o, pattern)]
    if not wanted:
        return f"No object's name fits {pattern}.\n" if pattern else "No objects.\n"
    new = [o for o in wanted if not has_symbols(target, o)]
    count, text = open_files(target, new)
    add_stop_hook(target)
    there = f", {len(wanted) - len(new)} had them already" if len(wanted) > len(new) else ""
    return text + f"Symbols added to {count} objects{there}.\n"


def follow(target, everything):
    """Follow what the process has registered and unregistered. @everything: new copies get symbols."""
    snapshot = process.try_snapshot(target)
    if snapshot is None:
        return
    if not everything:
        drop_stale(target)
        return
    if not snapshot.changing and not snapshot.problems:
        drop_missing(target, process.key(target.GetProcess()), snapshot)
    with contextlib.suppress(root.RootError):
        open_files(target, [o for o in snapshot.objects if o.symfile and has_more(o) and not has_symbols(target, o)])
    editors.update(target, snapshot)


def is_followed(target):
    """Whether copies have symbols."""
    return bool(_added.get(process.key(target.GetProcess())))


def remove(target):
    """gorgon symbols off: every copy as lldb knows it by itself. Returns the text to print."""
    added = _added.pop(process.key(target.GetProcess()), {})
    for opened in added.values():
        target.RemoveModule(opened.module)
    settle(target, process.snapshot(target))
    return f"Symbols removed from {len(added)} objects.\n"


def drop_stale(target):
    """Remove modules whose copy, symfile or process is gone. Called at each stop and before each command."""
    current = process.key(target.GetProcess()) if target.GetProcess().IsValid() else None
    snapshot = process.try_snapshot(target)
    if snapshot is None and current is not None and target.GetProcess().is_alive:
        return  # running, or unreadable: nothing is known
    if snapshot and _settled.get(current) is snapshot:
        return  # nothing has been registered since
    if not snapshot or not snapshot.changing and not snapshot.problems:  # otherwise the list may be incomplete
        drop_missing(target, current, snapshot)
    if snapshot:
        settle(target, snapshot)


def drop_missing(target, current, snapshot):
    alive = {identity(o): o.symfile for o in snapshot.objects} if snapshot else {}
    symfiles_there = set(alive.values())
    for key, added in _added.items():
        for which in [w for w in added if key != current or w not in alive or added[w].listed and not alive[w]]:
            target.RemoveModule(added.pop(which).module)
    for key, rests in _rests.items():
        for symfile in [s for s in rests if key != current or s not in symfiles_there]:
            if symfile in rests:
                forget_rest(target, rests, symfile)
