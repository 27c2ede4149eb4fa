# SPDX-License-Identifier: MIT
"""Processes that a program in interpreters starts to run itself again: multiprocessing, concurrent.futures, joblib."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, GORGON, PYTHON3, Versions, run

POOL = """
import gorgon, multiprocessing, os, sys

def square(x):
    return x * x, gorgon.interpreter, gorgon.count(), gorgon.progress(x), os.getpid()

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        results = pool.map(square, range(4))
    print([result[0] for result in results], {result[1:4] for result in results},
          os.getpid() in {result[4] for result in results}, gorgon.interpreter is None)
"""
POOL_SAYS = "[0, 1, 4, 9] {(None, 0, False)} False False\n"

EXECUTOR = """
import gorgon, multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
gorgon.use_data_handler()

def square(x):
    return x * x, gorgon.interpreter

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        print(*pool.map(square, range(4)))
"""

REFUSED = """
import gorgon, multiprocessing

def refused(name):
    try:
        getattr(gorgon, name)(*{"share": (b"", "x"), "send_fd": (0, "x")}.get(name, ("x",)))
    except RuntimeError as error:
        return str(error)

if __name__ == "__main__":
    names = "share", "receive", "withdraw", "send_fd", "receive_fd", "InterpreterPoolExecutor"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name, text in zip(names, pool.map(refused, names)):
            print(text.startswith(f"gorgon.{name}(): this is a process of its own"))
"""

# One interpreter sets and removes variables all the time, as an import of numpy does twice. The other interpreter starts programs by
# vfork(), fork(), system() and popen(), and looks whether each program has got all variables.
WHOLE_ENVIRONMENT = """
import collections, ctypes, gorgon, os, subprocess, sys, tempfile
path = sys.argv[1]
def change():
    while not os.path.exists(path):
        for i in range(3):
            os.environ[f"SOME_{i}"] = "1"
        for i in range(3):
            del os.environ[f"SOME_{i}"]

def by_system():
    with tempfile.NamedTemporaryFile() as file:
        assert not os.system(f"env -0 >{file.name}")
        return file.read()

def by_popen():
    libc = ctypes.CDLL(None)
    libc.popen.restype = ctypes.c_void_p
    stream, text = ctypes.c_void_p(libc.popen(b"env -0", b"r")), ctypes.create_string_buffer(100000)
    size = libc.fread(text, 1, 100000, stream)
    libc.pclose(stream)
    return text.raw[:size]

WAYS = {
    "vfork": lambda: subprocess.run(["env", "-0"], stdout=subprocess.PIPE).stdout,
    "fork": lambda: subprocess.run(["env", "-0"], stdout=subprocess.PIPE, preexec_fn=lambda: None).stdout,
    "system": by_system,
    "popen": by_popen,
}

def start():
    wanted, seen = {name for name in os.environ if not name.startswith("SOME_")}, collections.Counter()
    for i in range(100):
        for way, function in WAYS.items():
            try:
                names = {line.partition("=")[0] for line in function().decode().split("\\0")}
                seen[way, "whole" if wanted <= names else "in part"] += 1
            except Exception as error:
                seen[way, repr(error)] += 1
    open(path, "w").close()
    print(sorted(seen.items()))

change() if gorgon.interpreter else start()
"""

# Each of three programs starts a child on its main thread and one on another thread, and looks in /proc, as psutil does, when
# all have.
PROC = """
import ctypes, glob, os, re, subprocess, sys, threading, time
folder, mine = sys.argv[1], []

def read(path):
    try:
        with open(path) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""

def c_read(path):
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    stream, text = ctypes.c_void_p(libc.fopen(path.encode(), b"re")), ctypes.create_string_buffer(4000)
    libc.fread(text, 1, 3999, stream)
    libc.fclose(stream)
    return text.value.decode()

def parent_in_stat(pid, read=read):
    return int((read(f"/proc/{pid}/stat").rpartition(")")[2].split() or [0, 0])[1])

def parent_in_status(pid):
    return int((re.findall(r"^PPid:\\t(\\d+)$", read(f"/proc/{pid}/status"), re.M) or [0])[0])

def start():
    mine.append(subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL))

def listed():
    return {int(pid) for path in glob.glob("/proc/self/task/*/children") for pid in read(path).split()}

thread = threading.Thread(target=start); thread.start(); thread.join()
start()
me, own = os.getpid(), {child.pid for child in mine}
path = os.path.join(folder, str(min(own)))
with open(path + ".new", "w") as file:
    print(*own, file=file)
os.rename(path + ".new", path)
while len(paths := glob.glob(folder + "/*[0-9]")) < 3:
    time.sleep(0.01)
others = {int(pid) for path in paths for pid in read(path).split()} - own
every = {int(name) for name in os.listdir("/proc") if name.isdigit()}
print(*({pid for pid in every if way(pid) == me} == own for way in (parent_in_stat, parent_in_status)),
      listed() == own, own | others <= every, {read(f"/proc/{pid}/comm") for pid in others},
      all(parent_in_stat(pid, c_read) == me for pid in own), any(parent_in_stat(pid, c_read) == me for pid in others),
      {read(f"/proc/{pid}/stat").count(" ") for pid in own} == {read(f"/proc/{pid}/stat").count(" ") for pid in others},
      os.path.exists(f"/proc/{min(others)}/stat"), flush=True)
with open(path + "-done", "w"):
    pass
while len(glob.glob(folder + "/*-done")) < 3:
    time.sleep(0.01)
for child in mine:
    child.kill()
    child.wait()
"""

PROC_SAYS = "True True True True {'sleep\\n'} True False True True\n"

JOBLIB = """
import gorgon, joblib

def square(x):
    return x * x, gorgon.interpreter

if __name__ == "__main__":
    print(*joblib.Parallel(n_jobs=2)(joblib.delayed(square)(i) for i in range(4)))
"""

SURFACE = """
import gorgon, inspect, multiprocessing

# Built in, they have none, or one that nobody can parse.
loose = {"InterpreterPoolExecutor": "(...)", "use_data_handler": "([handler])"}

def surface():
    return {name: loose.get(name) or str(inspect.signature(value)) for name, value in vars(gorgon).items()
            if callable(value) and not name.startswith("_")}

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.apply(surface)
    here = surface()
    print(sorted(here) == sorted(there), [name for name in here if here[name] != there[name]])
"""


class Children(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gorgon-children-")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, text):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w") as file:
            file.write(text)
        return path

    def check(self, options, program, *args, expected):
        # A pool replaces a child that cannot import its program, again and again.
        result = run(GORGON, "run", *options, self.write(program), *args, timeout=240)
        self.assertEqual((result.stdout, result.stderr, result.returncode), (expected, "", 0))

    def test_what_proc_lists(self):
        for options in [], ["--shared-files"], ["--shared-environment"]:
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            with self.subTest(options=options):
                self.check(["-n", "3", *options], PROC, self.folder, expected=PROC_SAYS * 3)

    def test_what_proc_lists_in_processes(self):
        path = self.write(PROC)
        peers = [subprocess.Popen([PYTHON3, path, self.folder], stdout=subprocess.PIPE, text=True) for _ in range(3)]
        self.assertEqual([peer.communicate(timeout=100)[0] for peer in peers], [PROC_SAYS] * 3)

    def test_pools_in_two_interpreters(self):
        for method in "spawn", "forkserver":
            with self.subTest(method=method):
                self.check(["-n", "2"], POOL, method, expected=POOL_SAYS * 2)

    def test_a_program_gets_the_whole_environment_while_another_interpreter_changes_it(self):
        ways = str([((way, "whole"), 100) for way in ("fork", "popen", "system", "vfork")])
        self.check(["-n", "2"], WHOLE_ENVIRONMENT, os.path.join(self.folder, "switch"), expected=f"{ways}\n")

    def test_pool_with_isolation_by_copy(self):
        self.check(["--isolate", "copy"], POOL, "spawn", expected=POOL_SAYS)

    def test_pool_of_each_python(self):
        for python, version, _ in Versions.pythons():
            for method in "spawn", "forkserver":
                with self.subTest(version=version, method=method):
                    self.check(["--python", python], POOL, method, expected=POOL_SAYS)

    def test_executor_of_processes(self):
        for method in "spawn", "forkserver":
            with self.subTest(method=method):
                self.check(["-n", "2"], EXECUTOR, method, expected="(0, None) (1, None) (4, None) (9, None)\n" * 2)

    @unittest.skipIf(subprocess.run([PYTHON3, "-c", "import joblib"], capture_output=True).returncode,
                     "joblib is not installed")
    def test_joblib(self):
        self.check(["--python", PYTHON3], JOBLIB, expected="(0, None) (1, None) (4, None) (9, None)\n")

    def test_what_needs_interpreters_says_so(self):
        self.check([], REFUSED, expected="True\n" * 6)

    def test_surface_is_the_same(self):
        self.check([], SURFACE, expected="True []\n")

    def test_path_is_as_it_was_until_gorgon_is_imported(self):
        code = "import sys; before = sys.path[:]; import gorgon; print(sys.path[len(before):], sys.path[:-1] == before)"
        result = run(GORGON, "run", "-c", code)
        self.assertEqual(result.stdout, f"['{os.path.realpath(BUILD)}/share/gorgon/children'] True\n", result.stderr)

    def test_package_that_is_installed_comes_first(self):
        os.makedirs(f"{self.folder}/gorgon")
        with open(f"{self.folder}/gorgon/__init__.py", "w") as file:
            file.write("interpreter = 'package'\ndef count(): return 7\ndef progress(x): return x is None\n"
                       "def use_data_handler(): pass\n")
        self.check([], POOL, "spawn", expected="[0, 1, 4, 9] {('package', 7, False)} False False\n")
