# SPDX-License-Identifier: MIT
"""Registers all commands, functions and handlers with gdb. May be repeated: a second time changes nothing."""

import gdb

from . import (breakpoints, commands, companions, conditions, cores, dap, debuglinks, displays, ended, execute, extensions,
               frames, functions, helper_types, hooks, hits, index_cache, info_line, info_symbol, lines, loads, mi_commands, mi_input,
               mi_threads, missing_files, ordinary, process, python_helper, reruns, solibs, stacks, static_members, symbols, values)

_events = []


def on_stop(event=None):
    python_helper.check()
    index_cache.check()
    functions.update_variable(event)
    debuglinks.on_stop(event)
    if not execute.waits(event):
        symbols.remove_stale()
        lines.remove_stale()
        if not extensions.refresh():
            symbols.leave()
    if event is not None:
        symbols.on_stop(event)
    else:
        symbols.refresh_lines()


def before_prompt(_event=None):
    """Add and remove files that had to wait for the prompt."""
    on_stop()
    lines.remove_gone(symbols.covered())


def install(_event=None):
    """Install the parts that need to run commands of gdb's for that."""
    for part in (ordinary, hooks, solibs, index_cache):
        part.install()


def install_at_stop(_event):
    """Install at a stop, unless commands of a breakpoint wait; then the next prompt does it."""
    if not execute.can_have_commands():
        install()


def connect(name, handler):
    event = getattr(gdb.events, name, None)
    if event is not None:
        within = execute.before_prompt if name == "before_prompt" else execute.within_event
        event.connect(execute.interruptible(within(handler)))
        _events.append(event)


def register(objfile=None):
    for part in (commands, breakpoints, values, stacks, symbols):
        part.register()
    companions.register(objfile is not None)
    functions.register()
    frames.register()
    hooks.register()
    mi_commands.register()
    missing_files.register()
    info_symbol.register()
    info_line.register()
    ended.register()
    solibs.register()
    static_members.register()
    if not _events:
        mi_input.begin()
        connect("exited", reruns.on_exited)
        connect("exited", ended.on_exited)
        connect("new_thread", ended.on_new_thread)
        connect("new_thread", reruns.on_new_thread)
        connect("breakpoint_modified", reruns.on_modified)
        connect("breakpoint_modified", conditions.adapt)
        connect("breakpoint_created", conditions.adapt)
        connect("breakpoint_modified", symbols.on_hit)
        connect("exited", hits.forget)
        connect("exited", conditions.forget)
        connect("new_objfile", companions.on_new_objfile)
        connect("new_objfile", conditions.on_new_objfile)
        connect("exited", helper_types.forget)
        connect("clear_objfiles", helper_types.forget)
        connect("exited", process.forget)
        connect("clear_objfiles", process.forget)
        connect("new_objfile", python_helper.on_new_objfile)
        connect("new_objfile", debuglinks.on_new_objfile)
        connect("new_objfile", missing_files.on_new_objfile)
        connect("exited", missing_files.forget)
        connect("clear_objfiles", missing_files.forget)
        connect("free_objfile", reruns.on_free_objfile)
        connect("new_objfile", lines.on_new_objfile)
        connect("new_objfile", symbols.on_settled)
        connect("new_objfile", extensions.on_new_objfile)
        connect("new_objfile", conditions.judge)
        connect("new_objfile", reruns.on_new_objfile)  # when lines are there, too
        connect("new_objfile", cores.on_new_objfile)
        connect("exited", lines.on_exited)
        connect("breakpoint_created", loads.on_breakpoint)
        connect("breakpoint_modified", loads.on_breakpoint)
        connect("breakpoint_deleted", loads.on_deleted)
        connect("exited", loads.forget)
        connect("clear_objfiles", lines.forget)
        connect("exited", cores.forget)
        connect("clear_objfiles", cores.forget)
        connect("free_objfile", symbols.on_free_objfile)
        connect("stop", execute.on_stop)
        connect("stop", hits.on_stop)
        connect("stop", on_stop)
        connect("stop", displays.restore)
        connect("stop", loads.on_stop)
        connect("stop", install_at_stop)
        connect("stop", dap.on_stop)
        connect("stop", mi_threads.on_stop)
        connect("exited", mi_threads.forget)
        connect("stop", mi_input.on_event)
        connect("exited", mi_input.on_event)
        connect("inferior_call", mi_input.on_call)
        connect("cont", execute.on_continue)
        connect("cont", symbols.on_continue)
        connect("before_prompt", execute.settle)
        connect("before_prompt", before_prompt)
        connect("before_prompt", symbols.on_prompt)
        connect("before_prompt", conditions.judge)
        connect("before_prompt", displays.restore)
        connect("before_prompt", install)
        connect("before_prompt", ended.before_prompt)
        connect("before_prompt", hooks.on_prompt)
    if objfile is None or not index_cache.needs_command():
        index_cache.install()
    if objfile is None:
        install()  # with an objfile, gdb reads these scripts while it waits for the program, and a command would end its waiting
    execute.within_event(on_stop)()  # gdb may have read this by itself, when it heard of libgorgon
    if objfile is None:
        symbols.on_prompt()  # there may be a process that stands still, or a core
