# SPDX-License-Identifier: MIT
"""Calls of generated programs as jobs of a C pool, by the library's C functions: what is called,
its arguments and what it returns go as pickles, which a function of this module in the worker
takes apart. A worker knows the program as a process of multiprocessing's spawn does."""

import concurrent.futures.process
import ctypes
import importlib.util
import multiprocessing.spawn
import os
import pickle
import sys
from multiprocessing.reduction import ForkingPickler

HERE = os.path.dirname(os.path.abspath(__file__))
BYTES, LIST = 5, 6  # enum gorgon_value_kind
WARM_UP = """
import sys
sys.path.insert(0, {here!r})
import cpool
cpool.begin({preparation!r}, {initial!r})
"""


class InterpOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("python", ctypes.c_char_p), ("ns", ctypes.c_void_p), ("timing", ctypes.c_bool),
                ("isolate", ctypes.c_int), ("files", ctypes.c_int), ("end", ctypes.c_int), ("memory", ctypes.c_uint64 * 2),
                ("near_memory_limit", ctypes.c_void_p * 2), ("cpu", ctypes.c_uint64 * 2), ("near_cpu_limit", ctypes.c_void_p),
                ("label", ctypes.c_char_p), ("python_lines", ctypes.c_int), ("template", ctypes.c_void_p)]


class TemplateOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("interp", ctypes.c_void_p), ("start", ctypes.c_void_p),
                ("program", ctypes.c_char_p)]


class PoolOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("interp", ctypes.c_void_p), ("start", ctypes.c_void_p),
                ("count", ctypes.c_uint), ("queue_size", ctypes.c_uint),
                ("warm_up", ctypes.c_char_p)]


class Value(ctypes.Structure):
    """Of the union the pair that text and lists have."""
    _fields_ = [("kind", ctypes.c_int), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def load():
    folder = importlib.util.find_spec("gorgon").submodule_search_locations[0]
    lib = ctypes.CDLL(os.path.join(folder, "libgorgon.so.0"))
    for name in "template_create", "pool_create", "pool_destroy", "pool_submit", "job_finish", "error_message":
        getattr(lib, f"gorgon_{name}").restype = ctypes.c_void_p
    lib.gorgon_error_message.restype = ctypes.c_char_p
    return lib


class Pool:
    """With one worker, which is a copy of a template that has run a program."""
    templates = {}  # by their programs

    def __init__(self, initializer=None, initargs=(), program=None):
        self.lib, self.handle = load(), ctypes.c_void_p()
        self.interp = InterpOpts(ctypes.sizeof(InterpOpts), sys.executable.encode())
        if program:
            self.interp.template = self.templates.get(program) or self.make_template(program)
        preparation = multiprocessing.spawn.get_preparation_data("worker")
        preparation["authkey"] = bytes(preparation["authkey"])
        warm_up = WARM_UP.format(here=HERE, preparation=preparation,
                                 initial=pickle.dumps((initializer, initargs)))
        options = PoolOpts(ctypes.sizeof(PoolOpts), ctypes.addressof(self.interp), None, 1, 0,
                           warm_up.encode())
        self.check(self.lib.gorgon_pool_create(ctypes.byref(options), ctypes.byref(self.handle)))

    def make_template(self, program):
        options = TemplateOpts(ctypes.sizeof(TemplateOpts), ctypes.addressof(self.interp), None, program.encode())
        template = ctypes.c_void_p()
        self.check(self.lib.gorgon_template_create(ctypes.byref(options), ctypes.byref(template)))
        return self.templates.setdefault(program, template.value)

    def check(self, error):
        if error:
            raise RuntimeError(self.lib.gorgon_error_message(ctypes.c_void_p(error)).decode())

    def run(self, function, args, kwargs):
        try:
            data = bytes(ForkingPickler.dumps((function, args, kwargs)))
        except Exception as error:
            # As the thread does that feeds a pool's processes.
            raise error from concurrent.futures.process._RemoteTraceback("")
        block, job, ret = ctypes.create_string_buffer(data, len(data)), ctypes.c_void_p(), Value()
        item = Value(BYTES, ctypes.addressof(block), len(data))
        words = Value(LIST, ctypes.addressof(item), 1)
        self.check(self.lib.gorgon_pool_submit(self.handle, b"cpool", b"serve", ctypes.byref(words),
                                               None, -1, ctypes.byref(job)))
        self.check(self.lib.gorgon_job_finish(job, ctypes.byref(ret)))
        data = ctypes.string_at(ret.data, ret.size)
        self.lib.gorgon_value_deinit(ctypes.byref(ret))
        value, error = pickle.loads(data)
        if error:
            raise error
        return value

    def shutdown(self):
        self.check(self.lib.gorgon_pool_destroy(self.handle))


# --- in a worker --------------------------------------------------------------------------------

def begin(preparation, initial):
    multiprocessing.spawn.prepare(preparation)
    initializer, initargs = pickle.loads(initial)
    if initializer:
        initializer(*initargs)


def serve(data):
    try:
        function, args, kwargs = pickle.loads(data)
        made = function(*args, **kwargs), None
    except BaseException as error:
        made = None, concurrent.futures.process._ExceptionWithTraceback(error, error.__traceback__)
    try:
        return bytes(ForkingPickler.dumps(made))
    except Exception as error:
        made = None, concurrent.futures.process._ExceptionWithTraceback(error, error.__traceback__)
        return bytes(ForkingPickler.dumps(made))
