# SPDX-License-Identifier: MIT
"""Names of private code in what an editor has lldb evaluate: a watch, a hover, a condition, a line in its console.

These expressions do not come as commands, so the scripts cannot prepare each as here.py does. By itself lldb takes the function of the
first copy, or calls a name ambiguous, even a function of the frame's own file. For variables of
other files it takes the first copy's, too. So while "gorgon symbols auto" is on in an editor's adapter,
the setting target.expr-prefix defines what libpython exports, with types and with addresses that are computed from
the $pc of the frame in which the expression is evaluated:

    #define PyTuple_Size ((Py_ssize_t (*)(PyObject *))(gorgon_python($pc) + 0x1577f0))

It also defines C functions of libraries that are loaded several times, but only for calls, so that a variable with the name of a
function is still a variable:

    #define helper(...) ((int (*)(PyObject *, int))(gorgon_library_1($pc) + 0x1139))(__VA_ARGS__)

And it defines the thread-local variables of these libraries. Their place is looked up in the process's list of threads when the expression is
evaluated, because it depends on the thread. lldb knows the register that points to a thread's variables in the innermost frame only, so the
thread runs code that asks the processor; in a core, outer frames have no such variables.

    #define depth (*(int *)(gorgon_block_1 + 0x8))

If such a name is that of a local variable or a member, too, lldb shows the variable itself, but refuses longer expressions: it does not
take the definition for the variable's name.

The definitions of names are made once for a library. gorgon_python() and its like are defined anew when copies come and go. In frames of code that no
interpreter owns, gorgon_python() is 0, and a call fails. With copies of several libpythons none of CPython's names is defined, because
they would mean different things. If two libraries have a function of the same name, or a class has a method of that name, the name is
not defined, and lldb chooses."""

import collections
import contextlib
import re

import lldb

from gorgon_shared import machines, root
from . import here, process, reference, values

EXPORTED = re.compile(r"_?Py\w+$")  # other exported names may be names of somebody's local variables
SYMBOLS_MAX = 5000  # in larger libraries functions are not looked at, since lldb reads the debug information for that

# The block of a module's thread-local variables of the frame's thread; 0: there is none.
BLOCK = """#define gorgon_block(module) ({{ \
    unsigned long gorgon_module = (module), gorgon_slot, gorgon_end, gorgon_found = 0; \
    unsigned long gorgon_thread = gorgon_module ? *(unsigned long *){threads:#x}ul : 0; \
    while (gorgon_thread && ((unsigned long *)gorgon_thread)[5] != {pointer}) \
        gorgon_thread = *(unsigned long *)gorgon_thread; \
    gorgon_slot = gorgon_thread ? ((unsigned long *)gorgon_thread)[2] : 0; \
    gorgon_end = gorgon_thread ? gorgon_slot + 16 * ((unsigned long *)gorgon_thread)[3] : 0; \
    for (; gorgon_slot < gorgon_end; gorgon_slot += 16) \
        if (*(unsigned long *)gorgon_slot == gorgon_module) \
            gorgon_found = ((unsigned long *)gorgon_slot)[1]; \
    gorgon_found; }})
"""

_names = {}      # path of a libpython -> definitions of its names
_functions = {}  # path of another library -> {name: type and link-time address of a function}
_tls = {}        # path of another library -> {name: type and offset of a thread-local variable}
_prefixes = {}   # id of a debugger -> here.Prefix


def update(target, snapshot):
    """Define the names anew, after the process has registered something."""
    if here.is_typed():
        return
    debugger, prefix = target.GetDebugger(), _prefixes.get(target.GetDebugger().GetID())
    text = definitions(snapshot) + definitions_of_tls(snapshot, pointer_of(target))
    if prefix and prefix.text == text:
        return
    if prefix:
        prefix.take_back(debugger)
    _prefixes[debugger.GetID()] = here.Prefix(debugger, text) if text else None


def definitions(snapshot):
    return definitions_of_python(snapshot) + definitions_of_others(snapshot)


def definitions_of_python(snapshot):
    pythons = [ns.libpython for ns in snapshot.namespaces if ns.libpython]
    if len({o.path for o in pythons}) != 1:
        return ""
    try:
        names = _names.get(pythons[0].path) or _names.setdefault(pythons[0].path, names_of(reference.of(pythons[0])))
    except root.RootError:
        return ""
    biases = {o.namespace.id: o.bias for o in pythons}
    return f"#define gorgon_python(pc) {choice(owners(snapshot.ranges, biases))}\n{names}"


def definitions_of_others(snapshot):
    copies, found, text = collections.defaultdict(list), {}, ""
    for o in snapshot.objects:
        if o.symfile and o.debug_kind != root.DEBUG_NAMES and o is not o.namespace.libpython:
            copies[o.path].append(o)
    for path, objects in copies.items():
        if len(objects) > 1:
            with contextlib.suppress(root.RootError):
                if path not in _functions:
                    _functions[path] = functions_of(reference.of(objects[0]))
                found[path] = _functions[path]
    count = collections.Counter(name for functions in found.values() for name in functions)
    for number, (path, functions) in enumerate(found.items()):
        lines = [f"#define {name}(...) (({kind})(gorgon_library_{number}((unsigned long)$pc) + {place:#x}ul))(__VA_ARGS__)\n"
                 for name, (kind, place) in functions.items() if count[name] == 1]
        if lines:
            biases = {o.namespace.id: o.bias for o in copies[path]}
            text += f"#define gorgon_library_{number}(pc) {choice(owners(snapshot.ranges, biases))}\n{''.join(lines)}"
    return text


def pointer_of(target):
    """An expression with the address that the register for a thread's variables has."""
    if process.is_core(target):
        return "".join(f"${name}" for name in machines.thread_pointers(target.GetTriple())[:1])
    return "(unsigned long)__builtin_thread_pointer()"


def definitions_of_tls(snapshot, pointer):
    copies, text = collections.defaultdict(list), ""
    for o in snapshot.objects if pointer else ():
        if o.symfile and o.debug_kind != root.DEBUG_NAMES and (o.tls_module or o.static_tls) and o is not o.namespace.libpython:
            copies[o.path].append(o)
    for path, objects in copies.items():
        if path not in _tls:
            with contextlib.suppress(root.RootError):
                _tls[path] = tls_of(reference.of(objects[0]))
    count = collections.Counter(name for path in copies for name in _tls.get(path, ()))
    for number, (path, objects) in enumerate(copies.items()):
        lines = [f"#define {name} (*({kind})(gorgon_block_{number}((unsigned long)$pc) + {offset:#x}ul))\n"
                 for name, (kind, offset) in _tls.get(path, {}).items() if count[name] == 1]
        if lines:
            # Static is the distance from the thread pointer, which is negative.
            static = choice(owners(snapshot.ranges, {o.namespace.id: o.static_tls % 2**64 for o in objects}))
            module = choice(owners(snapshot.ranges, {o.namespace.id: o.tls_module for o in objects}))
            text += f"#define gorgon_static_{number}(pc) {static}\n#define gorgon_module_{number}(pc) {module}\n" \
                    f"#define gorgon_block_{number}(pc) (gorgon_static_{number}(pc) ? {pointer} + gorgon_static_{number}(pc) : " \
                    f"gorgon_block(gorgon_module_{number}(pc)))\n{''.join(lines)}"
    return text and BLOCK.format(threads=snapshot.address + root.THREAD_HEAD, pointer=pointer) + text


def owners(ranges, biases):
    """[(start, end, bias of the library in that interpreter)]. Neighbouring ranges of one interpreter are merged."""
    found = []
    for o in ranges:
        bias = biases.get(o.namespace.id, 0)
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
            kind, star = f"__typeof__({name}) *", "*"  # the type of the first copy's, which is that of all
        if kind and not re.search(r"unnamed|anonymous", kind):
            place = symbol.GetStartAddress().GetFileAddress()
            lines.append(f"#define {name} ({star}({kind})(gorgon_python((unsigned long)$pc) + {place:#x}ul))\n")
    return "".join(lines)


def functions_of(ref):
    """{name: (type of a pointer to it, link-time address)} of the functions of C, static ones too."""
    found = {}
    for symbol in ref.module if ref.module.GetNumSymbols() <= SYMBOLS_MAX else ():
        name = symbol.GetName() or ""
        if symbol.GetType() != lldb.eSymbolTypeCode or symbol.GetMangledName() or not re.fullmatch(r"[A-Za-z]\w*", name):
            continue
        place, kind = ref.find_function(name)
        if place is not None and ref.context(place).GetFunction().IsValid() and not re.search(r"unnamed|anonymous", kind) \
                and not ref.has_method(name):
            found[name] = kind, place
    return found


def tls_of(ref):
    """{name: (type of a pointer to it, offset in the block)} of the thread-local variables of C."""
    found = {}
    for symbol in ref.module if ref.module.GetNumSymbols() <= SYMBOLS_MAX else ():
        name = symbol.GetName() or ""
        if symbol.GetType() == lldb.eSymbolTypeInvalid and not symbol.GetMangledName() and re.fullmatch(r"[A-Za-z_]\w*", name):
            found_here = values.definitions_of_tls(ref, name)
            kind = found_here[0][1].GetPointerType().GetName() if len(found_here) == 1 and found_here[0][1] else None
            if kind and not re.search(r"unnamed|anonymous", kind):
                found[name] = kind, found_here[0][0]
    return found
