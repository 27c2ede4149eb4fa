# SPDX-License-Identifier: MIT
"""call, output, printf, display, x, jump and "set EXPRESSION" act on the frame's copy when they are typed.

ordinary.py cannot put these right: gdb has no second command that does the same. A hook of gdb's stops a command before it
acts, but is not told its arguments. What was typed is the newest in the history of commands. So the hook runs what
is right, and an error ends the command; the error's text is what gdb would have said. Behind "pipe", "with" and "apply" the
error says what to type instead. Commands of scripts are not in the history: "call" is refused there in
frames of private code, because it runs code, and of the others nothing is said.

Each command has one hook, which is the user's when there is one. Then what was typed is looked at when it has run."""

import re

import gdb

from . import conditions, execute, ordinary, process, root, symbols, values

HISTORY = re.compile(r"^\s*(\d+)  (.*)\n\Z", re.M)
ACTING = ("call", "output", "printf", "display", "x", "set", "jump")
COMMANDS = (*ACTING, *conditions.COMMANDS)
HARDWARE, HARDWARE_MAX = ("hbreak", "thbreak"), 4
AT_PLACE = re.compile(r"(.*?)(\s+(?:if|thread|task)\b.*)?", re.S)  # LOCATION and what follows
AT = re.compile(r"\*\s*(.*?)(\s+(?:if|thread|task)\b.*)?", re.S)  # *EXPRESSION and what follows
CHECK = "maintenance gorgon-check"

_tried = False  # hooks are defined, where there were none
_last = None    # the newest command that was looked at, or that was there before


def newest_command():
    """(number, text) of the last line that was typed, or None."""
    found = HISTORY.search(gdb.execute("show commands", to_string=True))
    return (int(found[1]), found[2].strip()) if found else None


def is_alone(name, line):
    """A line is this command, maybe abbreviated, and not one that runs it."""
    return name.startswith(re.match(r"[a-z]*", line)[0] or "-")


def arguments(name, line):
    """(/FMT, expression) of a command in a line that was typed, maybe behind "pipe", "with" or "apply"; or None."""
    if is_alone(name, line):
        line = re.sub(r"[a-z]+", name, line, count=1)
    found = re.search(rf"(?:^|\s){name}\b(?![-=])\s*(/\S+)?\s*(.*)", line, re.S)
    return (found[1] or "", found[2]) if found else None


def advice(name, line, copy):
    """What to type instead of a line, or None: it is right, or not this command's. Raises what gdb and values.py do."""
    found = arguments(name, line)
    if not found:
        return None
    shape, expression = found
    if name == "jump":
        place = place_of(expression, copy)
        return place and f"jump *{place:#x}"
    text = ordinary.lasting(expression, copy, ordinary.of_copy if name == "display" else ordinary.of_frame, True)
    if text == expression:
        return None
    if name in ("call", "set"):
        return f"{'print' if name == 'call' else 'set var'}{shape} {expression}"
    return f"{name}{shape} {text}"


def place_of(location, copy):
    """The address of a location in a Copy, or None: gdb finds it by itself, or there are several."""
    breakpoint = gdb.Breakpoint(location, internal=True)
    try:
        addresses = [place.address for place in breakpoint.locations]
    finally:
        breakpoint.delete()
    mine = [address for address in addresses if any(o.start <= address < o.end for o in copy.objects)]
    return mine[0] if len(mine) == 1 < len(addresses) else None


def do(name, line, instead):
    """Run what is right instead of a line of this command; returns what is left to say."""
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
            raise gdb.GdbError(text.rstrip("\n") or " ")  # gdb has something to say of an error without a text
        if instead:
            raise gdb.GdbError(f'gorgon: "{arg}" would not take what belongs to {copy.namespace.label}. Say: {instead}')
        if unknown:
            raise gdb.GdbError(f'gorgon: in code of {copy.namespace.label} "call" may run another copy\'s function. '
                               'Say "print"')


def addresses(location):
    """What "break *EXPRESSION" means: the frame's copy, or every copy where the frame is of none. Empty: gdb is right."""
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
    """What is said of a breakpoint of the processor's, which has four, in more copies: it becomes one of gdb's own, which does the
    same in private code. None: there are not that many."""
    snapshot = process.try_snapshot()
    places = conditions.places(AT_PLACE.fullmatch(location.strip())[1]) if snapshot else []
    if len([address for address in places if snapshot.find_object(address)]) <= HARDWARE_MAX:
        return None
    text = ordinary.run(f"{command.replace('hbreak', 'break')} {location}", to_string=True).rstrip()
    return f"{text}\ngorgon: not a hardware breakpoint: the processor has {HARDWARE_MAX}, and each copy needs one"


def check_condition(command):
    """What gdb would refuse, or not evaluate at some places, is run otherwise. What that says is said by an error: gdb's own
    command is not to run."""
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
    """The lines of a command's hook, "" when it has none, or None: that cannot be asked now."""
    try:
        return execute.run(f"show user hook-{name}")
    except gdb.error:
        return ""


def install():
    """Define the hooks that the user has not. Where that is not possible yet, the next prompt does."""
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
        pass  # what is wrong with the expression gdb has said


def register():
    """What was typed before the scripts came is not looked at: that is the newest before the next prompt."""
    global _last
    _last = None
    Check()
