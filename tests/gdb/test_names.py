# SPDX-License-Identifier: MIT
"""gdb without the scripts stops in a static function of each interpreter, whatever the folder for companion files is like."""

import os
import re
import sys
import unittest

import harness
from caches import Names, SLEEP

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

BREAK = ["break time_sleep", "commands", "silent", 'printf "=== at %p\\n", $pc', "continue", "end"]


def stops(output):
    return re.findall(r"^=== at (0x[0-9a-f]+)$", output, re.M)


@harness.needs_gdb
class Gdb(Names, unittest.TestCase):
    def live(self, count):
        output = harness.gdb([*BREAK, "run"], harness.HOST, "-n", count, SLEEP)
        return stops(output), output

    def attached(self, pid, end, _count):
        output = harness.gdb([*BREAK, f"shell touch {end}", "continue"], options=["-p", str(pid)])
        return stops(output), output

    def check_output(self, output):
        # gdb says so of a breakpoint that was not pending, when the last interpreter ends.
        gone = 'Error in re-setting breakpoint 1: Function "time_sleep" not defined.'
        self.assertEqual([line for line in session.complaints(output) if line != gone], [])
        self.assertRegex(output, "exited normally")


if __name__ == "__main__":
    unittest.main()
