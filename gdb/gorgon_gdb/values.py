# SPDX-License-Identifier: MIT
"""gorgon print, gorgon tls: variables of one copy.

gdb takes the name of an external variable from the first copy of a library, whichever copy
the frame is in, and for a thread-local variable of a private object it shows some other
memory. So names in an expression are looked up here, and what is a variable or a function of
a private object is replaced by its address in the right copy: the copy of the selected frame,
or of the interpreter that was asked for. Everything else is left to gdb.

Addresses follow from those in another copy by the difference of the biases; those of
thread-local variables from the block of the selected thread (debug_root.h); those of names
that no debug information describes from the library's file."""

import re

import gdb

from . import commands, elf, files, process, root, symbols, tables

MASK = 0xFFFFFFFFFFFFFFFF

# What may be a name of a variable in C and C++; strings and members of structures are skipped.
TOKEN = re.compile(r"""
      (?P<skip> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])'
      | (?:\.|->)\s*[A-Za-z_]\w* | (?:struct|union|enum|class)\s+\w+ | \$\w+ | \b\d[\w.]* )
    | (?P<cast> \(\s*(?P<type>[A-Za-z_][\w\s:]*[\s*]*)\)\s* )?
      (?P<name> (?:'[^']*'::)? (?:::)? [A-Za-z_]\w* (?:::[A-Za-z_]\w*)* ) (?!\s*::)
    """, re.X)
# gdb's names of the kinds of symbols that have no address.
NO_ADDRESS = [getattr(gdb, f"SYMBOL_LOC_{kind}") for kind in ("UNDEF", "CONST", "CONST_BYTES", "TYPEDEF", "LABEL",
                                                             "OPTIMIZED_OUT")]
# _ZL4name, _ZN5space5Class4nameE: the lengths of the parts of a name before each.
MANGLED = re.compile(r"_Z(N?)(L?\d.*)")
PART = re.compile(r"L?(\d+)")
WORDS = {"sizeof", "unsigned", "signed", "int", "long", "short", "char", "float", "double", "void", "const",
         "volatile", "_Bool", "bool", "true", "false", "this", "typeof", "__typeof__", "decltype", "alignof", "_Alignof"}


class Copy:
    """Whose variables names mean: an object that comes first, and the namespace around it."""

    def __init__(self, snapshot, namespace, obj=None):
        self.snapshot = snapshot
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


def selected_object():
    try:
        return process.object_of_frame(gdb.selected_frame())
    except gdb.error:
        return None


class Variable:
    """Where a name is in a copy; type is None when nothing describes it."""

    def __init__(self, address, kind, thread_local=False):
        self.address = address
        self.type = kind
        self.thread_local = thread_local


def lookup_symbol(name):
    """gdb's symbol for a name, as its own expressions would take it; or None."""
    try:
        symbol = gdb.lookup_symbol(name)[0]
    except gdb.error:  # no frame
        symbol = gdb.lookup_global_symbol(name)
    return symbol or gdb.lookup_static_symbol(name)


def find(name, copy):
    """The Variable of a name in a Copy, or None: gdb's own answer is right."""
    file, _, plain = name.rpartition("'::")
    plain = plain.removeprefix("::")
    symbol = None if file else lookup_symbol(plain)
    if symbol and (symbol.needs_frame or symbol.is_argument or symbol.addr_class in NO_ADDRESS):
        return None
    if not file and (symbol is None or symbol.addr_class == gdb.SYMBOL_LOC_COMPUTED):
        entry = find_thread_local(plain, symbol, copy)
        if entry:
            return Variable(thread_local_address(*entry, copy.snapshot), symbol.type if symbol else None, True)
    if file or symbol:
        value = gdb.parse_and_eval(name) if file else symbol.value()
        return moved(value, symbol.linkage_name if symbol else plain, copy) if value.address is not None else None
    return named_by_file(plain, copy)


def moved(value, linkage_name, copy):
    address = int(value.address) & MASK
    theirs = copy.snapshot.find_object(address)
    if theirs is None:
        # Of the program or of a shared library, unless private code has its own of that name.
        own = named_by_file(linkage_name, copy)
        return Variable(own.address, value.type) if own else None
    mine = copy.same_library(theirs)
    if mine is None:
        raise root.RootError(f"{copy.namespace.label} has no {theirs.name}")
    return Variable(address - theirs.bias + mine.bias, value.type)


def named_by_file(name, copy):
    for obj in copy.objects:
        entry = files.read(obj).symbols.get(name)
        if entry and entry.kind != elf.STT_TLS:
            return Variable(obj.bias + entry.value, None)
    return None


def find_thread_local(name, symbol, copy):
    """(object, ELF symbol) of a thread-local variable, or None."""
    for obj in copy.objects:
        entries = files.read(obj).thread_local()
        for wanted in filter(None, (name, symbol and symbol.linkage_name)):
            for entry in entries:
                if entry.name == wanted:
                    return obj, entry
        # Of C++, or of a function: name.0
        found = [entry for entry in entries
                 if entry.name.partition(".")[0] == name or demangled(entry.name) == name]
        if len(found) > 1:
            raise root.RootError(f"{name} is several variables of {obj.name}: " + ", ".join(e.name for e in found))
        if found:
            return obj, found[0]
    return None


def demangled(name):
    """The C++ name of a variable, without parameters of templates and what else an expression's name cannot have."""
    found = MANGLED.match(name)
    if not found:
        return name
    parts, rest = [], found[2]
    while part := PART.match(rest):
        end = part.end() + int(part[1])
        parts.append(rest[part.end():end])
        rest = rest[end:]
    return "::".join(parts) if rest == ("E" if found[1] else "") else name


def thread_local_address(obj, entry, snapshot):
    thread = gdb.selected_thread()
    if thread is None:
        raise root.RootError("no thread is selected")
    block = root.tls_block(process.read_memory, snapshot, obj, process.kernel_id(thread), thread_pointer())
    if block is None:
        raise root.RootError(f"thread {thread.num} has no thread-local variables of {obj.label} yet: it has used none")
    return (block + entry.value) & MASK


def thread_pointer():
    try:
        return int(gdb.parse_and_eval("$fs_base")) & MASK
    except gdb.error:
        return None


def in_own_copy(expression, copy=None):
    """The expression with the copy's addresses in place of names; a Copy of None is the selected frame's."""
    return rewrite(expression, copy or copy_of())[0]


def rewrite(expression, copy):
    """(expression, names of its thread-local variables)"""
    if copy is None:
        return expression, []
    thread_local = []

    def replace(match):
        name = match["name"]
        if not name or name in WORDS:
            return match[0]
        cast = match["cast"] or ""
        variable = find(name, copy)
        if variable is None:
            return match[0]
        if variable.thread_local:
            thread_local.append(name)
        return cast_to(variable, name, cast, match["type"], expression, match.start())

    return TOKEN.sub(replace, expression), thread_local


def cast_to(variable, name, cast, target, expression, position):
    if variable.type is not None:
        # An address with its type cannot be written in every language and for every type: a variable of gdb's can.
        pointer = gdb.Value(variable.address).cast(variable.type.pointer())
        slot = f"_gorgon_{position}"
        gdb.set_convenience_variable(slot, pointer)
        return f"{cast}(*${slot})"
    if cast:
        return f"(*({target} *) {variable.address:#x})"
    if expression[:position].rstrip().endswith("&"):
        return f"*(char *) {variable.address:#x}"
    raise root.RootError(f"nothing describes the type of {name}; say (TYPE) {name}")


class Print(commands.Subcommand):
    """Print an expression with the variables of one private copy.

    Usage: gorgon print [-i N] [/FMT] EXPRESSION

    Global, static and thread-local variables and functions in EXPRESSION are those of the
    selected frame's copy; with -i, of interpreter N. ("print" takes external variables from
    the first copy, whichever copy the frame is in, and shows a wrong value for thread-local
    ones.) Local variables are those of the selected frame, thread-local ones those of the
    selected thread. FMT is as in "print".

    A variable that no debug information describes needs its type: (TYPE) NAME. EXPRESSION may
    be an assignment, or call a function. To watch a variable, print &NAME, then "watch -l *$".

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

    Plain "print VARIABLE" shows a wrong value: gdb asks the C library, which knows nothing of
    private objects. It does not say so; these scripts do, of a "print" that was typed.

    Example:
      (gdb) thread apply all gorgon tls -i 1 my_errno
      (gdb) gorgon tls (int) depth"""

    name = "gorgon tls"
    only_thread_local = True


def register():
    for command in (Print, Tls):
        command()
