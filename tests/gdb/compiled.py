# SPDX-License-Identifier: MIT
"""What the interpreters run in the sessions about private compilers. Each has a compiler of its
own, tests/modules/jit.c, and functions whose names end with the interpreter's number.

The code that reads this file sets `library`, and may set `wait`, seconds to stay in one."""

import ctypes
import sys

import gorgon

me = gorgon.interpreter
compiler = ctypes.CDLL(library)  # noqa: F821
compiler.jit_code.restype = ctypes.c_void_p


def say(text):
    sys.stdout.write(text + "\n")  # one write, because a debugger prints meanwhile
    sys.stdout.flush()


def add(name):
    number = compiler.jit_add(f"{name}_{me}".encode())
    say(f"{name}_{me} is at {compiler.jit_code(number):#x}")
    return number


gone = add("gone")
compiler.jit_call(gone, 1)
compiler.jit_remove(gone)
again = add("again")  # as a rule in the place where `gone` was
compiled = add("compiled")
say(f"compiled_{me} returns {compiler.jit_call(compiled, 40 + me)}")
if "wait" in globals():
    say(f"ready {me}")
    compiler.jit_wait(compiled, wait)  # noqa: F821
