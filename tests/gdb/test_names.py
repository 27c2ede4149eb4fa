# SPDX-License-Identifier: MIT
"""gdb without the scripts stops in a static function of each interpreter, whatever the folder for companion files is like."""

import os
import re
import sys
import tempfile
import unittest

import harness
from caches import MANY, Names, SLEEP, kept, unset

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

BREAK = ["break time_sleep", "commands", "silent", 'printf "=== at %p\\n", $pc', "continue", "end"]


def stops(output):
    return re.findall(r"^=== at (0x[0-9a-f]+)$", output, re.M)


@harness.needs_gdb
class Gdb(Names, unittest.TestCase):
    def live(self, count):
        output = harness.gdb([*BREAK, "run", *session.MORE], harness.HOST, "-n", count, SLEEP)
        return stops(output), output

    def attached(self, pid, end, _count):
        output = harness.gdb([*BREAK, f"shell touch {end}", "continue", *session.MORE], options=["-p", str(pid)])
        return stops(output), output

    def test_functions_that_the_linker_has_renamed(self):
        """With link-time optimisation gcc writes the static function bytes_new as bytes_new.lto_priv.0."""
        for state in (kept, unset):
            with self.subTest(state.__name__), tempfile.TemporaryDirectory() as folder, state(folder) as env, harness.environment(env):
                output = harness.gdb(["break bytes_new", "break host_created", "run", "info breakpoints 1"], harness.HOST, "-n", MANY, SLEEP)
                places = re.findall(r"^1\.\d+ +y +(0x\w+)", output, re.M)
                self.assertEqual(len({int(place, 16) >> 32 for place in places}), MANY, output)

    def check_output(self, output):
        # gdb says so of a breakpoint that was not pending, when the last interpreter ends.
        gone = 'Error in re-setting breakpoint 1: Function "time_sleep" not defined.'
        self.assertEqual([line for line in session.complaints(output) if line != gone], [])
        self.assertRegex(output, "exited normally")


if __name__ == "__main__":
    unittest.main()
