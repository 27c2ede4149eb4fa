# SPDX-License-Identifier: MIT
"""lldb with the scripts: list, modules, whose, symbols and labels, for each copy."""

import itertools
import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
EVERY = range(COUNT)

AT_START = ["gorgon list", "gorgon modules", "gorgon modules 1", "gorgon modules 9", "gorgon modules one",
            "gorgon modules 1 2", "gorgon list 3", "gorgon list -v 3", "gorgon whose", "gorgon whose no_such_name", "gorgon whose 1",
            "gorgon whose PyList_Append", "gorgon symbols", "gorgon symbols 9", "gorgon symbols all nothing",
            "gorgon label maybe", "help gorgon", "help gorgon symbols", "bt"]
VALUE = "expression --allow-jit false -- ((PyFloatObject *)timeout_obj)->ob_fval"


def rows(text):
    """A table without its heading, as lists of words."""
    return [line.split() for line in text.splitlines()[1:] if re.match(r"\d", line)]


@harness.needs_lldb
class Names(session.Case):
    """Without debug information: what every copy shows at once."""

    @classmethod
    def setUpClass(cls):
        cls.output = harness.lldb(
            ["breakpoint set -n PyList_Append", "breakpoint set -n host_created", session.DRIVER, "run",
             session.drive({"PyList_Append": ["once", "gorgon list", "gorgon whose $pc", "bt", "thread info", "gorgon label off",
                                              "bt 1", "gorgon label on", "bt 2"], "host_created": AT_START})],
            harness.HOST, "-n", str(COUNT), session.code(), script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.start = session.stops(cls.output, "host_created")[0].output
        cls.appends = {session.whose(cls.addresses, stop.pc): stop for stop in session.stops(cls.output, "PyList_Append")}
        assert sorted(cls.appends) == list(EVERY), cls.output

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assertNotRegex(self.output, session.TRACEBACK)

    def test_list_shows_each_interpreter_in_order(self):
        table = rows(self.start["gorgon list"])
        self.assertEqual([row[0] for row in table], ["0", "1", "2"])
        self.assertTrue(self.start["gorgon list"].startswith("Num  Python  Objects  Thread  libpython"))
        for row in table:
            self.assertEqual((row[1], row[3], row[5]), (harness.VERSION, "-", "live"))
            start, end = (int(a, 16) for a in row[4].split("-"))
            self.assertTrue(start < self.addresses[int(row[0])] < end)

    def test_list_names_the_thread_that_runs_each(self):
        for i, stop in self.appends.items():
            self.assertEqual(" ".join(rows(stop.output["gorgon list"])[i][3:6]), f"{stop.thread} (tid {stop.lwp})")

    def test_modules_shows_objects_with_ranges_and_debug_info(self):
        table = rows(self.start["gorgon modules"])
        pythons = {int(row[0]): row for row in table if row[1] == session.PYTHON}
        self.assertEqual(sorted(pythons), list(EVERY))
        for i, row in pythons.items():
            start, end = (int(a, 16) for a in row[2].split("-"))
            self.assertTrue(start < self.addresses[i] < end)
            self.assertEqual(self.addresses[i] - int(row[3], 16), self.addresses[0] - int(pythons[0][3], 16))
            self.assertRegex(" ".join(row[4:]), harness.LIBPYTHON_DEBUG)
        self.assertEqual(rows(self.start["gorgon modules 1"]), [row for row in table if row[0] == "1"])

    def test_mistakes_get_one_clear_line(self):
        for command, text in (
                ("gorgon modules 9", "gorgon modules: no interpreter 9; there are 0, 1, 2"),
                ("gorgon modules one", "gorgon modules: no interpreter one; there are 0, 1, 2"),
                ("gorgon modules 1 2", 'gorgon modules: too many arguments; see "help gorgon modules"'),
                ("gorgon list 3", 'gorgon list: 3: -v expected; see "help gorgon list"'),
                ("gorgon list -v 3", 'gorgon list: too many arguments; see "help gorgon list"'),
                ("gorgon whose", 'gorgon whose: an argument is missing; see "help gorgon whose"'),
                ("gorgon whose no_such_name", "gorgon whose: no_such_name is no address: "),
                ("gorgon symbols", 'gorgon symbols: an argument is missing; see "help gorgon symbols"'),
                ("gorgon symbols 9", "gorgon symbols: no interpreter 9; there are 0, 1, 2"),
                ("gorgon symbols all nothing", "No object's name fits nothing."),
                ("gorgon label maybe", 'gorgon label: "on" or "off" expected')):
            with self.subTest(command):
                lines = self.start[command].splitlines()
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(text, lines[0])

    def test_whose_names_interpreter_library_and_function(self):
        for i, stop in self.appends.items():
            offset = stop.pc - self.addresses[i]
            self.assertRegex(stop.output["gorgon whose $pc"], rf"^{stop.pc:#x}: interpreter {i}, {harness.SONAME_RE}, "
                             rf"PyList_Append\+{f'{offset:#x}' if offset else 0}, \w+\.[ch]:\d+\n$")
        self.assertRegex(self.start["gorgon whose PyList_Append"], "^" + "".join(
            rf"{self.addresses[i]:#x}: interpreter {i}, {harness.SONAME_RE}, PyList_Append\+0, listobject\.c:\d+\n"
            for i in EVERY) + "$")
        self.assertEqual(self.start["gorgon whose 1"], "0x1 is in no private object\n")

    def test_labels_of_private_frames_only(self):
        for i, stop in self.appends.items():
            found = session.frames(stop.output["bt"])
            last = session.functions(stop.output["bt"]).index("Py_InitializeFromConfig")
            self.assertEqual({module for module, _ in found[:last + 1]}, {f"{session.PYTHON} [interp {i}]"})
            self.assertEqual([module for module, _ in itertools.groupby(found[last + 1:], lambda frame: frame[0])],
                             ["libgorgon.so.0", "host", "libc.so.6"])
            self.assertIn(f" {session.PYTHON} [interp {i}]`PyList_Append", stop.output["thread info"])
        self.assertNotIn("[interp", self.start["bt"])

    def test_labels_can_be_switched_off_and_on(self):
        for i, stop in self.appends.items():
            self.assertRegex(stop.output["bt 1"], r" JIT\(0x\w+\)`PyList_Append")
            self.assertIn(f" {session.PYTHON} [interp {i}]`PyList_Append", stop.output["bt 2"])

    def test_help(self):
        for word in ("list", "modules", "whose", "symbols", "break", "tbreak", "print", "tls", "bt", "apply", "label"):
            self.assertRegex(self.start["help gorgon"], rf"\n\s+{word}\s+-- \w+")
        self.assertIn("Usage: gorgon symbols N|all [LIB]", self.start["help gorgon symbols"])


@harness.needs_lldb
class Symbols(session.Case):
    """Lines, arguments and static functions, after "gorgon symbols"."""

    @classmethod
    def setUpClass(cls):
        cls.offset, cls.line = session.libpython_symbol("time_sleep")
        cls.output = harness.lldb(
            ["breakpoint set -n host_created", "run", "gorgon symbols all", "gorgon symbols 1",
             f"breakpoint set -f timemodule.c -l {cls.line}",
             "gorgon break -i 1 list_vectorcall", "image list -f -h",
             session.DRIVER, "continue",
             session.drive({f"timemodule.c:{cls.line}": ["bt", "frame variable", VALUE, "gorgon whose $pc",
                                                         "gorgon whose timeout_obj->ob_type", "gorgon list"],
                            "list_vectorcall": ["once", "bt"]})],
            harness.HOST, "-n", str(COUNT), session.code(), script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.sleeps = {}
        for stop in session.stops(cls.output, f"timemodule.c:{cls.line}"):
            # lldb goes to the first place of the line after the function's entry.
            interp = min(EVERY, key=lambda i: abs(stop.pc - cls.addresses[i] - cls.offset))
            cls.sleeps[interp] = stop
        assert sorted(cls.sleeps) == list(EVERY), cls.output

    def test_program_ends_and_lldb_does_not_complain(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assert_clean(self.output)

    def test_command_says_what_it_did(self):
        objects = int(re.search(r"^Symbols added to (\d+) objects\.$", self.output, re.M)[1])
        self.assertGreaterEqual(objects, COUNT)
        self.assertRegex(self.output, r"Symbols added to 0 objects, [1-9] had them already\.\n")

    def test_line_breakpoint_stops_once_in_each_copy(self):
        self.assertEqual(len({stop.lwp for stop in self.sleeps.values()}), COUNT)
        self.assertEqual(len({stop.pc - self.addresses[i] for i, stop in self.sleeps.items()}), 1)
        self.assertEqual(len(session.stops(self.output, f"timemodule.c:{self.line}")), COUNT)

    def test_backtrace_has_static_functions_lines_and_arguments(self):
        for i, stop in self.sleeps.items():
            text = stop.output["bt"]
            seconds = re.escape(str(0.125 * (i + 1)))
            self.assertRegex(text, rf"\[interp {i}\]`time_sleep\(self=<module>, timeout_obj={seconds}\) "
                             rf"at timemodule\.c:{self.line}:\d+\n")
            found = session.functions(text)
            self.assertEqual(found[0], "time_sleep")
            self.assertIn(found[1], ("cfunction_vectorcall_O", "_PyObject_VectorcallTstate"))
            # In any process lldb 19 gets no further out; see gorgon_lldb/symbols.py.
            self.assertIn("_PyEval_EvalFrameDefault", found)
            self.assertEqual(set(re.findall(r"\[interp (\d)\]", text)), {str(i)})
            self.assertNotIn("JIT(", re.sub(r" JIT\(\w+\)`(?:python_frame|python_code|program\.|<string>\.)", "", text))

    def test_arguments_have_the_values_of_their_interpreter(self):
        values = {i: float(re.search(r"= ([\d.]+)", stop.output[VALUE])[1]) for i, stop in self.sleeps.items()}
        self.assertEqual(values, {i: 0.125 * (i + 1) for i in EVERY})
        for i, stop in self.sleeps.items():
            self.assertRegex(stop.output["frame variable"], rf"\(PyObject \*\) timeout_obj = 0x\w+ {values[i]}\n")

    def test_whose_knows_lines_and_data(self):
        for i, stop in self.sleeps.items():
            self.assertRegex(stop.output["gorgon whose $pc"],
                             rf"^{stop.pc:#x}: interpreter {i}, {harness.SONAME_RE}, "
                             rf"time_sleep\+(0|0x\w+), timemodule\.c:{self.line}\n$")
            self.assertRegex(stop.output["gorgon whose timeout_obj->ob_type"],
                             rf"^0x\w+: interpreter {i}, {harness.SONAME_RE}, PyFloat_Type\+0\n$")

    def test_breakpoint_in_one_copy(self):
        stops = session.stops(self.output, "list_vectorcall")
        self.assertTrue(stops)
        self.assertEqual({stop.lwp for stop in stops}, {self.sleeps[1].lwp})


@harness.needs_lldb
class Chosen(session.Case):
    """Symbols of one library in one interpreter, and what becomes of them when it is destroyed."""

    def test_one_copy_gets_symbols_and_loses_them(self):
        output = harness.lldb(
            ["breakpoint set -n host_created", "breakpoint set -n host_destroyed", "run", "gorgon symbols 1 libpython",
             "image list -f -h", "continue", "script print('=== destroyed')", "gorgon list", "image list -f -h",
             "gorgon symbols all", "script print('=== again')", "image list -f -h"],
            harness.HOST, "-n", str(COUNT), "-d", "1", "pass", script=True)
        before, destroyed = output.split("=== destroyed\n", 1)
        destroyed, again = destroyed.split("=== again\n", 1)
        self.assertIn("Symbols added to 1 objects.", before)
        self.assertEqual(re.findall(r"/(interp \d/\S+)", before), [f"interp 1/{session.PYTHON}"])
        self.assertEqual([row[0] for row in rows(destroyed)][:2], ["0", "2"])
        self.assertNotIn("/interp 1/", destroyed)
        self.assertEqual(sorted(set(re.findall(r"/interp (\d)/", again))), ["0", "2"])
        self.assert_clean(output)


@harness.needs_lldb
class Unstripped(session.Case):
    """A library with its debug information inside."""

    SOURCE = """
int lib_add(int a, int b)
{
	int sum = a;

	sum += b; /* where it stops */
	return sum;
}
"""

    def test_lines_and_values(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "lib.c"), os.path.join(folder, "libadd.so")
            with open(source, "w") as file:
                file.write(self.SOURCE)
            line = harness.source_line(source, "where it stops")
            made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
            self.assertEqual(made.returncode, 0, made.stderr)
            output = harness.lldb(
                ["breakpoint set -n lib_add", session.DRIVER, "run",
                 session.drive({"lib_add": ["once", "gorgon symbols all libadd", f"breakpoint set -f lib.c -l {line}"],
                                f"lib.c:{line}": ["bt 1", "frame variable"]})],
                harness.HOST, "-n", str(COUNT),
                # All copies are loaded before the first call, because symbols are added only to copies that are there.
                f"import ctypes, gorgon, time; l = ctypes.CDLL('{library}'); time.sleep(2); "
                "l.lib_add(40, gorgon.interpreter)", script=True)
        seen = {}
        for stop in session.stops(output, f"lib.c:{line}"):
            found = re.search(r"libadd\.so \[interp (\d)\]`lib_add\(a=40, b=(\d)\) at lib\.c:(\d+)",
                              stop.output["bt 1"])
            self.assertTrue(found, stop.output["bt 1"])
            self.assertEqual((found[1], int(found[3])), (found[2], line))
            self.assertIn("(int) sum = 40\n", stop.output["frame variable"])
            seen[int(found[1])] = stop
        self.assertTrue(seen, output)
        self.assert_clean(output)


# Two names for one address: the linker's for the end of a section, and a variable's.
MARKED = """#include <Python.h>
__asm__(".data\\n.type _edata, @object\\n.size _edata, 4\\n_edata:\\n"
        ".type first_of_section, @object\\n.size first_of_section, 4\\nfirst_of_section: .long 3\\n.text\\n");
static struct PyModuleDef marked = {PyModuleDef_HEAD_INIT, "marked"};
PyMODINIT_FUNC PyInit_marked(void) { return PyModule_Create(&marked); }
"""


@harness.needs_lldb
class Marks(session.Case):
    def test_a_variable_goes_before_a_name_of_the_linkers(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "marked.c")
            with open(source, "w") as file:
                file.write(MARKED)
            session.build_extension(source, folder, "gcc", "-g")
            output = harness.lldb(["breakpoint set -n time_sleep", "run", "gorgon symbols all", "gorgon whose &first_of_section", "continue"], harness.HOST,
                                  "-n", "1", f"import sys; sys.path.insert(0, {folder!r}); import marked, time; time.sleep(0.01)", script=True)
        self.assertRegex(output, r"(?m)^0x\w+: interpreter 0, marked\.so, first_of_section\+0$")


@harness.needs_lldb
class Completion(session.Case):
    def test_words_after_gorgon(self):
        output = harness.lldb(
            ["script found = lldb.SBStringList()",
             "script lldb.debugger.GetCommandInterpreter().HandleCompletion('gorgon b', 8, 0, -1, found)",
             "script print('found', *(found.GetStringAtIndex(i) for i in range(1, found.GetSize())))"], script=True)
        self.assertIn("\nfound break bt\n", output)


@harness.needs_lldb
class WhileRegistering(session.Case):
    """Symbols for a copy that the process knows already and lldb does not: its symfile comes later."""

    def test_the_symfile_does_not_win(self):
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            output = harness.lldb(
                ["breakpoint set -n jitreg_register", "breakpoint set -n enter", session.DRIVER, "run",
                 session.drive({"jitreg_register": ["gorgon symbols all libledger"],
                                "enter": ["bt 1", "gorgon list", "bt 2", "image list -f"]})],
                harness.HOST, "-n", "1", session.fixture_code(folder), script=True)
        stop = session.stops(output, "enter")[0]
        self.assertLess(output.index("Symbols added to 1 objects."), output.index("=== stop enter"))
        self.assertRegex(stop.output["bt 2"],
                         r"libledger\.so \[interp 0\]`enter\(owner=0, amount=20\) at ledger\.c:\d+")
        self.assertEqual(stop.output["image list -f"].count("/interp 0/libledger.so"), 1)
        self.assertEqual({session.functions(stop.output["bt 2"])[0] for stop in session.stops(output, "enter")}, {"enter"})
        self.assert_clean(output)


@harness.needs_lldb
class Afterwards(session.Case):
    """Attached, and from a core that gcore has made."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        core = os.path.join(cls.folder.name, "core")
        commands = ["gorgon list", "gorgon modules", "bt all", "script print('=== symbols')",
                    "gorgon symbols all libpython", "bt all", "script print('=== off')", "gorgon symbols off",
                    "bt all", "gorgon symbols 1", "gorgon whose time_sleep"]
        with harness.Background(harness.HOST, "-n", COUNT, session.code(wait=600), until=r"(?s)(ready.*){3}", asleep=3) as host:
            cls.addresses = harness.host_addresses(host.output)
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.lldb([*commands, "detach"], script=True, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.lldb([f"target create {harness.HOST} --core {core}.{host.pid}", *commands], script=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_backtraces(self, text, function, bottom):
        seen = []
        for backtrace in session.threads(text):
            labels = set(re.findall(r"(\S+) \[interp (\d)\]`", backtrace))
            if not labels:  # the host's main thread
                continue
            self.assertEqual(len(labels), 1, backtrace)
            seen.append(labels.pop()[1])
            self.assertIn(function, session.functions(backtrace))
            if bottom:
                self.assertEqual(session.functions(backtrace)[-len(bottom):], bottom)
        self.assertEqual(sorted(seen), ["0", "1", "2"])

    def check(self, output):
        names, lines = output.split("=== symbols\n", 1)
        lines, off = lines.split("=== off\n", 1)
        table = re.findall(rf"^(\d)\s+{harness.VERSION}\s+\d+\s+\d+ \(tid \d+\)\s+(0x\w+)-(0x\w+)\s+live   -$", names, re.M)
        self.assertEqual([row[0] for row in table], ["0", "1", "2"], names)
        for i, start, end in table:
            self.assertTrue(int(start, 16) < self.addresses[int(i)] < int(end, 16))
        self.assertIn(session.DECIMAL, names)
        self.assertIn(f"Symbols added to {COUNT} objects.", lines)
        bottom = ["start_thread", "__clone3"]
        self.check_backtraces(names, "_PyEval_EvalFrameDefault", bottom)
        self.check_backtraces(lines, "time_sleep", None)
        self.check_backtraces(off, "_PyEval_EvalFrameDefault", bottom)
        self.assertIn(f"Symbols removed from {COUNT} objects.", off)
        self.assertRegex(off, rf"\n0x\w+: interpreter 1, {harness.SONAME_RE}, time_sleep\+0, timemodule\.c:\d+\n")
        self.assertEqual(len(re.findall(r"time_sleep\(self=.*timeout_obj=.*\) at timemodule\.c:\d+", lines)), COUNT)
        self.assertNotRegex(output, session.TRACEBACK)

    def test_attached(self):
        self.check(self.attached)

    def test_core(self):
        self.check(self.core)


@harness.needs_lldb
class Nothing(session.Case):
    """Programs that have nothing to show, or garbage."""

    def one_line(self, before, command, *program):
        """What is on stderr; in batch mode an error ends the session, so it is the only one."""
        output = harness.lldb([*before, command], *program, script=True)
        self.assertNotRegex(output, session.TRACEBACK)
        return [line for line in session.complaints(output) if "exited" not in line]

    def test_not_running(self):
        self.assertEqual(self.one_line([], "gorgon list", harness.HOST),
                         ["error: gorgon list: the program is not running, and there is no core file"])

    def test_a_program_without_gorgon(self):
        for command in ("gorgon list", "gorgon modules", "gorgon whose $pc", "gorgon symbols all"):
            name = " ".join(command.split()[:2])
            self.assertEqual(self.one_line(["process launch --stop-at-entry", "bt"], command, "/bin/true"),
                             [f"error: {name}: this process does not use Gorgon: there is no gorgon_debug_root"])

    def test_a_stripped_libgorgon_is_enough_and_importing_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            host = harness.copy_stripped(folder)
            output = harness.lldb([f"command script import {harness.LLDB_SCRIPT}",
                                   "breakpoint set -n gorgon_interp_destroy", "run", "gorgon list"],
                                  host, "-n", str(COUNT), "pass", script=True)
        self.assertEqual([row[0] for row in rows(output[output.index("Num  Python"):])], ["0", "1", "2"])
        self.assert_clean(output)

    def test_before_the_first_interpreter(self):
        self.assertEqual(self.one_line(["breakpoint set -n main", "run"], "gorgon list", harness.HOST, "pass"),
                         ["error: gorgon list: no interpreter has been created in this process yet"])

    def test_a_damaged_root(self):
        root = "`(char *)&gorgon_debug_root"
        start = ["breakpoint set -n host_created", "run"]
        self.assertRegex(self.one_line([*start, f"memory write {root}` 0x58"], "gorgon list", harness.HOST, "pass")[0],
                         "^error: gorgon list: gorgon_debug_root does not begin with GORGONDR but with b'XORGONDR'")
        self.assertRegex(self.one_line([*start, f"memory write {root} + 8` 0x63"], "gorgon list", harness.HOST,
                                       "pass")[0],
                         "^error: gorgon list: gorgon_debug_root has version 99; these scripts know version 1")

    def test_damaged_lists(self):
        output = harness.lldb(["breakpoint set -n host_created", "run",
                               "memory write -s 8 `(char *)&gorgon_debug_root + 40` 0x1000",
                               # After a new sequence number, what was read before does not count any more.
                               "memory write -s 8 `(char *)&gorgon_debug_root + 16` 0x100000", "gorgon list", "bt 1"],
                              harness.HOST, "pass", script=True)
        self.assertIn("Damaged: the list of namespaces breaks off: cannot read 96 bytes at 0x1000\nNo interpreters.\n",
                      output)
        self.assertRegex(output, r"`host_created\(count=")
        self.assert_clean(output)


if __name__ == "__main__":
    unittest.main()
