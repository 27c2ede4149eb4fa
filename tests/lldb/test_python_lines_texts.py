# SPDX-License-Identifier: MIT
"""Plain lldb and code that is in no file: -c, exec(), cells of a notebook, modules in a zip file."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gdb")]
from python_texts import KINDS, text_of, write_program  # noqa: E402


@harness.needs_python_lines
@harness.needs_lldb
class Texts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def lldb(self, commands, *options, python=harness.PYTHON):
        return harness.lldb(commands, harness.GORGON, "run", "--python-lines=on", f"--python={python}", *options)

    def test_each_kind_in_each_version(self):
        names = sorted({name for _, name in KINDS.values()})
        for python in harness.PYTHONS_OF_LINES:
            with self.subTest(python=python):
                output = self.lldb(["settings set stop-line-count-after 1", *(f"breakpoint set -f '{name}' -l 2 -m false" for name in names), "run",
                                    *len(KINDS) * ["thread step-over", "frame variable made", "continue"]], write_program(self.folder), python=python)
                for kind, (_, name) in KINDS.items():
                    self.assertRegex(output, rf"stop reason = breakpoint (?:.*\n){{1,2}}.*\.{kind}\(n=.* at {re.escape(name)}:2.*\n-> 2   \t    made = n \+ 1", kind)
                self.assertEqual(len(re.findall(r'^\(const char \*\) made = 0x\w+ "5"$', output, re.M)), len(KINDS), output)
                self.assertIn("exited with status = 0", output)

    def test_program_of_the_command_line(self):
        output = self.lldb(["breakpoint set -n '<string>.work'", "run", "bt 2"], "-c", f"exec({text_of('work')!r})")
        self.assertRegex(output, r"frame #0: .*`<string>\.work\(n=.* at <string>:1")
        self.assertRegex(output, r"frame #1: .*`<string>\.<module> at <string>:5")


if __name__ == "__main__":
    unittest.main()
