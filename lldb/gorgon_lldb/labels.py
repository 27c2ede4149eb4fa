# SPDX-License-Identifier: MIT
"""In backtraces and at stops, a frame of private code shows its library and interpreter:

    frame #1: 0x00007ffff66d159f libpython3.11.so.1.0 [interp 1]`PyList_New + 31

lldb names modules that come from memory JIT(0x...). Its format settings can call a function
for a frame, so the place where they show the module's name is given to frame_label()."""

import contextlib
import os

from gorgon_shared import root
from . import files, process

SETTINGS = ("frame-format", "frame-format-unique", "thread-format", "thread-stop-format")
MODULE = "${module.file.basename}"
LABEL = "${script.frame:gorgon.frame_label}"


def frame_label(frame):
    """The text in place of the module's name in a frame's line."""
    with contextlib.suppress(root.RootError):
        found = process.moment_shown(frame.GetThread().GetProcess()).snapshot.find_object(frame.GetPC())
        if found:
            return found.label
    spec = frame.GetModule().GetFileSpec()
    if files.has_links(spec.GetDirectory()):  # a core without memory
        return f"{spec.GetFilename()} [{os.path.basename(spec.GetDirectory())}]"
    return spec.GetFilename() or ""


def frame_name(frame):
    """A frame's line in an editor: cext_twice from cext.so [interp 1]. An inlined function has its own name."""
    return f"{frame.GetDisplayFunctionName() or f'{frame.GetPC():#x}'} from {frame_label(frame)}"


def thread_label(thread):
    """A thread's name, and the interpreter whose program it runs, or whose code it is in: host [interp 1]."""
    name, running = thread.GetName() or f"thread {thread.GetIndexID()}", thread.GetProcess()
    snapshot = process.try_snapshot(running.GetTarget())
    owners = [ns for ns in snapshot.namespaces if ns.thread == thread.GetThreadID()] if snapshot else []
    if snapshot and not owners:
        found = process.object_of_frame(thread.GetFrameAtIndex(0))
        owners = [found.namespace] if found else []
    return f"{name} [{owners[0].label}]" if owners else name


def switch(debugger, on):
    """Change only this one word of each setting, so that the rest stays as the user has it."""
    old, new = (MODULE, LABEL) if on else (LABEL, MODULE)
    instance = debugger.GetInstanceName()
    for name in SETTINGS:
        values = debugger.GetInternalVariableValue(name, instance)
        if values.GetSize() != 1:
            continue
        value = values.GetStringAtIndex(0)
        if old in value:
            debugger.SetInternalVariable(name, value.replace(old, new), instance)
