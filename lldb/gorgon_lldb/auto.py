# SPDX-License-Identifier: MIT
"""gorgon symbols auto: each copy has the symbols of its file from the moment that it is registered.

So breakpoints by file and line, and by the names of static functions, that were set before the program
began have their places before the first constructor of a copy runs, as with libraries of the system's
linker.

For that each target has a breakpoint of ours, at the function that the process calls after each registration. "breakpoint
list" does not show it, and "breakpoint delete" leaves it alone. Its resolver, the class Watch, also hears of the
modules of a process when lldb attaches, and of a core, and adds symbols to what is there already. "gorgon symbols auto" may
be said before there is a program: then the breakpoint is in lldb's dummy target, from which lldb copies it to every new target.

In processes that start meanwhile lldb does not read registrations itself (plugin.jit-loader.gdb.enable is off). Otherwise it
would make a module of each symfile first, and breakpoints by name would keep dead locations in these modules in their lists.
The setting also concerns programs with code from other JIT compilers: lldb does not know the names of that code then. Python
lines become modules all the same (python_lines.py)."""

import lldb

from . import cores, files, process, python_lines, symbols

FUNCTION = "__jit_debug_register_code"
NAME = "gorgon_auto"

# Instructions that do nothing. Functions begin with "endbr64" or "bti" where the processor checks jumps.
NOTHING = ("nop", "endbr64", "bti")

LOADER = "plugin.jit-loader.gdb.enable"

# Targets in which our breakpoint is being set. lldb goes through its list of the target's modules meanwhile, and crashes when
# a module is added or removed.
_being_watched = []


class Watch:
    """The resolver of our breakpoint; lldb creates one in each target."""

    def __init__(self, breakpoint, _args, _dict=None):
        self.breakpoint = breakpoint
        self.hidden = False
        self.core = False
        self.done = False  # with an ELF core, which does not change

    def __get_depth__(self):
        return lldb.eSearchDepthModule

    def get_short_help(self):
        return "gorgon symbols auto: where the process registers private code"

    def __callback__(self, context):
        target = self.breakpoint.GetTarget()
        if not self.hidden:
            hide(target, self.breakpoint)
            self.hidden = True
        if self.done:
            return  # lldb goes on to modules that follow() has removed, and crashes when it is asked about them
        module = context.GetModule()
        # lldb 19 must not be asked for the folder of the kernel's own module in a core. And a search in a module of ours would
        # have lldb read all its symbols, so modules of ours are known by their folders.
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
        # Without a load address the program was not started yet.
        if symbol.GetStartAddress().GetLoadAddress(target) != lldb.LLDB_INVALID_ADDRESS:
            self.done = target.GetProcess().GetPluginName() == "elf-core"
            if target not in _being_watched:
                follow(target)


def registered(frame, _location):
    """lldb calls this when a thread has come to our breakpoint. False lets the thread go on."""
    target = frame.GetThread().GetProcess().GetTarget()
    follow(target)
    go_behind(target, frame)
    prefer_others(frame.GetThread())
    return False


def go_behind(target, frame):
    """Have the thread go on behind our breakpoint, if the function begins with an instruction that does nothing. Otherwise lldb
    takes the breakpoint away, has the thread step, and sets the breakpoint again. If an editor's adapter asks for something
    while the thread steps, lldb 21 lets all threads run without the breakpoint, and the next registration is missed."""
    address = frame.GetPCAddress()
    for instruction in target.ReadInstructions(address, 1):
        if instruction.GetMnemonic(target) in NOTHING:
            frame.SetPC(frame.GetPC() + instruction.GetByteSize())


def prefer_others(thread):
    """If another thread has stopped at the same time, select that: lldb would select the first thread with a reason to stop,
    which may be this one."""
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
    everything = is_on(target.GetDebugger())
    symbols.follow(target, everything)
    if everything and symbols.lacks_loader(target):
        python_lines.follow(target)


def switch(debugger, on):
    """Switch "gorgon symbols auto". Returns whether that changes anything. Symbols of a process stay as they are until the
    process registers something."""
    instance = debugger.GetInstanceName()
    if on == is_on(debugger):
        return False
    if on:
        targets = [debugger.GetTargetAtIndex(i) for i in range(debugger.GetNumTargets())]
        running = [target for target in targets if target.GetProcess().IsValid()]
        for target in running:
            symbols.lacks_loader(target)  # notes how lldb has decided when this process began
        symbols.automatic[debugger.GetID()] = \
            debugger.GetInternalVariableValue(LOADER, instance).GetStringAtIndex(0)
        for target in [*targets, debugger.GetDummyTarget()]:
            watch(target)
        debugger.SetInternalVariable(LOADER, "off", instance)
        files.keep_indexes(debugger)  # of the system's libraries, too, which lldb indexes whenever it attaches
        for target in running:
            follow(target)
    else:
        # The breakpoints stay, for processes in which lldb does not read registrations.
        debugger.SetInternalVariable(LOADER, symbols.automatic.pop(debugger.GetID()), instance)
    return True


def watch(target):
    """Set our breakpoint in a target, unless it is there. The caller follows what has been registered before."""
    found = lldb.SBBreakpointList(target)
    if target.FindBreakpointsByName(NAME, found) and found.GetSize():
        return
    _being_watched.append(target)
    breakpoint = target.BreakpointCreateFromScript("gorgon.Watch", lldb.SBStructuredData(), lldb.SBFileSpecList(),
                                                   lldb.SBFileSpecList())
    _being_watched.remove(target)
    breakpoint.SetScriptCallbackFunction("gorgon.registered")
    if not breakpoint.MatchesName(NAME):  # there are no modules yet
        breakpoint.AddName(NAME)


def hide(target, breakpoint):
    """Hide our breakpoint from "breakpoint list" and "breakpoint delete", through permissions of its name. lldb copies a
    breakpoint with its names but without their permissions, and a name that is added twice loses them."""
    breakpoint.RemoveName(NAME)
    name = lldb.SBBreakpointName(target, NAME)
    name.SetAllowList(False)
    name.SetAllowDelete(False)
    name.SetAllowDisable(False)
    breakpoint.AddName(NAME)
