# SPDX-License-Identifier: MIT
"""catch load stops for private objects, too.

gdb's catchpoints hear only of what the system's linker loads. While there is a catchpoint for loading, an internal breakpoint at the
function by which libjitreg tells debuggers of an object looks whether the catchpoint waits for that object. gdb knows the
object by then, and none of its code has run. The catchpoint's own count of hits does not include these stops."""

import re

import gdb

from . import conditions, execute, hits, process

REGISTRAR = "__jit_debug_register_code"
WAITING = re.compile(r"^(\d+)\s+catchpoint\s+(?:keep|del|dis)\s+y\s+load of library(?: matching (.*))?$", re.M)

_watch = None     # the internal breakpoint
_caught = None    # (number of a catchpoint, object) of a stop that is to be announced
_known = set()    # (path, bias) of the objects that were loaded before


def waiting():
    """[(number, regular expression)] of catchpoints for loading."""
    text = execute.run("info breakpoints") or ""
    return [(int(number), regex or "") for number, regex in WAITING.findall(text)]


def objects():
    snapshot = process.try_snapshot()
    return {(obj.path, obj.bias): obj for obj in snapshot.objects if not obj.link_map} if snapshot else {}


class Watch(gdb.Breakpoint):
    def __init__(self):
        super().__init__(REGISTRAR, internal=True)
        self.silent = True
        self.waiting = []

    def stop(self):
        global _caught
        there = objects()
        come = [obj for key, obj in there.items() if key not in _known]
        _known.clear()
        _known.update(there)
        _caught = next(((number, obj) for obj in come for number, regex in self.waiting if re.search(regex, obj.path)), None)
        return _caught is not None


def on_breakpoint(breakpoint, but=None):
    """A breakpoint is new or has changed. @but: the number of a breakpoint that is being deleted."""
    global _watch
    if breakpoint.type != gdb.BP_CATCHPOINT:
        return
    found = [(number, regex) for number, regex in waiting() if number != but]
    if found and not _watch and conditions.is_gorgon():
        _known.update(objects())
        _watch = Watch()
    if _watch:
        _watch.enabled = bool(found)
        _watch.waiting = found


def on_deleted(breakpoint):
    on_breakpoint(breakpoint, breakpoint.number)


def on_stop(_event):
    """Say which catchpoint has stopped the program, since gdb has printed nothing."""
    global _caught
    if not _caught:
        return
    (number, obj), _caught = _caught, None
    for breakpoint in [b for b in gdb.breakpoints() if b.number == number and b.temporary]:
        breakpoint.delete()
    hits.show_stop(f"\n{hits.thread_hit()}Catchpoint {number}\n  Inferior loaded {obj.path} [{obj.namespace.label}]\n")


def forget(_event=None):
    _known.clear()
