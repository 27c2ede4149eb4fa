# SPDX-License-Identifier: MIT
"""For gdb with the ordinary host, after CPython's helper: Python frames where the helper itself finds none.

It asks gdb for a variable of the evaluation function, of which the compiler of Debian's CPython 3.13 has kept nothing. There our
scripts take the frame from the thread's state, and so does this, since it is what they are compared with. A thread of host.c has
one call of that function; where there were more, this would be the innermost one's frame for each."""

import sys

import gdb

helper = sys.modules["__main__"]
theirs = helper.Frame.get_pyop


def get_pyop(self):
    return theirs(self) or helper.PyFramePtr(gdb.parse_and_eval("_Py_tss_tstate")["current_frame"])


if not hasattr(helper.PyFramePtr, "get_thread_state"):  # since 3.14 it asks the thread's state itself
    helper.Frame.get_pyop = get_pyop
