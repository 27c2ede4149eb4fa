# SPDX-License-Identifier: MIT
"""Interpreter 1 follows a pointer to nowhere, in C code of its own, while the others sleep."""

import ctypes
import time

import gorgon


def crash():
    return ctypes.cast((ctypes.c_void_p * 1)(8), ctypes.POINTER(ctypes.py_object))[0]  # the last line


if gorgon.interpreter == 1:
    time.sleep(0.1)
    crash()
time.sleep(60)
