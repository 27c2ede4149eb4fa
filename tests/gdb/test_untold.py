# SPDX-License-Identifier: MIT
"""gorgon symbols for copies that debuggers are not told of."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 2


@harness.needs_gdb
class Symbols(unittest.TestCase):
    STOP = "import os, signal; os.kill(os.getpid(), signal.SIGTRAP)"

    @classmethod
    def setUpClass(cls):
        def mark(*commands):
            return [f"python say({command!r})" for command in commands]

        cls.output = harness.gdb(
            ["python", "def say(command):", "    print('--- ' + command, flush=True)", "    try:",
             "        gdb.execute(command)", "    except gdb.error as error:", "        print(error, flush=True)", "end",
             "run", *mark("info line time_sleep", "gorgon symbols 0 libpython", "info line time_sleep",
                          "gorgon list", "gorgon symbols all libpython", "break time_sleep", "gorgon symbols off"),
             *mark("gorgon list", "gorgon symbols all"), "signal 0", *mark("bt 1")],
            harness.GORGON, "run", "--debug", "off", "-n", COUNT, "-c",
            f"import time, gorgon\nif not gorgon.interpreter: time.sleep(1); {cls.STOP}\n"
            "else: time.sleep(1.5)\ntime.sleep(0.1)", script=True)
        parts = re.split(r"^--- (.*)\n", cls.output, flags=re.M)
        cls.steps = list(zip(parts[1::2], parts[2::2]))
        cls.places = len(session.offsets("time_sleep"))

    def said(self, command, nth=0):
        return [text for name, text in self.steps if name == command][nth]

    def rows(self, text):
        return [list(row) for row in re.findall(r"^(\d) +(\S+) +(added.*|gdb has it.*)$", text, re.M)]

    def test_files_are_added_to_the_chosen_copies(self):
        self.assertIn('Function "time_sleep" not defined.', self.said("info line time_sleep"))
        self.assertEqual(self.rows(self.said("gorgon symbols 0 libpython")), [["0", harness.SONAME, "added"]])
        self.assertEqual(self.said("info line time_sleep", 1).count('of "../Modules/timemodule.c" starts'), self.places)
        self.assertEqual([row[2] for row in self.rows(self.said("gorgon symbols all libpython"))],
                         ["added before", "added"])

    def test_taken_back(self):
        self.assertEqual({row[2] for row in self.rows(self.said("gorgon symbols all"))}, {"added"})

    def test_a_breakpoint_finds_places_all_the_same(self):
        found = re.search(r"^Breakpoint 1 at 0x\w+: .*\((\d+) locations\)\n", self.said("break time_sleep"))
        self.assertEqual(int(found[1]), COUNT * self.places)
        self.assertRegex(self.said("bt 1"), rf"^#0  time_sleep from {harness.SONAME_RE} \[interp \d\] \(")

    def test_known_copies_are_left_alone(self):
        output = harness.gdb(["break host_created", "run", "gorgon symbols 1 libpython", "complete gorgon symbols 1 libp",
                              "complete gorgon symbols a"], harness.HOST, "-n", COUNT, "pass", script=True)
        self.assertRegex(output, rf"\n1 +{harness.SONAME_RE} +gdb has it: /\S+ \(build-id\)\n"
                         rf"gorgon symbols 1 {harness.SONAME_RE}\ngorgon symbols all\n$")


if __name__ == "__main__":
    unittest.main()
