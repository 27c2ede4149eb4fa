# SPDX-License-Identifier: MIT
"""gdb and rewritten libraries: they keep their build-id, and so their debug information."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

REWRITE = os.path.join(harness.BUILD, "rewrite")
MANY = ["libm.so.6", "libdl.so.2", "librt.so.1", "libutil.so.1", "libpthread.so.0", "libresolv.so.2", "libanl.so.1"]
CALLS = """
import ctypes, os, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_LOCAL).PyOS_mystricmp(os.path.basename(path).encode(), b"other")
"""


@harness.needs_gdb
class Copies(unittest.TestCase):
    def copies(self, folder):
        """A libpython whose .dynamic stayed in its place, and a libpython whose .dynamic moved."""
        paths = [os.path.join(folder, f"libpython-{number}.so") for number in range(2)]
        for path, added in zip(paths, ([], MANY)):
            options = [option for name in added for option in ("--add", name)]
            result = harness.run(REWRITE, "--soname", os.path.basename(path), *options, harness.LIBPYTHON, path)
            self.assertEqual((result.stderr, result.returncode), ("", 0))
        return paths

    def test_a_breakpoint_stops_in_each_copy_with_line_and_arguments(self):
        line = re.search(r"^Breakpoint 1 at .* line (\d+)", harness.gdb(["break PyOS_mystricmp"], harness.LIBPYTHON), re.M)[1]
        with tempfile.TemporaryDirectory() as folder:
            paths = self.copies(folder)
            output = harness.gdb(["break PyOS_mystricmp", "commands", "silent", "info symbol $pc", "backtrace 1",
                                  "continue", "end", "run", *session.MORE], harness.PYTHON3, "-c", CALLS, *paths)
        stops = re.findall(r'^PyOS_mystricmp.* of (\S+)\n#0  PyOS_mystricmp \(s1=.*"(.*)", s2=.*"(.*)"\) at \S*/pystrcmp\.c:(\d+)',
                           output, re.M)
        self.assertEqual(stops, [(path, os.path.basename(path), "other", line) for path in paths], output)
