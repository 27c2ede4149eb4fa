# SPDX-License-Identifier: MIT
"""Python frames and the GIL of each version of CPython, without debug information and without
CPython's helper; and what the structures say when they are of a later version, or damaged."""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(harness.GDB_SCRIPT))
import gdb_session as session  # noqa: E402
import gorgon_gdb  # noqa: E402,F401
from gorgon_shared import layout, python, root  # noqa: E402

COUNT = 2
PROGRAM = os.path.join(session.HERE, "frames.py")
FRAME = re.compile(rf'^      File "{PROGRAM}", line (\d+), in (.*)$', re.M)


def evaluators(backtrace):
    """For each native frame that runs Python code, the frames that it runs, as "line:function"."""
    parts = re.split(r"^#\d+ .*?\b_PyEval_EvalFrameDefault from .*\n", backtrace, flags=re.M)[1:]
    return [[f"{line}:{name}" for line, name in FRAME.findall(re.split(r"^#", text, flags=re.M)[0])] for text in parts]


class Versions:
    version = None

    @classmethod
    def setUpClass(cls):
        path = harness.find_python(cls.version)
        if not path:
            raise unittest.SkipTest(f"no CPython {cls.version} with a libpython")
        cls.output = harness.gdb(
            ["set debug-file-directory /nowhere", "set auto-load python-scripts off",
             "break getpgrp if $gorgon_interp() >= 0", session.LOOP, "run",
             "python drive({'getpgrp': ['gorgon list', 'gorgon bt', 'gorgon bt 2', 'help py-bt', 'eval \"tbreak "
             "_PyEval_EvalFrameDefault thread %d\", $_thread'], 0: ['gorgon bt']})"],
            harness.GORGON, "run", "--python", path, "-n", COUNT, PROGRAM, script=True)
        cls.expected = {(int(interp), int(lwp)): found.split() for interp, lwp, found in
                        re.findall(r"expect (\d+) (\d+) (.*)", cls.output)}
        cls.stops = session.stops(cls.output, "getpgrp")
        cls.begun = session.stops(cls.output, "_PyEval_EvalFrameDefault")
        assert len(cls.stops) == len(cls.begun) == len(cls.expected) == 2 * COUNT, cls.output

    def interp(self, stop):
        return next(interp for interp, lwp in self.expected if lwp == stop.lwp)

    def shown(self, backtrace):
        return [frame for frames in evaluators(backtrace) for frame in frames]

    def test_frames_are_those_that_the_program_sees(self):
        for stop in self.stops:
            expected = self.expected[self.interp(stop), stop.lwp]
            # The other frames of a thread belong to Python's own threading.
            own = [frame for frame in expected if not re.search(r":Thread\.", frame)]
            self.assertEqual(self.shown(stop.output["gorgon bt"]), own)
            self.assertGreaterEqual(len(own), 8)

    def test_they_stand_below_the_call_that_runs_them(self):
        for stop in self.stops:
            calls = [[frame.partition(":")[2] for frame in call] for call in evaluators(stop.output["gorgon bt"])]
            inner = calls[0]
            self.assertEqual(inner[:3], ["grüße"] * 3)
            self.assertEqual(inner[-1], "Shape.area.<locals>.<lambda>", "sorted() calls it from C")
            self.assertEqual(calls[1], ["Shape.area", "generator"], "list() and next() call the generator from C")

    def test_the_source_line_is_shown(self):
        for stop in self.stops:
            self.assertRegex(stop.output["gorgon bt"], r", in grüße\n        return ask\(os\.getpgrp\)\(\), list\(")

    def test_nothing_of_frames_that_are_not_shown(self):
        for stop in self.stops:
            lines = stop.output["gorgon bt 2"].splitlines()
            self.assertEqual([line.split()[0] for line in lines], ["#0", "#1"])

    def test_a_call_that_has_just_begun_has_no_frames_yet(self):
        for stop in self.begun:
            before = next(s for s in self.stops if s.lwp == stop.lwp)
            calls = evaluators(stop.output["gorgon bt"])
            self.assertEqual(calls[0], [])
            self.assertEqual(calls[1:], evaluators(before.output["gorgon bt"]))

    def test_the_thread_that_runs_holds_the_gil(self):
        for stop in self.stops:
            (row,) = [line for line in stop.output["gorgon list"].splitlines() if line.startswith(f"{self.interp(stop)} ")]
            self.assertEqual(row.split()[1], self.version)
            self.assertTrue(row.endswith(f"live   {stop.thread} (LWP {stop.lwp})"), row)

    def test_there_was_neither_a_helper_nor_a_complaint(self):
        self.assertIn('Undefined command: "py-bt"', self.stops[0].output["help py-bt"])
        self.assertEqual(session.complaints(self.output), [])


@harness.needs_gdb
class Python311(Versions, unittest.TestCase):
    version = "3.11"


@harness.needs_gdb
class Python312(Versions, unittest.TestCase):
    version = "3.12"


@harness.needs_gdb
class Python313(Versions, unittest.TestCase):
    version = "3.13"


@harness.needs_gdb
class Python314(Versions, unittest.TestCase):
    version = "3.14"


@harness.needs_gdb
class Python315(Versions, unittest.TestCase):
    version = "3.15"


@harness.needs_gdb
class Helper(unittest.TestCase):
    def test_helper_of_3_14_reads_the_copy_and_calls_nothing(self):
        path = harness.find_python("3.14")
        if not path or not os.path.exists("/usr/share/gdb/auto-load/usr/lib/x86_64-linux-gnu/libpython3.14.so.1.0-gdb.py"):
            self.skipTest("no CPython 3.14 with a libpython and its helper")
        code = "import time\ndef outer():\n    time.sleep(9)\nouter()\n"
        output = harness.gdb(["break time_sleep", "run", "py-bt"], harness.GORGON, "run", "--python",
                             path, "-n", COUNT, "-c", code, script=True)
        self.assertIn("\nTraceback (most recent call first):\n", output)
        self.assertIn('\n  File "<string>", line 3, in outer\n', output)
        self.assertIn('\n  File "<string>", line 4, in <module>\n', output)
        self.assertEqual(output.count(" hit Breakpoint "), 1)  # a call in the process would let the other thread stop, too
        self.assertNotIn("Error occurred in Python", output)


@harness.needs_gdb
class Registrar(unittest.TestCase):
    def test_python_with_a_jit_interface_of_its_own_has_lines_in_each_copy(self):
        """CPython 3.15.2 has the interface itself, so libjitreg refers gdb to a copy of the debug file."""
        path = harness.find_python("3.15")
        if not path:
            self.skipTest("no CPython 3.15 with a libpython")
        output = harness.gdb(
            ["break host_created", session.LOOP, "run", "gorgon symbols all libpython", "gorgon symbols 1 libpython",
             "break time_sleep", "python drive({'time_sleep': ['bt 1', 'info locals', 'py-bt']})"],
            harness.HOST, "-n", COUNT, "-p", path, "import time\ndef outer():\n    time.sleep(0.1)\nouter()\n", script=True)
        self.assertEqual(re.findall(r"^(\d) +libpython3\.15\.so\.1\.0 +gdb has it: \S*/gorgon/\w+-\d\.debug \(debug link\)$", output, re.M),
                         [*map(str, range(COUNT)), "1"])
        stops = session.stops(output, "time_sleep")
        frames = [re.search(r"^#0 +time_sleep from libpython3\.15\.so\.1\.0 \[interp (\d)\] \(self=.* at \S*/timemodule\.c:\d+",
                            stop.output["bt 1"], re.M) for stop in stops]
        self.assertEqual(sorted(frame[1] for frame in frames), [str(i) for i in range(COUNT)])
        for stop in stops:
            self.assertIn('\n  File "<string>", line 3, in outer\n', stop.output["py-bt"])


class Memory:
    """Structures of a CPython 3.14, at offsets that no build has: only _Py_DebugOffsets says them.

    Members in the order of 3.14's pycore_debug_offsets.h; numbers are how many others stand between."""

    RUNTIME, MAIN, STATE, OTHER, SHIM, INNER, OUTER, CODE, NAME, FILE, TABLE = range(0x10000, 0x10000 + 11 * 0x1000, 0x1000)
    SIZE = 0x800
    ORDER = [*"size finalizing interpreters_head".split(),
             *"size id next threads_head".split(), 5, "ceval_gil", "gil", "enabled", "locked", "holder", 2,
             *"size prev tnext interp current_frame thread_id native_id".split(), 2,
             *"size previous executable instr_ptr localsplus owner stackpointer tlbc_index".split(),
             *"size filename name qualname linetable firstlineno".split(), 3, "co_code_adaptive", 1,
             2, 4, 3, 3, 4, 3, 2, 3, *"size ob_size ob_sval".split(), *"size state length ascii_size".split()]
    AT = {"interpreters_head": 0x700, "id": 24, "next": 32, "threads_head": 40, "ceval_gil": 48, "gil": 0x100,
          "locked": 0x120, "holder": 0x108, "tnext": 72, "current_frame": 80, "native_id": 88, "previous": 16,
          "executable": 40, "instr_ptr": 24, "owner": 33, "filename": 64, "qualname": 72, "linetable": 80,
          "firstlineno": 88, "co_code_adaptive": 0x200, "ob_size": 48, "ob_sval": 56, "state": 40, "length": 24,
          "ascii_size": 96, "size": SIZE}

    def __init__(self, version=0x030E00F0, cookie=b"xdebugpy", free_threaded=0, **at):
        self.bytes = {}
        at = {**self.AT, **at}
        words = []
        for item in self.ORDER:
            words += [0] * item if isinstance(item, int) else [at.get(item, 0)]
        self.put(self.RUNTIME, struct.pack(f"<8sQQ{len(words)}Q", cookie, version, free_threaded, *words))
        self.word(self.RUNTIME, "interpreters_head", self.MAIN)
        for name, value in (("id", 0), ("next", 0), ("threads_head", self.OTHER), ("ceval_gil", self.MAIN + 0x100)):
            self.word(self.MAIN, name, value)
        self.put(self.MAIN + 0x120, struct.pack("<i", 1))  # the lock: 0x100 after its interpreter
        self.put(self.MAIN + 0x108, struct.pack("<Q", self.STATE))
        self.word(self.OTHER, "native_id", 4711)
        self.word(self.OTHER, "tnext", self.STATE)
        for name, value in (("native_id", 4712), ("tnext", 0), ("current_frame", self.INNER)):
            self.word(self.STATE, name, value)
        # A borrowed reference has its lowest bit set.
        self.frame(self.INNER, self.OUTER, self.CODE | 1, unit=3, owner=0)
        self.frame(self.OUTER, self.SHIM, self.CODE, unit=0, owner=1)
        self.frame(self.SHIM, 0, 0, unit=0, owner=3)
        for name, value in (("filename", self.FILE), ("qualname", self.NAME), ("linetable", self.TABLE)):
            self.word(self.CODE, name, value)
        self.put(self.CODE + at["firstlineno"], struct.pack("<i", 10))
        # Two units on line 10, two on line 12, the last without a line.
        table = bytes([128 | 10 << 3 | 1, 0, 0, 128 | 12 << 3 | 1, 0, 0, 128 | 15 << 3])
        self.word(self.TABLE, "ob_size", len(table))
        self.put(self.TABLE + at["ob_sval"], table)
        self.text(self.NAME, "größe", kind=1, ascii_only=0)
        self.text(self.FILE, "/a/b\x1b.py", kind=1, ascii_only=1)

    def put(self, address, data):
        self.bytes.update({address + i: byte for i, byte in enumerate(data)})

    def word(self, address, name, value):
        self.put(address + self.AT[name], struct.pack("<Q", value))

    def frame(self, address, previous, executable, unit, owner):
        self.word(address, "previous", previous)
        self.word(address, "executable", executable)
        self.word(address, "instr_ptr", self.CODE + 0x200 + 2 * unit)
        self.put(address + self.AT["owner"], bytes([owner]))

    def text(self, address, text, kind, ascii_only):
        self.put(address + 40, struct.pack("<I", 1 | kind << 2 | 1 << 5 | ascii_only << 6))  # 1: interned
        self.word(address, "length", len(text))
        self.put(address + 96 + (0 if ascii_only else 16), text.encode("latin-1"))

    def read(self, address, size):
        try:
            return bytes(self.bytes[address + i] for i in range(size))
        except KeyError:
            raise root.MemoryProblem(f"cannot read {size} bytes at {address:#x}") from None


class Structures(unittest.TestCase):
    def python(self, minor=14, **changed):
        memory = Memory(**changed)
        return memory, python.Python(memory.read, Memory.RUNTIME, minor)

    def test_frames_of_3_14_by_its_own_table(self):
        _, copy = self.python()
        self.assertEqual(list(copy.frames(4712)), [("größe", "/a/b?.py", 12), ("größe", "/a/b?.py", 10), python.CALL])
        self.assertEqual(list(copy.frames(9)), [])

    def test_gil_holder_of_3_14(self):
        memory, copy = self.python()
        self.assertEqual(copy.gil_holder(), 4712)
        memory.put(Memory.MAIN + 0x120, struct.pack("<i", -1))
        self.assertEqual(copy.gil_holder(), 0)

    def test_tables_that_are_not_known_are_refused(self):
        for changed, minor, text in (
                ({"cookie": b"notdebug"}, 14, r"begins with b'notdebug', b'xdebugpy' expected"),
                ({"version": 0x030D00F0}, 14, r"of version 0x30d00f0, one of 3\.14 expected"),
                ({"free_threaded": 1}, 14, r"a free-threaded CPython is not read"),
                ({"owner": 1 << 40}, 14, rf"interpreter_frame\.owner is {1 << 40}, at most {Memory.SIZE} expected"),
                ({}, 16, r"the structures of CPython 3\.16 are not known here; those of 3\.11 to 3\.15 are")):
            with self.subTest(text), self.assertRaisesRegex(root.RootError, text):
                self.python(minor, **changed)

    def test_damage_ends_the_frames_and_is_said(self):
        memory, copy = self.python()
        memory.word(Memory.OUTER, "executable", 0x999000)
        found = []
        with self.assertRaisesRegex(root.MemoryProblem, "cannot read 8 bytes at 0x9990"):
            for frame in copy.frames(4712):
                found.append(frame)
        self.assertEqual(found, [("größe", "/a/b?.py", 12)])

    def test_lists_that_come_back_end(self):
        memory, copy = self.python()
        memory.word(Memory.OUTER, "previous", Memory.INNER)
        self.assertEqual(len(list(copy.frames(4712))), 2)
        memory.word(Memory.STATE, "tnext", Memory.OTHER)
        self.assertEqual(list(copy.frames(9)), [])

    def test_lines(self):
        # +1 line on 3 units, 2 units with columns 13: +2 by a signed number, one of -64 lines in two bytes.
        table = bytes([128 | 11 << 3 | 2, 0, 0, 128 | 13 << 3 | 1, 4, 128 | 14 << 3, 0x41, 2, 0, 0, 0])
        self.assertEqual([python.find_line(table, 100, unit) for unit in range(7)], [101, 101, 101, 103, 103, 39, 39])
        self.assertEqual(python.find_line(b"", 7, 3), 7)


HEADERS = """
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_runtime.h>
#include <string.h>
int main(void)
{
	PyASCIIObject text = {.state.kind = 1};
	uint32_t state;
	memcpy(&state, &text.state, sizeof(state));
	printf("%u", state);
	size_t offsets[] = {OFFSETS};
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		printf(" %zu", offsets[i]);
	return 0;
}
"""


class Headers(unittest.TestCase):
    """What the scripts know of CPython's structures, compared with the headers on this machine."""

    def check(self, minor, *names):
        folders = harness.python_headers(minor)
        if not folders:
            self.skipTest(f"no headers of CPython 3.{minor}")
        offsets = ", ".join(f"offsetof(_Py_DebugOffsets, {name})" for name in names) or "0"
        for folder in folders:
            with self.subTest(folder), tempfile.TemporaryDirectory() as output:
                program = os.path.join(output, "headers")
                made = subprocess.run(["gcc", "-w", "-x", "c", "-", f"-I{folder}", f"-I{folder}/internal", "-o", program],
                                      input=HEADERS.replace("OFFSETS", offsets), text=True, check=False)
                self.assertEqual(made.returncode, 0)
                state, *found = map(int, harness.run(program).stdout.split())
                self.assertEqual(state, 1 << python.KIND_BIT)
                for i, name in enumerate(names):
                    self.assertEqual(found[i], layout.HEADER.size + layout.WORD * i, name)

    def check_table(self, minor):
        self.check(minor, *(f"{name}.{member}" for name, members in layout.TABLE.items()
                            for member in layout.members_of(members, minor)))

    def test_3_11(self):
        self.check(11)

    def test_3_12(self):
        self.check(12)

    def test_3_13(self):
        self.check_table(13)

    def test_3_14(self):
        self.check_table(14)

    def test_3_15(self):
        self.check_table(15)


if __name__ == "__main__":
    unittest.main()
