# SPDX-License-Identifier: MIT
"""How the scripts run commands of gdb's, above all within events.

When gdb.execute() is done, it runs what is left of the commands of the breakpoint at which the selected thread has stopped. In
the event of that stop these commands have not begun: they would run inside the event, and after a "continue" among them gdb waits
for ever, for a stop that it has been told of already. (gdb.post_event() does not help: it runs its function only when
the process goes on.) So handlers of events use run(). If a breakpoint may have commands, run() selects another thread
meanwhile, which stands still because of the stop, but has not stopped at a breakpoint. Without another thread it runs nothing, and
the scripts do the work before the next prompt, where gdb.execute() is like a command that somebody types.
While gdb handles an event of its own in a running process, for example hears of an object, no thread has stopped at a
breakpoint with commands: there run() always works, and that is the only chance to have lines before the new code runs.

Outside of events run() is gdb.execute().

When a file is added or removed, gdb looks for the places of all breakpoints again. Then it does not know any more at which of them the
selected thread has stopped, and warns after each command ("location number not found for breakpoint 1"). It stops warning
after "stepi 0", a step by no instruction: then it only knows that the thread has stopped. So the scripts step in this way before a
file comes or goes (places_change()). In events they cannot: there run() selects another thread, settle() steps before the prompt, and
between the two gdb warns once. Therefore files that can wait for the prompt do (waits()), or for the commands of the breakpoint
(hits.py). In -batch and for editors nothing steps, and neither does a command among those of a breakpoint, because the others would not
be run after it."""

import contextlib
import functools

import gdb

STEP_NOTHING = "with suppress-cli-notifications on -- stepi 0"

_events = 0  # number of events that are being handled
_stale = False  # breakpoints have other places than when the process stopped
_hit = ()  # the breakpoints at which the process has stopped, without those that gdb deletes then
_thread = None  # that has stopped there
_before_prompt = False  # handlers of that event run, behind all commands of breakpoints
_settling = False  # forget_place() is stepping: its events are no news
_passing = 0  # number of gdb's commands that the scripts are running
_prompts = False  # gdb has had a prompt, so there will be others; with -batch and for an editor there are none


def interruptible(handler):
    """Make a handler that Ctrl-C ends with the word that gdb has for it. Of an exception of a handler gdb prints the class."""
    @functools.wraps(handler)
    def handle(*args):
        try:
            return handler(*args)
        except KeyboardInterrupt:
            gdb.write("Quit\n")
            return None
    return handle


def within_event(handler):
    """Make a handler of events in which run() knows that it is in an event."""
    @functools.wraps(handler)
    def handle(*args):
        global _events
        _events += 1
        try:
            return None if _settling else handler(*args)
        finally:
            _events -= 1
    return handle


def before_prompt(handler):
    """Make a handler of the event before a prompt."""
    @functools.wraps(handler)
    def handle(*args):
        global _before_prompt
        _before_prompt = True
        try:
            return handler(*args)
        finally:
            _before_prompt = False
    return handle


def places_change():
    """Called before something that makes gdb look for the places of breakpoints again."""
    global _stale
    if _prompts and not _events and (_before_prompt or not can_have_commands()):
        forget_place()
    _stale = _stale or any(breakpoint.hit_count for breakpoint in gdb.breakpoints())


def on_continue(_event):
    global _stale, _hit
    _stale, _hit = False, ()


def waits(event):
    """Whether adding and removing files can wait for the prompt after this stop, and gdb could warn if it was done now. That a breakpoint has
    one place says nothing: the file of another copy may bring a second place."""
    return _prompts and bool(hit_by(event))


def hit_by(event):
    """The breakpoints at which this stop is, without those that gdb deletes now."""
    return [breakpoint for breakpoint in getattr(event, "breakpoints", ()) if breakpoint.is_valid() and not breakpoint.temporary]


def on_stop(event):
    """Called before other handlers of the stop, because they change the places of breakpoints."""
    global _hit, _thread
    if not _settling:
        _hit, _thread = hit_by(event), gdb.selected_thread()


def settle(_event=None):
    """Called before each prompt: have gdb forget at which place it has stopped, if it would not find that place."""
    global _prompts
    _prompts = True
    # gdb looks for the place of a stop only where there are several.
    if _stale and any(breakpoint.is_valid() and len(breakpoint.locations) > 1 for breakpoint in _hit):
        forget_place()


def forget_place():
    """Step by no instruction. (After such a step a core of gcore lacks the signal of the stop.) The user's thread and frame stay."""
    global _settling, _stale, _hit
    if not _hit or not _thread.is_valid() or not _thread.is_stopped():
        return
    _stale, _hit, _settling = False, (), True
    selected = gdb.selected_thread()
    try:
        frame = gdb.selected_frame()
    except gdb.error:
        frame = None  # of a stack that cannot be read
    try:
        _thread.switch()
        run(STEP_NOTHING)
    except gdb.error:
        pass  # a core
    finally:
        _settling = False
        if selected:
            selected.switch()
        if frame and frame.is_valid():
            frame.select()


@contextlib.contextmanager
def passing():
    """While this lasts, commands that are run are gdb's own: the scripts' hooks let them pass."""
    global _passing
    _passing += 1
    try:
        yield
    finally:
        _passing -= 1


def is_passing():
    return _passing > 0


def has_prompts():
    """Whether commands come from prompts, and not from -batch or an editor."""
    return _prompts


def can_have_commands():
    return any(breakpoint.commands for breakpoint in gdb.breakpoints())


def bystander(selected):
    """Another thread that stands still, or None."""
    return next((thread for thread in gdb.selected_inferior().threads()
                 if thread.ptid != selected.ptid and thread.is_stopped()), None)


def run(command):
    """Run a command for the selected thread. Returns what it has printed, or None if it cannot be run here. Raises
    gdb.error."""
    stopped = gdb.selected_thread() if _events else None
    if stopped and not stopped.is_stopped():
        stopped = None  # gdb hears of an object while the process goes on: no breakpoint's commands wait
    other = bystander(stopped) if stopped and (_stale or can_have_commands()) else None
    if not other and stopped and can_have_commands():
        return None
    with passing():
        if not other:
            return gdb.execute(command, to_string=True)
        other.switch()
        try:
            return gdb.execute(f"thread apply {gdb.selected_inferior().num}.{stopped.num} -q {command}", to_string=True)
        finally:
            stopped.switch()
