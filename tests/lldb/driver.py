# SPDX-License-Identifier: MIT
"""Loaded into lldb by the tests: a loop over stops.

    drive {"time_sleep": ["once", "bt"], "walk.cc:30": ["breakpoint list"]}

For each thread that has stopped at a breakpoint it prints a marker line and runs the
commands chosen for that breakpoint in that thread, then continues until the end; "once"
disables the location that was hit, "watch NAME" sets a watchpoint on the frame's copy of a
global, and "0" stands for all other breakpoints. A breakpoint goes by its function or
FILE:LINE; one that is gone already (--one-shot) is "?"."""

import json
import re

import lldb
import places


def say(text):
    print(text, flush=True)


def run(debugger, thread, command):
    result = lldb.SBCommandReturnObject()
    say("--- " + command)
    debugger.GetCommandInterpreter().HandleCommand(command, lldb.SBExecutionContext(thread.GetSelectedFrame()), result)
    for text in (result.GetOutput(), result.GetError()):
        if text:
            say(text.rstrip("\n"))
    return result.GetOutput()


def called(target, number):
    """What a breakpoint has been set on."""
    if number >= 1 << 31:  # lldb's own breakpoints have negative numbers
        return "internal"
    stream = lldb.SBStream()
    breakpoint = target.FindBreakpointByID(number)
    if not breakpoint.IsValid() or not breakpoint.GetDescription(stream, False):
        return "?"
    return places.called(stream.GetData()) or "?"


def visit(debugger, process, thread, actions):
    number, location = (thread.GetStopReasonDataAtIndex(i) for i in (0, 1))
    name = called(process.GetTarget(), number)
    say(f"=== stop {name} pc {thread.GetFrameAtIndex(0).GetPC():#x} thread {thread.GetIndexID()}"
        f" lwp {thread.GetThreadID()}")
    process.SetSelectedThread(thread)
    for command in actions.get(name, actions.get("0", [])):
        if command == "once":
            breakpoint = process.GetTarget().FindBreakpointByID(number)
            breakpoint.FindLocationByID(location).SetEnabled(False)
        elif command.startswith("watch "):
            shown = run(debugger, thread, command.replace("watch ", "gorgon print &"))
            address = re.search(r"= (0x\w+)", shown)[1]
            run(debugger, thread, f"watchpoint set expression -s 4 -- {address}")
        else:
            run(debugger, thread, command)


def drive(debugger, command, exe_ctx, _result, _dict):
    actions = json.loads(command)
    debugger.SetAsync(False)
    process = exe_ctx.GetProcess()
    for _ in range(80):
        stopped = [t for t in process if t.GetStopReason() == lldb.eStopReasonBreakpoint]
        for thread in stopped:
            visit(debugger, process, thread, actions)
        if not stopped or not process.is_alive:
            break
        process.Continue()
    if process.is_alive:  # nobody asked for this stop
        say("\n".join(f"thread {thread.GetIndexID()}: {thread.GetStopDescription(200)}" for thread in process))
    say(f"=== end {lldb.SBDebugger.StateAsCString(process.GetState())} {process.GetExitStatus()}")


def __lldb_init_module(debugger, _dict):
    debugger.HandleCommand("command script add --overwrite --function driver.drive drive")
