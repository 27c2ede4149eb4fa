# SPDX-License-Identifier: MIT
"""gdb: one symfile for a block of interpreters."""

import os
import re
import sys
import tempfile
import unittest

import blocks
import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

SYMFILES = "python print('symfiles', sum(o.filename.startswith('<in-memory') for o in gdb.objfiles() if o.filename))"

# Names of a symbol table are as the compiler has changed them.
SLEEP = r" in time_sleep(?:\.\w+)* \(\)"


@harness.needs_gdb
class Live(unittest.TestCase):
    """It comes while gdb looks on; breakpoints stay where they are, also when the first interpreter goes."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.output = harness.gdb(
                ["set print thread-events off", f"break {blocks.STOP}", "break gorgon_interp_destroy", session.LOOP, "run",
                 f"python drive({{1: ['bt 2'], 2: [{SYMFILES!r}]}}, limit={4 * blocks.COUNT})"],
                *blocks.host(folder, False))
        cls.addresses = harness.host_addresses(cls.output)

    def test_session_is_whole(self):
        self.assertRegex(self.output, r"\[Inferior 1 \(process \d+\) exited normally\]")
        lines = [line for line in self.output.splitlines() if not session.HARMLESS.search(line)]
        self.assertNotRegex("\n".join(lines), r"(?i)warning|error|cannot")

    def test_each_interpreter_stops_each_time(self):
        pcs = [stop.pc for stop in session.stops(self.output, 1)]
        found = blocks.interpreters(self.addresses, pcs)
        self.assertEqual(sorted(found), sorted(2 * list(range(blocks.COUNT))))
        # With lines where the interpreter has a symfile of its own, and without in that of the block.
        frames = re.findall(rf"^#0  .*\b{blocks.STOP} \(\)(?: at .*)?\n#1 +0x\w+ in (\w+)[.\w]* \(\)", self.output, re.M)
        self.assertEqual(frames, ["sys_setrecursionlimit"] * len(pcs))

    def test_symfiles_of_the_block_until_one_goes(self):
        counts = [int(count) for count in re.findall(r"^symfiles (\d+)$", self.output, re.M)]
        self.assertEqual(len(counts), blocks.COUNT)
        # The block's, then one for each that is left; and libpython and three modules of the last one.
        self.assertIn(counts[0] - 4, blocks.JOINT)
        self.assertEqual(counts[1:], [4 + left for left in range(blocks.COUNT - 2, -1, -1)])


@harness.needs_gdb
class Attached(unittest.TestCase):
    """It is there when gdb comes."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder, \
                harness.Background(*blocks.host(folder, True), until=rf"(?s)(?>.*?ready){{{blocks.COUNT}}}") as host:
            cls.addresses = harness.host_addresses(host.output)
            names = [f"x/i {address:#x}" for address in cls.addresses.values()]
            cls.plain = harness.gdb([SYMFILES, *names, "thread apply all bt"], options=["-p", str(host.pid)])
            cls.scripts = harness.gdb(["gorgon check", f"gorgon break {blocks.STOP}", "gorgon apply all gorgon bt 9",
                                       "gorgon apply 5 gorgon print _PyRuntime.main_thread == 0"], script=True,
                                      options=["-p", str(host.pid)])

    def test_names_and_backtraces_of_each(self):
        self.assertRegex(self.plain, r"(?m)^symfiles [2-5]$")
        self.assertEqual(len(re.findall(r"^ +0x\w+ <PyList_Append>:", self.plain, re.M)), blocks.COUNT)
        threads = [t for t in re.split(r"^Thread ", self.plain, flags=re.M)[1:] if re.search(SLEEP, t)]
        found = [int(re.search(rf"(0x\w+){SLEEP}", t)[1], 16) for t in threads]
        self.assertEqual(sorted(blocks.interpreters(self.addresses, found)), list(range(blocks.COUNT)))
        for thread in threads:
            self.assertRegex(thread, rf"(?s){SLEEP}.* in _PyEval_EvalFrameDefault \(.* in start_thread \(")

    def test_scripts(self):
        self.assertRegex(self.scripts, rf"(?m)^{blocks.COUNT} namespaces, \d+ objects: consistent\.$")
        self.assertRegex(self.scripts, rf"(?m)^Breakpoint 1 at 0x\w+(: -function {blocks.STOP}@all\.)? \({blocks.COUNT} locations\)$")
        self.assertRegex(self.scripts, r"(?m)^\$\d+ = 0$")
        self.assertEqual(len(re.findall(r"\btime_sleep\b", self.scripts)), blocks.COUNT)
