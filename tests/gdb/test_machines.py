# SPDX-License-Identifier: MIT
"""What the scripts know of processors, without a debugger: the thread pointer's names, and files for a machine."""

import os
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "gdb"))
from gorgon_gdb import place_names  # noqa: E402
from gorgon_shared import machines  # noqa: E402

COMPILERS = {"gcc": "Advanced Micro Devices X86-64", "aarch64-linux-gnu-gcc": "AArch64"}


class Machines(unittest.TestCase):
    def test_each_debugger_s_name_leads_to_the_register(self):
        for name in ("i386:x86-64", "x86_64-pc-linux-gnu"):
            self.assertEqual(machines.thread_pointers(name), ("fs_base",))
        for name in ("aarch64", "aarch64-unknown-linux-gnu", "arm64--linux"):
            self.assertIn("tpidr", machines.thread_pointers(name))
        for name in ("i386", "riscv:rv64", "aarch64:ilp32", ""):
            self.assertEqual(machines.thread_pointers(name), ())

    def test_a_file_of_places_is_for_the_machine_of_the_file_that_it_belongs_to(self):
        for compiler, machine in COMPILERS.items():
            with self.subTest(compiler), tempfile.TemporaryDirectory() as folder:
                library, places = os.path.join(folder, "lib.so"), os.path.join(folder, "places")
                source = os.path.join(folder, "empty.c")
                with open(source, "w") as file:
                    file.write("int empty(void); int empty(void) { return 1; }\n")
                made = harness.run(compiler, "-shared", "-fPIC", "-nostdlib", source, "-o", library)
                self.assertEqual(made.returncode, 0, made.stderr)
                with open(library, "rb") as file:
                    data = file.read()
                with open(places, "wb") as file:
                    file.write(place_names.build(place_names.sections(lambda off, size: data[off:off + size]), [("place@1", 0x1234)]))
                text = harness.run("readelf", "-hsW", places).stdout
                self.assertRegex(text, rf"Machine: +{machine}\n")
                self.assertRegex(text, r"0000000000001234 .* place@1\n")


if __name__ == "__main__":
    unittest.main()
