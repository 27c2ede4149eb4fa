# SPDX-License-Identifier: MIT
"""What the scripts know of processors, without a debugger: the thread pointer's names."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "debuggers"))
from gorgon_shared import machines  # noqa: E402


class Machines(unittest.TestCase):
    def test_each_debugger_s_name_leads_to_the_register(self):
        for name in ("i386:x86-64", "x86_64-pc-linux-gnu"):
            self.assertEqual(machines.thread_pointers(name), ("fs_base",))
        for name in ("aarch64", "aarch64-unknown-linux-gnu", "arm64--linux"):
            self.assertIn("tpidr", machines.thread_pointers(name))
        for name in ("i386", "riscv:rv64", "aarch64:ilp32", ""):
            self.assertEqual(machines.thread_pointers(name), ())


if __name__ == "__main__":
    unittest.main()
