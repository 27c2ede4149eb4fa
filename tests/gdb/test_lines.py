# SPDX-License-Identifier: MIT
"""More interpreters than gdb is given debug information of, with the scripts: lines and conditions in all copies,
arguments and variables in copies that are in the stack."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402
from terminal import Terminal  # noqa: E402

MANY = 9  # one more than gdb is given all debug information of
MODULE = """
int many_total;
static int many_static(int n)
{
	int twice = 2 * n; /* the static function's first line */
	many_total += twice;
	return many_total;
}
int many_entry(int n)
{
	int before = n + 1;
	before = many_static(before); /* the call */
	return before - 1; /* after it */
}
"""


# GCC moves the throw away from the function, into split_work(int) [clone .cold].
SPLIT = """
#include <stdexcept>
extern "C" int split_call(int n);
static __attribute__((noinline)) int split_work(int n)
{
	if (n < 0)
		throw std::runtime_error("negative");
	return 3 * n;
}
int split_call(int n)
{
	return split_work(n) + 1;
}
"""


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source = os.path.join(cls.folder.name, "many.c")
        library = os.path.join(cls.folder.name, "libmany.so")
        with open(source, "w") as file:
            file.write(MODULE)
        cls.first, cls.call, cls.after = (harness.source_line(source, text) for text in
                                          ("the static function's first line", "the call", "after it"))
        made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
        assert made.returncode == 0, made.stderr
        cls.code = f"import ctypes, sys, time; many = ctypes.CDLL('{library}'); many.many_entry(1); "
        cls.run_it()


@harness.needs_gdb
class Typed(Case):
    """Two runs at a terminal: what was added for the first process does not disturb the second."""

    @classmethod
    def run_it(cls):
        with Terminal(harness.HOST, "-n", MANY, cls.code + "time.sleep(0.2); many.many_entry(5)") as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            cls.pending = gdb.ask("break many_static if n == 6")
            gdb.ask(f"break many.c:{cls.call}")
            cls.sessions = []
            for _ in range(2):
                answers = {"run": gdb.ask("run")}
                for word in ("info locals", "print n", "bt 1", "info symbol $pc"):
                    answers[word] = gdb.ask(word)
                answers["tbreak"] = gdb.ask("tbreak many_entry if n == 5 && many_total > 0")
                gdb.ask("disable 2")
                answers["stops"] = [gdb.ask("continue") for _ in range(2)]
                answers["listed"] = gdb.ask("info breakpoints")
                answers["condition"] = gdb.ask("condition 1 n == 7")
                answers["changed"] = gdb.ask("info breakpoints 1")
                gdb.ask("condition 1 n == 6")
                gdb.ask("enable 2")
                gdb.ask("kill")
                cls.sessions.append(answers)

    def each(self, *words):
        return [answers[word] for answers in self.sessions for word in words]

    def test_a_line_stops_where_arguments_and_variables_are(self):
        for text in self.each("run"):
            self.assertRegex(text, rf"many_entry \(n=1\) at \S*many\.c:{self.call}\n")
        for text in self.each("info locals"):
            self.assertEqual(text, "before = 2\n")
        for text in self.each("print n"):
            self.assertRegex(text, r"^\$\d+ = 1\n$")
        for text in self.each("bt 1"):
            self.assertRegex(text, r"^#0  many_entry from libmany\.so \[interp \d+\] \(n=1\) at ")

        for text in self.each("info symbol $pc"):
            self.assertRegex(text, r"^many_entry \+ \d+ in section \.text of /\S+/libmany\.so \[interp \d+\]\n$")

    def test_conditions_know_the_frames_variables(self):
        self.assertRegex(self.pending, r"Breakpoint 1 \(many_static\b.*\) pending\.")  # gdb before 16 adds the condition
        for text in self.each("tbreak"):
            self.assertRegex(text, r"^Temporary breakpoint \d+ at ")
        for entry, static in self.each("stops"):
            self.assertRegex(entry, r"Temporary breakpoint \S+, many_entry \(n=5\)")
            self.assertRegex(static, r"Breakpoint 1\S*, many_static \(n=6\)")
        for text in self.each("listed"):
            self.assertIn('stop only if $gorgon_eval("n == 6")', text)

    def test_a_condition_may_come_later(self):
        for text in self.each("condition"):
            self.assertNotRegex(text, "No symbol|failed to validate")
        for text in self.each("changed"):
            self.assertIn("stop only if n == 7\n", text)

    def test_commands_are_followed_by_no_warning(self):
        for text in self.each("info locals", "print n", "bt 1", "tbreak", "listed", "condition"):
            self.assertNotIn("location number not found", text)


@harness.needs_gdb
class Script(Case):
    """What a script has set before the program runs."""

    @classmethod
    def run_it(cls):
        cls.output = harness.gdb(
            ["break many_static if n == 6", f"break many.c:{cls.call} if n == 5 && before == 6", session.LOOP, "run",
             'python drive({0: ["print n"]}, 100)'],
            harness.HOST, "-n", MANY, cls.code + "time.sleep(0.5); many.many_entry(5)", script=True)

    def test_conditions_are_met_once_in_each_copy(self):
        for location, value in (("many_static", "6"), (f"many.c:{self.call}", "5")):
            stops = session.stops(self.output, location)
            self.assertEqual([session.value(stop.output["print n"]) for stop in stops], MANY * [value], self.output)
            self.assertEqual(len({stop.pc for stop in stops}), MANY)
        self.assertIn("exited normally", self.output)


@harness.needs_gdb
class Few(Case):
    """A condition with a global variable, where gdb has all of each copy: the variable is that of the copy."""

    @classmethod
    def run_it(cls):
        cls.output = harness.gdb(
            ["break many_static if many_total == 22", session.LOOP, "run",
             'python drive({0: ["print $gorgon_interp()", "print n", "info breakpoints"]})'],
            harness.HOST, "-n", 3, cls.code.replace("many_entry(1)", "many_entry(10 * __import__('gorgon').interpreter)")
            + "time.sleep(0.5); many.many_entry(5)", script=True)

    def test_the_copy_that_has_the_value_stops(self):
        stops = session.stops(self.output, "many_static")
        self.assertEqual([(session.value(stop.output["print $gorgon_interp()"]), session.value(stop.output["print n"]))
                          for stop in stops], [("1", "6")], self.output)
        self.assertIn('stop only if $gorgon_eval("many_total == 22")', stops[0].output["info breakpoints"])
        self.assertIn("exited normally", self.output)


HANDLER = """
python
def tell(event):
    frame = gdb.selected_frame()
    print("=== handler", frame.name(), frame.find_sal().line, frame.read_var("n"), flush=True)
    names = [objfile.filename for objfile in gdb.objfiles()]
    print("=== copies", sum(name.endswith("LIBPYTHON") for name in names), flush=True)
    from gorgon_gdb import symbols
    print("=== everywhere", symbols.count_everywhere(), flush=True)
gdb.events.stop.connect(tell)
end""".replace("LIBPYTHON", f"/{harness.SONAME}")


# What is printed in the event comes to the scripts, which have run "add-symbol-file".
ADDED = """python
added = []
def note(event):
    symbol = event.new_objfile.lookup_global_symbol("many_entry")
    added.append((event.new_objfile.filename.rpartition("/")[2], int(symbol.value().address) if symbol else 0))
def show_added(event):
    for name, place in added:
        print("=== added", name, place)
gdb.events.new_objfile.connect(note)
gdb.events.exited.connect(show_added)
end"""


@harness.needs_gdb
class Handler(Case):
    """A stop handler of the user's that was connected after ours; the breakpoint has commands, too."""

    @classmethod
    def run_it(cls):
        cls.output = harness.gdb(
            [HANDLER, ADDED, "break many_static", "commands\nsilent\nprint n + 100\nend", "run", *["continue"] * MANY], harness.HOST,
            "-n", MANY, cls.code + "time.sleep(0.5)", script=True)

    def test_it_reads_variables_behind_the_prologue_at_each_stop(self):
        found = re.findall(r"^=== handler (.*)", self.output, re.M)
        self.assertEqual(found, MANY * [f"many_static {self.first} 2"], self.output)
        self.assertEqual(re.findall(r"^\$\d+ = (.*)", self.output, re.M), MANY * ["102"])
        self.assertIn("exited normally", self.output)

    def test_only_files_with_the_function_are_added_beforehand(self):
        """gdb looks for all breakpoints in each file that it gets: those of CPython's own extensions would cost most."""
        self.assertEqual(max(map(int, re.findall(r"^=== everywhere (\d+)", self.output, re.M))), MANY, self.output)

    def test_an_added_file_is_in_its_place_at_once(self):
        """gdb looks for all breakpoints a second time when it moves a file."""
        places = [int(place) for place in re.findall(r"^=== added libmany.so (\d+)", self.output, re.M)]
        self.assertGreater(min(places), 1 << 32, self.output)

    def test_gdb_has_all_of_the_libpython_in_the_stack_only(self):
        """Each further copy would cost gdb seconds at the next "break PyErr_SetString"."""
        self.assertEqual(re.findall(r"^=== copies (.*)", self.output, re.M), MANY * ["1"])


@harness.needs_gdb
class Attached(Case):
    """Lines of copies that are in no stack."""

    @classmethod
    def run_it(cls):
        ask = {"static": "break many_static", "line": f"break many.c:{cls.after}",
               "condition": "break many_entry if n == 3", "source": f"list many.c:{cls.call},{cls.call}",
               "place": "info line many_static"}
        with harness.Background(harness.HOST, "-n", MANY,
                                cls.code + "sys.stdout.write('ready\\n'); sys.stdout.flush(); time.sleep(600)",
                                until=rf"(?s)(ready.*){{{MANY}}}", asleep=MANY) as host:
            output = harness.gdb([line for word, command in ask.items() for line in (f"echo \\n=== {word}\\n", command)],
                                 script=True, options=["-iex", f"source {harness.GDB_SCRIPT}", "-p", str(host.pid)])
        parts = re.split(r"^=== (.*)\n", output, flags=re.M)
        cls.answers = dict(zip(parts[1::2], parts[2::2]))

    def test_each_copy_has_lines_and_static_functions(self):
        self.assertRegex(self.answers["static"], rf"^Breakpoint 1 at 0x\w+: many_static\. \({MANY} locations\)")
        self.assertRegex(self.answers["line"], rf"^Breakpoint 2 at 0x\w+: many\.c:{self.after}\. \({MANY} locations\)")
        self.assertIn("before = many_static(before);", self.answers["source"])
        self.assertEqual(self.answers["place"].count(f"Line {self.first - 1} of "), MANY)

    def test_a_condition_is_taken_in_each(self):
        self.assertRegex(self.answers["condition"], rf"(?m)^Breakpoint 3 at 0x\w+: many_entry\. \({MANY} locations\)")


@harness.needs_gdb
class Split(unittest.TestCase):
    """A C++ function of which the compiler has moved a part away, in copies of which gdb has lines only."""

    def test_a_breakpoint_is_at_the_functions_beginning_only(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "split.cc"), os.path.join(folder, "libsplit.so")
            with open(source, "w") as file:
                file.write(SPLIT)
            made = harness.run("g++", "-g", "-O2", "-shared", "-fPIC", "-o", library, source)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertIn(".cold", harness.run("nm", library).stdout)
            code = f"import ctypes, time; split = ctypes.CDLL('{library}'); split.split_call(1); time.sleep(0); split.split_call(2)"
            for script in (False, True):
                with self.subTest(script=script):
                    output = harness.gdb(["break time_sleep", "run", "delete", "break split_work", "info breakpoints", "continue"],
                                         harness.GORGON, "run", "--debug", "lazy", "-n", "1", "-c", code, script=script)
                    self.assertRegex(output, r"(?m)^Breakpoint 2 at 0x\w+: (?:file \S*split\.cc, line \d+\.|split_work\.)$")
                    self.assertRegex(output, r"Breakpoint 2, split_work")


if __name__ == "__main__":
    unittest.main()
