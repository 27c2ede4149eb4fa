# SPDX-License-Identifier: MIT
"""Plain gdb and interpreters that come one after the other: a breakpoint is hit in each of them, however and whenever it was set."""

import os
import re
import tempfile
import unittest

import harness

ROUNDS = 3
MODULE = """import _json, time
def price(n):
    items = [n]
    time.sleep(0)
    return _json.encode_basestring(str(n))
"""
EXECUTOR = """import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gorgon
def job(n):
    import shop
    return shop.price(n)
if __name__ == "__main__":
    with gorgon.InterpreterPoolExecutor(max_workers=1, max_tasks_per_child=1) as pool:
        assert list(pool.map(job, range(%d))) == ['"%%d"' %% n for n in range(%d)]
""" % (ROUNDS, ROUNDS)
# Each is hit by each interpreter: a Python line and function, a function of libpython and one of an extension.
PLACES = ["shop.py:4 if py(\"n is not None\")", "shop.price", "time_sleep if 1",
          "py_encode_basestring if 1"]


@harness.needs_python_lines
@harness.needs_gdb
class OneAfterAnother(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        harness.install_package(folder.name)
        changes = harness.environment({"PYTHONPATH": folder.name})
        changes.__enter__()
        cls.addClassCleanup(changes.__exit__, None, None, None)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        for name, text in (("shop.py", MODULE), ("program.py", EXECUTOR)):
            with open(f"{self.folder}/{name}", "w") as file:
                file.write(text)

    def commands(self):
        code = f"import sys; sys.path[:0] = ['{self.folder}']; import shop; shop.price(3)"
        yield "host", [harness.HOST, "-n", "1", "-r", ROUNDS, code]
        yield "host, as with many interpreters", [harness.HOST, "-n", "1", "-l", "-r", ROUNDS, code]
        yield "executor", [harness.PYTHON3, f"{self.folder}/program.py"]

    def check(self, output, numbers):
        self.assertNotRegex(output, "Error in re-setting|Cannot insert|Cannot access")
        self.assertRegex(output, "exited normally", output)
        for number in numbers:
            hits = re.findall(rf"hit (?:Temporary )?Breakpoint {number}[., ]", output)
            self.assertEqual(len(hits), ROUNDS, f"breakpoint {number}: {output}")

    def test_set_before(self):
        for name, command in self.commands():
            with self.subTest(name):
                output = harness.gdb([*(f"break {place}" for place in PLACES), "run", *["continue"] * len(PLACES) * ROUNDS], *command)
                self.check(output, range(1, len(PLACES) + 1))

    def test_set_at_a_stop(self):
        for name, command in self.commands():
            with self.subTest(name):
                output = harness.gdb(["break shop.py:3", "run", *(f"break {place}" for place in PLACES[:1] + PLACES[2:]),
                                      *["continue"] * len(PLACES) * ROUNDS], *command)
                self.check(output, range(1, len(PLACES) + 1))

    def test_what_is_left_of_a_library_goes(self):
        """While there are copies names mean what is in them; and nothing is left when the debugger goes."""
        output = harness.gdb(["break shop.py:4", "run", *["info breakpoints", "print &_Py_NoneStruct", "info symbol &_Py_NoneStruct",
                                                           "print _Py_NoneStruct.ob_type->tp_name", "continue"] * ROUNDS],
                             *dict(self.commands())["host"])
        names = re.findall(r'^\$\d+ = 0x\w+ "(\w+)"', output, re.M)
        self.assertEqual(names, ["NoneType"] * ROUNDS, output)
        self.assertNotIn("1.2", output)


if __name__ == "__main__":
    unittest.main()
