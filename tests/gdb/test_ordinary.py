# SPDX-License-Identifier: MIT
"""print, set variable, watch and what else evaluates expressions, in a frame of one copy among others: they mean that copy,
or refuse before they act."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

ASK = r"""python
def ask(*commands):
    for command in commands:
        print("\n=== " + command, flush=True)
        try:
            gdb.execute(command)
        except gdb.error as error:
            print("error: %s" % error, flush=True)
    print("\n=== end", flush=True)
end"""
# Expressions that mean what walk.cc has printed.
VALUES = {"walk_counter": "walk_counter", "walk_static": "walk_static", "walk_depth": "walk_depth",
          "walk_space::walk_inside": "walk_inside", "(int) walk_plain_count": "walk_plain_count",
          "(int) walk_plain_tls": "walk_plain_tls", "(int) walk_plain_get()": "walk_plain_count",
          "(walk_counter + walk_static) - walk_static": "walk_counter", "'walk.cc'::walk_static": "walk_static",
          '$gorgon("walk_counter")': "walk_counter", '$gorgon("walk_depth")': "walk_depth", "*&walk_counter": "walk_counter"}
WHOSE = ["&walk_counter", "walk_go", "walk_dep_twice", "&PyLong_Type", "PyObject_Repr", "PyLong_FromLong(5)->ob_type",
         '$gorgon("PyObject_Repr")', "&_PyRuntime"]
# Commands that answer the same as without scripts: (command, answer).
SAME = {"print nosuch": 'error: No symbol "nosuch" in current context.\n',
        "print walk_plain_get()": "error: 'walk_plain_get' has unknown return type; cast the call to its declared return type\n",
        "set var": "error: Argument required (expression to compute).\n", "watch 5": "error: Cannot watch constant value `5'.\n",
        "watch": "error: Argument required (expression to compute).\n",
        "watch -l 5": "error: Cannot watch constant value `5'.\n",
        "watch -l number + 1": "error: Attempt to take address of value not located in memory.\n",
        "output sizeof(walk_counter)": "4", "pipe output 6 | cat": "6", "with print address off -- output 7": "7"}
TYPED = {"print 1 +": r"^error: A syntax error in expression, near (the end of )?`(1 \+)?'\.\n$",
         "p walk_counter": r"^\$\d+ = \d+\n$", "p": r"^\$\d+ = \d+\n$", "p/x 17": r"^\$\d+ = 0x11\n$", "p $nothing": r"^\$\d+ = void\n$",
         "inspect -elements 2 -- \"abc\"": r'^\$\d+ = "ab"\.\.\.\n$', "p sizeof(walk_counter)": r"^\$\d+ = 4\n$",
         "pipe p 6 | cat": r"^\$\d+ = 6\n$", "with print address off -- p &walk_counter": r"^\$\d+ = \(int \*\) <?walk_counter>?\n$",
         "thread apply 1 p 3": r"\n\$\d+ = 3\n$", "p 'w'": r"^\$\d+ = 119 'w'\n$", 'p "walk_go"[0]': r"^\$\d+ = 119 'w'\n$",
         "p (void) walk_counter": r"^\$\d+ = void\n$"}


class Frame:
    """A step of the last interpreter."""
    count = None

    @classmethod
    def setUpClass(cls):
        asked = [*(f"print {expression}" for expression in VALUES), *(f"print $gorgon_interp({what})" for what in WHOSE),
                 *SAME, *TYPED, "call PyLong_FromLong(5)"]
        changes = ["set var walk_counter = 4711", "print walk_counter", "p walk_depth = 12", "gorgon print walk_depth",
                   "print/x walk_counter++", "print walk_counter = 5", "up", "down", "help print", "help set variable",
                   "delete", "watch walk_counter", "rwatch -l walk_static", "awatch walk_static if walk_counter > 0",
                   "info watchpoints", "continue", "python print(gdb.parse_and_eval('number'))", "continue", "continue"]
        cls.output = harness.gdb([ASK, f"break walk_step if $gorgon_interp() == {cls.count - 1}", "run",
                                  f"python ask(*{asked + changes!r})"], harness.HOST, "-n", cls.count, session.walk(), script=True)
        parts = re.split(r"\n?^=== (.*)\n", cls.output, flags=re.M)
        cls.answers = {}
        for command, text in zip(parts[1::2], parts[2::2]):
            cls.answers.setdefault(command, []).append(re.sub(r"warning: location number.*\n|\[(?:New T|T|Sw).*\n|walk: .*\n",
                                                              "", text))
        (cls.step,) = [step for step in sum(session.steps(cls.output).values(), [])
                       if step["number"] == str(cls.count) and step["walk_counter"] == str(5 + cls.count)]

    def answer(self, command, number=0):
        self.assertIn(command, self.answers, self.output)
        return self.answers[command][number]

    def test_names_are_those_of_the_copy(self):
        for expression, name in VALUES.items():
            with self.subTest(expression):
                self.assertEqual(session.value(self.answer(f"print {expression}")), self.step[name])

    def test_functions_are_those_of_the_copy(self):
        for what in WHOSE:
            with self.subTest(what):
                answer = self.answer(f"print $gorgon_interp({what})")
                self.assertEqual(session.value(answer), str(self.count - 1), answer)

    def test_everything_else_is_as_ever(self):
        for command, text in SAME.items():
            with self.subTest(command):
                self.assertEqual(self.answer(command), text)
        for command, pattern in TYPED.items():
            with self.subTest(command):
                self.assertRegex(self.answer(command), pattern)

    def test_call_is_refused_where_it_cannot_be_checked(self):
        self.assertEqual(self.answer("call PyLong_FromLong(5)"), f'error: gorgon: in code of interp {self.count - 1} "call" may run '
                         'another copy\'s function. Say "print"\n')

    def test_the_copys_own_is_set(self):
        self.assertEqual(self.answer("set var walk_counter = 4711"), "")
        self.assertEqual(session.value(self.answer("print walk_counter", 1)), "4711")
        self.assertEqual(session.value(self.answer("gorgon print walk_depth")), "12")
        self.assertEqual(session.value(self.answer("print/x walk_counter++")), "0x1267")

    def test_the_copys_own_is_watched(self):
        """The second thread of this interpreter takes a step with ten times the number."""
        place = r" +\* \(int \*\) 0x\w+\n"
        self.assertRegex(self.answer("info watchpoints"), rf"hw watchpoint .*{place}.*read watchpoint .*{place}.*acc watchpoint "
                         rf".*{place}.*stop only if \(\* \(int \*\) 0x\w+\) > 0\n")
        self.assertIn(f"\nOld value = 5\nNew value = {5 + 10 * self.count}\n", self.answer("continue"))
        self.assertEqual(self.answer("python print(gdb.parse_and_eval('number'))"), f"{10 * self.count}\n")
        self.assertIn("read watchpoint", self.answer("continue", 1))
        self.assertIn(f"Value = {self.step['walk_static']}\n", self.answer("continue", 1))

    def test_help_is_gdbs(self):
        self.assertRegex(self.answer("help print"), r"^print, inspect, p\nPrint value of expression EXP\.\n")
        self.assertRegex(self.answer("help set variable"), r"^set variable, set var\nEvaluate expression EXP")

    def test_nothing_goes_wrong(self):
        self.assertEqual([line for line in session.complaints(self.output) if "location number not found" not in line], [])
        self.assertNotIn("Traceback", self.output)


@harness.needs_gdb
class One(Frame, unittest.TestCase):
    count = 1


@harness.needs_gdb
class Three(Frame, unittest.TestCase):
    count = 3


@harness.needs_gdb
class Twenty(Frame, unittest.TestCase):
    count = 9


if __name__ == "__main__":
    unittest.main()
