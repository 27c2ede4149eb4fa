# SPDX-License-Identifier: MIT
"""A process as the other files see it: its snapshot, and lldb's names of what is in it.

What is read is kept until the process runs again, so that labels and values in a backtrace cost little. A snapshot is kept longer,
until the sequence number in the process has changed."""

import lldb

from gorgon_shared import root

SYMBOL = "gorgon_debug_root"

ADDRESS_MAX = 2**64 - 1
MARKS = ("__TMC_END__", "__bss_start", "_edata", "_end")  # symbols by which the linker marks where something ends
CALLERS_MAX = 64  # frames between shared code and the private code that has called it

_moments = {}  # (debugger, unique id of a process) -> Moment
_shown = {}    # (unique id of a process, stop) -> its Moment; only the last that moment_shown() has returned


class Moment:
    """What is known of a process that stands still."""

    def __init__(self, stop, snapshot, before):
        """@before: the last Moment, or None."""
        self.stop = stop
        self.snapshot = snapshot
        self.kept = {}  # what other files have read
        self.libraries = before.libraries if before else {}

    def keep(self, key, make):
        """What make() returns, which is called only once for a key."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def of_library(self, o):
        """A dictionary for facts that hold as long as a library is loaded."""
        return self.libraries.setdefault((o.address, o.start, o.path), {})


def key(process):
    """Tells processes apart, also those that one target runs one after the other."""
    return process.GetTarget().GetDebugger().GetID(), process.GetUniqueID()


def is_core(target):
    return target.GetProcess().GetPluginName() in ("elf-core", "minidump")


def reader(process):
    def read(address, size):
        if not 0 <= address <= ADDRESS_MAX - size:  # for such an address lldb raises an exception that is none of lldb's
            raise root.MemoryProblem(f"cannot read {size} bytes at {address:#x}")
        error = lldb.SBError()
        data = process.ReadMemory(address, size, error) if size else b""
        if error.Fail() or data is None or len(data) != size:
            raise root.MemoryProblem(f"cannot read {size} bytes at {address:#x}")
        return data

    return read


def find_root(target):
    for context in target.FindSymbols(SYMBOL):
        address = context.GetSymbol().GetStartAddress().GetLoadAddress(target)
        if address != lldb.LLDB_INVALID_ADDRESS:
            return address
    raise root.RootError(f"this process does not use Gorgon: there is no {SYMBOL}")


def moment(target):
    """The Moment of a target's process. Raises root.RootError."""
    process = target.GetProcess()
    state = process.GetState() if process.IsValid() else lldb.eStateInvalid
    if state in (lldb.eStateRunning, lldb.eStateStepping):
        raise root.RootError('the program is running; "process interrupt" stops it')
    # "Unloaded" is also what lldb says of a process behind gdb-remote while it reads that process's list of libraries.
    if state in (lldb.eStateInvalid, lldb.eStateConnected, lldb.eStateDetached, lldb.eStateExited):
        raise root.RootError("the program is not running, and there is no core file")
    which, stop = key(process), process.GetStopID(True)
    known = _moments.get(which)
    if not known or known.stop != stop:
        known = _moments[which] = Moment(stop, read_snapshot(target, known.snapshot if known else None), known)
    return known


def moment_shown(process):
    """As moment(), for code that runs for each frame or value that lldb shows, of a process that stands still: it makes few
    calls of lldb."""
    which = process.GetUniqueID(), process.GetStopID(True)
    known = _shown.get(which)
    if not known or not which[0]:  # a core may have no id
        known = moment(process.GetTarget())
        _shown.clear()
        _shown[which] = known
    return known


def forget(target):
    """Forget what was read of a process, before a command of the user's: the user may have written to memory."""
    _moments.pop(key(target.GetProcess()), None)
    _shown.clear()


def read_snapshot(target, known):
    """@known: the last one, or None."""
    read = reader(target.GetProcess())
    address = known.address if known else find_root(target)
    if known and not known.changing and known.sequence == root.read_header(read, address).sequence:
        return known
    return root.read_snapshot(read, address, known)


def snapshot(target):
    """The current Snapshot of a target's process. Raises root.RootError."""
    return moment(target).snapshot


def try_snapshot(target):
    """The current Snapshot, or None for a process without Gorgon."""
    try:
        return snapshot(target)
    except root.RootError:
        return None


def jit_name(symfile):
    """lldb's name of the module that it makes from a symfile."""
    return f"JIT({symfile:#x})"


def objects_of_module(target, module):
    """The private objects that a module of lldb's stands for; none for a library of the system's linker.

    A symfile may describe several objects. While a new symfile replaces others lldb has modules of all; then the
    objects belong to the new symfile's module."""
    starts = [section.GetLoadAddress(target) for section in module.sections if section.GetByteSize()]
    starts = [start for start in starts if start != lldb.LLDB_INVALID_ADDRESS]
    known = try_snapshot(target) if starts else None  # not loaded, or not any more
    if not known:
        return []
    name = module.GetFileSpec().GetFilename() or ""
    if name.startswith("JIT("):
        return [o for o in known.objects if jit_name(o.symfile) == name]
    found = (known.find_object(start) for start in starts)
    return list(dict.fromkeys(o for o in found if o))


def object_of_address(target, address):
    known = try_snapshot(target)
    return known.find_object(address) if known else None


def object_of_frame(frame):
    """The private object a frame runs in or, for shared code, the nearest of its callers; or None."""
    if not frame.IsValid():
        return None
    thread = frame.GetThread()
    known = try_snapshot(thread.GetProcess().GetTarget())
    if not known:
        return None
    for i in range(frame.GetFrameID(), frame.GetFrameID() + CALLERS_MAX):
        frame = thread.GetFrameAtIndex(i)
        if not frame.IsValid():
            break
        found = known.find_object(frame.GetPC())
        if found:
            return found
    return None


def frame_of_namespace(thread, ns):
    """The innermost frame of a thread that runs private code of a namespace; without such a frame, the innermost."""
    known = try_snapshot(thread.GetProcess().GetTarget())
    for i in range(CALLERS_MAX):
        frame = thread.GetFrameAtIndex(i)
        if not frame.IsValid():
            break
        found = known.find_object(frame.GetPC())
        if found and found.namespace.id == ns.id:
            return frame
    return thread.GetFrameAtIndex(0)


def thread_name(process):
    """A function that returns lldb's number of the thread with a kernel id, for people."""

    def name(lwp):
        thread = process.GetThreadByID(lwp)
        return f"{thread.GetIndexID()} (tid {lwp})" if thread.IsValid() else f"tid {lwp}"

    return name


def beside(module, mark):
    """The name of another symbol at the address of a MARK: a variable may begin where the linker's mark is."""
    return next((symbol.GetName() for symbol in module
                 if symbol.GetStartAddress() == mark.GetStartAddress() and symbol.GetName() not in (*MARKS, "")), None)


def symbol_at(target, address):
    """(function+offset, file:line) of an address; either may be None."""
    resolved = target.ResolveLoadAddress(address)
    context = target.ResolveSymbolContextForAddress(resolved, lldb.eSymbolContextEverything)
    name, start = None, None
    for scope in (context.GetFunction(), context.GetSymbol()):
        # These names are not shown: lldb makes up names for functions that have unwind data and no symbol, our packs call such
        # functions by their library, [libm.so.6], and lldb gives extern "C" functions of C++ their types, ::name(int).
        if scope.IsValid() and scope.GetName() and not scope.GetName().startswith(("___lldb_unnamed", "[", "::")):
            name, start = scope.GetName(), scope.GetStartAddress().GetLoadAddress(target)
            if name in MARKS:
                name = beside(context.GetModule(), scope) or name
            break
    line = context.GetLineEntry()
    place = f"{line.GetFileSpec().GetFilename()}:{line.GetLine()}" if line.IsValid() and line.GetLine() else None
    return (f"{name}+{address - start:#x}".replace("+0x0", "+0") if name else None), place
