# SPDX-License-Identifier: MIT
"""lldb on an ordinary python3 whose executor has private interpreters."""

import os
import re
import shutil
import tempfile
import unittest

import harness

# One thread sleeps after the other: on a slow machine both threads would have stopped by the time that lldb looks. The first one waits until
# the other thread's interpreter is there, because lldb may show where a library is loaded instead of the breakpoint.
PROGRAM = """
import os
from gorgon import InterpreterPoolExecutor
def outer(job):
    return nap(*job)
def nap(x, tell, wait_for, then_write):
    import os, time
    if tell is not None:
        os.write(tell, b"x")
    os.read(wait_for, 1)
    time.sleep(x)
    if then_write is not None:
        os.write(then_write, b"x")
    return x
read, write = os.pipe()
begun, begin = os.pipe()
for end in read, write, begun, begin:
    os.set_inheritable(end, True)  # or interpreters would not have it
with InterpreterPoolExecutor(2) as pool:
    print(sorted(pool.map(outer, [(0.25, begin, read, None), (0.5, None, begun, write)])))
"""


@harness.needs_lldb
class HostPython(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = tempfile.mkdtemp(prefix="gorgon-site-")
        harness.install_package(cls.site)
        program = os.path.join(cls.site, "program.py")
        with open(program, "w") as file:
            file.write(PROGRAM)
        cls.output = harness.lldb(
            [f"settings set target.env-vars PYTHONPATH={cls.site}", "gorgon break time_sleep", "run", "gorgon list",
             "gorgon bt", "continue", "gorgon bt", "continue"], harness.PYTHON3, program, script=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.site)

    def test_breakpoint_stops_in_each_interpreter(self):
        stops = re.findall(r"^\* thread #\d+, name = '(?:python3|gorgon-\d|InterpreterPool)', stop reason = breakpoint 1\.\d+\n"
                           rf" +frame #0: 0x[0-9a-f]+ {harness.SONAME_RE} \[interp (\d)\]`", self.output, re.M)
        self.assertEqual(sorted(stops), ["0", "1"], self.output)
        self.assertRegex(self.output, r"exited with status = 0")
        self.assertRegex(self.output, rf"(?m)^0 +{harness.VERSION} .* live ")

    def test_backtrace_goes_from_python_to_the_host(self):
        """As far as lldb unwinds Debian's python3."""
        traces = self.output.split("(lldb) gorgon bt\n")[1:]
        self.assertEqual(len(traces), 2, self.output)
        for trace in traces:
            names = re.findall(r"^ +py (\w+) +(\w+\.py):\d+|^#\d+ +0x[0-9a-f]+ in (\w+) +(?:libgorgon\.so\.0|python3) ", trace, re.M)
            self.assertEqual([python or native for python, _, native in names][:10],
                             ["nap", "outer", "call", "run", "gorgon_run_call", "call_function", "with_gil", "run_function",
                              "gorgon_call_protect", "gorgon_call_python"], trace)
            self.assertIn("own_call  libgorgon.so.0  host_python.c:", trace)
