# SPDX-License-Identifier: MIT
"""Typed commands act on the frame's copy. Where they cannot, the user is told before they act."""

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
# Without scripts gdb takes what libpython defines from its first copy, interpreter 0's. The answers here are those of
# interpreter 2.
TYPED = {"call PyLong_FromLong(5)": r"\$\d+ = .*\n", "call PyLong_FromLong(5)->ob_type": r"\$\d+ = .*0x\w+.*\n", "call PyErr_Clear()": r" \n", "call/x PyLong_AsLong(PyLong_FromLong(5))": r"\$\d+ = 0x5\n",
         "x/2gx &PyLong_Type": r"0x\w+.*:\t0x\w+\t0x\w+\n", "x/s PyLong_Type.tp_name": r'0x\w+.*:\t"int"\n',
         "output PyLong_Type.tp_name": None, 'printf "PyLong_Type %s\\n", PyLong_Type.tp_name': r"PyLong_Type int\n",
         "display walk_depth": r'\d+: \$gorgon\("walk_depth"\) = \d+\n \n', "disp/x walk_depth": r'\d+: /x \$gorgon\("walk_depth"\) = 0x\w+\n \n',
         "display PyLong_Type.tp_name": r'\d+: \$gorgon\("PyLong_Type", 2\)\.tp_name = 0x\w+ "int"\n \n',
         "set PyLong_Type.tp_itemsize = 4": r" \n",
         "with print address off -- x/gx &PyLong_Type": r'gorgon: "x" would not take what belongs to interp 2. Say: x/gx &\$gorgon\("PyLong_Type"\)\n',
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
            gdb.ask("set scheduler-locking on")  # other threads would register objects while functions are called
            cls.answers = {line: re.sub(r"\[(?:New )?Thread .*\n|walk: .*\n", "", gdb.ask(line)) for line in TYPED}
            cls.printed = {line: gdb.ask(line) for line in ("print number", "p number", "print $gorgon_interp(PyObject_Repr)")}
            cls.said = [gdb.ask('x/s $gorgon("PyLong_Type").tp_name'), gdb.ask('display $gorgon("walk_depth", 2)'),
                        gdb.ask('print $gorgon_interp($gorgon("PyLong_FromLong")(5)->ob_type)')]
            called = re.search(r"0x\w+(?= <PyLong_Type>)", cls.answers["call PyLong_FromLong(5)->ob_type"])[0]
            cls.whose = gdb.ask(f"print $gorgon_interp((void *) {called})")
            cls.set = gdb.ask('print $gorgon("PyLong_Type", 2).tp_itemsize')
            cls.place = gdb.ask('print &$gorgon("PyLong_Type", 2)')
            cls.jumped = gdb.ask(f"jump walk.cc:{LINE}")
            cls.jumped_in = gdb.ask("print $gorgon_interp()")
            cls.place_of = re.search(r"0x\w+", gdb.ask("print/x (long) PyErr_Clear"))[0]
            cls.at = gdb.ask("break *PyErr_Clear")
            cls.next = gdb.ask("next")
            cls.mine = gdb.block("define hook-x", "echo my own x\\n") + gdb.ask("x/2gx &PyLong_Type")
            gdb.ask("up-silently 40")
            cls.outside = gdb.ask("call host_append_at[0]")
            cls.everywhere = gdb.ask("tbreak *PyErr_Clear")

    def test_they_act_on_the_frames_copy(self):
        for line, answer in TYPED.items():
            with self.subTest(line):
                if answer:
                    self.assertRegex(self.answers[line], f"^{answer}$")
                elif not line.startswith("output PyLong"):  # the user has a hook for this command
                    self.assertNotIn("gorgon:", self.answers[line])
        self.assertRegex(self.whose, r"= 2\n$", self.answers)
        self.assertRegex(self.set, r"= 4\n$")
        self.assertEqual(re.search(r"0x\w+", self.place)[0], re.match(r"0x\w+", self.answers["x/2gx &PyLong_Type"])[0])

    def test_break_at_an_address(self):
        self.assertRegex(self.at, rf"^Breakpoint \d+ at {self.place_of}: .*\n$")
        self.assertEqual(len(re.findall(r"^Temporary breakpoint \d+ at (0x\w+): ", self.everywhere, re.M)), COUNT)

    def test_jump_stays_in_the_copy(self):
        self.assertRegex(self.jumped, rf"^Continuing at 0x\w+\.\n(?s:.*)\n{LINE}\t")
        self.assertRegex(self.jumped_in, r"= 2\n$")

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
