# SPDX-License-Identifier: MIT
"""The commands gorgon list, modules and whose, and what all commands share. Docstrings of commands are
gdb's help."""

import functools
import os
import re

import gdb

from gorgon_shared import root, tables
from . import gil, missing_files, process


def plain_errors(invoke):
    """Make errors of a command one line for the user instead of a traceback."""

    @functools.wraps(invoke)
    def wrapped(self, arg, from_tty):
        try:
            invoke(self, arg, from_tty)
        except (root.RootError, root.MemoryProblem, gdb.error) as error:
            raise gdb.GdbError(f"{self.name}: {error}") from None

    return wrapped


class Gorgon(gdb.Command):
    """Look at private copies of CPython and their extension modules.

    Usage: gorgon COMMAND [ARGUMENT]...

    N is an interpreter's number, as "gorgon list" shows it. Functions for expressions
    and conditions: $gorgon_interp(ADDRESS) and $gorgon_interp(); see "help function".
    The commands read memory only, so they work in core files.

    In a frame of private code "print", "printf", "set variable", "watch", "rwatch" and "awatch" mean
    that copy's variables and functions. So do "x", "display", "output" and "call" when you
    type them; in scripts they take the first copy's: use $gorgon("NAME") there, see "help function"."""

    name = "gorgon"

    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_FILES, gdb.COMPLETE_NONE, True)

    def invoke(self, arg, from_tty):
        if arg.strip():
            raise gdb.GdbError(f'Undefined gorgon command: "{arg.strip()}".  Try "help gorgon".')
        gdb.execute("help gorgon")


class Subcommand(gdb.Command):
    """Base of the subcommands: registers itself under its name."""

    name = None

    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_FILES)

    def arguments(self, arg, most):
        argv = gdb.string_to_argv(arg)
        if len(argv) > most:
            raise gdb.GdbError(f'{self.name}: too many arguments; see "help {self.name}"')
        return argv

    def complete(self, text, word):
        # Newer gdb asks without a word, too, to learn where words end.
        return self.completions(text, word or "")

    def completions(self, text, word):
        return []


class List(Subcommand):
    """Show the interpreters of the process.

    Usage: gorgon list [-v]

    With -v: what each interpreter is doing, how many calls of the host have ended in it and the processor time of these, how
    many threads its code has started, what it holds of memory and may hold, what the host calls it, and what the newest
    call runs.

    Num is the interpreter's number, Thread the thread that runs its program, libpython the
    address range of its own copy of libpython, State "live", "unloading" or "abandoned", GIL the
    thread that holds it ("-": no thread; "?": the file of libpython is missing, or its version is
    not known here). A private namespace without an interpreter shows as "ns ID". If some interpreters
    are copies of a template, Copy of names it. Lines below the table say where source lines or Python
    lines are missing.

    Example:
      (gdb) gorgon list
      Num  Python  Objects  Thread          libpython                      State  GIL
      0    3.11    3        2 (LWP 2143)    0x7ffff6bee000-0x7ffff7403000  live   2 (LWP 2143)"""

    name = "gorgon list"

    @plain_errors
    def invoke(self, arg, from_tty):
        argv = self.arguments(arg, 1)
        if argv and argv != ["-v"]:
            raise gdb.GdbError(f'gorgon list: {argv[0]}: -v expected; see "help gorgon list"')
        snapshot = process.snapshot()
        gdb.write(tables.figures(snapshot) if argv else
                  tables.interpreters(snapshot, process.thread_name, gil.text, missing_files.without_lines(snapshot)))


class Modules(Subcommand):
    """Show the privately loaded objects: libpython, extension modules and their libraries.

    Usage: gorgon modules [N]

    N limits the table to one interpreter. An address in the file plus Bias is the address in
    memory. Debug info says where gdb finds lines and variables.

    Example:
      (gdb) gorgon modules 1"""

    name = "gorgon modules"

    @plain_errors
    def invoke(self, arg, from_tty):
        argv = self.arguments(arg, 1)
        snapshot = process.snapshot()
        wanted = [tables.parse_interp(snapshot, argv[0])] if argv else snapshot.namespaces
        gdb.write(tables.modules(snapshot, wanted))

    def completions(self, text, word):
        return complete_interp(text, word)


class Whose(Subcommand):
    """Say which interpreter and object an address belongs to.

    Usage: gorgon whose ADDRESS

    ADDRESS is any expression with an address as its value: a number, $pc, a pointer, the
    name of a function.

    Example:
      (gdb) gorgon whose $pc
      0x7ffff65ceb70: interpreter 1, libpython3.11.so.1.0, PyList_Append+0, listobject.c:338"""

    name = "gorgon whose"

    def __init__(self):
        gdb.Command.__init__(self, self.name, gdb.COMMAND_FILES, gdb.COMPLETE_EXPRESSION)

    @plain_errors
    def invoke(self, arg, from_tty):
        if not arg.strip():
            raise gdb.GdbError(f'{self.name}: an ADDRESS expected; see "help {self.name}"')
        address = evaluate_address(arg)
        gdb.write(tables.whose(process.snapshot(), address, symbol_at(address), place_of(address)))


def complete_interp(text, word):
    """Interpreter numbers for the first argument."""
    return interp_numbers(word) if text.strip() == word else []


def interp_numbers(word):
    snapshot = process.try_snapshot()
    numbers = [str(ns.interp) for ns in snapshot.interpreters] if snapshot else []
    return [number for number in numbers if number.startswith(word)]


def complete_interp_option(text, word):
    """Interpreter numbers after -i."""
    return interp_numbers(word) if re.fullmatch(r"\s*-i\s+\d*", text) else []


def interp_option(command, text):
    """(N or None, the rest) of the arguments of a command that takes -i N."""
    found = re.match(r"\s*-i(?:\s+(\S+)|$)", text)
    if not found:
        return None, text.strip()
    if not (found[1] or "").isdigit():
        raise gdb.GdbError(f"{command}: -i takes the number of an interpreter")
    return int(found[1]), text[found.end():].strip()


def evaluate_address(expression):
    value = gdb.parse_and_eval(expression)
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_STRUCT):
        if value.address is None:
            raise root.RootError(f"{expression} has no address")
        value = value.address
    return int(value) & 0xFFFFFFFFFFFFFFFF


def symbol_at(address):
    """function+offset, or None. gdb's format "a" knows all names; "info symbol" does not know names that come from a
    debug file which several copies share."""
    text = gdb.Value(address).format_string(format="a")
    _, bracket, symbol = text.partition(" <")
    if not bracket:
        return None
    symbol = symbol.rstrip(">")
    return symbol if "+" in symbol else symbol + "+0"


def place_of(address):
    """file:line, or None."""
    sal = gdb.find_pc_line(address)
    if not sal.symtab or not sal.line:
        return None
    return f"{os.path.basename(sal.symtab.filename)}:{sal.line}"


def register():
    for command in (Gorgon, List, Modules, Whose):
        command()
