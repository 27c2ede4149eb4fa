# SPDX-License-Identifier: MIT
"""What depends on the machine is in the machine's files: docs/machines.md says what they have."""

import glob
import os
import re
import unittest

from harness import ROOT

MACHINES = "x86_64", "aarch64"
LINES_MAX = 1200  # a third of it is the code of Python lines


def files(machine):
    """{name without the machine: path}"""
    paths = glob.glob(f"{ROOT}/loader/machine/{machine}/**/*.[chS]", recursive=True) + [f"{ROOT}/jitreg/machine/{machine}.c"]
    return {os.path.relpath(path, ROOT).replace(machine, "MACHINE"): path for path in paths}


class Machines(unittest.TestCase):
    def test_a_machine_is_small(self):
        for machine in MACHINES:
            self.assertLessEqual(sum(len(open(path).readlines()) for path in files(machine).values()), LINES_MAX, machine)

    def test_nothing_else_asks_for_the_machine(self):
        asking = [path for path in glob.glob(f"{ROOT}/loader/**/*.[chS]", recursive=True)
                  if "/machine/" not in path and re.search(r"__(x86_64|aarch64)__|\bR_(X86_64|AARCH64)_", open(path).read())]
        self.assertEqual(asking, [])

    def test_machines_have_the_same_files(self):
        ours, others = (set(files(machine)) for machine in MACHINES)
        self.assertEqual(ours - others, set())
        # That code is bytes in lines/code.c on x86-64.
        self.assertEqual(others - ours, {"loader/machine/MACHINE/base/note.h", "loader/machine/MACHINE/python/lines/frame.S"})
