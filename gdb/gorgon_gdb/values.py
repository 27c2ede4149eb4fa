# SPDX-License-Identifier: MIT
"""gorgon print, gorgon tls, $gorgon(): variables and functions of one copy.

gdb takes the name of an external variable from the first copy of a library, whichever copy
the frame is in, and for a thread-local variable of a private object it shows some other
memory. So this module looks up the names in an expression, and replaces each variable or function of
a private object by its address in the right copy: the copy of the selected frame,
or of the interpreter that was asked for. Everything else is left to gdb.

The address in one copy is that in another copy plus the difference of the biases. The address of a
thread-local variable is found through the block of the selected thread (debug_root.h), that of a name
that no debug information describes through the library's file."""

import re

import gdb

from gorgon_shared import elf, machines, root, tables
from . import commands, files, languages, lines, process, symbols

MASK = 0xFFFFFFFFFFFFFFFF

# gdb's names of the kinds of symbols that have no address.
NO_ADDRESS = [getattr(gdb, f"SYMBOL_LOC_{kind}") for kind in ("UNDEF", "CONST", "CONST_BYTES", "TYPEDEF", "LABEL",
                                                             "OPTIMIZED_OUT")]
# _ZL4name, _ZN5space5Class4nameE: the lengths of the parts of a name before each.
MANGLED = re.compile(r"_Z(N?)(L?\d.*)")
STEM = re.compile(r"_ZN?")
PART = re.compile(r"L?(\d+)")
WORDS = {"sizeof", "unsigned", "signed", "int", "long", "short", "char", "float", "double", "void", "const",
         "volatile", "_Bool", "bool", "true", "false", "this", "typeof", "__typeof__", "decltype", "alignof", "_Alignof"}


class Copy:
    """The copy to which names refer: a namespace, and the object in it whose names come first. If the frame is in shared code
    that private code has called, `inside` is false: names of the shared code then come first."""

    def __init__(self, snapshot, namespace, obj=None, inside=True):
        self.snapshot = snapshot
        self.inside = inside
        self.namespace = namespace
        self.objects = ([obj] if obj else []) + [o for o in namespace.objects if o is not obj]

    def same_library(self, other):
        return next((o for o in self.objects if o.path == other.path), None)


def copy_of(interp=None):
    """The Copy of an interpreter, or of the selected frame; None for a frame of no private code."""
    snapshot = process.snapshot()
    obj = selected_object()
    if interp is None:
        copy = Copy(snapshot, obj.namespace, obj) if obj else None
    else:
        namespace = tables.parse_interp(snapshot, str(interp))
        copy = Copy(snapshot, namespace)
        copy = Copy(snapshot, namespace, copy.same_library(obj)) if obj else copy
    if copy:
        symbols.describe(copy.objects)
    return copy


def copy_of_frame():
    """The Copy of the selected frame, or None. Unlike copy_of(), this adds no debug information."""
    obj = selected_object()
    if obj is None:
        return None
    return Copy(process.snapshot(), obj.namespace, obj, obj.start <= gdb.selected_frame().pc() < obj.end)


def selected_object():
    try:
        return process.object_of_frame(gdb.selected_frame())
    except gdb.error:
        return None


class Variable:
    """The address of a name in a copy, and its type, which is None when no debug information describes it."""

    def __init__(self, address, kind, thread_local=False):
        self.address = address
        self.type = kind
        self.thread_local = thread_local

    @property
    def value(self):
        return gdb.Value(self.address).cast(self.type.pointer()).dereference()


def lookup_symbol(name, only_global=False):
    """gdb's symbol for a name, as its own expressions would take it; or None."""
    try:
        symbol, is_member = (gdb.lookup_global_symbol(name), False) if only_global else gdb.lookup_symbol(name)
    except gdb.error:  # no frame
        symbol, is_member = gdb.lookup_global_symbol(name), False
    if is_member:
        return static_member(name, gdb.selected_frame().block())
    return symbols.described(symbol or gdb.lookup_static_symbol(name), name)


def static_member(name, block):
    """gdb's symbol of a static member of a method's class, or of a class from which that is derived; or None. @block is in the method."""
    this = gdb.lookup_symbol("this", block)[0]
    classes = [this.type.strip_typedefs().target()] if this else []
    while classes:
        kind = classes.pop().strip_typedefs().unqualified()
        for field in kind.fields():
            if field.is_base_class:
                classes.append(field.type)
            elif field.name == name:
                return None if hasattr(field, "bitpos") else gdb.lookup_global_symbol(f"{kind.name}::{name}")
    return None


def find(name, copy):
    """The Variable of a name in a Copy, or None if what gdb itself finds is right."""
    file, _, plain = languages.folded(name).rpartition("'::")
    is_global = plain.startswith("::")  # a local variable may have the name, too
    plain = plain.removeprefix("::").strip("'")
    symbol = None if file else lookup_symbol(plain, is_global)
    if symbol and (symbol.needs_frame or symbol.is_argument or (symbol.addr_class in NO_ADDRESS and not may_be_tls(symbol))):
        return None
    if not copy.inside and not is_private(plain, symbol, copy):
        return None
    if not file and (symbol is None or may_be_tls(symbol)):
        entry = find_thread_local(plain, symbol, copy)
        if entry:
            return Variable(thread_local_address(*entry, copy.snapshot), symbol.type if symbol else None, True)
    if symbol and symbol.addr_class in NO_ADDRESS:
        return None
    if symbol and is_overloaded(plain, symbol, copy):
        if copy.snapshot.find_object(int(symbol.value().address) & MASK) is copy.objects[0]:
            return None  # gdb takes what the frame's file has before that of other copies
        raise root.RootError(f"{name} is several functions; say which, like '{symbol.name}'")
    if file or symbol:
        value = gdb.parse_and_eval(name) if file else symbol.value()
        return moved(value, symbol.linkage_name if symbol else plain, copy) if value.address is not None else None
    return named_by_file(plain, copy)


def may_be_tls(symbol):
    """Whether it is a thread-local variable, perhaps. GCC for aarch64 does not write where these are, so that gdb looks for
    the name of one that is external, and takes others for optimized out."""
    return symbol.addr_class in (gdb.SYMBOL_LOC_COMPUTED, gdb.SYMBOL_LOC_UNRESOLVED, gdb.SYMBOL_LOC_OPTIMIZED_OUT)


def is_overloaded(name, symbol, copy):
    """Whether a name is several C++ functions. gdb chooses one of them by the arguments of a call, which it cannot do if the name
    is replaced by an address."""
    if symbol.type is None or symbol.type.code != gdb.TYPE_CODE_FUNC or "(" in name or "(" not in symbol.name:
        return False
    # Debug information has no mangled names of static functions.
    stem = stem_of(symbol.linkage_name) or f"_ZL{len(name)}{name}"
    return any(len({other for other in files.read(obj).symbols if other.startswith(stem) and "." not in other}) > 1
               for obj in copy.objects)


def is_private(name, symbol, copy):
    """Whether what gdb finds by a name belongs to a private object."""
    if symbol and symbol.symtab and not lines.has_only_lines(symbol):
        objfile = symbol.symtab.objfile.owner or symbol.symtab.objfile
        return objfile.filename.startswith("<in-memory@") or any(objfile.filename == o.path for o in copy.objects)
    address = address_of(name)
    return address is not None and copy.snapshot.find_object(address) is not None


def address_of(name):
    """Where gdb's own expressions find a name."""
    try:
        return int(gdb.parse_and_eval(f"&({name})")) & MASK
    except gdb.error:
        return None


def moved(value, linkage_name, copy):
    address = int(value.address) & MASK
    theirs = copy.snapshot.find_object(address)
    if theirs is None:
        # It belongs to the program or to a shared library, unless private code defines that name, too.
        own = named_by_file(linkage_name, copy)
        return Variable(own.address, value.type) if own else None
    mine = copy.same_library(theirs)
    if mine is None:
        raise root.RootError(f"{copy.namespace.label} has no {theirs.name}")
    return Variable(address - theirs.bias + mine.bias, value.type)


def named_by_file(name, copy):
    """The Variable of a name in the copy's first object, or of a global name in another object; or None."""
    for obj in copy.objects:
        entry = files.read(obj).symbols.get(name)
        if entry and entry.kind != elf.STT_TLS and (obj is copy.objects[0] or not entry.local):
            return Variable(obj.bias + entry.value, None if entry.kind != elf.STT_FUNC else text_type(name))
    return None


def is_in_files(name, copy):
    """Whether a library of the copy has this name, although no debug information may describe it."""
    plain = languages.folded(name).removeprefix("::")
    return named_by_file(plain, copy) is not None or find_thread_local(plain, None, copy) is not None


def text_type(name):
    """gdb's type of functions that nothing describes."""
    try:
        kind = gdb.parse_and_eval(f"'{name}'").type
        return kind if kind.code == gdb.TYPE_CODE_FUNC else None
    except gdb.error:
        return None


def find_thread_local(name, symbol, copy):
    """(object, ELF symbol) of a thread-local variable, or None."""
    for obj in copy.objects:
        entries = files.read(obj).thread_local
        for wanted in filter(None, (name, symbol and symbol.linkage_name)):
            for entry in entries:
                if entry.name == wanted:
                    return obj, entry
        # A C++ name is mangled, and a static variable of a function is called name.0.
        found = [entry for entry in entries
                 if entry.name.partition(".")[0] == name or demangled(entry.name) == name]
        if len(found) > 1:
            raise root.RootError(f"{name} is several variables of {obj.name}: " + ", ".join(e.name for e in found))
        if found:
            return obj, found[0]
    return None


def demangled(name):
    """The C++ name of a variable. A name with parts that no name in an expression has (parameters of templates ...) stays mangled."""
    found = MANGLED.match(name)
    if not found:
        return name
    parts, rest = [], found[2]
    while part := PART.match(rest):
        end = part.end() + int(part[1])
        parts.append(rest[part.end():end])
        rest = rest[end:]
    return "::".join(parts) if rest == ("E" if found[1] else "") else name


def stem_of(name):
    """The common beginning of the mangled names of overloaded functions, or None."""
    found = STEM.match(name)
    if not found:
        return None
    end = found.end()
    while part := PART.match(name, end):
        end = part.end() + int(part[1])
    return name[:end] if end > found.end() else None


def thread_local_address(obj, entry, snapshot):
    thread = gdb.selected_thread()
    if thread is None:
        raise root.RootError("no thread is selected")
    block = root.tls_block(process.read_memory, snapshot, obj, process.kernel_id(thread), thread_pointer())
    if block is None:
        raise root.RootError(f"thread {thread.num} has no thread-local variables of {obj.label} yet: it has used none")
    return (block + entry.value) & MASK


def thread_pointer():
    for name in machines.thread_pointers(gdb.selected_inferior().architecture().name()):
        try:
            return int(gdb.parse_and_eval(f"${name}")) & MASK
        except gdb.error:  # void: this target has no such register
            continue
    return None


def replace_names(expression, copy, write):
    """The expression with write(match, variable) in place of each name that is a Variable of a Copy."""

    def replace(match):
        name = match["name"]
        variable = find(name, copy) if name and name not in WORDS else None
        return write(match, variable) if variable else match[0]

    return languages.token().sub(replace, expression)


def rewrite(expression, copy):
    """(expression with the copy's addresses in place of names, names of its thread-local variables)"""
    thread_local = []

    def write(match, variable):
        if variable.thread_local:
            thread_local.append(match["name"])
        return cast_to(variable, match)

    return (replace_names(expression, copy, write) if copy else expression), thread_local


class NoType(root.RootError):
    """A name was found, but no debug information describes its type."""


def cast_to(variable, match):
    name, cast = match["name"], match["cast"] or ""
    if variable.type is not None:
        # Not every type can be written in an expression, in every language. So a variable of gdb's has the address and type.
        slot = f"_gorgon_{match.start()}"
        gdb.set_convenience_variable(slot, gdb.Value(variable.address).cast(variable.type.pointer()))
        return f"{cast}(*${slot})"
    if cast:
        return f"(*({match['type']} *) {variable.address:#x})"
    if match.string[:match.start()].rstrip().endswith("&"):
        return f"*(char *) {variable.address:#x}"
    raise NoType(f"nothing describes the type of {name}; say (TYPE) {name}")


class Print(commands.Subcommand):
    """Print an expression with the variables of one private copy.

    Usage: gorgon print [-i N] [/FMT] EXPRESSION

    Global, static and thread-local variables and functions in EXPRESSION are those of the
    selected frame's copy, as in "print"; with -i, of interpreter N. Local variables are those
    of the selected frame, thread-local ones those of the selected thread. FMT is as in "print".

    A variable that no debug information describes needs its type: (TYPE) NAME. EXPRESSION may
    be an assignment, or call a function. To watch a variable of interpreter N, print &NAME, then
    "watch -l *$".

    Example:
      (gdb) gorgon print -i 2 _PyRuntime.main_thread
      (gdb) gorgon print /x (int) counter"""

    name = "gorgon print"
    only_thread_local = False

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    @commands.plain_errors
    def invoke(self, arg, from_tty):
        interp, rest = commands.interp_option(self.name, arg)
        options, expression = re.match(r"\s*(/\S+)?\s*(.*)$", rest, re.S).groups()
        if not expression:
            raise gdb.GdbError(f'{self.name}: an EXPRESSION expected; see "help {self.name}"')
        text, thread_local = rewrite(expression, copy_of(interp))
        if self.only_thread_local and not thread_local:
            raise gdb.GdbError(f"{self.name}: {expression} has no thread-local variable of a private object in it")
        gdb.execute(f"print {options or ''} {text}")


class Tls(Print):
    """Print a thread-local variable of a private object, for the selected thread.

    Usage: gorgon tls [-i N] [/FMT] VARIABLE

    The copy is that of the selected frame; with -i, of interpreter N. VARIABLE may be an
    expression around it. Without debug information it needs its type: (TYPE) VARIABLE.

    "print VARIABLE" is right, too, in frames of the copy. gdb without these scripts shows a wrong
    value: it asks the C library, which knows nothing of private objects.

    Example:
      (gdb) thread apply all gorgon tls -i 1 my_errno
      (gdb) gorgon tls (int) depth"""

    name = "gorgon tls"
    only_thread_local = True


def register():
    for command in (Print, Tls):
        command()
