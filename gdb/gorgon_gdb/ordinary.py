# SPDX-License-Identifier: MIT
"""print, printf, set variable, watch, rwatch, awatch: in a frame of private code, names mean that copy's variables and functions.

gdb takes a function or an external variable from the first copy of a library, whichever copy the frame is in, and shows
other memory for thread-local variables. These commands are replaced by commands in Python. A replaced command of gdb's cannot be
called any more, so the new command does its work through another one:

    print           call, which differs only in that it does not show "void"
    printf          eval, which runs a command with the text: a command of ours, which writes it
    set variable    set (EXPRESSION)
    watch ...       gdb.Breakpoint(), which has no -location: place() does that

Aliases, hooks and help of the replaced commands stay. An expression without names of private code is passed on as it is, and so
are mistakes, so that gdb says what it always says. hooks.py is about commands for which gdb has no such substitute."""

import re

import gdb

from gorgon_shared import root
from . import execute, languages, methods, process, values

# (options before "--", /FMT, the expression)
PRINT = re.compile(r"(\s*-.*?(?<!\S)--(?=\s)|)(\s*/\S*|)(.*)", re.S)
WATCH = re.compile(r"(\s*-l(?:o|oc|oca|ocat|ocati|ocatio|ocation|)(?=\s)|)(?:\s*--(?=\s))?\s*(.*?)(\s+if\b.*?)?"
                   r"((?:\s+(?:thread|task|mask)\s+\S+)*)", re.S)

FORMAT = re.compile(r'\s*"((?:\\.|[^"\\])*)"(.*)', re.S)  # the format of printf, and the values
WRITE = "maintenance gorgon-write"
NOT_UTF8 = "Could not convert arguments"  # gdb's error when the argument of a command in Python has other bytes

_help = {}        # name of a command -> what gdb says of it
_commands = {}    # name -> ours, once it is there


def selected_copy():
    """The values.Copy of the selected frame, or None."""
    return values.copy_of_frame() if process.try_snapshot() else None


def own(expression):
    """An expression for gdb to evaluate now, in which names are replaced by what they mean in the selected frame's copy."""
    try:
        text = methods.in_own_copy(expression, selected_copy())
    except (gdb.error, values.NoType):
        return expression  # gdb says what is wrong with it
    return expression if text != expression and has_a_mistake(text) else text


def has_a_mistake(expression):
    """Whether gdb cannot parse an expression. (From 16 on gdb quotes the text before a mistake: that should be the text that
    somebody has typed.)"""
    try:
        gdb.parse_and_eval(f"sizeof({expression})")  # evaluates nothing, and is no command, which events may not run
    except gdb.error as error:
        return "syntax error" in str(error)
    return False


def lasting(expression, copy, write_name, only_wrong=False):
    """An expression that gdb can evaluate by itself later: each name of private code is replaced by what write_name(name,
    variable, copy) returns; with @only_wrong, only names that gdb itself would get wrong."""

    def write(match, variable):
        name = match["name"]
        if only_wrong and not variable.thread_local and values.address_of(name) in (None, variable.address):
            return match[0]
        if variable.type is None:
            return values.cast_to(variable, match)
        text = write_name(name, variable, copy)
        return text if match[0] == match.string else (match["cast"] or "") + (f"({text})" if text[0] == "*" else text)

    return values.replace_names(expression, copy, write) if copy else expression


def of_frame(name, _variable, _copy):
    """A write_name() for lasting(): the name's variable in the copy of the frame that is selected when gdb evaluates it."""
    return f"$gorgon({languages.argument(name)})"


def of_copy(name, variable, copy):
    """A write_name() for lasting(): the name's variable in this copy. A thread-local variable is that of the frame which is
    selected when gdb evaluates it, because the selected thread may be another interpreter's by then."""
    interp = None if variable.thread_local else copy.namespace.interp
    return of_frame(name, None, None) if interp is None else f"$gorgon({languages.argument(name)}, {interp})"


def at_place(name, variable, _copy):
    """A write_name() for lasting(): this variable of this thread, as gdb writes it for "watch -location". (gdb 13 crashes on a
    function in Python in a watched expression, which it calls while no thread is selected.)"""
    return written_place(name, variable.address, variable.type)


def written_place(name, address, kind):
    """A place in memory as an expression that means the same everywhere, later, too."""
    if languages.current() in languages.ALIKE:
        return f"* ({kind.pointer()}) {address:#x}"
    return in_slot(name, values.Variable(address, kind), None)


def in_slot(name, variable, _copy):
    """A write_name() for lasting(): a variable of gdb's that points there. Every language can read that, and "sizeof" looks into it."""
    slot = languages.slot(name, variable.address)
    gdb.set_convenience_variable(slot, gdb.Value(variable.address).cast(variable.type.pointer()))
    return f"*${slot}"


def run(command, from_tty=False, to_string=False):
    with execute.passing():
        return gdb.execute(command, from_tty, to_string)


class Ordinary(gdb.Command):
    """Base class of commands that replace a command of gdb's and keep its help."""

    name = None
    kind = gdb.COMMAND_DATA

    def __init__(self):
        self.__doc__ = _help[self.name]
        super().__init__(self.name, self.kind, gdb.COMPLETE_EXPRESSION)

    def invoke(self, arg, from_tty):
        try:
            self.act(arg, from_tty)
        except (gdb.error, root.RootError, root.MemoryProblem) as error:
            raise gdb.GdbError(str(error)) from None


class Print(Ordinary):
    name = "print"

    def act(self, arg, from_tty):
        options, shape, expression = PRINT.fullmatch(arg).groups()
        text = own(expression)
        if self.is_void(text):
            number = gdb.add_history(gdb.parse_and_eval(text))
            gdb.write(f"${number} = void\n")
        else:
            run(f"call {options}{shape}{text}", from_tty)

    @staticmethod
    def is_void(text):
        if "$" not in text and "(" not in text:
            return False
        try:
            return gdb.execute(f"whatis {text}", to_string=True) == "type = void\n"
        except gdb.error:
            return False


class Write(gdb.Command):
    """Part of "printf" of Gorgon's scripts: write the text between the first and the last character.

    Usage: maintenance gorgon-write |TEXT|"""

    is_latin1 = False  # while gdb takes each byte for a character

    def __init__(self):
        super().__init__(WRITE, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        text = arg.encode("latin-1").decode("utf-8", "backslashreplace") if Write.is_latin1 else arg
        gdb.write(text[1:-1])


class Printf(Ordinary):
    """gdb runs printf for a dprintf breakpoint, too."""

    name = "printf"

    def act(self, arg, from_tty):
        found = FORMAT.fullmatch(own(arg))
        if not found:
            raise gdb.GdbError(self.mistake(arg))
        command = f'eval "{WRITE} |{found[1]}|"{found[2]}'
        try:
            run(f"with python print-stack none -- {command}")
        except gdb.error as error:
            if not str(error).startswith(NOT_UTF8):
                raise
            Write.is_latin1 = True
            try:
                run(f"with host-charset ISO-8859-1 -- {command}")
            finally:
                Write.is_latin1 = False

    @staticmethod
    def mistake(arg):
        if not arg:
            return "Argument required (format-control string and values to print)."
        return "Bad format string" + (", non-terminated '\"'." if arg.lstrip().startswith('"') else ", missing '\"'.")


class SetVariable(Ordinary):
    name = "set variable"

    def act(self, arg, from_tty):
        if not arg:
            raise gdb.GdbError("Argument required (expression to compute).")
        text = own(arg)
        # A text that begins with a word could be the name of one of gdb's settings.
        run(f"set ({text})" if re.match(r"\s*\w", text) else f"set {text}", from_tty)


class Watch(Ordinary):
    name = "watch"
    kind = gdb.COMMAND_BREAKPOINTS
    access = gdb.WP_WRITE

    def act(self, arg, from_tty):
        if not arg:
            raise gdb.GdbError("Argument required (expression to compute).")
        location, expression, condition, rest = (part or "" for part in WATCH.fullmatch(arg).groups())
        copy = selected_copy()
        expression = self.place(own(expression)) if location else self.named(expression, copy)
        gdb.Breakpoint(expression + self.named(condition, copy) + rest, gdb.BP_WATCHPOINT, self.access)

    @staticmethod
    def named(expression, copy):
        try:
            word = re.match(r"\s+if\b", expression)
            start = word.end() if word else 0
            return expression[:start] + lasting(expression[start:], copy, at_place)
        except (gdb.error, values.NoType):
            return expression

    @staticmethod
    def place(text):
        """The memory that an expression refers to now, as gdb writes it."""
        if not re.search(r"[A-Za-z_$]", text):
            return text  # a constant
        value = gdb.parse_and_eval(text)
        if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        if value.address is None:
            raise gdb.GdbError("Attempt to take address of value not located in memory.")
        return written_place(text, int(value.address) & values.MASK, value.type.strip_typedefs())


class ReadWatch(Watch):
    name = "rwatch"
    access = gdb.WP_READ


class AccessWatch(Watch):
    name = "awatch"
    access = gdb.WP_ACCESS


def read_help(name):
    """What "help" says of a command, without its name and aliases; None if gdb cannot be asked now."""
    text = execute.run(f"help {name}")
    if text is None:
        return None
    first, _, rest = text.partition("\n")
    return rest if first.startswith(f"{name},") else text


def install():
    """Replace gdb's commands. If that is not possible yet, the next prompt does it."""
    if not _commands:
        Write()
    for command in (Print, Printf, SetVariable, Watch, ReadWatch, AccessWatch):
        if command.name not in _help:
            text = read_help(command.name)
            if text is None:
                return
            _help[command.name] = text.rstrip("\n")
        if command.name not in _commands:
            _commands[command.name] = command()
