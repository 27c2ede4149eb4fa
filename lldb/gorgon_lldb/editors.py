# SPDX-License-Identifier: MIT
"""CPython's names in what an editor has lldb evaluate: a watch, a hover, a condition, a line in its console.

These expressions do not come as commands, so nobody is asked before (here.py), and lldb has a function of each
copy to choose from, and the first copy's variables. So while "gorgon symbols auto" is on in an editor's adapter
the setting target.expr-prefix defines what libpython exports, with types and with addresses that are counted from
the $pc of the frame in which the expression is evaluated:

    #define PyTuple_Size ((Py_ssize_t (*)(PyObject *))(gorgon_python($pc) + 0x1577f0))

The names are made once for a libpython; where its copies are follows the process. In frames of code that no
interpreter owns gorgon_python() is 0, and a call fails. With copies of several libpythons nothing is defined: what their
names mean would differ."""

import os
import re

import lldb

from . import here, reference, root

EXPORTED = re.compile(r"_?Py\w+$")  # others may be somebody's local variables

_names = {}     # path of a libpython -> definitions of its names
_prefixes = {}  # id of a debugger -> here.Prefix


def update(target, snapshot):
    """When the process has registered something."""
    if here.is_typed():
        return
    debugger, prefix = target.GetDebugger(), _prefixes.get(target.GetDebugger().GetID())
    text = definitions(snapshot)
    if prefix and prefix.text == text:
        return
    if prefix:
        prefix.take_back(debugger)
    _prefixes[debugger.GetID()] = here.Prefix(debugger, text) if text else None


def definitions(snapshot):
    pythons = [ns.libpython for ns in snapshot.namespaces if ns.libpython]
    if len({o.path for o in pythons}) != 1:
        return ""
    try:
        names = _names.get(pythons[0].path) or _names.setdefault(pythons[0].path, names_of(reference.of(pythons[0])))
    except root.RootError:
        return ""
    return f"#define gorgon_python(pc) {choice(owners(snapshot.ranges))}\n{names}"


def owners(ranges):
    """[(start, end, bias of libpython)]: neighbours of one interpreter are one."""
    found = []
    for o in ranges:
        bias = o.namespace.libpython.bias if o.namespace.libpython else 0
        if found and found[-1][2] == bias:
            found[-1] = found[-1][0], o.end, bias
        else:
            found.append((o.start, o.end, bias))
    return found


def choice(places):
    """An expression that picks the bias for an address, in as many steps as a binary search."""
    if len(places) == 1:
        start, end, bias = places[0]
        return f"((pc) - {start:#x}ul < {end - start:#x}ul ? {bias:#x}ul : 0ul)"
    middle = len(places) // 2
    return f"((pc) < {places[middle][0]:#x}ul ? {choice(places[:middle])} : {choice(places[middle:])})"


def names_of(ref):
    """A line for each exported function whose type has names, and for each exported variable."""
    lines = []
    for symbol in ref.module:
        name, kind, star = symbol.GetName(), None, ""
        if not symbol.IsExternal() or not EXPORTED.match(name or ""):
            continue
        if symbol.GetType() == lldb.eSymbolTypeCode:
            kind = ref.find_function(name)[1]
        elif symbol.GetType() == lldb.eSymbolTypeData:
            kind, star = f"__typeof__({name}) *", "*"  # the first copy's, which is as good
        if kind and not re.search(r"unnamed|anonymous", kind):
            place = symbol.GetStartAddress().GetFileAddress()
            lines.append(f"#define {name} ({star}({kind})(gorgon_python((unsigned long)$pc) + {place:#x}ul))\n")
    return "".join(lines)
