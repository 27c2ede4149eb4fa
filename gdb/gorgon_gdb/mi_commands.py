# SPDX-License-Identifier: MIT
"""Commands of the machine interface (MI) with an expression: names in it mean the copy of the frame.

    -data-evaluate-expression, -var-assign, -data-read-memory...    gdb evaluates it now, as by "print"
    -var-create                                                      -var-update evaluates it again: through a variable of gdb's, which points there
    -break-watch                                                     means the memory where the expression is now
    -break-insert -c, -break-condition                               $gorgon_eval("CONDITION"), if conditions.py cannot change it later
    -exec-jump                                                       goes to the line's place in this copy
    -interpreter-exec console, and lines of gdb's command line       hooks.py says what is run instead

The frame is the selected frame, or that of --thread and --frame. If the scripts refuse a command at a prompt, MI refuses it with
the text of that error."""

import re

import gdb

from gorgon_shared import root
from . import conditions, hooks, ordinary, process, values

# (token, command, its arguments)
COMMAND = re.compile(r"(\d*)-([a-z-]+)([^\n]*)\n?")
TYPED = re.compile(r"(\d*)([^\n]*)(\n?)")  # (token, a line of gdb's command line, its end)
ARGUMENT = re.compile(r'"(?:\\.|[^"\\])*"|\S+')
ESCAPED = re.compile(r"\\([0-7]{1,3}|.)", re.S)
MEANING = {"n": "\n", "t": "\t", "r": "\r", "e": "\033", "a": "\a", "b": "\b", "f": "\f"}
CONTEXT = {"--thread", "--frame", "--thread-group", "--language"}  # options of every command, with a value
REFUSE = "maintenance gorgon-refuse"
# Options with a value of their own.
VALUED = {"break-insert": {"-c", "-i", "-p", "-g", "--source", "--function", "--label", "--line"}, "data-read-memory-bytes": {"-o"}}


def unquoted(text):
    """The value of an argument."""
    if not text.startswith('"'):
        return text
    return ESCAPED.sub(lambda m: chr(int(m[1], 8)) if m[1].isdigit() else MEANING.get(m[1], m[1]), text[1:-1])


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Line:
    """One command, with its arguments and where they are in the text."""

    def __init__(self, text):
        self.text = text
        found = COMMAND.fullmatch(text)
        self.token, self.name, rest = found.groups() if found else ("", None, "")
        start = found.start(3) if found else 0
        spans = [(start + m.start(), start + m.end()) for m in ARGUMENT.finditer(rest)]
        self.context = {}
        while len(spans) > 1 and text[slice(*spans[0])] in CONTEXT:
            self.context[text[slice(*spans[0])]] = text[slice(*spans[1])]
            del spans[:2]
        self.spans = spans
        self.values = [unquoted(text[start:end]) for start, end in spans]
        self.options = {}  # name -> index of its value
        self.operands = []  # indices
        index = 0
        while index < len(spans):
            if self.values[index] in VALUED.get(self.name, ()):
                self.options[self.values[index]] = index + 1
                index += 1
            elif not re.fullmatch(r"-{1,2}[a-z-]+", self.values[index]):
                self.operands.append(index)
            index += 1

    def value(self, index):
        return self.values[index] if index is not None and index < len(self.values) else None

    def operand(self, number):
        return self.operands[number] if number < len(self.operands) else None

    def with_value(self, index, value, last=None):
        """The text with another value in place of an argument, or of all arguments from there to the @last."""
        start, end = self.spans[index][0], self.spans[index if last is None else last][1]
        return self.text[:start] + quoted(value) + self.text[end:]


def replaced(line, index, write):
    """The line with write(expression) in place of one of its arguments."""
    expression = line.value(index)
    if not expression or not conditions.names_in(expression):
        return line.text
    text = write(expression)
    return line.text if text == expression else line.with_value(index, text)


def evaluated(line):
    return replaced(line, line.operand(0), ordinary.own)


def assigned(line):
    return replaced(line, line.operand(1), ordinary.own)


def variable(line):
    """-var-create NAME FRAME EXPRESSION: as a rule NAME is "-" and FRAME "*"; FRAME "@" is the frame that is selected at each
    update."""
    index = len(line.values) - 1
    write = ordinary.of_frame if line.value(index - 1) == "@" else ordinary.in_slot
    return replaced(line, index, lambda text: lasting(text, write))


def lasting(expression, write):
    try:
        return ordinary.lasting(expression, ordinary.selected_copy(), write, write is not ordinary.at_place)
    except (gdb.error, values.NoType):
        return expression  # gdb says what is wrong with it


def watched(line):
    return replaced(line, line.operand(0), lambda text: lasting(text, ordinary.at_place))


def inserted(line):
    place = line.value(line.operand(0)) or ""
    return replaced(line, line.options.get("-c"), lambda text: conditions.own(text) if waits_for_copy(text, place) else text)


def waits_for_copy(condition, place):
    """Whether gdb would refuse a condition, or not know its names at some places."""
    return conditions.PREFIX not in condition and conditions.can_be_many() and not described(place and conditions.places(place))


def described(addresses):
    snapshot = process.try_snapshot()
    return bool(snapshot and addresses and conditions.are_described(addresses, snapshot))


def conditioned(line):
    """-break-condition NUMBER CONDITION: the rest of the line is the condition, in quotes or without them."""
    if len(line.operands) < 2:
        return line.text
    number, first = line.operands[0], line.operands[1]
    last = len(line.values) - 1
    condition = " ".join(line.values[first:])
    if (not conditions.names_in(condition) or conditions.PREFIX in condition or not conditions.can_be_many()
            or described(conditions.places_of(line.values[number]))):
        return line.text
    return line.with_value(first, conditions.own(condition), last)


def jumped(line):
    index = line.operand(0)
    copy = ordinary.selected_copy() if index is not None else None
    place = hooks.place_of(line.value(index), copy) if copy else None
    return line.with_value(index, f"*{place:#x}") if place else line.text


def executed(line):
    """-interpreter-exec console "COMMAND" """
    index = line.operand(1)
    command = line.value(index) if line.value(line.operand(0)) == "console" else None
    text = command and typed(command)
    return line.text if text == command else line.with_value(index, text)


def typed(command):
    name = acting(command)
    copy = ordinary.selected_copy() if name else None
    if copy and name == "call":
        shape, expression = hooks.arguments(name, command.strip())
        return f"print{shape} {expression}"
    try:
        return copy and hooks.advice(name, command.strip(), copy) or command
    except (gdb.error, values.NoType):
        return command


def acting(command):
    """Which command of hooks.py this is, maybe abbreviated, or None."""
    found = re.match(r"\s*([a-z]+)", command)
    names = {"p": None, "c": None, "s": None, "d": None, "se": None, "disp": "display", "outp": "output", "j": "jump"}
    if not found or found[1] in names:
        return names[found[1]] if found else None
    return found[1] if found[1] in hooks.ACTING else None


EXPRESSIONS = {
    "data-evaluate-expression": evaluated, "data-read-memory-bytes": evaluated, "data-read-memory": evaluated,
    "data-write-memory-bytes": evaluated, "var-assign": assigned, "var-create": variable, "break-watch": watched,
    "break-insert": inserted, "break-condition": conditioned, "exec-jump": jumped, "interpreter-exec": executed,
}


def may_mean_a_copy(text):
    """Whether what a line means depends on the frame. Knows no gdb: any thread may call."""
    found = COMMAND.fullmatch(text)
    return found[2] in EXPRESSIONS if found else acting(TYPED.match(text)[2]) is not None


def meaning_the_copy(text):
    """What gdb is to read instead of a line. On gdb's thread."""
    line = Line(text)
    if not conditions.is_gorgon():
        return text
    selection = Selection()
    try:
        selection.move(line.context)
        return EXPRESSIONS[line.name](line) if line.name else TYPED.sub(lambda m: m[1] + typed(m[2]) + m[3], text, count=1)
    except (root.RootError, root.MemoryProblem) as error:
        return f"{TYPED.match(text)[1]}-interpreter-exec console {quoted(f'{REFUSE} {error}')}\n"
    except gdb.error:
        return text  # gdb says what is wrong
    finally:
        selection.restore()


class Selection:
    """Selects the thread and frame that a command's options name, and afterwards the former ones again."""

    def __init__(self):
        self.thread, self.frame = gdb.selected_thread(), None
        if self.thread and self.thread.is_stopped():
            try:
                self.frame = gdb.selected_frame()
            except gdb.error:
                pass  # of a stack that cannot be read

    def move(self, context):
        """Raises gdb.error."""
        number = context.get("--thread")
        thread = next((t for t in gdb.selected_inferior().threads() if str(t.global_num) == number), None)
        if thread:
            thread.switch()
        if "--frame" in context:
            frame = gdb.newest_frame()
            for _ in range(int(context["--frame"]) if context["--frame"].isdigit() else 0):
                frame = frame and frame.older()
            if frame:
                frame.select()

    def restore(self):
        if self.thread and self.thread.is_valid():
            self.thread.switch()
        if self.frame and self.frame.is_valid():
            self.frame.select()


class Refuse(gdb.Command):
    """Part of what Gorgon's scripts do with commands of editors: refuse one, with a reason.

    Usage: maintenance gorgon-refuse TEXT"""

    def __init__(self):
        super().__init__(REFUSE, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        raise gdb.GdbError(arg)


def register():
    Refuse()
