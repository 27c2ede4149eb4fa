# SPDX-License-Identifier: MIT
"""python3 -m gorgon: what is installed, and whether interpreters of this Python can be made."""

import sys

import gorgon

print(f"gorgon {gorgon.__version__}, {gorgon.__path__[0]}")
if sys.argv[1:] not in ([], ["--version"]):
    raise SystemExit("usage: python3 -m gorgon [--version]")
if not sys.argv[1:]:
    with gorgon.InterpreterPoolExecutor(1) as pool:
        try:
            version = pool.submit(getattr, sys, "version").result()
        except gorgon.BrokenInterpreterPool as error:
            raise SystemExit(f"no interpreter of {sys.executable}: {error}") from None
    print(f"interpreters of {sys.executable}: Python {version}")
