# SPDX-License-Identifier: MIT
"""For CPython's tests, which use this module of CPython's beside the public one: the same by gorgon.interpreters."""

import types

from gorgon import interpreters
from gorgon.interpreters import InterpreterError, InterpreterNotFoundError, NotShareableError, is_shareable  # noqa: F401
from gorgon.interpreters import describe as capture_exception  # noqa: F401

WHENCE_UNKNOWN, WHENCE_RUNTIME, WHENCE_LEGACY_CAPI, WHENCE_CAPI, WHENCE_XI, WHENCE_STDLIB = range(6)
NUMBERS = {"runtime init": WHENCE_RUNTIME, "C-API": WHENCE_CAPI, "_interpreters module": WHENCE_STDLIB}
kept = {}


def new_config(name="isolated", **fields):
    return types.SimpleNamespace(name=name, **fields)


def create(config=None, *, reqrefs=False):
    (config or "").encode()
    interp = interpreters.create()
    kept[interp.id] = interp
    return interp.id


def destroy(number, *, restrict=False):
    interpreters.Interpreter(number).close()
    kept.pop(number, None)


def whence(number):
    return NUMBERS[interpreters.Interpreter(number).whence]


def list_all(*, require_ready=False):
    return [(interp.id, NUMBERS[interp.whence]) for interp in interpreters.list_all()]


def get_main():
    return 0, WHENCE_RUNTIME


def get_current():
    interp = interpreters.get_current()
    return interp.id, NUMBERS[interp.whence]


def is_running(number, *, restrict=False):
    return interpreters.Interpreter(number).is_running()


def exec(number, code, shared=None, *, restrict=False):
    try:
        interpreters.Interpreter(number).exec(code)
    except interpreters.ExecutionFailed as error:
        return error.excinfo
    return None


run_string = exec


def call(number, callable, args=(), kwargs=None, *, restrict=False):
    try:
        return interpreters.Interpreter(number).call(callable, *args, **(kwargs or {})), None
    except interpreters.ExecutionFailed as error:
        return None, error.excinfo


def set___main___attrs(number, names, *, restrict=False):
    interpreters.Interpreter(number).prepare_main(names)
