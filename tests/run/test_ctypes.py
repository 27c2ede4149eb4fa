# SPDX-License-Identifier: MIT
"""ctypes and cffi in two interpreters: what they answer, and how they fail, is what plain python3 does."""

import shutil
import subprocess
import tempfile
import unittest

from harness import GORGON, PYTHON3, run

LIBRARY = r"""
#include <errno.h>
#include <pthread.h>

int counter = 5;
__thread int per_thread = 3;

struct pair { double x; int n; };

int next(void) { return ++counter; }
int *address_of_per_thread(void) { return &per_thread; }
int call(int (*fn)(int), int value) { return fn(value); }
int fail(int code) { errno = code; return -1; }
struct pair twice(struct pair p) { return (struct pair){2 * p.x, 2 * p.n}; }

static int (*thread_fn)(int);
static void *thread_main(void *value) { return (void *)(long)thread_fn((int)(long)value); }

int call_in_thread(int (*fn)(int), int value)
{
	pthread_t thread;
	void *ret;

	thread_fn = fn;
	pthread_create(&thread, 0, thread_main, (void *)(long)value);
	pthread_join(thread, &ret);
	return (int)(long)ret;
}
"""

# A line for each question; an exception is an answer, too.
PRELUDE = r"""
import _ctypes, ctypes, os, sys, threading
from ctypes import *
from ctypes.util import find_library
folder = sys.argv[1]
ANSWER, UNDEFINED = f"{folder}/libanswer.so", f"{folder}/libundefined.so"
def show(question, answer):
    try:
        text = repr(answer())
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    print(f"{question}: {text}".replace(folder, "FOLDER"))
"""

SYMBOLS = r"""
for name in "m", "c", "z", "ssl", "python%d.%d" % sys.version_info[:2], "nope":
    show(f"find_library {name}", lambda: find_library(name))
libm = CDLL("libm.so.6")
libm.cos.restype, libm.cos.argtypes = c_double, [c_double]
show("a function of a system library", lambda: libm.cos(0.0))
show("one of the process", lambda: CDLL(None).strlen(b"abc"))
show("one of the interpreter", lambda: CDLL(None).Py_IsInitialized())
show("by the empty name", lambda: CDLL("").strlen(b"abc"))
show("cdll[...]", lambda: cdll["libc.so.6"].abs(-4))
show("cdll.LoadLibrary", lambda: cdll.LoadLibrary("libm.so.6")._name)
show("variables of the process", lambda: [bool(c_void_p.in_dll(CDLL(None), name).value) for name in ("environ", "stdout")])
show("printf's arguments", lambda: (lambda text: (CDLL(None).snprintf(text, 20, b"%d %.1f", 5, c_double(2.5)), text.value))
     (create_string_buffer(20)))
show("a library of this folder", lambda: CDLL(ANSWER).next.__name__)
show("its handle again", lambda: CDLL(ANSWER)._handle == CDLL(f"{folder}/../{os.path.basename(folder)}/libanswer.so")._handle)
show("dlsym", lambda: _ctypes.dlsym(CDLL(ANSWER)._handle, "next") == cast(CDLL(ANSWER).next, c_void_p).value)
show("dlclose", lambda: _ctypes.dlclose(_ctypes.dlopen(ANSWER, os.RTLD_NOW)))
"""

CALLS = r"""
lib = CDLL(ANSWER, use_errno=True)
class Pair(Structure):
    _fields_ = [("x", c_double), ("n", c_int)]
lib.twice.restype, lib.twice.argtypes = Pair, [Pair]
lib.address_of_per_thread.restype = POINTER(c_int)
INT = CFUNCTYPE(c_int, c_int)
def in_thread(function):
    ret = []
    thread = threading.Thread(target=lambda: ret.append(function()))
    thread.start()
    thread.join()
    return ret
def sort(*numbers):
    array = (c_int * len(numbers))(*numbers)
    compare = CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int))(lambda a, b: a[0] - b[0])
    CDLL(None).qsort(array, len(numbers), sizeof(c_int), compare)
    return list(array)
show("structure by value", lambda: (lambda pair: (pair.x, pair.n))(lib.twice(Pair(1.5, 4))))
show("variable of this copy", lambda: (lib.next(), c_int.in_dll(lib, "counter").value, lib.next()))
lib.address_of_per_thread()[0] = 9
show("variable per thread", lambda: (lib.address_of_per_thread()[0], in_thread(lambda: lib.address_of_per_thread()[0])))
show("the same by its name", lambda: (c_int.in_dll(lib, "per_thread").value,
                                      in_thread(lambda: c_int.in_dll(lib, "per_thread").value)))
show("errno", lambda: (set_errno(0), lib.fail(17), get_errno(), set_errno(3), get_errno()))
show("errno per thread", lambda: (lib.fail(18), in_thread(get_errno), get_errno()))
show("callback", lambda: lib.call(INT(lambda n: n * 3), 14))
show("callback in a new thread", lambda: lib.call_in_thread(INT(lambda n: n * 5), 14))
show("nested callbacks", lambda: lib.call(INT(lambda n: lib.call(INT(lambda k: k + 1), n) * 2), 20))
show("qsort", lambda: sort(5, 1, 7, 33, 99, -2))
show("wrong argument", lambda: lib.twice("x"))
"""

PYTHON = r"""
pythonapi.PyErr_SetString.restype, pythonapi.PyErr_SetString.argtypes = None, [py_object, c_char_p]
pythonapi.PyUnicode_FromFormat.restype = py_object
show("an exception from C", lambda: pythonapi.PyErr_SetString(KeyError, b"from C"))
show("arguments of all kinds", lambda: pythonapi.PyUnicode_FromFormat(b"%d-%s", c_int(7), b"x"))
show("PyDLL(None)", lambda: PyDLL(None).PyLong_AsLong(py_object(42)))
show("PYFUNCTYPE", lambda: PYFUNCTYPE(py_object, py_object)(("PyObject_Str", pythonapi))(12))
show("a variable", lambda: c_int.in_dll(pythonapi, "Py_OptimizeFlag").value)
show("a type", lambda: cast(pythonapi.PyLong_Type, c_void_p).value == id(int))
show("a name that is none", lambda: hasattr(pythonapi, "no_such_function"))
"""

FLAGS = r"""
show("names", lambda: (RTLD_GLOBAL, RTLD_LOCAL, os.RTLD_NOW, os.RTLD_LAZY, DEFAULT_MODE))
show("not loaded", lambda: bool(CDLL(ANSWER, mode=os.RTLD_NOLOAD)._handle) and "loaded")
lib = CDLL(ANSWER)
for mode in 0, os.RTLD_NOW, os.RTLD_LAZY, os.RTLD_NOLOAD, os.RTLD_NODELETE:
    show(f"mode {mode:#x}", lambda: CDLL(ANSWER, mode=mode)._handle == lib._handle)
    show(f"mode {mode:#x}, a system library", lambda: CDLL("libm.so.6", mode=mode)._handle == CDLL("libm.so.6")._handle)
    show(f"mode {mode:#x}, the process", lambda: CDLL(None, mode=mode).abs(-4))
show("lazily", lambda: CDLL(UNDEFINED, mode=os.RTLD_LAZY)._name)
show("local", lambda: hasattr(CDLL(None), "address_of_per_thread"))
CDLL(ANSWER, mode=RTLD_GLOBAL)
show("global", lambda: hasattr(CDLL(None), "address_of_per_thread"))
"""

ERRORS = r"""
for name in "libnope.so", f"{folder}/libnope.so", f"{folder}/libtext.so", UNDEFINED, folder:
    show(f"CDLL {name}", lambda: CDLL(name))
for library in None, "libm.so.6", ANSWER:
    show(f"no function in {library}", lambda: CDLL(library).no_such_function)
    show(f"no variable in {library}", lambda: c_int.in_dll(CDLL(library), "no_such_variable"))
    show(f"dlsym in {library}", lambda: _ctypes.dlsym(CDLL(library)._handle, "no_such_name"))
"""

# {python3's text: ours}: the loader's own errors say more than the system's, or name another thing.
TEXTS = {
    "OSError: libnope.so: cannot open shared object file: No such file or directory":
        "OSError: libnope.so: not found in LD_LIBRARY_PATH, /etc/ld.so.cache and the default directories",
    "FOLDER/libnope.so: cannot open shared object file: No such file or directory":
        "FOLDER/libnope.so: No such file or directory",
    "FOLDER/libtext.so: file too short": "FOLDER/libtext.so: not an ELF file (6 bytes)",
    "FOLDER: cannot read file data: Is a directory": "FOLDER: not a regular file",
    f"{PYTHON3}: undefined symbol": "private namespace: undefined symbol",
}

CFFI = r"""
import cffi
ffi = cffi.FFI()
ffi.cdef('''
    extern int counter; struct pair { double x; int n; };
    int next(void); int call(int (*fn)(int), int value); int call_in_thread(int (*fn)(int), int value);
    int fail(int code); struct pair twice(struct pair p); int no_such_function(void); size_t strlen(const char *);
''')
lib = ffi.dlopen(ANSWER)
@ffi.callback("int(int)")
def triple(n):
    return n * 3
show("call", lambda: (lib.next(), lib.counter, lib.next()))
show("structure by value", lambda: (lambda pair: (pair.x, pair.n))(lib.twice({"x": 1.5, "n": 4})))
show("callback", lambda: lib.call(triple, 14))
show("callback in a new thread", lambda: lib.call_in_thread(triple, 14))
show("errno", lambda: (lib.fail(17), ffi.errno))
show("dlopen(None)", lambda: ffi.dlopen(None).strlen(b"abc"))
show("no function", lambda: lib.no_such_function)
show("dlclose", lambda: ffi.dlclose(lib))
show("after dlclose", lambda: lib.next())
sys.path.insert(0, folder)
import _compiled
@_compiled.ffi.def_extern()
def python_square(n):
    return _compiled.lib.square(n)
show("compiled", lambda: (_compiled.lib.square(7), _compiled.lib.apply(_compiled.lib.python_square, 6)))
"""

# An extension as cffi makes it: with a function in C, and one in Python that C calls.
COMPILE_CFFI = r"""
import cffi, sys
ffi = cffi.FFI()
ffi.cdef('int square(int); int apply(int (*fn)(int), int); extern "Python" int python_square(int);')
ffi.set_source("_compiled", "static int square(int n) { return n * n; }"
               "static int apply(int (*fn)(int), int n) { return fn(n) + 1; }")
ffi.compile(sys.argv[1])
"""


class ForeignFunctions(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gorgon-ctypes-")
        cls.compile("libanswer.so", LIBRARY)
        cls.compile("libundefined.so", "int missing_function(void);\nint f(void) { return missing_function(); }\n")
        with open(f"{cls.folder}/libtext.so", "w") as file:
            file.write("hello\n")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def compile(cls, name, source):
        subprocess.run(["gcc", "-shared", "-fPIC", "-pthread", "-xc", "-", "-o", f"{cls.folder}/{name}"], input=source,
                       text=True, check=True)

    def compare(self, program, texts=None):
        """Each interpreter prints what python3 prints, but for @texts."""
        code = PRELUDE + program
        plain = run(PYTHON3, "-c", code, self.folder)
        self.assertEqual((plain.stderr, plain.returncode), ("", 0))
        self.assertGreater(plain.stdout.count("\n"), 6)
        expected = plain.stdout
        for before, after in (texts or {}).items():
            self.assertIn(before, expected)
            expected = expected.replace(before, after)
        private = run(GORGON, "run", "-n", "2", "--label", "--python", PYTHON3, "-c", code, self.folder,
                      env={"ASAN_OPTIONS": "detect_leaks=0"})  # with SAN: ctypes never frees libraries and closures
        self.assertEqual((private.stderr, private.returncode), ("", 0))
        for number in range(2):
            lines = [line[4:] for line in private.stdout.splitlines() if line.startswith(f"[{number}] ")]
            self.assertEqual(lines, expected.splitlines(), f"interpreter {number}")

    def test_symbols(self):
        self.compare(SYMBOLS)

    def test_calls_callbacks_and_variables(self):
        self.compare(CALLS)

    def test_python_s_own_functions(self):
        self.compare(PYTHON)

    def test_flags_of_dlopen(self):
        self.compare(FLAGS, {
            # Private libraries are always bound at once.
            "lazily: 'FOLDER/libundefined.so'": "lazily: OSError: FOLDER/libundefined.so: undefined symbol: missing_function",
        })

    def test_errors(self):
        self.compare(ERRORS, TEXTS)

    def test_cffi(self):
        run(PYTHON3, "-c", COMPILE_CFFI, self.folder).check_returncode()
        self.compare(CFFI)


if __name__ == "__main__":
    unittest.main()
