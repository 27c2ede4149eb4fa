# SPDX-License-Identifier: MIT
"""What a user is told who types a command that would act on another copy, before it acts."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402
from terminal import Terminal  # noqa: E402

COUNT = 3
LINE = harness.source_line(session.WALK, "// where the walk stops")
# gdb takes what libpython has from its first copy, which is interpreter 0's; typed: what to say instead, or None.
TYPED = {"call PyLong_FromLong(5)": "print PyLong_FromLong(5)", "x/2gx &PyLong_Type": 'x/2gx &$gorgon("PyLong_Type")',
         "output PyLong_Type.tp_name": 'output $gorgon("PyLong_Type").tp_name',
         'printf "PyLong_Type %s\\n", PyLong_Type.tp_name': 'printf "PyLong_Type %s\\n", $gorgon("PyLong_Type").tp_name',
         "display walk_depth": 'display $gorgon("walk_depth", 2)', "display/x walk_depth": 'display/x $gorgon("walk_depth", 2)',
         "set PyLong_Type.tp_itemsize = 4": "set var PyLong_Type.tp_itemsize = 4",
         "with print address off -- x/gx &PyLong_Type": 'x/gx &$gorgon("PyLong_Type")',
         "call number": None, "x/dw &number": None, "output number": None, 'printf "%d\\n", number': None, "display number": None,
         "set $own = number": None, "set width 0": None, "print walk_depth": None, "echo call PyLong_FromLong(5)\\n": None,
         "call nosuch": None, "": None}


@harness.needs_gdb
class Typed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Terminal(harness.HOST, "-n", COUNT, session.walk()) as gdb:
            gdb.block("define hook-print", "echo my own hook\\n")
            gdb.block("define hook-output", "echo my own output\\n")
            cls.sourced = gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask(f"break walk.cc:{LINE} if $gorgon_interp() == 2")
            gdb.ask("run")
            cls.answers = {line: gdb.ask(line) for line in TYPED}
            cls.printed = {line: gdb.ask(line) for line in ("print number", "p number", "print $gorgon_interp(PyObject_Repr)")}
            cls.said = [gdb.ask('x/s $gorgon("PyLong_Type").tp_name'), gdb.ask('display $gorgon("walk_depth", 2)'),
                        gdb.ask('print $gorgon_interp($gorgon("PyLong_FromLong")(5)->ob_type)')]
            cls.next = gdb.ask("next")
            cls.mine = gdb.block("define hook-x", "echo my own x\\n") + gdb.ask("x/2gx &PyLong_Type")
            gdb.ask("up-silently 40")
            cls.outside = gdb.ask("call host_append_at[0]")

    def test_it_is_refused_with_what_is_right(self):
        for line, instead in TYPED.items():
            with self.subTest(line):
                if line.startswith("output PyLong"):
                    continue  # this hook is the user's
                told = re.findall(r"gorgon: .*\n", self.answers[line])
                name = re.search(r"call|x|output|printf|display|set", line.rpartition("-- ")[2] or "-")
                self.assertEqual(told, [f'gorgon: "{name[0]}" would not take what belongs to interp 2. Say: {instead}\n']
                                 if instead else [])
                self.assertEqual(bool(re.search(r"0x\w+[ :]", self.answers[line])), line.startswith("x/dw"), "nothing else is done")

    def test_a_users_own_hooks_still_run(self):
        self.assertIn("my own hook\n", self.answers["print walk_depth"])
        self.assertIn("my own hook\n", self.printed["p number"])
        self.assertRegex(self.answers["output PyLong_Type.tp_name"], r'(?s)my own output\n.*gorgon: that was not what belongs to '
                         r'interp 2\. Say: output \$gorgon\("PyLong_Type"\)\.tp_name\n')
        self.assertRegex(self.mine, r"my own x\n0x(?s:.*)gorgon: that was not what belongs to interp 2\. Say: x/2gx ")

    def test_what_is_right_is_silent(self):
        self.assertEqual(self.sourced, "")
        self.assertRegex(self.answers["call number"], r"^\$\d+ = 3\n$")
        self.assertEqual(self.answers['printf "%d\\n", number'], "3\n")
        self.assertEqual(self.answers["call nosuch"], 'No symbol "nosuch" in current context.\n')
        self.assertRegex(self.printed["print $gorgon_interp(PyObject_Repr)"], r"= 2\n$")
        self.assertNotIn("gorgon:", self.outside)

    def test_what_is_said_instead_works(self):
        self.assertRegex(self.said[0], r'"int"\n$')
        self.assertRegex(self.said[1], r'^\d+: \$gorgon\("walk_depth", 2\) = \d+\n$')
        self.assertRegex(re.sub("warning: location number.*\n", "", self.said[2]), r"= 2\n$")
        self.assertRegex(self.next, r'\d+: \$gorgon\("walk_depth", 2\) = \d+\n')


if __name__ == "__main__":
    unittest.main()
