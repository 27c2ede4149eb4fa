# SPDX-License-Identifier: MIT
"""lldb and interpreters that the system's linker has loaded."""

import re

import harness
from lldb_session import Case

SLEEP = "import os, sys, time; print('ready', flush=True); time.sleep(60)"


class Strategy(Case):
    isolate = None

    def session(self, commands):
        command = [harness.GORGON, "run", "--isolate", self.isolate, "-n", "2", "-c", SLEEP]
        with harness.Background(*command, until="(ready\\s+){2}") as program:
            return harness.lldb([f"process attach -p {program.pid}", *commands, "process detach"], script=True)


@harness.needs_lldb
class Dlmopen(Strategy):
    """lldb reads the list of the process's own link namespace only; the scripts add the others' files."""

    isolate = "dlmopen"

    def test_lists_name_interpreters(self):
        output = self.session(["gorgon list", "gorgon modules 1"])
        self.assert_clean(output)
        self.assertEqual(re.findall(r"^(\d) +3\.11 ", output, re.M), ["0", "1"], output)
        self.assertRegex(output, r"(?m)^1 +libpython3\.11\.so\.1\.0 .* as any library of the system's linker$")

    def test_symbols_make_backtraces(self):
        output = self.session(["gorgon symbols all", "thread select 2", "thread backtrace", "thread select 3",
                               "thread backtrace"])
        self.assert_clean(output)
        self.assertRegex(output, r"Symbols added to \d+ objects\.")
        found = re.findall(r"time_sleep\(.*\) at timemodule\.c:\d+", output)
        self.assertEqual(len(found), 2, output)
        self.assertEqual(sorted(set(re.findall(r"libpython3\.11\.so\.1\.0 \[interp (\d)\]", output))), ["0", "1"], output)


del Strategy, Case
