# SPDX-License-Identifier: MIT
"""What the Python tests share: where things are, and running debuggers in batch mode.

Debuggers run without the user's init files. A test skips only when a tool is absent."""

import contextlib
import fcntl
import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
GORGON = os.path.join(BUILD, "gorgon")
SYMDUMP = os.path.join(BUILD, "gorgon-symdump")
HOST = os.path.join(BUILD, "host")
MODULES = os.path.join(BUILD, "modules")
VENV_PYTHON = os.path.join(ROOT, "build", "venv", "bin", "python")
# The distribution's own Python, or another that it has: TEST_PYTHON=3.15. It has to be the Python that the hosts take by
# default, which is the newest with a libpython.
PYTHON3 = f"/usr/bin/python{os.environ.get('TEST_PYTHON') or '3'}"
PYTHON = os.path.realpath(PYTHON3)
# `gorgon run` takes PATH's python3, which may be pyenv's or a virtual environment's where the tests were started.
if os.path.realpath(shutil.which("python3") or "") != PYTHON:
    _first = os.path.join(BUILD, "path", os.path.basename(PYTHON))
    os.makedirs(_first, exist_ok=True)
    if not os.path.exists(os.path.join(_first, "python3")):
        _link = os.path.join(_first, f"link-{os.getpid()}")
        os.symlink(PYTHON, _link)
        os.replace(_link, os.path.join(_first, "python3"))
    os.environ["PATH"] = f"{_first}:{os.environ['PATH']}"
VERSION = os.path.basename(PYTHON).removeprefix("python")
SONAME = f"libpython{VERSION}.so.1.0"
SONAME_RE = re.escape(SONAME)
LIBPYTHON = f"/usr/lib/x86_64-linux-gnu/{SONAME}"
# CPython 3.15.2 has the names of GDB's JIT interface, so debuggers are referred to a copy (jitreg/debug_copy.c).
IS_3_15 = tuple(map(int, VERSION.split("."))) >= (3, 15)
LIBPYTHON_DEBUG = r"/gorgon/\w+-\d\.debug \(debug link\)$" if IS_3_15 else r"^/usr/lib/debug/\S+ \(build-id\)$"
DYNLOAD = f"/usr/lib/python{VERSION}/lib-dynload"
NUMPY_CORE = "_core" if os.path.exists("/usr/lib/python3/dist-packages/numpy/_core") else "core"  # since numpy 2
EXT_SUFFIX = f".cpython-{VERSION.replace('.', '')}-x86_64-linux-gnu.so"
PYENV = os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions")
GDB_SCRIPT = os.path.join(ROOT, "gdb", "gorgon.py")
LLDB_SCRIPT = os.path.join(ROOT, "lldb", "gorgon.py")
SANITIZED = bool(os.environ.get("SAN"))
TIMEOUT = 600  # for a command that hangs; the slowest session takes a minute on a busy machine

# Python's own arenas are invisible to a leak checker; see tests/lsan.supp and tests/tsan.supp for the rest.
# Forked children of several threads would sleep a second each before they exit: the thread sanitizer takes the threads that
# the parent has for the child's.
SANITIZER_ENV = {
    "PYTHONMALLOC": "malloc",
    "LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp:print_suppressions=0",
    "TSAN_OPTIONS": f"suppressions={ROOT}/tests/tsan.supp:print_suppressions=0:history_size=4:atexit_sleep_ms=20:die_after_fork=0",
} if SANITIZED else {}


def find_lldb():
    """$LLDB names another lldb than the machine's: tests/long/lldb16.py has one in a folder."""
    if os.environ.get("LLDB"):
        found = shutil.which(os.environ["LLDB"])
        if not found:
            raise SystemExit(f"LLDB={os.environ['LLDB']}: there is no such program")
        return found
    for name in ("lldb-19", *(f"lldb-{n}" for n in range(20, 30)), "lldb"):
        if shutil.which(name):
            return name
    return None


# Since 3.12 CPython warns of every fork() in a process that has other threads; each process here has some.
os.environ["PYTHONWARNINGS"] = "ignore:This process:DeprecationWarning"
# Files for debuggers are kept in the user's cache; tests have a cache of their own, and each of pytest-xdist's workers has.
os.environ["XDG_CACHE_HOME"] = os.path.join(BUILD, "-".join(filter(None, ["cache", os.environ.get("PYTEST_XDIST_WORKER")])))



def find_gdb():
    """On a CPU with AMX a gdb before 14 writes no registers without help: xstate.c."""
    found, os.environ["XSTATE"] = shutil.which("gdb"), os.path.join(BUILD, "xstate.so")
    with open("/proc/cpuinfo") as file:
        help_it = re.search(r"\bamx_tile\b", file.read()) and os.path.exists(os.environ["XSTATE"])
    return os.path.join(ROOT, "tests", "gdb-xstate.sh") if found and help_it else found


GDB = find_gdb()
LLDB = find_lldb()


def gdb_version():
    """gdb's major version."""
    return int(re.search(r"(\d+)\.\d+", run(GDB, "--version").stdout)[1])


def lldb_version():
    """lldb's major version, or 0."""
    told = subprocess.run([LLDB, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)", told)
    return int(found[1]) if found else 0


needs_gdb = unittest.skipUnless(GDB, "gdb is not installed")
needs_lldb = unittest.skipUnless(LLDB, "lldb is not installed")
PYTHON_LINES = VERSION in ("3.11", "3.12", "3.13", "3.14", "3.15")
# The distribution's, and others that are there.
PYTHONS_OF_LINES = [PYTHON, *(path for version in ("3.12", "3.13")
                              for path in sorted(glob.glob(f"{PYENV}/{version}.*/bin/python{version}"))[-1:])]
needs_python_lines = unittest.skipUnless(PYTHON_LINES, "Python lines are for CPython 3.11 to 3.15")
TEMPLATES = VERSION in ("3.11", "3.13")
needs_templates = unittest.skipUnless(TEMPLATES and not SANITIZED,
                                      "templates are known of CPython 3.11 and 3.13")


def thorough(case):
    """For a test or a class of tests that takes long and finds little that others do not find: `make check` leaves it to
    `make check-long` (tests/long/thorough.py), unless TESTS names it."""
    case.thorough = True
    return case


def run(*command, timeout=TIMEOUT, env=None, **kwargs):
    """Run a command to its end; returns the CompletedProcess with text output. @env is added to
    the environment; None takes a variable away."""
    environment = {**os.environ, **SANITIZER_ENV, **(env or {})}
    environment = {name: value for name, value in environment.items() if value is not None}
    environment.pop("DEBUGINFOD_URLS", None)
    if "input" not in kwargs:
        kwargs.setdefault("stdin", subprocess.DEVNULL)
    try:
        return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout,
                              env=environment, check=False, **kwargs)
    except subprocess.TimeoutExpired as error:
        output = b"".join((error.stdout or b"", error.stderr or b"")).decode(errors="replace")
        raise AssertionError(f"{command[0]} has not ended after {timeout} s but said:\n{output}") from None


@contextlib.contextmanager
def environment(changes):
    """For a while the environment of what is started here is changed; None takes a variable away."""
    before = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def gdb(commands, *command, script=False, options=(), timeout=TIMEOUT, before=()):
    """Run gdb with these lines on a program (or on nothing), as an argument of @before if there is one; returns
    what it has printed."""
    text = ["set pagination off", "set width 0", "set confirm off", "set breakpoint pending on",
            "set debuginfod enabled off", "set python print-stack full"]
    if script:
        text.append(f"source {GDB_SCRIPT}")
    text += [commands] if isinstance(commands, str) else list(commands)
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as file:
        file.write("\n".join(text) + "\n")
        file.flush()
        args = [*before, GDB, "-nx", "-q", "-batch", *options, "-x", file.name]
        if command:
            args += ["--args", *command]
        result = run(*args, timeout=timeout)
    return result.stdout + result.stderr


# A thread of lldb prints how many locations a breakpoint has been given, and another what the program has said
# (host.c, lldb/fixture/), at any moment: also between a command and its answer.
WHENEVER = re.compile(r"^(?:\d+ locations? added to breakpoint \d+|(?:host: |expect \d).*)\n", re.M)


# What lldb has read of libpython's debug information serves all sessions.
LLDB_CACHE = ["-O", "settings set symbols.lldb-index-cache-path " + os.path.join(os.environ["XDG_CACHE_HOME"], "lldb"),
              "-O", "settings set symbols.enable-lldb-index-cache true"]
# lldb-server may be slow to answer on a busy machine.
LLDB_PATIENCE = ["-O", "settings set plugin.process.gdb-remote.packet-timeout 100"]


def lldb(commands, *command, script=False, options=(), timeout=TIMEOUT):
    """The same for lldb. Lines that it prints at any moment (WHENEVER) come first in the result."""
    text = ["settings set auto-confirm true", "settings set use-color false",
            "settings set stop-line-count-before 0", "settings set stop-line-count-after 0",
            "settings set target.max-children-count 256"]  # lldb 21 shows fewer
    if script:
        text.append(f"command script import {LLDB_SCRIPT}")
    text += [commands] if isinstance(commands, str) else list(commands)
    assert not any(re.match(r"thread select|t \d", line) for line in text), "select_thread() says nothing at odd times"
    with tempfile.NamedTemporaryFile("w", suffix=".lldb") as file:
        file.write("\n".join(text) + "\n")
        file.flush()
        args = [LLDB, "--no-lldbinit", "--batch", *LLDB_CACHE, *LLDB_PATIENCE, *options, "-s", file.name]
        if command:
            args += ["--", *command]
        result = run(*args, timeout=timeout)
    return "".join(WHENEVER.findall(result.stdout)) + WHENEVER.sub("", result.stdout) + result.stderr


def select_thread(number):
    """A command of lldb that selects a thread. "thread select" prints from another thread, maybe in the middle of
    the next answers."""
    return f"script lldb.debugger.GetSelectedTarget().process.SetSelectedThreadByIndexID({number})"


def sleepers(pid):
    """How many threads of a process are in pause(), nanosleep() or clock_nanosleep()."""
    count = 0
    for path in glob.glob(f"/proc/{pid}/task/*/syscall"):
        try:
            with open(path) as file:
                count += file.read().split()[0] in ("34", "35", "230")
        except OSError:
            pass  # the process has ended
    return count


class Background:
    """A program that runs while a test looks at it; its output collects in .output."""

    def __init__(self, *command, until, asleep=0, timeout=TIMEOUT, cwd=None):
        """Start the program. Wait until @until (a regular expression) was printed and @asleep threads sleep: a
        thread that says that it goes to sleep does not sleep yet."""
        self.file = tempfile.NamedTemporaryFile("w+", suffix=".out")
        self.process = subprocess.Popen([str(c) for c in command], stdout=self.file, stderr=self.file,
                                        stdin=subprocess.DEVNULL, start_new_session=True, cwd=cwd,
                                        env={**os.environ, **SANITIZER_ENV})
        end = time.monotonic() + timeout
        while not re.search(until, self.output) or sleepers(self.pid) < asleep:
            if self.process.poll() is not None or time.monotonic() > end:
                output, sleeping = self.output, sleepers(self.pid)
                self.stop()
                raise AssertionError(f"{command[0]} did not print {until!r} and have {asleep} threads asleep but:\n"
                                     f"{output}\n({sleeping} threads asleep)")
            time.sleep(0.05)

    @property
    def output(self):
        with open(self.file.name) as file:
            return file.read()

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def host_addresses(output):
    """{interpreter: address of its PyList_Append}, as the host has printed them."""
    return {int(n): int(a, 16) for n, a in re.findall(r"^host: interp (\d+) PyList_Append (0x[0-9a-f]+)", output,
                                                      re.M)}


def copies_listed(output):
    """{interpreter: of what it is a copy}, as `gorgon list` of gdb and lldb says."""
    table = output[output.index("Num  Python"):].splitlines()
    column = table[0].index("Copy of")
    return {int(row.split()[0]): row[column:] for row in table[1:] if re.match(r"\d+ +3\.\d+ ", row)}


def compiled_code(library, **variables):
    """The program for the host that runs gdb/compiled.py with this library as its compiler."""
    program = os.path.join(ROOT, "tests", "gdb", "compiled.py")
    variables["library"] = os.path.join(MODULES, library)
    setting = "".join(f"{name} = {value!r}; " for name, value in variables.items())
    return f"{setting}exec(compile(open('{program}').read(), '{program}', 'exec'))"


def detached_compiler(folder):
    """Make a compiler (tests/modules/jit.c) in a folder, with its debug information in a file of its own, as a package has it.
    Returns the library's path, and the line of "a place to stop" in jit_bottom."""
    whole = os.path.join(MODULES, "libjit_exported.so")
    debug, library = (os.path.join(folder, f"libjit_split.{suffix}") for suffix in ("debug", "so"))
    run("objcopy", "--only-keep-debug", whole, debug).check_returncode()
    run("objcopy", "--strip-unneeded", f"--add-gnu-debuglink={debug}", whole, library).check_returncode()
    with open(os.path.join(ROOT, "tests", "modules", "jit.c")) as file:
        return library, 1 + next(number for number, text in enumerate(file) if "// a place to stop" in text)


def compiled_addresses(output, name):
    """{interpreter: address of its function of this name} as gdb/compiled.py has printed them. A debugger may
    have written something on the same line."""
    return {int(n): int(a, 16) for n, a in re.findall(rf"{name}_(\d+) is at (0x[0-9a-f]{{12}})", output)}


def python_headers(minor):
    """The folders with headers, CPython's internal headers among them, of each CPython 3.@minor on this machine."""
    return [folder for pattern in (f"/usr/include/python3.{minor}", f"{PYENV}/3.{minor}.*/include/python3.{minor}")
            for folder in glob.glob(pattern) if os.path.exists(f"{folder}/internal/pycore_frame.h")]


@contextlib.contextmanager
def package_source():
    """The folder python/, for one worker at a time: setuptools builds in it."""
    with open(os.path.join(BUILD, "package.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield os.path.join(ROOT, "python")


def install_package(folder):
    """pip install of python/, for PYTHONPATH. $PACKAGE is a folder that has it already, built for an emulated machine."""
    if os.environ.get("PACKAGE"):
        shutil.copytree(os.environ["PACKAGE"], folder, dirs_exist_ok=True)
        return
    with package_source() as source:
        subprocess.run([PYTHON3, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                        "--root-user-action=ignore", "--target", folder, "."], check=True,
                       cwd=source, env=dict(os.environ, GORGON_BUILD=BUILD))


def source_line(path, text):
    """Number of the only line of a file that contains text."""
    with open(path) as file:
        numbers = [i for i, line in enumerate(file, 1) if text in line]
    assert len(numbers) == 1, f"{path}: {text!r} is on lines {numbers}"
    return numbers[0]


def copy_stripped(folder):
    """Copy the host and its libraries without debug information and .symtab; returns the host's name."""
    for name in ("host", "libgorgon.so.0", "libjitreg.so.0"):
        run("strip", "-o", os.path.join(folder, name), os.path.join(BUILD, name)).check_returncode()
    return os.path.join(folder, "host")


def find_python(version):
    """An executable of that CPython of which Gorgon can load the libpython, or None: the distribution's where it has one,
    whatever PATH says."""
    candidates = [shutil.which(f"python{version}", path=f"/usr/bin:{os.environ['PATH']}"), *glob.glob(f"{PYENV}/{version}.*/bin/python{version}")]
    usable = (c for c in candidates if c and run(GORGON, "info", "--python", c).returncode == 0)
    return next(usable, None)


class Builds:
    """For sessions with interpreters of the distribution's Python, and of its debug build."""

    @classmethod
    def pythons(cls):
        """[(executable, version, name of its libpython)], or a SkipTest."""
        if not os.path.exists(f"{PYTHON}d"):
            raise unittest.SkipTest(f"python{VERSION}-dbg is not installed")
        return [(python, VERSION, f"lib{os.path.basename(python)}.so.1.0") for python in (PYTHON, f"{PYTHON}d")]


class Versions:
    """For sessions with interpreters of each CPython that there is."""

    @classmethod
    def pythons(cls):
        """[(executable, version, name of its libpython)], or a SkipTest."""
        found = [(find_python(version), version, f"libpython{version}.so.1.0")
                 for version in ("3.11", "3.12", "3.13", "3.14", "3.15")]
        found = [member for member in found if member[0]]
        if len(found) < 2:
            raise unittest.SkipTest("there is one version of CPython only")
        return found


# A command that runs the command behind it. unshare(2) fails with 38 (ENOSYS) there, as a container's filter of system
# calls may make it; everything else is allowed.
WITHOUT_UNSHARE = [PYTHON3, "-c", """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# load nr; if it is 272 (x86-64: unshare) return ERRNO(38), else ALLOW
code = b"".join(struct.pack("<HBBI", *line) for line in [(0x20, 0, 0, 0), (0x15, 0, 1, 272), (6, 0, 0, 0x50026),
                                                         (6, 0, 0, 0x7fff0000)])
program = ctypes.create_string_buffer(code)
header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(program)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, header) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""]


@functools.cache
def may_unshare():
    """Whether unshare(2) gives a thread a directory of its own here."""
    return run(PYTHON3, "-c", "import ctypes; raise SystemExit(ctypes.CDLL(None).unshare(0x200))").returncode == 0  # CLONE_FS
