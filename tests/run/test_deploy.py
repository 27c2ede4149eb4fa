# SPDX-License-Identifier: MIT
"""What torch::deploy tested of its interpreters, with ours: metadata of packages, modules in C++, and hosts that
carry a Python of their own, which private copies must neither use nor disturb."""

import os
import re
import unittest

from harness import BUILD, GORGON, MODULES, PYTHON3, SANITIZED, VENV_PYTHON, run

NOT_SANITIZED = unittest.skipIf(SANITIZED, "the host's own Python is not built with the sanitizer")

METADATA = """
import importlib.metadata as metadata, importlib.resources as resources, json, numpy
assert metadata.version("numpy") == numpy.__version__
files = metadata.files("numpy") or []
print(json.dumps([metadata.version("numpy"), metadata.metadata("numpy")["Name"], len(files),
                  sorted({d.metadata["Name"] for d in metadata.distributions()}),
                  sorted(e.name for e in metadata.entry_points(group="console_scripts")),
                  resources.files("numpy").joinpath("version.py").is_file(),
                  len(resources.files("json").joinpath("decoder.py").read_text())]))
"""

CPP = r"""
import cpp_globals as cpp, gorgon, threading
mine = f"-{gorgon.interpreter}"

def fail():
    raise KeyError("deep")

def nest():
    return cpp.call(lambda: cpp.pass_on(fail))

assert cpp.counts() == (1, 0)
assert cpp.call(lambda: 7) == 7
assert cpp.call(fail) == "caught KeyError: 'deep'"
assert nest() == "caught RuntimeError: KeyError: 'deep'"
try:
    cpp.pass_on(lambda: cpp.pass_on(fail))
except RuntimeError as error:
    chain = str(error)
else:
    raise AssertionError("nothing was raised")
results = []
threads = [threading.Thread(target=lambda: results.extend(nest() for _ in range(200))) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert results == ["caught RuntimeError: KeyError: 'deep'"] * 800
constructed, guards = cpp.counts()
assert (constructed, guards) == (1, 1 + 1 + 2 + 2 + 2 * 800), (constructed, guards)
for i in range(100):
    text = cpp.append(mine)
assert text == "begin" + mine * 100, text
assert cpp.share(50) == ("shared", 51) and cpp.share(0) == ("shared", 1)
print("right", chain)
"""

# The state of a host, which must be the same when interpreters have come and gone. SigCgt and the like are the
# kernel's view of its handlers.
STATE = """
def state():
    import gc, locale, os, signal, sys, threading
    with open("/proc/self/status") as file:
        masks = [line.split() for line in file if line.startswith("Sig") and line[:6] in ("SigIgn", "SigCgt", "SigBlk")]
    return dict(modules=sorted(sys.modules), handlers=[signal.getsignal(s) for s in sorted(signal.valid_signals())],
                masks=masks, locale=locale.setlocale(locale.LC_ALL), environ=dict(os.environ), path=list(sys.path),
                argv=list(sys.argv), threads=threading.active_count(), folder=os.getcwd(), version=sys.version,
                prefix=sys.prefix, hooks=(sys.excepthook, sys.stdout), gc=gc.isenabled(), none=id(None))
"""

# python3 is the host: it has every Py* name in its global scope.
PYTHON_HOST = r"""
import ctypes, json, os, signal, sys, threading

statuses = []

class NsOpts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("unused", ctypes.c_void_p * 3), ("debug", ctypes.c_int),
                ("callbacks", ctypes.c_void_p * 4), ("no_signals", ctypes.c_bool), ("environment", ctypes.c_void_p),
                ("pool_threads", ctypes.c_uint)]

class Opts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("python", ctypes.c_char_p), ("ns", NsOpts), ("timing", ctypes.c_bool),
                ("isolate", ctypes.c_int), ("files", ctypes.c_int)]

lib = ctypes.CDLL(sys.argv[1])
for name in ("create", "main", "destroy"):
    getattr(lib, f"gorgon_interp_{name}").restype = ctypes.c_void_p
lib.gorgon_error_message.argtypes, lib.gorgon_error_message.restype = [ctypes.c_void_p], ctypes.c_char_p
lib.gorgon_interp_find_symbol.restype = ctypes.c_void_p

def check(err):
    assert not err, lib.gorgon_error_message(err)

def pipe():
    # Programs inherit its ends.
    ends = os.pipe()
    for end in ends:
        os.set_inheritable(end, True)
    return ends

def create():
    interp, opts = ctypes.c_void_p(), Opts(size=ctypes.sizeof(Opts), python=sys.executable.encode())
    check(lib.gorgon_interp_create(ctypes.byref(opts), ctypes.byref(interp)))
    return interp

def main(interp, code, *args):
    words = [b"-c", code.encode(), *(str(a).encode() for a in args)]
    status = ctypes.c_int(-1)
    check(lib.gorgon_interp_main(interp, len(words), (ctypes.c_char_p * len(words))(*words), ctypes.byref(status)))
    statuses.append(status.value)
"""

UNDISTURBED = PYTHON_HOST + STATE + r"""
PROGRAM = '''
import ctypes, json, numpy, os, signal, sys, time
host_none, host_append, own_append, fd = map(int, sys.argv[1:])
def address(library, name):
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(os.write(fd, b"u")))
assert id(None) != host_none and "numpy" in sys.modules
assert {address(l, "PyList_Append") for l in (ctypes.pythonapi, ctypes.CDLL(None))} == {own_append} != {host_append}
assert "host_only" not in sys.modules and not hasattr(sys, "marked_by_host")
sys.marked_by_interpreter = True
os.write(fd, b"r")                                    # ready
while not got:
    time.sleep(0.01)
os.write(fd, json.dumps([sys.version, sys.prefix, int((numpy.eye(3) @ numpy.arange(3)).sum())]).encode() + b"\\n")
'''

sys.modules["host_only"], sys.marked_by_host = sys, True
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append("host"))
host_append = ctypes.cast(ctypes.pythonapi.PyList_Append, ctypes.c_void_p).value
starter = threading.Thread(target=int)                # with the first, the C library sets a handler of its own
starter.start(); starter.join()
before = state()
for round in range(2):
    interps, pipes = [create(), create()], [pipe(), pipe()]
    own = [lib.gorgon_interp_find_symbol(i, b"PyList_Append") for i in interps]
    assert len({host_append, *own}) == 3
    threads = [threading.Thread(target=main, args=(i, PROGRAM, id(None), host_append, o, p[1]))
               for i, o, p in zip(interps, own, pipes)]
    [t.start() for t in threads]
    assert [os.read(r, 1) for r, w in pipes] == [b"r", b"r"]
    os.kill(os.getpid(), signal.SIGUSR1)              # for all three
    [t.join() for t in threads]
    for r, w in pipes:
        os.close(w)
        with open(r, "rb") as file:
            answer = file.read().decode()
            assert answer == f"u{json.dumps([sys.version, sys.prefix, 3])}\n", answer
    [check(lib.gorgon_interp_destroy(i)) for i in interps]
assert statuses == [0] * 4, statuses
assert seen == ["host"] * 2, seen
assert not hasattr(sys, "marked_by_interpreter") and "numpy" not in sys.modules
after = state()
changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
assert not changed, changed
import numpy                                          # the host's own, afterwards
assert int(numpy.arange(4).sum()) == 6
print("undisturbed", sys.prefix)
"""

# How a host ends without ending its interpreters; an argument chooses what they are doing.
ENDING = PYTHON_HOST + """
import subprocess
interps, (r, w) = [create(), create()], pipe()
if sys.argv[2] != "unused":
    ending = {"ended": "", "waiting": "time.sleep(1000)", "working": "while True: numpy.ones(1000).sum()"}[sys.argv[2]]
    code = f"import numpy, os, ssl, time\\nos.write({w}, b'x')\\n{ending}"
    thread = threading.Thread(target=main, args=(interps[0], code), daemon=True)
    thread.start()
    os.read(r, 1)
    if not ending:
        thread.join()
assert subprocess.run(["/bin/echo", "x"], capture_output=True).stdout == b"x\\n"
child = os.fork()
if not child:
    import decimal                                    # not there before the fork
    os._exit(int(decimal.Decimal(14) / 2))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("ends", statuses)
"""

# For build/host_python.
OWN = STATE + """
import numpy
assert numpy.linalg.det(numpy.diag([1.0, 2.0, 3.0])) == 6.0
before = globals().get("before") or state()
assert state()["modules"] == before["modules"] and state()["handlers"] == before["handlers"]
assert state()["none"] == before["none"] and state()["path"] == before["path"]
"""

BESIDE = """
import ctypes, decimal, numpy, os, sys
host_none, fd = map(int, sys.argv[1:])
assert id(None) != host_none
a = numpy.arange(10000.0).reshape(100, 100)
for _ in range({times}):
    assert (a @ numpy.eye(100) == a).all()
    os.write(fd, b"."); os.read(fd, 1)
raise SystemExit(int(numpy.linalg.det(numpy.diag([1.0, 2.0, 3.0]))))
"""


class Packages(unittest.TestCase):
    maxDiff = None

    def test_metadata_and_resources_are_as_in_python3(self):
        for python in (PYTHON3, VENV_PYTHON):
            with self.subTest(python=python):
                expected = run(python, "-c", METADATA).stdout
                self.assertIn('"numpy"', expected)
                result = run(GORGON, "run", "-n", "3", "--python", python, "-c", METADATA)
                self.assertEqual((result.stdout, result.stderr), (expected * 3, ""))

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime takes part in unwinding")
    def test_cpp_module_keeps_its_objects_and_exceptions_apart(self):
        result = run(GORGON, "run", "-n", "3", "-c", CPP, env={"PYTHONPATH": MODULES})
        self.assertEqual((result.stdout, result.stderr), ("right RuntimeError: KeyError: 'deep'\n" * 3, ""))


class Hosts(unittest.TestCase):
    @NOT_SANITIZED
    def test_thread_local_variables_leave_room(self):
        """They are static TLS, of which a host has little for all libraries that it loads by dlopen()."""
        segments = run("readelf", "-lW", os.path.join(BUILD, "libgorgon.so")).stdout
        size, = re.findall(r"^  TLS +(?:0x\w+ +){4}0x(\w+)", segments, re.M)
        self.assertLessEqual(int(size, 16), 256)

    @NOT_SANITIZED
    def test_host_python3_is_not_disturbed(self):
        for python in (PYTHON3, VENV_PYTHON):
            with self.subTest(python=python):
                prefix = run(python, "-c", "import sys; print(sys.prefix)").stdout
                result = run(python, "-c", UNDISTURBED, os.path.join(BUILD, "libgorgon.so"))
                self.assertEqual((result.stdout, result.stderr), (f"undisturbed {prefix}", ""))

    @NOT_SANITIZED
    def test_host_python3_forks_and_ends_while_interpreters_are_there(self):
        for state, statuses in (("unused", []), ("ended", [0]), ("waiting", []), ("working", [])):
            with self.subTest(state=state):
                result = run(PYTHON3, "-c", ENDING, os.path.join(BUILD, "libgorgon.so"), state)
                self.assertEqual((result.stdout, result.stderr, result.returncode), (f"ends {statuses}\n", "", 0))

    @NOT_SANITIZED
    def test_host_linked_to_libpython_runs_beside_private_ones(self):
        result = run(os.path.join(BUILD, "host_python"), OWN, BESIDE.format(times=1), BESIDE.format(times=2),
                     env={"PATH": "/usr/bin"})  # where the host's own Python looks for what belongs to it
        lines = result.stdout.splitlines()
        pointers = [line for line in lines if "pointers" in line]
        self.assertEqual([line for line in lines if line not in pointers],
                         ["host: own ended with 0", "host: own ended with 0", "host: first ended with 6",
                          "host: own ended with 0", "host: finalised with 0", "host: second ended with 6"],
                         result.stderr)
        self.assertRegex(pointers[0], r"its libpython: in the program [1-9]\d*, in private objects 0$", result.stderr)
        self.assertRegex(pointers[1], r"their own: [1-9]\d{4,}$")
