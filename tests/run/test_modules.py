# SPDX-License-Identifier: MIT
"""Native modules inside interpreters: exceptions, unwinding, and hosts that are Python."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, GORGON, PYTHON3, ROOT, SANITIZED, run

# Throws at the bottom of a recursion, catches and rethrows on the way up.
THROW = r"""
#include <execinfo.h>
#include <pthread.h>
#include <stdexcept>

extern "C" int climb(int n, int until)
{
	try {
		return n ? climb(n - 1, until) : throw std::runtime_error("bottom");
	} catch (const std::runtime_error &) {
		if (n < until)
			throw;
		return 1000 + n;
	}
}

extern "C" int call_and_catch(void (*callback)(int), int value)
{
	try {
		callback(value);
		return -1;
	} catch (int thrown) {
		return thrown;
	}
}

extern "C" void throw_int(int value)
{
	throw value;
}

extern "C" int depth_of_backtrace()
{
	void *frames[200];

	return backtrace(frames, 200);
}

static void *exit_thread(void *)
{
	struct guard { int *count; ~guard() { ++*count; } };
	static int count;
	guard here = {&count};

	pthread_exit(&count);
}

extern "C" int unwind_by_pthread_exit()
{
	pthread_t thread;
	void *count;

	pthread_create(&thread, nullptr, exit_thread, nullptr);
	pthread_join(thread, &count);
	return *(int *)count;
}
"""

PROGRAM = r"""
import ctypes, sys
a, b = (ctypes.CDLL(path) for path in sys.argv[1:3])
assert a.climb(50, 40) == 1040
assert a.call_and_catch(b.throw_int, 7) == 7          # from one private module into another
assert b.call_and_catch(a.throw_int, 8) == 8
try:
    raise ZeroDivisionError                           # and Python's own are as ever
except ZeroDivisionError:
    pass
assert a.depth_of_backtrace() > 15, a.depth_of_backtrace()
assert a.unwind_by_pthread_exit() == 1
print("caught")
"""

# python3 itself is the host: it has every Py* name in its global scope.
PYTHON_HOST = r"""
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
interp, status = ctypes.c_void_p(), ctypes.c_int()
lib.gorgon_interp_create.restype = lib.gorgon_interp_main.restype = ctypes.c_void_p
lib.gorgon_interp_main.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
assert lib.gorgon_interp_create(None, ctypes.byref(interp)) is None
words = [b"-c", b"ID = %d\n" % id(None) + b"assert id(None) != ID\n" + sys.argv[2].encode(), *map(str.encode, sys.argv[3:])]
argv = (ctypes.c_char_p * len(words))(*words)
assert lib.gorgon_interp_main(interp, len(words), argv, ctypes.byref(status)) is None
assert status.value == 0, status.value
"""


class Exceptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gorgon-modules-")
        source = os.path.join(cls.folder, "throw.cc")
        with open(source, "w") as file:
            file.write(THROW)
        cls.libraries = {}
        for name, flags in (("shared", []), ("other", []), ("static_libgcc", ["-static-libgcc"]),
                            ("static_libstdcxx", ["-static-libgcc", "-static-libstdc++"])):
            path = os.path.join(cls.folder, f"{name}.so")
            subprocess.run(["g++", "-shared", "-fPIC", "-pthread", "-o", path, source, *flags], check=True)
            cls.libraries[name] = path

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def check(self, result, count):
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("caught\n" * count, "", 0))

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime takes part in unwinding")
    def test_exceptions_and_unwinding_in_three_interpreters(self):
        self.check(run(GORGON, "run", "-n", "3", "-c", PROGRAM, self.libraries["shared"], self.libraries["other"]), 3)

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime takes part in unwinding")
    def test_exceptions_with_a_static_unwinder(self):
        # Each such module brings an unwinder of its own, and types of exceptions do not leave it.
        program = ("import ctypes, sys; print('caught' if "
                   "all(ctypes.CDLL(p).climb(50, 40) == 1040 for p in sys.argv[1:]) else 'not')")
        self.check(run(GORGON, "run", "-n", "3", "-c", program, self.libraries["static_libgcc"],
                       self.libraries["static_libstdcxx"]), 3)

    @unittest.skipIf(SANITIZED, "python3 is not built with the sanitizer")
    def test_exceptions_in_a_host_that_loads_libgorgon_late(self):
        result = run(PYTHON3, "-c", PYTHON_HOST, f"{BUILD}/libgorgon.so", PROGRAM, self.libraries["shared"],
                     self.libraries["other"])
        self.check(result, 1)

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime takes part in unwinding")
    def test_host_s_libraries_may_throw_before_libgorgon_is_initialised(self):
        early, main = (os.path.join(self.folder, name) for name in ("early.cc", "main.cc"))
        with open(early, "w") as file:
            file.write("static struct early { early() { try { throw 5; } catch (int) { } } } early_object;\n"
                       "int early_value() { return 5; }\n")
        with open(main, "w") as file:
            file.write("#include <gorgon.h>\n#include <stdio.h>\nint early_value();\n"
                       "int main() { puts(gorgon_version() && early_value() == 5 ? \"caught\" : \"not\"); }\n")
        subprocess.run(["g++", "-shared", "-fPIC", early, "-o", f"{self.folder}/libearly.so"], check=True)
        # The order of initialisation follows the order of linking: try both.
        for order in (["-lgorgon", "-learly"], ["-learly", "-lgorgon"]):
            with self.subTest(order=order):
                subprocess.run(["g++", main, "-o", f"{self.folder}/main", f"-I{ROOT}/loader", f"-L{BUILD}",
                                f"-L{self.folder}", *order, "-ljitreg", f"-Wl,-rpath,{BUILD}:{self.folder}"], check=True)
                self.check(run(f"{self.folder}/main"), 1)

    @unittest.skipIf(SANITIZED, "python3 is not built with the sanitizer")
    def test_host_that_is_python_keeps_its_own_objects(self):
        code = ("import numpy, decimal, _ctypes; from ctypes import pythonapi\n"
                "print('caught' if int(numpy.arange(4).sum()) == 6 else 'not')")
        self.check(run(PYTHON3, "-c", PYTHON_HOST, f"{BUILD}/libgorgon.so", code), 1)
