# SPDX-License-Identifier: MIT
"""Where gorgon-symdump looks for CPython's members, against the headers of every CPython that is here."""

import glob
import os
import tempfile
import unittest

import harness

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layout.c")


class PythonLayout(unittest.TestCase):
    def check(self, minor, *defines):
        folders = harness.python_headers(minor)
        if not folders:
            self.skipTest(f"no headers of CPython 3.{minor}")
        objects = [path for folder in ("tools/symdump", "jitreg/machine") for path in glob.glob(f"{harness.BUILD}/obj/{folder}/*.o")
                   if os.path.basename(path) not in ("main.o", "python_layout.o")]
        for folder in folders:
            with self.subTest(folder), tempfile.TemporaryDirectory() as output:
                program = os.path.join(output, "layout")
                made = harness.run("gcc", "-w", *defines, f"-I{folder}", f"-I{folder}/internal",
                                   f"-I{harness.ROOT}/loader", SOURCE, *objects, "-ldw", "-lelf", "-ljson-c", "-o",
                                   program)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertRegex(harness.run(program).stdout, r"^compared: (2\d|3[0-3])\n$")

    def test_3_11(self):
        self.check(11)

    def test_3_11_debug_build(self):
        self.check(11, "-DPy_DEBUG")

    def test_3_12(self):
        self.check(12)

    def test_3_13(self):
        self.check(13)

    def test_3_14(self):
        self.check(14)

    def test_3_15(self):
        self.check(15)


if __name__ == "__main__":
    unittest.main()
