# SPDX-License-Identifier: MIT
"""Random sessions of plain lldb at Python lines: its stack is Python's own at each stop."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gdb"))
import lines_random_sessions as sessions  # noqa: E402


@harness.needs_python_lines
@harness.needs_lldb
class Random(sessions.Sessions, unittest.TestCase):
    debugger, load = staticmethod(harness.lldb), f"command script import {sessions.DRIVER}"


if __name__ == "__main__":
    unittest.main()
