# SPDX-License-Identifier: MIT
"""python3 -m gorgon: what is installed, where the scripts of the debuggers are, and whether interpreters of this Python can
be made."""

import os
import sys

import gorgon

PACKAGE = gorgon.__path__[0]


def scripts():
    """The folder of gdb/ and lldb/: the package, or the sources in which it lies."""
    sources = os.path.dirname(os.path.dirname(PACKAGE))
    return next(folder for folder in (PACKAGE, sources) if os.path.exists(os.path.join(folder, "gdb", "gorgon.py")))


def main():
    if sys.argv[1:] not in ([], ["info"], ["--version"]):
        raise SystemExit("usage: python3 -m gorgon [info | --version]")
    print(f"gorgon {gorgon.__version__}, {PACKAGE}")
    if sys.argv[1:] == ["--version"]:
        return
    print(f"in ~/.gdbinit, or at the prompt:   source {scripts()}/gdb/gorgon.py")
    print(f"in ~/.lldbinit, or at the prompt:  command script import {scripts()}/lldb/gorgon.py")
    with gorgon.InterpreterPoolExecutor(1) as pool:
        try:
            version = pool.submit(getattr, sys, "version").result()
        except gorgon.BrokenInterpreterPool as error:
            raise SystemExit(f"no interpreter of {sys.executable}: {error}") from None
    print(f"interpreters of {sys.executable}: Python {version}")


if __name__ == "__main__":
    main()
