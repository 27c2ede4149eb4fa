# SPDX-License-Identifier: MIT
"""What depends on the machine is in the machine's files: docs/machines.md lists them."""

import glob
import os
import re
import sys
import unittest

from harness import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools"))
import machine_table as machines  # noqa: E402

LINES_MAX = 1200  # a third of it is the code of Python lines


class Machines(unittest.TestCase):
    def test_the_page_has_the_files_and_their_lines(self):
        with open(os.path.join(ROOT, "docs", "machines.md")) as file:
            self.assertIn(machines.table(), file.read(), "make docs-machines")

    def test_a_machine_is_small(self):
        for machine in machines.MACHINES:
            self.assertLessEqual(sum(machines.files(machine).values()), LINES_MAX, machine)

    def test_nothing_else_asks_for_the_machine(self):
        asking = [path for path in glob.glob(f"{ROOT}/loader/**/*.[chS]", recursive=True)
                  if "/machine/" not in path and re.search(r"__(x86_64|aarch64)__|\bR_(X86_64|AARCH64)_", open(path).read())]
        self.assertEqual(asking, [])

    def test_machines_have_the_same_files(self):
        ours, others = (set(machines.files(machine)) for machine in machines.MACHINES)
        self.assertEqual(ours - others, set())
        # That code is bytes in lines_code.c on x86-64.
        self.assertEqual(others - ours, {"loader/machine/MACHINE/base/note.h", "loader/machine/MACHINE/python/lines_frame.S"})
