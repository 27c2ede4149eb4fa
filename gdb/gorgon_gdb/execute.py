# SPDX-License-Identifier: MIT
"""Commands of gdb's that the scripts run, and how they do so within events.

gdb.execute() ends with what is left of the commands of the breakpoint at which the selected thread has stopped. In an
event of that stop these have not begun: they would run inside the event, and after a "continue" among them gdb waits
for ever, for a stop that it has been told of already. (gdb.post_event() is no way out: what it runs comes when
the process goes on.) So what events do goes through run(): when a breakpoint may have commands it selects another thread
meanwhile, one that stands still because the first one does. Without another thread it runs nothing, and what has to
be done is done before the next prompt, where gdb.execute() is like a command that somebody types.

run() serves commands, too; there it is gdb.execute()."""

import functools

import gdb

_events = 0  # that are being handled


def within_event(handler):
    """A handler in which run() knows that it is in an event."""
    @functools.wraps(handler)
    def handle(*args):
        global _events
        _events += 1
        try:
            return handler(*args)
        finally:
            _events -= 1
    return handle


def can_have_commands():
    return any(breakpoint.commands for breakpoint in gdb.breakpoints())


def bystander(selected):
    """A thread that has nothing to do with a stop of this one, or None."""
    return next((thread for thread in gdb.selected_inferior().threads()
                 if thread.ptid != selected.ptid and thread.is_stopped()), None)


def run(command):
    """What a command for the selected thread has printed, or None: it cannot be run here. Raises gdb.error."""
    stopped = gdb.selected_thread() if _events else None
    if not stopped or not can_have_commands():
        return gdb.execute(command, to_string=True)
    other = bystander(stopped)
    if not other:
        return None
    other.switch()
    try:
        return gdb.execute(f"thread apply {gdb.selected_inferior().num}.{stopped.num} -q {command}", to_string=True)
    finally:
        stopped.switch()
