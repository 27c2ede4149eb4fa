# SPDX-License-Identifier: MIT
"""gdb and interpreters that the system's linker has loaded: it knows their objects by itself, the scripts whose they are."""

import re
import unittest

import harness

SLEEP = "import gorgon, time; time.sleep(0.2 + gorgon.interpreter)"
STOP = ["silent", "backtrace 1", "gorgon whose $pc", "printf \"in %d\\n\", $gorgon_interp($pc)"]


class Strategy:
    isolate = None

    def session(self, commands):
        return harness.gdb(commands, harness.GORGON, "run", "--isolate", self.isolate, "-n", "2", "-c", SLEEP, script=True)

    def test_a_breakpoint_stops_in_each_with_line_arguments_and_number(self):
        output = self.session(["break time_sleep", "commands", *STOP, "continue", "end", "run"])
        frames = re.findall(r"^#0  time_sleep from libpython3\.11\.so\.1\.0 \[interp (\d)\] \(self=<module at remote .*>, "
                            r"timeout_obj=<float at remote .*>\) at \S*/timemodule\.c:\d+$", output, re.M)
        self.assertEqual(sorted(frames), ["0", "1"], output)
        self.assertEqual(sorted(re.findall(r": interpreter (\d), libpython3\.11\.so\.1\.0, time_sleep\+0, timemodule\.c:\d+$",
                                           output, re.M)), ["0", "1"], output)
        self.assertEqual(sorted(re.findall(r"^in (\d)$", output, re.M)), ["0", "1"], output)

    def test_lists_and_checks_agree_with_gdb(self):
        output = self.session(["break time_sleep", "run", "gorgon list", "gorgon modules 1", "gorgon symbols 1 libpython",
                               "gorgon check", "kill"])
        self.assertEqual(re.findall(r"^(\d)    3\.11 ", output, re.M), ["0", "1"], output)
        self.assertRegex(output, r"(?m)^1 +libpython3\.11\.so\.1\.0 .* as any library of the system's linker$")
        self.assertRegex(output, r"gdb has it: as any library of the system's linker")
        self.assertRegex(output, r"(?m)^2 namespaces, \d+ objects: consistent\.$")

    def test_a_breakpoint_in_one_interpreter(self):
        output = self.session(["tbreak run_one", "run", "gorgon break -i 1 time_sleep", "continue", "gorgon whose $pc", "continue"])
        self.assertEqual(re.findall(r": interpreter (\d), ", output), ["1"], output)

    def test_frames_of_both_languages(self):
        output = self.session(["break time_sleep", "run", "gorgon bt", "kill"])
        self.assertRegex(output, r"(?m)^#0 .*time_sleep from libpython3\.11\.so\.1\.0 \[interp \d\]")
        self.assertRegex(output, r'File "<string>", line 1')


@harness.needs_gdb
class Dlmopen(Strategy, unittest.TestCase):
    isolate = "dlmopen"


@harness.needs_gdb
class Copy(Strategy, unittest.TestCase):
    isolate = "copy"
