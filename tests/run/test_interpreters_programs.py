# SPDX-License-Identifier: MIT
"""Programs for concurrent.interpreters (long/programs/portable), with one import changed, and with numpy in their interpreters:
they print what CPython's own module makes of them, where there is one, without numpy."""

import ast
import glob
import os
import shutil
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(__file__))
from harness import PYTHON3, ROOT, run  # noqa: E402
from test_executor import Package  # noqa: E402

FOLDER = os.path.join(ROOT, "tests", "long", "programs", "portable")
PROGRAMS = sorted(os.path.basename(path) for path in glob.glob(f"{FOLDER}/*.py") if not path.endswith("/sums.py"))
CHANGED = {"from concurrent import interpreters\n": "from gorgon import interpreters\n",
           "from concurrent.futures import InterpreterPoolExecutor\n": "from gorgon import InterpreterPoolExecutor\n"}


def change(name):
    """The program with its imports changed, and what it says that it prints."""
    with open(os.path.join(FOLDER, name)) as file:
        program = file.read()
    expected = textwrap.dedent(ast.get_docstring(ast.parse(program), clean=False).partition("Prints:\n\n")[2])
    for line, ours in CHANGED.items():
        program = program.replace(line, ours)
    return program, expected


def write(folder):
    """All of them, changed."""
    shutil.copy(os.path.join(FOLDER, "sums.py"), folder)
    for name in PROGRAMS:
        with open(os.path.join(folder, name), "w") as file:
            file.write(change(name)[0])


class Programs(Package):
    def check_program(self, name):
        with tempfile.TemporaryDirectory() as folder:
            write(folder)
            result = run(PYTHON3, os.path.join(folder, name), env={"PYTHONPATH": f"{self.site}:{folder}"})
        self.assertEqual((result.stderr, result.stdout, result.returncode), ("", change(name)[1], 0))


for each in PROGRAMS:
    setattr(Programs, f"test_{each.removesuffix('.py')}", lambda self, name=each: self.check_program(name))
