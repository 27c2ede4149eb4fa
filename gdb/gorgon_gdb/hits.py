# SPDX-License-Identifier: MIT
"""A stop at a breakpoint is shown with arguments, also in a copy of which gdb has had lines only.

gdb prints a stop before it sends the event of the stop, and so before symbols.py can add the debug information that the copy lacks.
But gdb counts the breakpoint's hit earlier, and sends an event of that. At this event the scripts tell gdb not to print the stop
("set suppress-cli-notifications"; editors hear of the stop as always). They print it themselves when the copy has its
variables: in the stop's event or, if a prompt comes next, before the prompt, because gdb warns when places of breakpoints change in
between (execute.py). If the breakpoint has commands, the scripts put a command before them that adds the files and prints the stop. gdb
looks for the place of the stop when it begins with the commands, and not again before the prompt. In the second and third case other
handlers of the stop's event find the copy with lines only."""

import re

import gdb

from . import displays, execute

KINDS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)
SETTING = "suppress-cli-notifications"
NEWEST = re.compile(r"^\s*\d+  (\S+).*\n\Z", re.M)
# Commands after which gdb stops once, and then has its prompt.
RUNNING = ("continue", "c", "fg", "run", "r", "start", "next", "n", "step", "s", "finish", "fin", "until", "u", "advance", "stepi", "si",
           "nexti", "ni", "jump", "j", "signal")
SILENT = "silent\n"
FIRST = "python __import__('gorgon_gdb.symbols').symbols.on_commands({})\n"

_counts = {}      # number of a breakpoint -> hits
_led = {}         # number of a breakpoint whose commands begin with FIRST -> the commands without it
_leads = False    # FIRST will be run before anything else
_held = False     # gdb was told not to print this stop
_headline = None  # the text to print before the frame of a held stop


def hit(breakpoint):
    """Whether the breakpoint has counted another hit since the last call."""
    before, _counts[breakpoint.number] = _counts.get(breakpoint.number, 0), breakpoint.hit_count
    return breakpoint.hit_count > before


def on_modified(breakpoint, is_to_be_held):
    """Hold the stop if the breakpoint was hit and is_to_be_held(address) says that gdb has no variables there yet, and will get
    them. Returns whether the breakpoint was hit."""
    thread = gdb.selected_thread() if hit(breakpoint) else None
    if thread is None or thread.is_stopped():
        return False
    try:
        lacks = breakpoint.type in KINDS and is_to_be_held(gdb.newest_frame().pc())
    except gdb.error:
        lacks = False  # its registers cannot be read
    if breakpoint.type not in KINDS or is_silent(breakpoint):
        release()
    elif lacks and not _held and not gdb.parameter(SETTING) and (has_others() or not execute.can_have_commands()):
        hold()
    if lacks and breakpoint.commands and execute.has_prompts():
        lead(breakpoint)
    return True


def is_silent(breakpoint):
    return breakpoint.silent or (breakpoint.commands or "").startswith(SILENT)


def lead(breakpoint):
    """Have FIRST run before the commands of a breakpoint that was hit. gdb takes them after this event."""
    own = _led[breakpoint.number] = breakpoint.commands
    start = SILENT if own.startswith(SILENT) else ""
    breakpoint.commands = start + FIRST.format(is_silent(breakpoint)) + own[len(start):]


def leads():
    """Whether FIRST will be run before the other commands of this stop."""
    return _leads


def has_others():
    return len(gdb.selected_inferior().threads()) > 1


def hold():
    global _held
    _held = True
    execute.run(f"set {SETTING} on")


def release():
    global _held
    if _held:
        _held = False
        execute.run(f"set {SETTING} off")


def on_stop(event):
    """Called before other handlers of the stop, because they change the places of breakpoints."""
    global _headline, _leads
    held, led = _held, dict(_led)
    _led.clear()
    for breakpoint in gdb.breakpoints() if led else ():
        if breakpoint.number in led:
            breakpoint.commands = led[breakpoint.number]
    _leads = any(breakpoint.number in led for breakpoint in getattr(event, "breakpoints", ()))
    release()
    _headline = headline(event.breakpoints) if held and getattr(event, "breakpoints", ()) else None


def headline(breakpoints):
    """The text that gdb prints before the frame."""
    breakpoint, pc = breakpoints[0], gdb.newest_frame().pc()
    places = [place.address for place in breakpoint.locations]
    number = f".{places.index(pc) + 1}" if len(places) > 1 and pc in places else ""
    return f"\n{thread_hit()}{'Temporary breakpoint' if breakpoint.temporary else 'Breakpoint'} {breakpoint.number}{number}, "


def thread_hit():
    """The words that name the thread, if there are others; otherwise an empty text."""
    if not has_others():
        return ""
    thread = gdb.selected_thread()
    number = f"{thread.inferior.num}.{thread.num}" if len(gdb.inferiors()) > 1 else thread.num
    name = f' "{thread.name}"' if thread.name else ""
    return f"Thread {number}{name} hit "


def forget(_event=None):
    """The program has ended, and gdb counts anew in the next run."""
    global _headline
    _headline = None
    _counts.clear()
    release()


def is_held():
    """Whether there is a stop that is still to be shown."""
    return _headline is not None


def can_wait(event):
    """Whether a held stop can be shown later, because a prompt comes right after it."""
    if not is_held() or any(breakpoint.commands for breakpoint in event.breakpoints):
        return False
    newest = NEWEST.search(execute.run("show commands") or "")
    return bool(newest) and newest[1] in RUNNING


def show():
    """Print the stop."""
    global _headline
    text, _headline = _headline, None
    show_stop(text)


def show_stop(text):
    """Print a stop as gdb does: why it has stopped, where, and the expressions that are displayed at each stop."""
    frame = execute.run("frame") or ""
    displays.restore()
    gdb.write(text + re.sub(r"^#0  ", "", frame) + (execute.run("display") or ""))
