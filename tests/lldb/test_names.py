# SPDX-License-Identifier: MIT
"""lldb without the scripts stops in each interpreter, whatever the folder for companion files is like: in a static function of
copies that it sees come, in an exported one of copies that are there when it attaches."""

import os
import re
import sys
import unittest

import harness
from caches import Names, SLEEP

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402


def stops(output):
    return re.findall(r"^ +rip = (0x[0-9a-f]+) ", output, re.M)


def set_breakpoint(name):
    return f"breakpoint set -n {name} -G true -C 'register read rip'"


@harness.needs_lldb
class Lldb(Names, session.Case):
    def live(self, count):
        output = harness.lldb([set_breakpoint("time_sleep"), "run"], harness.HOST, "-n", count, SLEEP)
        return stops(output), output

    def attached(self, pid, end, _count):
        output = harness.lldb([f"process attach -p {pid}", set_breakpoint("PyEval_RestoreThread"), f"platform shell touch {end}",
                               "continue"])
        return stops(output), output

    def check_output(self, output):
        self.assert_clean(output)
        self.assertRegex(output, r"exited with status = 0")


if __name__ == "__main__":
    unittest.main()
