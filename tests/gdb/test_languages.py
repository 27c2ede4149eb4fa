# SPDX-License-Identifier: MIT
"""Names in C++, Fortran and Rust mean the frame's copy, in whatever way each language writes them.

The interpreters take turns, and begin with counters of their own: interpreter 1 with 10 and so on. So a condition that reads another
copy's counter stops elsewhere, or never."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402

SOURCES = os.path.join(harness.ROOT, "tests", "modules")
CODE = """import ctypes, gorgon, os, time
library, name, folder, count = {!r}, {!r}, {!r}, {!r}
speak, me = getattr(ctypes.CDLL(library), name), gorgon.interpreter
def tell(what): open(os.path.join(folder, f"{{what}} {{me}}"), "w").close()
def wait(what, who):
    while not os.path.exists(os.path.join(folder, f"{{what}} {{who}}")): time.sleep(0.01)
tell("ready")
for each in range(count): wait("ready", each)
if me: wait("done", me - 1)
for turn in range(10 * me + 4): speak(turn)
tell("done")"""
BRIEFLY = ["--debug=lazy"]  # as more than eight are described
HIT = re.compile(r'"interp (\d+)" hit (?:Temporary b|B|Hardware w|W)\w+ \d+')


def line(file, mark):
    return f"{file}:{harness.source_line(os.path.join(SOURCES, file), mark)}"


class Case(unittest.TestCase):
    count = 3
    options = ()
    library = function = None

    def setUp(self):
        path = os.path.join(harness.MODULES, self.library)
        if not os.path.exists(path):
            self.skipTest(f"no {self.library} for this processor")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.gdb = Terminal(harness.GORGON, "run", *self.options, "-n", self.count, "-c", CODE.format(path, self.function, self.folder, self.count))
        self.addCleanup(self.gdb.__exit__)
        self.gdb.ask(f"source {harness.GDB_SCRIPT}")

    def ask(self, *commands):
        for command in commands:
            answer = self.gdb.ask(command)
        return answer

    def go(self, command="continue"):
        """Goes on; returns the interpreter that has stopped, or None at the end."""
        text = self.ask(command)
        found = HIT.search(text)
        self.assertTrue(found or "exited normally" in text, text)
        self.assertNotIn("Error", text)
        return found and int(found[1])

    def value(self, expression):
        found = re.search(r"^\$\d+ = (.*)$", self.ask(f"print {expression}"), re.M)  # a call may show threads that end
        return found and found[1]

    def stops(self, place, condition, counter, value):
        """A condition that is set when all copies are there stops in each copy in which it comes true: in all but the first."""
        self.ask(f"break {place}")
        self.assertIsNotNone(self.go("run"))
        self.assertNotIn("No symbol", self.ask(f"condition 1 {condition}"))
        found = []
        while (interpreter := self.go()) is not None:
            found.append((interpreter, self.value(counter)))
        self.assertEqual(found, [(interpreter, value) for interpreter in range(1, self.count)])


class Cpp(Case):
    library, function = "libspeak.so", "speak_cpp"

    def test_condition_with_a_variable_of_the_namespace(self):
        self.stops(line("speak.cc", "// the namespace speaks"), "counter == 13", "counter", "13")

    def test_condition_with_a_member_of_the_class(self):
        self.stops(line("speak.cc", "// C++ speaks"), "made == 13 && length == 12", "made", "13")

    def test_expressions(self):
        self.ask(f"break {line('speak.cc', '// C++ speaks')} if $gorgon_interp() == {self.count - 1}")
        self.assertEqual(self.go("run"), self.count - 1)
        self.assertEqual([self.value(e) for e in ("made", "Word::made", "counter")], ["1", "1", "1"])
        self.ask("set var made = 50", "delete")
        calls = "speak()", "this->speak()", "(*this).speak()", "((Word *) this)->speak()", "2 * speak ( ) + made"
        self.assertEqual([self.value(e) for e in calls], ["51", "52", "53", "54", "165"])
        self.assertRegex(self.ask("call speak()"), r"\$9 = 56\n")
        self.assertEqual(self.value("*this"), "{static made = 56, length = 0}")
        self.ask("up")
        self.assertEqual(self.value("speak(3)"), str(3 + 57 + 2))

    def test_place_where_the_names_mean_nothing_does_not_stop(self):
        self.ask("break speak_cpp", f"break {line('speak.cc', '// the namespace speaks')}")
        self.go("run")
        self.ask("delete 1")
        self.assertEqual(self.go(), 0)
        self.ask("condition 2 counter == 13")
        self.assertEqual([self.go(), self.go(), self.go()], [1, 2, None])


class CppOfMany(Cpp):
    options = BRIEFLY

    test_place_where_the_names_mean_nothing_does_not_stop = None


class Fortran(Case):
    library, function = "libspeak_f90.so", "speak_fortran"

    def stops_anywhere(self, condition):
        self.stops(line("speak.f90", "! Fortran speaks"), condition, "calls", "13")

    def test_condition_with_a_variable_of_the_module(self):
        self.stops_anywhere("calls .eq. 13 .and. i == 2")

    def test_capital_letters(self):
        self.stops_anywhere("CALLS == 13 .AND. I == 2")

    def test_expressions(self):
        self.ask(f"break {line('speak.f90', '! Fortran speaks')} if i == 3")
        self.ask("run")
        self.go()
        self.ask("delete")
        self.ask("tbreak speak_fortran if $gorgon_interp() == 1")
        self.assertEqual(self.go(), 1)
        self.assertEqual([self.value(e) for e in ("calls", "CALLS + 1", "spoken::calls", "$gorgon('calls')", "lengths(2)",
                                                  "lengths(1:2)", "'calls'")],
                         ["0", "1", "0", "0", "0", "(0, 0)", "'calls'"])
        self.ask("set var calls = 40", "set var lengths(2) = 5")
        self.assertEqual([self.value("calls"), self.value("lengths")], ["40", "(0, 5, 0)"])
        self.assertRegex(self.ask("display calls"), r"1: .*calls.* = 40")
        self.assertRegex(self.ask("watch calls"), r"Hardware watchpoint \d+: \*\$_gorgon_calls_\w+\n")
        self.assertRegex(self.ask("watch lengths(2)"), r"Hardware watchpoint \d+: .*lengths")
        self.assertRegex(self.ask("continue"), r"(?s)Old value = 40\nNew value = 41\n.*1: .*calls.* = 41")
        self.assertRegex(self.ask("continue"), r"Old value = 5\nNew value = 0\n")


@harness.thorough
class FortranOfMany(Fortran):
    options = BRIEFLY

    test_expressions = None


class Rust(Case):
    library, function = "libspeak_rs.so", "speak_rust"

    def test_condition_with_a_static_variable(self):
        self.stops(line("speak.rs", "// rust speaks"), "SPOKEN == 12 && again == 13", "SPOKEN", "12")

    def test_function_with_its_module(self):
        self.ask("break speak::speak", "run")
        self.assertEqual(self.ask("info breakpoints").count("in speak::speak at"), self.count)

    def test_expressions(self):
        self.ask("break speak::speak if $gorgon_interp() == 1")
        self.assertEqual(self.go("run"), 1)
        self.ask("delete")
        self.assertEqual([self.value(e) for e in ("SPOKEN", "speak::SPOKEN", "word.length + SPOKEN", "$gorgon($_gorgon_none)")],
                         ["0", "0", "0", None])
        self.ask("set var SPOKEN = 40")
        self.assertEqual(self.value("SPOKEN"), "40")
        self.assertRegex(self.ask("display SPOKEN"), r"1: .*SPOKEN.* = 40")
        self.assertRegex(self.ask("watch SPOKEN"), r"Hardware watchpoint \d+: \*\$_gorgon_SPOKEN_\w+\n")
        self.assertRegex(self.ask("continue"), r"(?s)Old value = 40\nNew value = 41\n.*1: .*SPOKEN.* = 41")
        self.assertRegex(self.ask("watch -l word.length"), r"Hardware watchpoint \d+: \*\$_gorgon_word_length_\w+\n")


@harness.thorough
class RustOfMany(Rust):
    options = BRIEFLY

    test_expressions = None


del Case

if __name__ == "__main__":
    unittest.main()
