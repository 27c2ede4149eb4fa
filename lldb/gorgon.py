# SPDX-License-Identifier: MIT
"""lldb: import this file to get the "gorgon" commands and labels in backtraces.

    (lldb) command script import /path/to/gorgon.py
    (lldb) help gorgon"""

import inspect
import os
import re
import sys

import lldb

_here = os.path.dirname(os.path.realpath(__file__))
if _here not in sys.path:
    sys.path.insert(0, _here)

OLDEST = 16  # older versions find no private code, and lack functions that the scripts call
_version = re.search(r"version (\d+)", lldb.SBDebugger.GetVersionString())
_is_old = bool(_version) and int(_version[1]) < OLDEST

if not _is_old:
    from gorgon_lldb import auto, labels, registration, summaries  # noqa: E402
    from gorgon_lldb.auto import Watch  # noqa: E402,F401
    from gorgon_lldb.breaks import Resolver  # noqa: E402,F401
    from gorgon_lldb.commands import (  # noqa: E402,F401
        Apply, Break, Bt, Gorgon, Here, Label, List, Modules, Print, Symbols, Tbreak, Tls, Whose)
    from gorgon_lldb.symbols import StopHook  # noqa: E402,F401


def frame_label(frame, _dict):
    """Called by lldb's format settings; see gorgon_lldb/labels.py."""
    return labels.frame_label(frame)


def frame_name(frame, _dict):
    """A function and its label: ${script.frame:gorgon.frame_name}, for editors."""
    return labels.frame_name(frame)


def thread_label(thread, _dict):
    """A thread's name and its interpreter: ${script.thread:gorgon.thread_label}."""
    return labels.thread_label(thread)


def registered(frame, location, _extra, _dict):
    """Called by lldb where a process registers private code; see gorgon_lldb/auto.py."""
    return auto.registered(frame, location)


def object_summary(value, _dict):
    """Called by lldb to show a PyObject *; see gorgon_lldb/summaries.py."""
    return summaries.object_summary(value)


# At each call lldb asks how many arguments the function takes. With this attribute Python need not look at the function's code.
object_summary.__signature__ = inspect.signature(object_summary)


def __lldb_init_module(debugger, _dict):
    if _is_old:
        print(f"gorgon: this is lldb {_version[1]}, expected {OLDEST} or newer (on Debian: apt install lldb-19)", file=sys.stderr)
    else:
        registration.register(debugger)
