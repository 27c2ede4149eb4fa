# SPDX-License-Identifier: MIT
"""lldb and interpreters that the system's linker has loaded."""

import re

import harness
from lldb_session import Case

SLEEP = "import os, sys, time; print('ready', flush=True); time.sleep(60)"


class Strategy(Case):
    isolate = None

    def command(self, program):
        return [harness.GORGON, "run", "--isolate", self.isolate, "--python-lines=auto", "-n", "2", "-c", program]

    def session(self, commands):
        with harness.Background(*self.command(SLEEP), until="(ready\\s+){2}") as program:
            return harness.lldb([f"process attach -p {program.pid}", *commands, "process detach"], script=True)

    def test_lists_name_interpreters(self):
        output = self.session(["gorgon list", "gorgon list -v", "gorgon modules 1"])
        self.assert_clean(output)
        self.assertEqual(re.findall(rf"^(\d) +{harness.VERSION} ", output, re.M), ["0", "1"], output)
        self.assertIn(f"Python lines are missing in interpreters 0 to 1: CPython {harness.VERSION} or its isolation is not among", output)
        self.assertEqual(re.findall(r"^(\d) +running +0 +0\.0s +0 +\S+ +- +- +-$", output, re.M), ["0", "1"], output)
        self.assertRegex(output, rf"(?m)^1 +{harness.SONAME_RE} .* as any library of the system's linker$")


@harness.needs_lldb
class Copy(Strategy):
    """lldb knows the copies as it knows any library."""

    isolate = "copy"

    def test_a_breakpoint_stops_in_each_with_line_and_number(self):
        program = "import gorgon, time; time.sleep(0.2 + gorgon.interpreter)"
        output = harness.lldb(["breakpoint set -n time_sleep", "run", "continue", "continue"], *self.command(program), script=True)
        found = re.findall(rf"^ +frame #0: 0x\w+ {harness.SONAME_RE} \[interp (\d)\]`time_sleep\(.*\) at timemodule\.c:\d+",
                           output, re.M)
        self.assertEqual(sorted(found), ["0", "1"], output)
        self.assertIn("exited with status = 0", output)

    def test_symbols_are_there(self):
        output = self.session(["gorgon symbols all"])
        self.assert_clean(output)
        self.assertRegex(output, r"Symbols added to 0 objects, \d+ had them already\.")


del Strategy, Case
