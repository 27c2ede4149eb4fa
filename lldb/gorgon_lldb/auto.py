# SPDX-License-Identifier: MIT
"""gorgon symbols auto: each copy has the symbols of its file from the moment that it is registered.

So breakpoints by file and line, and by the names of static functions, that were set before the program
began have their places before the first constructor of a copy runs, as with libraries of the system's
linker. It may be switched on before there is a program: lldb copies breakpoints of its dummy target to
every target to come.

Ours is at the function that the process calls after each registration. Its resolver also hears of the
modules of a process that is attached to, or of a core, and brings up to date what is there already.
In targets it is not listed, and "breakpoint delete" leaves it alone.

lldb's own reader of registrations is off in processes that start meanwhile. It would make a module of
each symfile first, and breakpoints by name would keep the places in it, dead ones, in their lists. The
setting is the same for other programs with code from a JIT compiler: lldb knows no names of that then."""

import lldb

from . import cores, files, process, symbols

FUNCTION = "__jit_debug_register_code"
NAME = "gorgon_auto"

LOADER = "plugin.jit-loader.gdb.enable"


class Watch:
    """What lldb creates for the breakpoint, in each target."""

    def __init__(self, breakpoint, _args, _dict=None):
        self.breakpoint = breakpoint
        self.hidden = False
        self.core = False

    def __get_depth__(self):
        return lldb.eSearchDepthModule

    def get_short_help(self):
        return "gorgon symbols auto: where the process registers private code"

    def __callback__(self, context):
        target = self.breakpoint.GetTarget()
        if not self.hidden:
            hide(target, self.breakpoint)
            self.hidden = True
        module = context.GetModule()
        # Of the kernel's in a core lldb 19 must not be asked for its folder. To look into each module of ours would have lldb read
        # its symbols.
        known = module.IsValid() and (not process.is_core(target) or module.GetNumSections())
        folder = module.GetFileSpec().GetDirectory() if known else None
        if files.has_links(folder):
            if not self.core and process.is_core(target):
                self.core = True
                cores.expect(target)
            return
        if files.is_rest(folder):
            return
        symbol = module.FindSymbol(FUNCTION, lldb.eSymbolTypeCode)
        if not symbol.IsValid():
            return
        if not process.is_core(target):
            self.breakpoint.AddLocation(symbol.GetStartAddress())
        # Not of a file that nobody has started yet; of a new process nothing is there yet.
        if symbol.GetStartAddress().GetLoadAddress(target) != lldb.LLDB_INVALID_ADDRESS:
            follow(target)


def registered(frame, _location):
    """For lldb, in that function: False lets the thread go on."""
    follow(frame.GetThread().GetProcess().GetTarget())
    prefer_others(frame.GetThread())
    return False


def prefer_others(thread):
    """When something else has stopped at the same time lldb selects the first thread with a reason: not to be ours."""
    running = thread.GetProcess()
    for other in running:
        reason = other.GetStopReason()
        if other.GetThreadID() == thread.GetThreadID() or reason in (lldb.eStopReasonNone, lldb.eStopReasonInvalid):
            continue
        if reason != lldb.eStopReasonBreakpoint or other.GetFrameAtIndex(0).GetFunctionName() != FUNCTION:
            running.SetSelectedThread(other)
            break


def is_on(debugger):
    return debugger.GetID() in symbols.automatic


def follow(target):
    symbols.follow(target, is_on(target.GetDebugger()))


def switch(debugger, on):
    """Returns whether that is new. What processes have stays as it is until they register something."""
    instance = debugger.GetInstanceName()
    if on == is_on(debugger):
        return False
    if on:
        targets = [debugger.GetTargetAtIndex(i) for i in range(debugger.GetNumTargets())]
        for target in (target for target in targets if target.GetProcess().IsValid()):
            symbols.lacks_loader(target)  # what there is has been decided
        symbols.automatic[debugger.GetID()] = \
            debugger.GetInternalVariableValue(LOADER, instance).GetStringAtIndex(0)
        for target in [*targets, debugger.GetDummyTarget()]:
            watch(target)
        debugger.SetInternalVariable(LOADER, "off", instance)
    else:
        # The breakpoints stay: where lldb does not read registrations we have to.
        debugger.SetInternalVariable(LOADER, symbols.automatic.pop(debugger.GetID()), instance)
    return True


def watch(target):
    """One breakpoint in each target."""
    found = lldb.SBBreakpointList(target)
    if target.FindBreakpointsByName(NAME, found) and found.GetSize():
        return
    breakpoint = target.BreakpointCreateFromScript("gorgon.Watch", lldb.SBStructuredData(), lldb.SBFileSpecList(),
                                                   lldb.SBFileSpecList())
    breakpoint.SetScriptCallbackFunction("gorgon.registered")
    if not breakpoint.MatchesName(NAME):  # there are no modules yet
        breakpoint.AddName(NAME)


def hide(target, breakpoint):
    """Not in "breakpoint list", and no prey of "breakpoint delete". lldb copies a breakpoint with its names, and
    without what belongs to them; and to say it twice undoes it."""
    breakpoint.RemoveName(NAME)
    name = lldb.SBBreakpointName(target, NAME)
    name.SetAllowList(False)
    name.SetAllowDelete(False)
    name.SetAllowDisable(False)
    breakpoint.AddName(NAME)
