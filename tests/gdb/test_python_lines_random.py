# SPDX-License-Identifier: MIT
"""Random sessions of plain gdb at Python lines: its stack is Python's own at each stop."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lines_random_sessions as sessions  # noqa: E402


@harness.needs_python_lines
@harness.needs_gdb
class Random(sessions.Sessions, unittest.TestCase):
    debugger, load = staticmethod(harness.gdb), f"source {sessions.DRIVER}"


if __name__ == "__main__":
    unittest.main()
