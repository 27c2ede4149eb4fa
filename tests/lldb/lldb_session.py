# SPDX-License-Identifier: MIT
"""Helpers for the lldb tests: what to run, and a parser for what the loop in driver.py prints."""

import json
import os
import re
import shutil
import unittest

import harness
from places import called

HERE = os.path.dirname(os.path.abspath(__file__))
# The same program as in the gdb sessions.
PROGRAM = os.path.join(os.path.dirname(HERE), "gdb", "program.py")
DRIVER = f"command script import {os.path.join(HERE, 'driver.py')}"
DECIMAL = f"_decimal{harness.EXT_SUFFIX}"
PYTHON = harness.SONAME
# Errors are one line for a user, and never one of these.
TRACEBACK = re.compile(r"Traceback \(most recent call last\)|gorgon_(?:lldb|shared)/\w+\.py")
# lldb 19 says this about arrays in unions of any C program, when it completes such a type.
QUIRK = re.compile(r"DW_TAG_member '\w+' refers to type \w+ which extends beyond the bounds of")


class Case(unittest.TestCase):
    def assert_clean(self, output):
        self.assertNotRegex(output, TRACEBACK)
        self.assertEqual(complaints(output), [])


def code(**variables):
    """The program for the host, on one line, because lldb takes no others."""
    setting = "".join(f"{name} = {value!r}; " for name, value in variables.items())
    return f"{setting}exec(compile(open('{PROGRAM}').read(), '{PROGRAM}', 'exec'))"


def drive(actions):
    return "drive " + json.dumps({str(breakpoint): commands for breakpoint, commands in actions.items()})


class Stop:
    """One thread at a breakpoint: on what the breakpoint is set, pc, thread, and the output of each command."""

    def __init__(self, header, text):
        found = re.match(r"(\S+) pc (0x[0-9a-f]+) thread (\d+) lwp (\d+)", header)
        self.place, self.pc, self.thread, self.lwp = found[1], int(found[2], 16), int(found[3]), int(found[4])
        parts = re.split(r"^--- (.*)\n", text, flags=re.M)
        self.output = dict(zip(parts[1::2], parts[2::2]))


def stops(output, *places):
    parts = re.split(r"^=== stop (.*)\n", output, flags=re.M)
    found = [Stop(header, text) for header, text in zip(parts[1::2], parts[2::2])]
    return [stop for stop in found if stop.place in places]


def listed(output, place):
    """What "breakpoint list" shows of the breakpoint that is set on a place: its own line and its locations'."""
    found = [block for block in re.findall(r"^\d+: .*\n(?:(?:  .*)?\n)*", output, re.M) if called(block) == place]
    assert len(found) == 1, f"{len(found)} breakpoints at {place} in:\n{output}"
    return found[0]


def addresses_listed(output, place):
    """The load addresses of that breakpoint's locations."""
    return [int(address, 16) for address in re.findall(r"^  \d+\.\d+: .*, address = (0x\w+), ", listed(output, place), re.M)]


def ended(output):
    return re.search(r"^=== end exited 0$", output, re.M) is not None


def frames(backtrace):
    """[(module, function)] of a backtrace, innermost first."""
    found = re.findall(r"frame #\d+: 0x[0-9a-f]+ ([^`\n]+)`(.*)", backtrace)
    names = [re.sub(r"^.*\[inlined\] ", "", rest) for _, rest in found]
    return [(module, re.match(r"[^\s(]*", name)[0]) for (module, _), name in zip(found, names)]


def functions(backtrace):
    return [function for _, function in frames(backtrace)]


def threads(output):
    """[backtrace] of "bt all"."""
    return re.split(r"^[* ] thread #\d+.*\n", output, flags=re.M)[1:]


def whose(addresses, pc, offset=0):
    """The interpreter whose PyList_Append, as the host has printed it, is offset before pc, or that and a prologue; or None."""
    return next((n for n, a in addresses.items() if 0 <= pc - a - offset < 64), None)


def complaints(output):
    """Lines in which lldb says that something went wrong; breakpoints may be pending at first."""
    return [line for line in output.splitlines() if re.match(r"(?i)warning|error|Traceback|LLDB .*assert", line)
            and "Unable to resolve breakpoint to any actual locations" not in line and not QUIRK.search(line)]


def libpython_symbol(name):
    """The link-time address of a function of libpython, which may be static, and its line."""
    output = harness.gdb([f"print (long)&{name} - (long)&PyList_Append", f"info line {name}"], harness.LIBPYTHON)
    return int(re.search(r"\$1 = (-?\d+)", output)[1]), int(re.search(r"^Line (\d+) of", output, re.M)[1])


def libpython_places(name):
    """Link-time addresses of all code of a function that debug information knows, relative to PyList_Append: compilers take parts
    out of functions and put them back."""
    output = harness.gdb(["print (long)&PyList_Append", f"info line {name}"], harness.LIBPYTHON)
    append = int(re.search(r"\$1 = (\d+)", output)[1])
    return {int(address, 16) - append for address in re.findall(r"^Line .* starts at address (0x\w+)", output, re.M)}


# ---- the libraries in fixture/ -------------------------------------------------

FIXTURE = os.path.join(HERE, "fixture")
LEDGER, RISK, PLAIN, OBJECTS = (os.path.join(FIXTURE, name)
                                for name in ("ledger.c", "risk.cc", "plain.c", "objects.c"))


SPARES = [f"libspare{i}.so" for i in range(9)]  # the loader needs eight new libraries for a further pack


def build_fixture(folder):
    """libledger.so, librisk.so and libobjects.so, libplain.so without debug information, and the spares."""
    link = ["-shared", "-fPIC", "-Wl,-rpath,$ORIGIN", "-L", folder]
    for command in (["g++", "-g", "-O0", *link, "-o", f"{folder}/librisk.so", RISK],
                    ["gcc", "-O2", "-s", *link, "-o", f"{folder}/libplain.so", PLAIN],
                    ["gcc", "-g", "-O0", *link, "-o", f"{folder}/libobjects.so", OBJECTS],
                    ["gcc", "-g", "-O0", *link, "-o", f"{folder}/libledger.so", LEDGER, "-lrisk", "-lplain"]):
        made = harness.run(*command)
        assert made.returncode == 0, made.stderr
    for name in SPARES:
        shutil.copy(f"{folder}/libobjects.so", f"{folder}/{name}")


WORK, THROWN = (os.path.join(FIXTURE, name) for name in ("work.c", "thrown.cc"))


def build_extensions(folder):
    """The modules work and thrown, compiled as somebody compiles what is to be debugged."""
    for compiler, source in (("gcc", WORK), ("g++", THROWN)):
        build_extension(source, folder, compiler, "-g", "-O0")


def fill_modules(folder):
    """Commands that add modules to the target until the memory for lldb's list of them is full. It doubles whenever it is."""
    module = f"{folder}/fills%d"
    return ["script import os; target = lldb.debugger.GetSelectedTarget(); n = target.GetNumModules(); "
            f"[(os.symlink('/bin/true', '{module}' % i), target.AddModule('{module}' % i, None, None)) for i in range(n, 1 << (n - 1).bit_length())]; "
            "print('the list is full' if target.GetNumModules().bit_count() == 1 else 'the list is not full')"]


def build_extension(source, folder, compiler, *options):
    headers = harness.run(harness.PYTHON3, "-c", "import sysconfig; print(sysconfig.get_path('include'))").stdout.strip()
    name = os.path.basename(source).partition(".")[0] + ".so"
    made = harness.run(compiler, *options, "-shared", "-fPIC", f"-I{headers}", "-o", f"{folder}/{name}", source)
    assert made.returncode == 0, made.stderr


def fixture_code(folder, name="program.py", **variables):
    program = os.path.join(FIXTURE, name)
    setting = "".join(f"{name} = {value!r}; " for name, value in dict(variables, folder=folder).items())
    return f"{setting}exec(compile(open('{program}').read(), '{program}', 'exec'))"


def expectations(output, what):
    """{interpreter: [{name: value}]}, as the programs have printed them."""
    found = {}
    for interp, values in re.findall(rf"^expect (\d+) {what} (.*)$", output, re.M):
        found.setdefault(int(interp), []).append(
            {name: int(value) for name, value in (pair.split("=") for pair in values.split())})
    return found
