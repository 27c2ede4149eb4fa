#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debuggers on a host of aarch64: gdb-multiarch and lldb talk to QEMU, which runs the host in the root of `make check-arm`;
gorgon-symdump of this machine reads the core that QEMU writes.

Usage: arm_debug.py

QEMU stops one thread at a breakpoint and lets the others go on. So each interpreter comes to the breakpoint when the one before it
has gone on, and their descriptors are the host's: one with its own would close QEMU's connection to gdb. lldb gives the connection up
when a second thread stops, so its breakpoint is on a function that no start of an interpreter calls. gdb cannot read QEMU's
cores, which lack the program's headers, and its gcore asks QEMU for memory that there is not.

Breakpoints in Python lines are instructions that the program sees. QEMU 7.2 writes none to code, so that session has a newer QEMU,
of Debian's backports."""

import glob
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading

import arm
from report import Report
from root import SOURCES, Root, Unavailable
from harness import LLDB

sys.path.insert(0, os.path.join(SOURCES, "tests", "gdb"))
import lines_random_sessions as lines_random  # noqa: E402

BUILD = os.path.join(SOURCES, "build", arm.MACHINE)
HOST = os.path.join(BUILD, "host")
SYMDUMP = os.path.join(SOURCES, "build", "gorgon-symdump")
COUNT = 3
TIMEOUT = 600
# Programs wait for their turn without a call of time.sleep().
TURN = """import os, threading
def wait_for_turn(number):
    while number and not os.path.exists(f"FOLDER/turn{number}"):
        threading.Event().wait(0.1)
"""
# Each interpreter has its own value in a thread-local variable of its own library.
VALUE = f"""import ctypes
value = ctypes.c_int.in_dll(ctypes.CDLL("{BUILD}/modules/libtls.so"), "tls_value")
value.value = 100 + gorgon.interpreter
"""
PROGRAM = f"""{TURN}
import gorgon, time
{VALUE}
wait_for_turn(gorgon.interpreter)
time.sleep(600)
"""
LLDB_PROGRAM = f"""{TURN}
import gorgon, time, _thread
time.sleep(1)
wait_for_turn(gorgon.interpreter)
{VALUE}
_thread.stack_size()
time.sleep(600)
"""
CRASH = """import gorgon, os, time
def deep(n):
    if n:
        deep(n - 1)
    elif gorgon.interpreter:
        time.sleep(3)
        os.abort()
    else:
        time.sleep(600)
deep(3)
"""
LINES = """import functools

def price(n):
    return n * 2

def each(total, n):
    cost = price(n)
    return total + cost

def main():
    return functools.reduce(each, range(4))

main()

def down(n):
    if n:
        return down(n - 1)
    return n

def handled():
    try:
        value = down(3)
        return 1 / value
    except ZeroDivisionError:
        return 0

def lost(parts):
    return parts[0]

handled()
"""
LINES_PROGRAM = f"""{TURN}
import gorgon, sys, time
sys.path.insert(0, "FOLDER")
wait_for_turn(gorgon.interpreter)
import shop
gorgon.interpreter and shop.lost([])
time.sleep(600)
"""
RANDOM_PROGRAM = """import sys
sys.argv = {arguments}
with open("{path}") as file:
    code = compile(file.read(), "{path}", "exec")
exec(code, {{"__name__": "__main__"}})
"""
SEEDS, STEPS = 20, 20
LINES_STACK = "bt -frame-arguments none -frame-info short-location 12"
STOP = ["gorgon whose $pc", "gorgon tls tls_value", "bt 2", "gorgon bt 6"]


def bound(path):
    """Run this program again in a mount namespace where the sources have their name in the root, too, and processes their files: by
    these QEMU writes to code."""
    if os.environ.get("BOUND") != path:
        command = 'mkdir -p "$1$2" && mount --bind "$2" "$1$2" && mount --bind /proc "$1/proc" && shift 2 && exec "$@"'
        os.environ["BOUND"] = path
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", command, "sh", path, SOURCES, sys.executable, *sys.argv])


def in_root(root, folder, *command, **env):
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", **env}
    return ["chroot", root.path, "env", "-C", folder, "-i", *(f"{name}={value}" for name, value in variables.items()), *command]


def next_turn(folder, number):
    """A command of gdb before the one that continues: interpreter @number comes when the one that has stopped goes on."""
    return f"shell (sleep 2; touch {folder}/turn{number}) >/dev/null 2>&1 &"


def temporary():
    """A folder that has its name in the root, too."""
    return tempfile.TemporaryDirectory(dir=os.path.join(SOURCES, "build"))


def find_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def debug(root, program, port, debugger, show=False, qemu=None, options=("-n", str(COUNT))):
    """What a debugger prints that talks to QEMU at the port; the user sees it at once with @show. @qemu: another one, in the root."""
    emulator, variables = ([qemu, "-g", str(port)], {}) if qemu else ([], {"QEMU_GDB": port})
    host = subprocess.Popen(in_root(root, SOURCES, *emulator, HOST, "-s", *options, program, **variables),
                            stdout=None if show else subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    session = subprocess.Popen(debugger, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    timer = threading.Timer(TIMEOUT, session.kill)
    timer.start()
    lines = []
    for line in session.stdout:
        lines.append(line)
        if show:
            print(line, end="", flush=True)
    timer.cancel()
    host.kill()
    host.wait()
    return "".join(lines) + ("no end\n" if session.wait() < 0 else "")


def gdb(root, program, commands, show=False, first=(), **others):
    port = find_port()
    before = [*first, "set pagination off", "set confirm off", "set breakpoint pending on", "set print frame-arguments scalars",
              f"set sysroot {root.path}", f"set debug-file-directory {root.path}/usr/lib/debug", f"file {HOST}",
              f"source {SOURCES}/gdb/gorgon.py", "set tcp connect-timeout 60", "set remotetimeout 60", f"target remote :{port}"]
    words = [word for command in [*before, *commands, "kill"] for word in ("-ex", command)]
    return debug(root, program, port, ["gdb-multiarch", "-nx", "-q", "-batch", *words], show, **others)


def lldb(root, stop, commands, show=False):
    """@stop: the commands at each interpreter's breakpoint."""
    port = find_port()
    before = ["settings set auto-confirm true", "settings set stop-disassembly-display never",
              f"platform select --sysroot {root.path} remote-linux", f"target create --arch aarch64-unknown-linux-gnu {HOST}",
              f"command script import {SOURCES}/lldb/gorgon.py", "breakpoint set -n host_created", f"gdb-remote 127.0.0.1:{port}", "continue",
              "breakpoint set -n PyThread_get_stacksize"]
    with temporary() as folder:
        turns = [f"script __import__('subprocess').Popen(['sh', '-c', 'sleep 2; touch {folder}/turn{i}'])" for i in range(COUNT)]
        stops = [command for turn in turns for command in (turn, "continue", *stop)]
        words = [word for command in [*before, *stops, *commands, "process kill"] for word in ("-o", command)]
        return debug(root, LLDB_PROGRAM.replace("FOLDER", folder), port, [LLDB, "--no-lldbinit", "--batch", *words], show)


def sessions(report, root):
    for what, place in ("by name", "time_sleep"), ("by line", "timemodule.c:376"):
        with temporary() as folder:
            stops = [command for i in range(COUNT) for command in (next_turn(folder, i), "continue", *STOP)]
            text = gdb(root, PROGRAM.replace("FOLDER", folder),
                       [f"break {place}", *stops, "gorgon list", "info breakpoints", "up", "info locals"])

        def check(case, pattern, expected, what=what, text=text):
            found = re.findall(pattern, text, re.M)
            report.check(f"gdb, a breakpoint {what}: {case}", found == expected, expected, found, text[-3000:])

        numbers = [str(i) for i in range(COUNT)]
        check("a stop in each interpreter", r"^0x\w+: interpreter (\d), libpython3\.\d+\.so\.1\.0, time_sleep\+\w+, timemodule\.c:376$",
              numbers)
        check("its thread-local variable", r"^\$\d+ = (10\d)$", [f"10{i}" for i in numbers])
        check("its frames", r"^#0  time_sleep from libpython3\.\d+\.so\.1\.0 \[interp (\d)\] \(", [i for i in numbers for _ in "ab"])
        check("Python's frames between them", r'^ +File "<string>", line (\d+), in <module>$', [f"{len(PROGRAM.splitlines())}"] * COUNT)
        check("the list", r"^(\d)    3\.\d+ +\d+ .*live", numbers)
        check("a location in each", r"^1\.(\d) .* in time_sleep at ", [str(i + 1) for i in range(COUNT)])
        check("local variables", r"^(?:tstate|cfunc) = (0x)", ["0x"])


def lines_session(folder):
    """What is typed at the lines of the module in this folder."""
    return ["break shop.py:4", "continue", LINES_STACK, 'print py("[n, each.__name__]")', "print number.n + 1", 'print py("n = 10")', "next",
            "info locals", "continue", "finish", "tbreak shop.py:7", "continue", "step", "continue", "tbreak shop.main", next_turn(folder, 1),
            "continue", "continue", LINES_STACK, "delete", "tbreak shop.py:18", "continue", "finish", "finish",
            'printf "in %g\\n", number.n', "next", "tbreak python_exception_raised", "continue", "next",
            "tbreak python_exception_uncaught", "continue", 'printf "left by %s at %s\\n", exception, where']


def write_lines(folder):
    """The module of Python lines in a folder; returns a program that imports it."""
    with open(f"{folder}/shop.py", "w") as file:
        file.write(LINES)
    return LINES_PROGRAM.replace("FOLDER", folder)


def check_lines(report, who, text):
    """What gdb has said in lines_session()."""
    for case, pattern, expected in [
        ("a stop in each interpreter, with arguments", r'hit Breakpoint 1(?:\.\d)?, shop\.price \(n=\S+ "(\d)"\) at \S+/shop\.py:4$',
         ["1", "2", "3", "1"]),
        ("frames of both languages", r"^#\d+ +(?:0x\w+ in )?(shop\.\S+|_PyEval_EvalFrameDefault|functools_reduce|python_frame)",
         ["shop.price", "shop.each", "functools_reduce", "_PyEval_EvalFrameDefault", "python_frame", "shop.main", "shop.<module>"] * 2),
        ("an expression", r'^\$1 = \S+ "(.*)"$', ["[1, 'each']"]),
        ("a number", r"^\$2 = (\d+)$", ["2"]),
        ("next", r"^8\t", ["8\t"]),
        ("locals, and a value that was set", r'^cost = \S+ "(\d+)"$', ["20"]),
        ("finish", r"^(?:0x\w+ in )(shop\.each) .*\n7\t", ["shop.each"]),
        ("a step into a function", r"^shop\.price \(.*\) at \S+/shop\.py:(\d)$", ["3"]),
        ("finish in a recursion", r"^in (\d)$", ["2"]),
        ("next, out of a recursion and from an exception", r"^(2\d)\t", ["23", "24"]),
        ("an exception that nobody catches", r"^left by (\w+) at \S+/shop\.py:28$", ["IndexError"]),
        ("a breakpoint by function", r"hit Temporary breakpoint [\d.]+, (shop\.main) \(\) at ", ["shop.main"]),
    ]:
        found = re.findall(pattern, text, re.M)
        report.check(f"{who}, Python lines: {case}", found == expected, expected, found, text[-6000:])


def python_lines(report, root):
    """A breakpoint in a Python line, pending until its module is imported, in each of two interpreters; random sessions."""
    newer = {"first": ["set remote Z-packet off"], "qemu": arm.newer_qemu(root)}
    with temporary() as folder:
        text = gdb(root, write_lines(folder), lines_session(folder), options=("-y", "-n", "2"), **newer)
        check_lines(report, "gdb", text)
    wrong = []
    for seed in range(1, SEEDS + 1):
        with temporary() as folder, lines_random.described(folder, "", seed, STEPS, "continue"):
            program = RANDOM_PROGRAM.format(path=lines_random.PROGRAM, arguments=["", f"{folder}/begin", f"{folder}/end"])
            text = gdb(root, program, [f"source {lines_random.DRIVER}", "continue"], options=("-y", "-n", "1"), **newer)
            wrong += [f"seed {seed}\n{text[-3000:]}"] * (not lines_random.is_right(text, STEPS))
    report.check(f"gdb, Python lines: {SEEDS} random sessions", not wrong, f"Python's own stack at each of {STEPS + 1} stops",
                 f"{len(wrong)} differ", "\n".join(wrong)[:6000])


def lldb_session(report, root):
    """lldb has names from symfiles alone here: "gorgon symbols" does not look below a sysroot."""
    stop = ["gorgon whose $pc", "gorgon tls tls_value", "gorgon bt"]
    text = lldb(root, stop, ["gorgon list"])
    numbers = [str(i) for i in range(COUNT)]
    for case, pattern, expected in [
        ("a stop in each interpreter", r"^0x\w+: interpreter (\d), libpython3\.\d+\.so\.1\.0, PyThread_get_stacksize\+0", numbers),
        ("its thread-local variable", r"^\(unsigned int\) tls_value = (10\d)$", [f"10{i}" for i in numbers]),
        ("its frames", r"^#0 .* in PyThread_get_stacksize .*\[interp (\d)\]$", numbers),
        ("the frames below", r"^#\d+ .* in Py_RunMain .*\[interp (\d)\]$", numbers),
        ("the host's frames below", r"^#\d+ .* in (run_interpreter) .* host\.c:", ["run_interpreter"] * COUNT),
        ("the list", r"^(\d)    3\.\d+ +\d+ .*live", numbers),
    ]:
        found = re.findall(pattern, text, re.M)
        report.check(f"lldb, a breakpoint by name: {case}", found == expected, expected, found, text[-3000:])


def core(report, root):
    with temporary() as folder:
        limited = ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh"]
        subprocess.run([*limited, *in_root(root, folder, HOST, "-n", "2", CRASH)], capture_output=True, timeout=TIMEOUT, check=False)
        cores = glob.glob(os.path.join(folder, "qemu_*.core"))
        text = subprocess.run([SYMDUMP, "--sysroot", root.path, "--stacks", *cores], capture_output=True, text=True, check=False).stdout
    for interp, function in enumerate(["time_sleep", "os_abort"]):
        part = re.search(rf"^interp {interp}, thread .*?(?=^$|\Z)", text, re.M | re.S)
        part = part[0] if part else ""
        found = re.findall(rf"!({function})|Python  (deep|<module>)|!(Py_RunMain|gorgon_interp_main|run_interpreter)", part)
        names = ["".join(match) for match in found]
        expected = [function, *["deep"] * 4, "<module>", "Py_RunMain", "gorgon_interp_main", "run_interpreter"]
        report.check(f"gorgon-symdump, frames of interpreter {interp} in QEMU's core", names == expected, expected, names, text[-3000:])


def prepare():
    """A root, and everything built for it and for gorgon-symdump here. Raises Unavailable."""
    arm.emulate()
    root = Root("arm64", "bookworm", machine="arm64", path=os.environ.get("ROOT") or None)
    bound(root.path)
    root.install(arm.PACKAGES)
    arm.build(root)
    subprocess.run(["make", "--no-print-directory", "build/gorgon-symdump"], cwd=SOURCES, capture_output=True, check=True)
    return root


def main():
    report = Report("debuggers and aarch64")
    try:
        root = prepare()
    except Unavailable as error:
        report.skip("a root for aarch64", error)
        return report.finish()
    sessions(report, root)
    python_lines(report, root)
    lldb_session(report, root)
    core(report, root)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
