# SPDX-License-Identifier: MIT
"""Ctrl-C while the scripts work at a stop or before a prompt: gdb says "Quit", as it does when it works itself."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402

# What Python raises where it notices Ctrl-C. (Which command lets gdb notice a signal depends on its version.)
HANDLER = ["import gorgon_gdb.registration", "def interrupted(event=None):",
           "    global wanted", "    if wanted:", "        wanted = False", "        raise KeyboardInterrupt", "wanted = False",
           "for name in ('stop', 'before_prompt'): gorgon_gdb.registration.connect(name, interrupted)"]


@harness.needs_gdb
class Interrupted(unittest.TestCase):
    def test_at_a_stop_and_before_a_prompt(self):
        with Terminal(harness.HOST, "-n", "2", "import time; time.sleep(0.1)") as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.block("python", *HANDLER)
            gdb.ask("break gorgon_interp_create")
            said = {"prompt": gdb.ask("python wanted = True")}
            gdb.ask("tbreak main")
            gdb.ask("run")
            said["stop"] = gdb.ask("python wanted = True; gdb.execute('continue')")
            after = gdb.ask("bt 1")
        for when, text in said.items():
            with self.subTest(when):
                self.assertRegex(text, r"(?m)^Quit$")
                self.assertNotIn("Exception", text)
        self.assertIn("gorgon_interp_create", after)


if __name__ == "__main__":
    unittest.main()
