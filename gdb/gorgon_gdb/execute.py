# SPDX-License-Identifier: MIT
"""Commands of gdb's that the scripts run, and how they do so within events.

gdb.execute() ends with what is left of the commands of the breakpoint at which the selected thread has stopped. In an
event of that stop these have not begun: they would run inside the event, and after a "continue" among them gdb waits
for ever, for a stop that it has been told of already. (gdb.post_event() is no way out: what it runs comes when
the process goes on.) So what events do goes through run(): when a breakpoint may have commands it selects another thread
meanwhile, one that stands still because the first one does. Without another thread it runs nothing, and what has to
be done is done before the next prompt, where gdb.execute() is like a command that somebody types.
A thread that runs for the user while gdb handles an event of its own, as when it hears of an object, has not stopped at any
breakpoint with commands: there gdb.execute() ends with none, and it is the only chance to have lines before the code runs.

run() serves commands, too; there it is gdb.execute().

Files that are added or taken away make gdb look for the places of all breakpoints again, and it then warns after each command
that the place at which it has stopped has no number any more ("location number not found for breakpoint 1"). It warns for
the selected thread only, and forgets the place when that is asked to step by no instruction: it says that it has stopped, and
has not gone on. So run() selects another thread in events, and settle() asks for that step before the prompt. Between both gdb warns
once, so what can wait for the prompt (waits()) does, and forget_place() asks for the step first."""

import contextlib
import functools

import gdb

STEP_NOTHING = "with suppress-cli-notifications on -- stepi 0"

_events = 0  # so many events are being handled
_stale = False  # breakpoints have other places than when the process stopped
_can_warn = False  # the process has stopped at one of several places of a breakpoint that was not deleted at the stop
_settling = False
_passing = 0  # so many of gdb's commands are being run by the scripts
_prompts = False  # gdb has had a prompt, so there will be others; there are none with -batch and for an editor


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


def places_change():
    """Called before something that makes gdb look for the places of breakpoints again."""
    global _stale
    _stale = _stale or any(breakpoint.hit_count for breakpoint in gdb.breakpoints())


def on_continue(_event):
    global _stale, _can_warn
    _stale = _can_warn = False


def waits(event):
    """Whether adding and removing files can wait for the prompt after this stop, and gdb would warn if it was done now."""
    return _prompts and is_at_one_of_several(event)


def is_at_one_of_several(event):
    """Whether this stop is at one of several places of a breakpoint that gdb does not delete now."""
    return any(breakpoint.is_valid() and not breakpoint.temporary and len(breakpoint.locations) > 1
               for breakpoint in getattr(event, "breakpoints", ()))


def on_stop(event):
    """Before other handlers: they change the places."""
    global _can_warn
    if not _settling:
        _can_warn = is_at_one_of_several(event)


def settle(_event=None):
    """Before each prompt: have gdb forget which place it has stopped at, where it would not find that."""
    global _prompts
    _prompts = True
    if _stale:
        forget_place()


def forget_place():
    """Not where gdb cannot warn: a core that gcore writes then has no signal of the stop."""
    global _settling, _stale, _can_warn
    thread = gdb.selected_thread() if _can_warn else None
    if not thread or not thread.is_stopped() or thread.is_exited():
        return
    _stale, _can_warn, _settling = False, False, True
    try:
        gdb.execute(STEP_NOTHING, to_string=True)
    except gdb.error:
        pass  # a core
    finally:
        _settling = False


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
