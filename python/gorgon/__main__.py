# SPDX-License-Identifier: MIT
"""python3 -m gorgon: what is installed, where the scripts of the debuggers are, and whether interpreters of this Python can
be made; debuggers, started with these scripts."""

import os
import shutil
import sys

import gorgon

PACKAGE = gorgon.__path__[0]
USAGE = """usage: python3 -m gorgon [info]
       python3 -m gorgon --help | --version
       python3 -m gorgon gdb|lldb PID | PROGRAM.py [ARG...] | OPTION...
       python3 -m gorgon symdump PID|CORE [OPTION...]"""
LLDBS = ["lldb", *(f"lldb-{number}" for number in range(40, 15, -1))]  # Debian's names have numbers


def scripts():
    """The folder of gdb/ and lldb/: the package, the sources in which it lies, or what a package of the distribution or
    `make install` has put there. None where there is none of them."""
    places = [PACKAGE, os.path.dirname(os.path.dirname(PACKAGE)), "/usr/local/share/gorgon", "/usr/share/gorgon"]
    return next((folder for folder in places if os.path.exists(os.path.join(folder, "gdb", "gorgon.py"))), None)


def info():
    if scripts():
        print(f"in ~/.gdbinit, or at the prompt:   source {scripts()}/gdb/gorgon.py")
        print(f"in ~/.lldbinit, or at the prompt:  command script import {scripts()}/lldb/gorgon.py")
    else:
        print("scripts of gdb and lldb:           not here; they are in the package gorgon-tools")
    with gorgon.InterpreterPoolExecutor(1) as pool:
        try:
            version = pool.submit(getattr, sys, "version").result()
        except gorgon.BrokenInterpreterPool as error:
            raise SystemExit(f"no interpreter of {sys.executable}: {error}") from None
    print(f"interpreters of {sys.executable}: Python {version}")


def replace(names, *words):
    """Become the first of these programs that is there."""
    program = next(filter(None, map(shutil.which, names)), None)
    if not program:
        raise SystemExit(f"{names[0]} is not installed")
    sys.stdout.flush()
    os.execv(program, [program, *words])


def target(words, before_program):
    """What a debugger is told: a process, a program of this Python, or its own options as they are."""
    if words and words[0].isdigit():
        return ["-p", *words]
    return [before_program, sys.executable, *words] if words and words[0].endswith(".py") else words


def main(words):
    if words in ([], ["info"], ["--version"]):
        print(f"gorgon {gorgon.__version__}, {PACKAGE}")
        if words != ["--version"]:
            info()
    elif words in (["--help"], ["-h"]):
        print(USAGE)
    elif words[0] in ("gdb", "lldb") and not scripts():
        raise SystemExit("the scripts of gdb and lldb are not here: install gorgon-tools, or the wheel")
    elif words[0] == "gdb":
        replace(["gdb"], "-iex", f"source {scripts()}/gdb/gorgon.py", *target(words[1:], "--args"))
    elif words[0] == "lldb":
        replace(LLDBS, "-O", f"command script import {scripts()}/lldb/gorgon.py", "-O", "gorgon symbols auto", *target(words[1:], "--"))
    elif words[0] == "symdump":
        replace(["gorgon-symdump"], *words[1:])
    else:
        raise SystemExit(USAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
