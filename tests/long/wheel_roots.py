#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package's wheel (`make wheel`) in fresh roots of Debian 12, 13 and sid, without a compiler and without Gorgon's own
build packages.

Usage: wheel_roots.py [SUITE]...

Each root has what debootstrap's smallest variant has, python3 with its libpython, and, for the session alone, gdb and the
libpython's symbols. The wheel and numpy come with pip into a virtual environment."""

import glob
import os
import re
import shutil
import subprocess
import sys

from report import Report
from root import SOURCES, Root, Unavailable
import harness

RELEASES = {"bookworm": ("Debian 12", "3.11"), "trixie": ("Debian 13", "3.13"), "sid": ("Debian sid", "3.14")}
VENV = "/root/venv"
PROGRAM = """
from gorgon import InterpreterPoolExecutor
import numpy
class Point:
    def __init__(self, x): self.x = x
    def norm(self): return Point(float(numpy.sqrt((self.x * self.x).sum())))
def total(part): return float(part.sum())
if __name__ == "__main__":
    numbers = numpy.arange(1000.)
    with InterpreterPoolExecutor(3) as pool:
        print(sum(pool.map(total, [numbers[i::3] for i in range(3)])), pool.submit(Point(numpy.array([3., 4.])).norm).result().x)
"""
SLEEPERS = "import time\nfrom gorgon import InterpreterPoolExecutor as Pool\n" \
           "if __name__ == '__main__':\n    with Pool(2) as pool: list(pool.map(time.sleep, [1, 1]))\n"


def wheel():
    """Its file, made anew."""
    subprocess.run(["make", "--no-print-directory", "wheel", "DEPS=no", f"BUILD={harness.BUILD}"], cwd=SOURCES, check=True)
    return glob.glob(os.path.join(harness.BUILD, "wheel", "*.whl"))[0]


def check(report, suite, file):
    name, version = RELEASES[suite]
    root = Root(f"wheel-{suite}", suite)

    def case(title, result, expected):
        report.check(f"{name}: {title}", result.returncode == 0 and re.search(expected, result.stdout), expected,
                     result.stdout.strip().splitlines()[-1] if result.stdout.strip() else f"status {result.returncode}",
                     result.stdout + result.stderr)

    root.install(["python3-venv", f"libpython{version}"])
    compilers = [tool for tool in ("cc", "gcc", "c++", "make", "clang") if os.path.exists(f"{root.path}/usr/bin/{tool}")]
    report.check(f"{name}: the root", not compilers, "no compiler", ", ".join(compilers) or "no compiler")
    for path in glob.glob(f"{root.path}/root/*.whl"):
        os.remove(path)
    shutil.copy(file, f"{root.path}/root")
    for path, code in ("program.py", PROGRAM), ("sleepers.py", SLEEPERS):
        with open(f"{root.path}/root/{path}", "w") as out:
            out.write(code)
    root.run("python3", "-m", "venv", "--clear", VENV).check_returncode()
    result = root.run(f"{VENV}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
                      f"/root/{os.path.basename(file)}", "numpy")
    report.check(f"{name}: pip install", result.returncode == 0, "status 0", f"status {result.returncode}", result.stderr)
    case("python -m gorgon", root.run(f"{VENV}/bin/python", "-m", "gorgon"),
         rf"interpreters of {VENV}/bin/python: Python {version}")
    case("a map() with numpy and a class", root.run(f"{VENV}/bin/python", "/root/program.py"), r"^499500\.0 5\.0\n$")
    root.install(["gdb", f"python{version}-dbg"])
    script = re.search(r"source (\S+)", root.run(f"{VENV}/bin/python", "-m", "gorgon").stdout)[1]
    session = root.run("gdb", "-q", "-batch", "-ex", f"source {script}", "-ex", "set breakpoint pending on",
                       "-ex", "break time_sleep", "-ex", "run", "-ex", "gorgon list", "-ex", "py-bt", "-ex", "delete", "-ex", "continue", "--args",
                       f"{VENV}/bin/python", "/root/sleepers.py", timeout=600)
    case("gdb stops in an interpreter, with the wheel's scripts", session,
         rf"(?s)hit Breakpoint 1\.\d, (0x\w+ in )?time_sleep.*\n0 +{version} .*\[Inferior 1 \(process \d+\) exited normally\]")


def main(words):
    report = Report("The wheel in fresh roots")
    file = wheel()
    for suite in words or RELEASES:
        try:
            check(report, suite, file)
        except Unavailable as error:
            report.skip(RELEASES[suite][0], error)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
