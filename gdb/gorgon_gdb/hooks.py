# SPDX-License-Identifier: MIT
"""call, output, display, x, jump and "set EXPRESSION" act on the frame's copy when they are typed.

ordinary.py cannot help with these commands, because gdb has no second command to run in their place. But gdb runs a hook before
each of them (a user-defined command "hook-NAME"), and an error in the hook keeps the command from running. The hook gets no
arguments, so it finds the line that was typed in the history of commands. It runs the right command itself, and then raises
an error whose text is that command's output, so that the user sees what gdb would have printed. Behind "pipe", "with" and
"apply" the error says instead what to type. Commands of scripts are not in the history: there the hook refuses "call" in frames
of private code, because it runs code, and lets the other commands act on the first copy.

Each command can have only one hook. If the user has defined it, ours is not; on_prompt() then looks at a line after it has
run, and says what would have been right."""

import re

import gdb

from gorgon_shared import root
from . import conditions, execute, methods, ordinary, process, symbols, values

HISTORY = re.compile(r"^\s*(\d+)  (.*)\n\Z", re.M)
ACTING = ("call", "output", "display", "x", "set", "jump")
COMMANDS = (*ACTING, *conditions.COMMANDS)
HARDWARE, HARDWARE_MAX = ("hbreak", "thbreak"), 4
AT_PLACE = re.compile(r"(.*?)(\s+(?:if|thread|task)\b.*)?", re.S)  # LOCATION and what follows
AT = re.compile(r"\*\s*(.*?)(\s+(?:if|thread|task)\b.*)?", re.S)  # *EXPRESSION and what follows
CHECK = "maintenance gorgon-check"

_tried = False  # our hooks are defined, for all commands for which the user has none
_last = None    # the newest command at the last prompt


def newest_command():
    """(number, text) of the last line that was typed, or None."""
    found = HISTORY.search(gdb.execute("show commands", to_string=True))
    return (int(found[1]), found[2].strip()) if found else None


def is_alone(name, line):
    """Whether a line is this command, maybe abbreviated, rather than a command such as "pipe" that runs it."""
    return name.startswith(re.match(r"[a-z]*", line)[0] or "-")


def arguments(name, line):
    """(/FMT, expression) of a command in a line that was typed, maybe behind "pipe", "with" or "apply"; or None."""
    if is_alone(name, line):
        line = re.sub(r"[a-z]+", name, line, count=1)
    found = re.search(rf"(?:^|\s){name}\b(?![-=])\s*(/\S+)?\s*(.*)", line, re.S)
    return (found[1] or "", found[2]) if found else None


def advice(name, line, copy):
    """The line to run instead of a line, or None if the line is right or is not this command. Raises gdb.error and what
    values.py raises."""
    found = arguments(name, line)
    if not found:
        return None
    shape, expression = found
    if name == "jump":
        place = place_of(expression, copy)
        return place and f"jump *{place:#x}"
    text = ordinary.lasting(expression, copy, ordinary.of_copy if name == "display" else ordinary.of_frame, True)
    if text == expression and (name != "call" or methods.rewrite(expression, copy) == expression):
        return None
    if name in ("call", "set"):
        return f"{'print' if name == 'call' else 'set var'}{shape} {expression}"
    return f"{name}{shape} {text}"


def place_of(location, copy):
    """The address of a location in a Copy; None if gdb finds no other copy's, or the Copy has several."""
    breakpoint = gdb.Breakpoint(location, internal=True)
    try:
        addresses = [place.address for place in breakpoint.locations]
    finally:
        breakpoint.delete()
    mine = [address for address in addresses if any(o.start <= address < o.end for o in copy.objects)]
    return mine[0] if len(mine) == 1 < len(addresses) else None


def do(name, line, instead):
    """Run the right line @instead of a line of this command. Returns the output that was not printed yet."""
    if name == "call":
        shape, expression = arguments(name, line)
        value = gdb.parse_and_eval(ordinary.own(expression))
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_VOID:
            return ""
        gdb.set_convenience_variable("_gorgon_called", value)
        return ordinary.run(f"call{shape} $_gorgon_called", to_string=True)
    if name in ("jump", "display"):
        ordinary.run(instead, from_tty=True)
        return ""
    return ordinary.run(instead, to_string=True)


class Check(gdb.Command):
    """Part of the hooks that Gorgon's scripts define: do what is right where a command would act on another copy.

    Usage: maintenance gorgon-check COMMAND"""

    name = CHECK

    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_MAINTENANCE)

    def invoke(self, arg, from_tty):
        if execute.is_passing():
            return
        if arg in conditions.COMMANDS:
            check_condition(arg)
            return
        if not process.try_snapshot():
            return
        try:
            copy = ordinary.selected_copy()
            newest = newest_command() if copy else None
            instead = advice(arg, newest[1], copy) if newest else None
            unknown = copy and arg == "call" and not (newest and arguments(arg, newest[1]))
        except (gdb.error, values.NoType):
            return  # gdb says what is wrong
        except (root.RootError, root.MemoryProblem) as error:
            raise gdb.GdbError(f"gorgon: {error}") from None
        if instead and is_alone(arg, newest[1]):
            try:
                text = do(arg, newest[1], instead)
            except gdb.error as error:
                text = str(error)
            raise gdb.GdbError(text.rstrip("\n") or " ")  # for an error without a text gdb would print a text of its own
        if instead:
            raise gdb.GdbError(f'gorgon: "{arg}" would not take what belongs to {copy.namespace.label}. Say: {instead}')
        if unknown:
            raise gdb.GdbError(f'gorgon: in code of {copy.namespace.label} "call" may run another copy\'s function. '
                               'Say "print"')


def addresses(location):
    """The locations that "break *EXPRESSION" means: in the frame's copy, or in every copy if the frame is in no private code.
    Empty: what gdb does by itself is right."""
    found = AT.fullmatch(location.strip())
    snapshot = process.try_snapshot() if found else None
    if not snapshot or not conditions.names_in(found[1]):
        return []
    try:
        copy = ordinary.selected_copy()
        value = gdb.parse_and_eval(values.rewrite(found[1], copy)[0])
        address = int(value.address if value.type.code == gdb.TYPE_CODE_FUNC else value) & values.MASK
        obj = snapshot.find_object(address)
    except (gdb.error, root.RootError, root.MemoryProblem):
        return []  # gdb says what is wrong
    copies = [o for o in snapshot.objects if obj and o.path == obj.path]
    if len(copies) < 2:
        return []
    return [f"*{address - obj.bias + o.bias:#x}{found[2] or ''}" for o in copies if not copy or not copy.inside or o is obj]


def in_software(command, location):
    """The processor has four hardware breakpoints. If there are more copies, set an ordinary breakpoint, which does as much in
    private code, and return gdb's output and why. None: there are not more copies."""
    snapshot = process.try_snapshot()
    places = conditions.places(AT_PLACE.fullmatch(location.strip())[1]) if snapshot else []
    if len([address for address in places if snapshot.find_object(address)]) <= HARDWARE_MAX:
        return None
    text = ordinary.run(f"{command.replace('hbreak', 'break')} {location}", to_string=True).rstrip()
    return f"{text}\ngorgon: not a hardware breakpoint: the processor has {HARDWARE_MAX}, and each copy needs one"


def check_condition(command):
    """Run a line with a condition otherwise if gdb would refuse it, or would not know its names at some places. The output is
    the text of an error, so that gdb's own command does not run."""
    newest = newest_command()
    if newest in (None, _last) or not conditions.is_of(command, newest[1]):
        snapshot = process.try_snapshot()
        if snapshot and conditions.is_many(snapshot):
            symbols.describe(snapshot.objects)
            symbols.refresh_lines()
        return
    location = newest[1].partition(" ")[2]
    places = addresses(location)
    if places:
        raise gdb.GdbError("".join(ordinary.run(f"{command} {place}", to_string=True) for place in places).rstrip("\n"))
    if command in HARDWARE and (text := in_software(command, location)):
        raise gdb.GdbError(text)
    instead = conditions.typed(command, newest[1])
    if instead is None:
        return
    pending = gdb.parameter("breakpoint pending")
    try:
        text = ordinary.run(f"with breakpoint pending {'on' if pending else 'off'} -- {instead}", to_string=True)
    except gdb.error:
        if pending is None:
            ordinary.run(instead, from_tty=True)  # gdb asks whether it is to wait for the place
            raise gdb.GdbError(" ") from None
        return  # gdb says what is wrong
    raise gdb.GdbError(text.rstrip("\n") or " ")


def hook(name):
    """The lines of a command's hook, "" when it has none, or None if gdb cannot be asked now."""
    try:
        return execute.run(f"show user hook-{name}")
    except gdb.error:
        return ""


def install():
    """Define a hook for each command for which the user has none. If that is not possible yet, the next prompt does it."""
    global _tried
    for name in COMMANDS if not _tried else ():
        lines = hook(name)
        if lines is None or lines == "" and execute.run(f"define hook-{name}\n{CHECK} {name}\nend") is None:
            return
    _tried = True


def on_prompt(_event=None):
    global _last
    newest, before = newest_command(), _last
    _last = newest or ()
    if before is None or newest in (None, before):
        return
    name = re.match(r"[a-z]*", newest[1])[0]
    if name not in ACTING or CHECK in (hook(name) or ""):
        return
    try:
        copy = ordinary.selected_copy()
        instead = advice(name, newest[1], copy) if copy else None
        if instead:
            gdb.write(f"gorgon: that was not what belongs to {copy.namespace.label}. Say: {instead}\n")
    except (gdb.error, root.RootError, root.MemoryProblem):
        pass  # gdb has said what is wrong with the expression


def register():
    """The command that is the newest at the next prompt was typed before the scripts came, so on_prompt() only notes it."""
    global _last
    _last = None
    Check()
