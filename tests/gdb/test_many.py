# SPDX-License-Identifier: MIT
"""More interpreters than gdb is given debug information of, typed: an extension is debugged as in an ordinary host, whether or
not its copy was in a stack before, and after the program's end."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402
from test_lines import MANY, Case  # noqa: E402

COMMANDS = ("silent", "print n", "bt", "continue")
ASK = ("info functions ^many_", "rbreak ^many_sta", "info line many_entry", "info line", "hbreak many_entry", "delete",
       "break many_static if n == 12", "info breakpoints", "delete", "tbreak many.c:AFTER", "continue", "bt", "list")


def wait_for_all(test, count):
    """Statements for interpreters that have loaded the extension: none goes on before the others of its process have, too."""
    loaded = tempfile.TemporaryDirectory()
    test.addClassCleanup(loaded.cleanup)
    return (f"import gorgon, os; mine = f'{{os.getpid()}}-'; open(f'{loaded.name}/{{mine}}{{gorgon.interpreter}}', 'w').close(); "
            f"here = lambda: sum(name.startswith(mine) for name in os.listdir('{loaded.name}')); "
            f"list(iter(lambda: here() < {count} and not time.sleep(0.01), False)); ")


@harness.needs_gdb
class Many(Case):
    @classmethod
    def run_it(cls):
        wait = wait_for_all(cls, MANY)
        with Terminal(harness.HOST, "-n", MANY, cls.code + wait + "many.many_entry(5); time.sleep(0.5)") as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("break many_static")
            gdb.block("commands", *COMMANDS)
            gdb.ask("tbreak many_entry if n == 5")
            cls.answers = {"commands": gdb.ask("run")}
            cls.answers.update((line, gdb.ask(line.replace("AFTER", str(cls.after)))) for line in ASK)

    def test_no_stop_is_followed_by_a_warning(self):
        for line, text in self.answers.items():
            with self.subTest(line):
                self.assertNotIn("location number not found", text)

    def test_commands_have_arguments_in_each_frame(self):
        values = re.findall(r"^\$\d+ = (\d+)\n#0  many_static from libmany\.so \[interp \d+\] \(n=2\)", self.answers["commands"], re.M)
        self.assertEqual(values, MANY * ["2"], self.answers["commands"])
        evaluated = re.findall(r"_PyEval_EvalFrameDefault from \S+ \[interp \d+\] \((.*)", self.answers["commands"])
        self.assertEqual([text for text in evaluated if "tstate=" not in text], [])
        self.assertGreaterEqual(len(evaluated), len(values))

    def test_a_stop_has_arguments_at_once(self):
        for text, value in ((self.answers["commands"], 5), (self.answers["continue"], 5)):
            stops = re.findall(r"hit (?:Temporary b|B)reakpoint \S+, many_entry \((.*)\) at", text)
            self.assertEqual(stops, [f"n={value}"], text)
        self.assertNotRegex("".join(self.answers.values()), r"many_(?:entry|static) \(\) at ")

    def test_types_are_known(self):
        self.assertRegex(self.answers["info functions ^many_"], r"\d:\tint many_entry\(int\);\n\d:\tstatic int many_static\(int\);\n")
        self.assertIn("\nstatic int many_static(int);\n", self.answers["rbreak ^many_sta"])

    def test_conditions_are_listed_as_typed(self):
        self.assertIn("\tstop only if n == 12\n", self.answers["info breakpoints"])

    def test_a_hardware_breakpoint_is_one_of_gdbs_own(self):
        self.assertRegex(self.answers["hbreak many_entry"], r"^Breakpoint \d+ at .*\ngorgon: not a hardware breakpoint: ")

    def test_info_line_shows_one_copy(self):
        self.assertRegex(self.answers["info line many_entry"], r"^Line \d+ of \"\S+\" starts at address 0x\w+ <many_entry> and ends at .*\n$")
        self.assertRegex(self.answers["info line"], r"^Line \d+ of \"\S+\" starts at address 0x\w+ <many_entry\+\d+> and ends at .*\n$")

    def test_list_goes_on_where_it_has_stopped(self):
        self.assertIn("/* after it */", self.answers["list"])


class Ended(Case):
    """The process has gone, by its end or because it was killed; then another process runs."""
    count = None

    @classmethod
    def run_it(cls):
        ask = ("info breakpoints", "tbreak many_entry if n == 5", "list many_entry", "info line many_static")
        wait = wait_for_all(cls, cls.count)
        with Terminal(harness.HOST, "-n", cls.count, cls.code + wait + "many.many_entry(5); time.sleep(0.2)") as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("break many_static if n == 6")
            cls.answers = []
            cls.stops = [gdb.ask("run")]
            gdb.ask("disable")
            for end in ("continue", "kill"):
                gdb.ask("tbreak many_entry if n == 77")
                cls.ended = gdb.ask(end)
                cls.answers.append({line: gdb.ask(line) for line in ask})
                gdb.ask("enable 1")
                cls.stops += [gdb.ask("run"), gdb.ask("continue")]
                gdb.ask("disable 1")
            cls.last = gdb.ask("info breakpoints")

    def test_places_are_there(self):
        for answers in self.answers:
            self.assertRegex(answers["info breakpoints"], r"(?m)^1 +breakpoint +keep n +0x\w+ in many_static at \S+many\.c:%d$" % self.first)
            self.assertRegex(answers["tbreak many_entry if n == 5"], r"^Temporary breakpoint \d+ at 0x\w+: file \S+many\.c, line \d+\.\n")
            self.assertIn("before = many_static(before);", answers["list many_entry"])
            self.assertRegex(answers["info line many_static"], r"^Line \d+ of .* <many_static> .*\n$")

    def test_the_next_process_stops_there(self):
        found = [re.findall(r"reakpoint [\d.]+, (\w+) \((.*)\) at", text) for text in self.stops]
        self.assertEqual(found[0], [("many_static", "n=6")])
        self.assertEqual(sorted(found[1] + found[2]), [("many_entry", "n=5"), ("many_static", "n=6")], self.stops)
        self.assertEqual(sorted(found[3] + found[4]), [("many_entry", "n=5"), ("many_static", "n=6")], self.stops)
        for text in self.stops:
            self.assertNotRegex(text, "Cannot insert|Error in re-setting|Traceback|Python Exception")
        self.assertEqual(len(re.findall(r"^(?:1|1\.\d+) .* in many_static at ", self.last, re.M)), self.count, self.last)


@harness.needs_gdb
class EndedFew(Ended):
    count = 3


@harness.needs_gdb
class EndedMany(Ended):
    count = MANY


@harness.needs_gdb
class Entered(unittest.TestCase):
    """A step into a library that has no word of any breakpoint, from a library that calls it by name."""

    def test_a_step_has_arguments_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            lower, upper = (os.path.join(folder, name) for name in ("liblower.so", "libupper.so"))
            for library, text, needed in ((lower, "int lower(int n)\n{\n\treturn n + 1;\n}\n", ()),
                                          (upper, "int lower(int n);\nint upper(int n)\n{\n\treturn lower(n) * 2;\n}\n", (lower,))):
                source = library.replace(".so", ".c")
                with open(source, "w") as file:
                    file.write(text)
                made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source, *needed)
                self.assertEqual(made.returncode, 0, made.stderr)
            program = f"import ctypes; ctypes.CDLL('{lower}'); ctypes.CDLL('{upper}').upper(5)"
            with Terminal(harness.HOST, "-n", MANY, program) as gdb:
                gdb.ask(f"source {harness.GDB_SCRIPT}")
                gdb.ask("tbreak upper")
                stop = gdb.ask("run")
                self.assertRegex(stop, r"Temporary breakpoint \S+, upper \(n=5\) at ")
                gdb.ask("set scheduler-locking on")
                entered = gdb.ask("step")
                self.assertEqual(re.findall(r"\blower \((.*)\) at ", entered), ["n=5"], entered)


del Case, Ended


if __name__ == "__main__":
    unittest.main()
