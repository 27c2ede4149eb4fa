# SPDX-License-Identifier: MIT
"""lldb: one symfile for a block of interpreters."""

import os
import re
import sys
import tempfile

import blocks
import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

SYMFILES = "script print('symfiles', sum(m.file.basename.startswith('JIT(') for m in lldb.target.modules))"


@harness.needs_lldb
class Live(session.Case):
    """It comes while lldb looks on; breakpoints stay where they are, also when the first interpreter goes."""

    @classmethod
    def setUpClass(cls):
        look = [SYMFILES, "breakpoint list 1"]
        with tempfile.TemporaryDirectory() as folder:
            cls.output = harness.lldb(
                [f"breakpoint set -n {blocks.STOP} -G 1", "breakpoint set -n gorgon_interp_destroy", "run",
                 *look, "gorgon check", "continue", *look, "breakpoint delete 2", "continue"],
                *blocks.host(folder, False), script=True)

    def test_session_is_whole(self):
        self.assertRegex(self.output, r"Process \d+ exited with status = 0")
        self.assert_clean(self.output)
        self.assertRegex(self.output, rf"(?m)^{blocks.COUNT} interpreters, \d+ objects: no problems\.$")

    def test_each_interpreter_stops_each_time(self):
        hits = re.findall(rf"^1: name = '{blocks.STOP}'.* hit count = (\d+)", self.output, re.M)
        self.assertEqual(hits, [str(2 * blocks.COUNT)] * 2)

    def test_one_location_in_each(self):
        listings = re.split(r"^\(lldb\) +breakpoint list 1$", self.output, flags=re.M)[1:]
        addresses = harness.host_addresses(self.output)
        for listing, left in zip(listings, (range(blocks.COUNT), range(1, blocks.COUNT))):
            pcs = [int(pc, 16) for pc in re.findall(r"address = (0x\w+), resolved", listing)]
            self.assertEqual(sorted(blocks.interpreters(addresses, pcs)), list(left))

    def test_symfiles_of_the_block_until_one_goes(self):
        # libpython and three modules of the last one, and the block's; then one for each that is left.
        before, after = (int(count) - 4 for count in re.findall(r"^symfiles (\d+)$", self.output, re.M))
        self.assertIn(before, blocks.JOINT)
        self.assertEqual(after, blocks.COUNT - 2)


@harness.needs_lldb
class Attached(session.Case):
    """It is there when lldb comes."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder, \
                harness.Background(*blocks.host(folder, True), until=rf"(?s)(?>.*?ready){{{blocks.COUNT}}}") as host:
            cls.addresses = harness.host_addresses(host.output)
            cls.output = harness.lldb(
                [SYMFILES, *(f"disassemble -c 1 -s {address:#x}" for address in cls.addresses.values()), "bt all",
                 "gorgon check", "gorgon symbols 3 libpython", "gorgon check", "gorgon list", "gorgon apply 3 bt",
                 "image list -f", "gorgon symbols off"],
                script=True, options=["-p", str(host.pid)])

    def test_session_is_clean(self):
        self.assert_clean(self.output)
        self.assertEqual(self.output.count(" objects: no problems."), 2)

    def test_names_and_backtraces_of_each(self):
        self.assertRegex(self.output, r"(?m)^symfiles [2-5]$")
        self.assertEqual(len(re.findall(r"^JIT\(0x\w+\)`PyList_Append:$", self.output, re.M)), blocks.COUNT)
        threads = re.split(r"^ *\*? thread #", self.output.split("bt all")[1].split("(lldb)")[0], flags=re.M)[1:]
        found = []
        for thread in threads:
            frame = re.search(rf"(0x\w+) {harness.SONAME_RE} \[interp (\d+)\]`PyObject_Vectorcall ", thread)
            if frame:
                self.assertRegex(thread, r"(?s)clock_nanosleep.*`_PyEval_EvalFrameDefault .*`start_thread")
                self.assertEqual(blocks.interpreters(self.addresses, [int(frame[1], 16)]), [int(frame[2])])
                found.append(int(frame[2]))
        self.assertEqual(sorted(found), list(range(blocks.COUNT)))

    def test_symbols_for_one_leave_the_others(self):
        listed = re.findall(r"^\[ *\d+\] .*/(interp 3/\S+|pack \[[^]]*\])", self.output, re.M)
        self.assertEqual(listed,
                         [f"interp 3/{harness.SONAME}", f"pack [interp 0 to interp {blocks.COUNT - 2}]"])
        self.assertRegex(self.output, r"(?s)gorgon apply 3 bt.*`time_sleep\(.* at timemodule\.c:\d+")
