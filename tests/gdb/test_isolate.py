# SPDX-License-Identifier: MIT
"""gdb and interpreters that the system's linker has loaded: gdb knows their objects by itself, and the scripts say to
which interpreter they belong."""

import os
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

SLEEP = "import gorgon, time; time.sleep(0.2 + gorgon.interpreter)"
STOP = ["backtrace 1", "gorgon whose $pc", "printf \"in %d\\n\", $gorgon_interp($pc)"]


class Strategy:
    isolate = None

    def session(self, commands):
        return harness.gdb(commands, harness.GORGON, "run", "--isolate", self.isolate, "--python-lines=auto", "-n", "2", "-c", SLEEP,
                           script=True)

    def test_a_breakpoint_stops_in_each_with_line_arguments_and_number(self):
        output = self.session(["break time_sleep", session.LOOP, "run", f"python drive({{'time_sleep': {STOP!r}}})"])
        frames = re.findall(rf"^#0  time_sleep from {harness.SONAME_RE} \[interp (\d)\] \(self=<module at remote .*>, "
                            r"timeout_obj=<float at remote .*>\) at \S*/timemodule\.c:\d+$", output, re.M)
        self.assertEqual(sorted(frames), ["0", "1"], output)
        self.assertEqual(sorted(re.findall(rf": interpreter (\d), {harness.SONAME_RE}, time_sleep\+0, timemodule\.c:\d+$",
                                           output, re.M)), ["0", "1"], output)
        self.assertEqual(sorted(re.findall(r"^in (\d)$", output, re.M)), ["0", "1"], output)

    def test_lists_agree_with_gdb(self):
        output = self.session(["break time_sleep", "run", "gorgon list", "gorgon list -v", "gorgon modules 1", "gorgon symbols 1 libpython",
                               "kill"])
        self.assertEqual(re.findall(rf"^(\d)    {harness.VERSION} ", output, re.M), ["0", "1"], output)
        self.assertIn(f"Python lines are missing in interpreters 0 to 1: CPython {harness.VERSION} or its isolation is not among", output)
        self.assertEqual(re.findall(r"^(\d)    running +0 +0\.0s +0 +\S+ +- +- +-$", output, re.M), ["0", "1"], output)
        self.assertRegex(output, rf"(?m)^1 +{harness.SONAME_RE} .* as any library of the system's linker$")
        self.assertRegex(output, r"gdb has it: as any library of the system's linker")

    def test_a_breakpoint_in_one_interpreter(self):
        output = self.session(["tbreak run_one", "run", "gorgon break -i 1 time_sleep", "continue", "gorgon whose $pc", "continue"])
        self.assertEqual(re.findall(r": interpreter (\d), ", output), ["1"], output)

    def test_frames_of_both_languages(self):
        output = self.session(["break time_sleep", "run", "gorgon bt", "kill"])
        self.assertRegex(output, rf"(?m)^#0 .*time_sleep from {harness.SONAME_RE} \[interp \d\]")
        self.assertRegex(output, r'File "<string>", line 1')


@harness.needs_gdb
class Copy(Strategy, unittest.TestCase):
    isolate = "copy"

    @unittest.skipUnless(shutil.which("gcore"), "gcore is not installed")
    def test_a_core_outlives_the_copies(self):
        sleep = "import time; print('ready', flush=True); time.sleep(60)"
        command = [harness.GORGON, "run", "--isolate", "copy"]
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, TMPDIR=folder):
            core = os.path.join(folder, "core")
            with harness.Background(*command, "-n", "2", "-c", sleep, until="(ready\\s+){2}") as program:
                harness.run("gcore", "-o", core, program.pid).check_returncode()
            harness.run(*command, "-c", "1").check_returncode()  # removes what the killed process has left
            core = f"{core}.{program.pid}"
            self.assertEqual(os.listdir(folder), [os.path.basename(core)])
            output = harness.gdb(["gorgon list", "gorgon symbols all", "thread apply all backtrace 8"],
                                 script=True, options=[harness.GORGON, core])
            found = harness.run(harness.SYMDUMP, core, "--find", "time_sleep").stdout
        # Since 16 gdb finds the files that were copied by itself, by the build-ids of what the core says was mapped.
        has = r"(?:added|gdb has it: .*)"
        self.assertEqual(sorted(re.findall(rf"^(\d)    {harness.SONAME_RE} +{has}$", output, re.M)), ["0", "1"], output)
        self.assertEqual(sorted(re.findall(rf"^#\d .*time_sleep from {harness.SONAME_RE} \[interp (\d)\] .* at \S*/timemodule\.c:\d+$",
                                           output, re.M)), ["0", "1"], output)
        self.assertEqual(re.findall(rf"interp (\d)  {harness.SONAME_RE}!time_sleep(?:\.\w+)*\+0x0  timemodule\.c:\d+$", found, re.M), ["0", "1"])
