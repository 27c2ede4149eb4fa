# SPDX-License-Identifier: MIT
"""What CPython 3.14's tests find in 3.14's test.support, for an older one. Programs that they start see the stand-ins, too."""

import contextlib
import functools
import gc
import os
import subprocess
import sys
import unittest

import _testinternalcapi
import gorgon
from gorgon import interpreters
from test import support
from test.support import script_helper


@contextlib.contextmanager
def disable_gc():
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def gc_threshold(*numbers):
    before = gc.get_threshold()
    gc.set_threshold(*numbers)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def get_code_var_counts(value):
    code = getattr(value, "__code__", value)
    return code.co_varnames, code.co_cellvars, code.co_freevars, code.co_names


def run_in_other(script, config):
    """An interpreter that the module has not made: an executor's."""
    with gorgon.InterpreterPoolExecutor(1, share_files=True) as pool:
        pool.submit(exec, script, {}).result()
    return 0


def next_number():
    interp = interpreters.create()
    try:
        return interp.id + 1
    finally:
        interp.close()


def spawn_python(*arguments):
    return subprocess.Popen([sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


for name, value in {"disable_gc": disable_gc, "gc_threshold": gc_threshold, "Py_GIL_DISABLED": False, "Py_DEBUG": False,
                    "force_not_colorized": lambda test: test, "nomemtest": unittest.skip("no allocation fails at will")}.items():
    if not hasattr(support, name):
        setattr(support, name, value)
_testinternalcapi.get_code_var_counts = get_code_var_counts
_testinternalcapi.run_in_subinterp_with_config = run_in_other
_testinternalcapi.next_interpreter_id = next_number
script_helper.assert_python_ok = functools.partial(script_helper.assert_python_ok, __isolated=False, TESTS=os.environ["TESTS"])
script_helper.spawn_python = spawn_python
support.use_resources = ["cpu"]
support.max_memuse = support.real_max_memuse = 8 << 30  # 200 interpreters
