# SPDX-License-Identifier: MIT
"""examples/faulty.c leaves a core, and examples/postmortem.py says whose fault it was."""

import glob
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import harness
from test_cores import PATTERN, kernel_writes_cores

TENANTS = {
    "alpha": "import time\ntime.sleep(60)\n",
    "beta": "import ctypes, time\n\n\ndef fill(address):\n    ctypes.memset(address, 1, 100)\n\n\ntime.sleep(1)\nfill(16)\n",
}


@harness.needs_gdb
@unittest.skipUnless(kernel_writes_cores(), f"{PATTERN} does not put cores into the current folder")
class Postmortem(unittest.TestCase):
    def test_the_core_says_which_tenant_library_and_line(self):
        with tempfile.TemporaryDirectory(prefix="gorgon-postmortem-") as folder:
            for name, program in TENANTS.items():
                with open(f"{folder}/{name}.py", "w") as file:
                    file.write(program)
            faulty = f"{harness.BUILD}/examples/faulty"
            result = harness.run(faulty, *(f"{name}={folder}/{name}.py" for name in TENANTS), cwd=folder)
            self.assertEqual(result.returncode, -11, result.stderr)
            (core,) = glob.glob(f"{folder}/core*")
            output = harness.gdb([f"source {harness.ROOT}/examples/postmortem.py", "gorgon list -v"], options=[faulty, core], script=True)
            self.assertEqual(sorted(re.findall(r"^\d +running +0 +0\.0s +0 +\d+[KM] +- +(\w+) +-$", output, re.M)), sorted(TENANTS), output)
            self.assertRegex(output, r"(?m)^tenant:   beta \(interpreter \d\)\nsignal:   11, address 0x10\n"
                             r"library:  \w*memset\w*\(\) of libc\.so\.6, called by .*(libffi|_ctypes)\S*\.so\S*.*\n"
                             rf"python:   {folder}/beta\.py:5, in fill\npython:   {folder}/beta\.py:9, in <module>$")

    def test_a_tenant_without_a_program_is_refused(self):
        result = harness.run(f"{harness.BUILD}/examples/faulty", "alpha")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("", "alpha: expected NAME=PROGRAM.py\n", 2))


if __name__ == "__main__":
    unittest.main()
