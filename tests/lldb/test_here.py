# SPDX-License-Identifier: MIT
"""lldb: expression, print, watchpoints and target variable mean the copy of the frame, or say so."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
# In an ordinary program, too, lldb 21 writes wrong ids of threads into a core, and the stack of one thread only, which may be one of ours.
HAS_STACKS = not harness.LLDB or harness.lldb_version() != 21
# All interpreters load the module before the first goes on, which ends the process.
PROGRAM = ("import sys, os, time; sys.path.insert(0, {folder!r}); import gorgon, work; me = gorgon.interpreter; "
           "open(os.path.join({folder!r}, f'{{me}}.loaded'), 'w').close()\n"
           "if me != 1: time.sleep(3600)\n"
           "while sum(name.endswith('.loaded') for name in os.listdir({folder!r})) < gorgon.count(): time.sleep(0.01)\n"
           "time.sleep(0.2); work.count(12, 'name'); os._exit(0)")
SHOP = """
namespace shop { int sold = 1; }
namespace { int hidden = 20; }
extern "C" int shop_sell(int n);
int shop_sell(int n)
{
	shop::sold += n;
	hidden += n;
	return shop::sold + hidden; /* sold */
}
"""
# Each interpreter sells once, and the last waits for the others.
SELL = ("import ctypes, gorgon, os, time; me = gorgon.interpreter; shop = ctypes.CDLL({library!r})\n"
        "open({library!r} + f'.{{me}}', 'w').close()\n"
        "while not all(os.path.exists({library!r} + f'.{{i}}') for i in range(gorgon.count())): time.sleep(0.01)\n"
        "if me == 2: shop.shop_sell(7)\n")
COMMANDS = ["expression work_calls", "expression work_calls = 7", "expression -- PyList_New(3)", "p PyObject_Repr(name)",
            "p/x n", "call helper(self, 4)", "print doubled_total", "expression -- &_PyRuntime", "gorgon print &_PyRuntime",
            "p &PyList_Type", "gorgon whose &PyList_Type", "p \"PyList_New\"", "p self->ob_refcnt > 0",
            "target variable work_calls", "watchpoint set variable work_calls", "watchpoint set variable _Py_NoneStruct",
            "gorgon print &work_calls", "gorgon apply all p &_PyRuntime", "expression (PyObject *)0xfffffffffffffff8",
            "p work_depth", "expression work_depth = 50", "gorgon tls work_depth",
            "p _PyRuntime.main_thread", "frame variable _PyRuntime.main_thread", "gorgon print _PyRuntime.main_thread", "p PyList_New(1)", "settings show target.expr-prefix", "p n", "settings show target.expr-prefix",
            "process save-core {folder}/core", "process save-core --style full {folder}/whole", "breakpoint list"]


@harness.needs_lldb
@unittest.skipIf(harness.LLDB and harness.lldb_version() <= 16, "lldb 16 has its own commands: it takes no functions of Python for them")
class Here(session.Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_extensions(cls.folder.name)
        call, end = (harness.source_line(session.WORK, f"count: {where}") for where in ("call", "end"))
        code = PROGRAM.format(folder=cls.folder.name).replace("\n", "\\n")
        cls.output = harness.lldb(
            ["gorgon symbols auto", f"breakpoint set -f work.c -l {call} -c 'i == 0'", f"breakpoint set -N end -f work.c -l {end}",
             "breakpoint command add -o 'p PyLong_FromLong(5)' end", "breakpoint set -s work.so -n helper -c 0", session.DRIVER, "run",
             session.drive({f"work.c:{call}": [command.format(folder=cls.folder.name) for command in COMMANDS]})],
            harness.HOST, "-n", str(COUNT), f'exec("""{code}""")', script=True)
        cls.said = session.stops(cls.output, f"work.c:{call}")[0].output

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def address(self, command):
        return re.search(r"0x(\w+)", self.said[command])[1].lstrip("0")

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assertNotRegex(self.output, session.TRACEBACK)

    def test_globals_of_the_source_file(self):
        self.assertIn(" = 101\n", self.said["expression work_calls"])
        self.assertIn(" = 7\n", self.said["expression work_calls = 7"])
        self.assertIn("(int) 8\n", self.said["print doubled_total"])

    def test_functions_are_those_of_the_frames_interpreter(self):
        self.assertRegex(self.said["expression -- PyList_New(3)"], r"\(PyObject \*\) \$\d+ = 0x\w+ list of 3\n")
        self.assertIn("\"'name'\"", self.said["p PyObject_Repr(name)"])
        self.assertRegex(self.said["call helper(self, 4)"], r"\(int\) \$\d+ = 8\n")

    def test_thread_local_variables(self):
        self.assertIn("(long) 42\n", self.said["p work_depth"])
        self.assertIn(" = 50\n", self.said["expression work_depth = 50"])
        self.assertEqual(self.said["gorgon tls work_depth"], "(long) work_depth = 50\n")

    def test_modules_have_the_names_of_their_files(self):
        self.assertIn(f"name = 'helper', module = work.so, locations = {COUNT}", session.listed(self.said["breakpoint list"], "helper"))

    def test_global_of_another_library(self):
        self.assertEqual(self.address("expression -- &_PyRuntime"), self.address("gorgon print &_PyRuntime"))
        self.assertIn("<class 'list'>", self.said["p &PyList_Type"])

    def test_member_of_a_global_of_another_library(self):
        mine = re.search(r"\d+\n", self.said["gorgon print _PyRuntime.main_thread"])[0]
        self.assertIn(f") {mine}", re.sub(r"\$\d+ = ", "", self.said["p _PyRuntime.main_thread"]))
        self.assertIn("no variable named '_PyRuntime'", self.said["frame variable _PyRuntime.main_thread"])

    def test_formats_texts_and_members_are_as_ever(self):
        self.assertIn("(int) 0x0000000c\n", self.said["p/x n"])
        self.assertIn('(const char[11]) "PyList_New"', self.said['p "PyList_New"'])
        self.assertIn("(bool) true", self.said["p self->ob_refcnt > 0"])

    def test_apply_means_the_frame_that_it_chooses(self):
        found = re.findall(r"0x(\w+)", self.said["gorgon apply all p &_PyRuntime"])
        self.assertEqual(len(set(found)), COUNT)
        self.assertEqual(found[1].lstrip("0"), self.address("gorgon print &_PyRuntime"))

    def test_breakpoint_commands_go_on(self):
        self.assertRegex(self.output, r"\(lldb\)  p PyLong_FromLong\(5\)\n\(PyObject \*\) 0x\w+ 5\n")

    def test_target_variable_says_whose(self):
        # lldb writes this line to the debugger's error file, before the values.
        found = re.search(r'^work_calls of (.*); "gorgon print work_calls" shows', self.output, re.M)
        self.assertEqual(sorted(found[1].split(", ")), [f"work.so [interp {i}]" for i in range(COUNT)])
        order = [int(n) for n in re.findall(r"interp (\d)", found[1])]
        values = re.findall(r"= (\d+)\n", self.said["target variable work_calls"])
        self.assertEqual(values, ["7" if i == 1 else "100" for i in order])

    def test_watchpoints(self):
        self.assertIn(f"addr = 0x{self.address('gorgon print &work_calls')} ",
                      self.said["watchpoint set variable work_calls"])
        self.assertRegex(self.output, r"error: lldb takes the first copy's _Py_NoneStruct; that of \S+ \[interp 1\] is watched "
                         r"by: watchpoint set expression -s 16 -- 0x\w+\n")
        self.assertNotIn("Watchpoint created", self.said["watchpoint set variable _Py_NoneStruct"])

    def test_the_users_setting_comes_back(self):
        # The setting is asked for twice: after an expression that needs definitions, and after an expression that needs
        # none.
        found = re.findall(r"^target.expr-prefix \(file\) ?=? ?(.*)$", self.output, re.M)
        self.assertEqual(len(found), 2)
        self.assertIn("/proc/", found[0])
        self.assertNotIn("/proc/", found[1])

    def test_cores_of_lldb(self):
        self.assertEqual(len(re.findall(r"(?m)^This core will have stacks only; with \"--style full\" ", self.output)), 1)
        self.assertNotIn("JIT(", self.said["process save-core {folder}/core".format(folder=self.folder.name)])

    def test_a_whole_core_of_lldb_has_all_copies(self):
        output = harness.lldb([f"target create -c {os.path.join(self.folder.name, 'whole')}", "gorgon symbols all", "gorgon list",
                               "gorgon apply 1 bt 4"], script=True)
        if HAS_STACKS:
            self.assertRegex(output, r"work\.so \[interp 1\]`work_count\(self=<module>, args=tuple of 2\) at work\.c:\d+")

    def test_what_a_core_will_lack_is_said(self):
        self.assertEqual("lldb 21 writes the stack of one thread only into a core" in self.output, not HAS_STACKS)

    def test_cores_of_lldb_have_names_in_all_copies_without_a_command_of_ours(self):
        for name in ("core", "whole"):
            output = harness.lldb(["gorgon symbols auto", f"target create -c {os.path.join(self.folder.name, name)}", "bt all",
                                   "target modules list"], script=True)
            self.assert_clean(output)
            inside = re.findall(rf"{harness.SONAME_RE} \[interp (\d+)\]`_PyEval_EvalFrameDefault\(", output)
            if HAS_STACKS:
                self.assertEqual(sorted(map(int, set(inside))), list(range(COUNT)), name)
                self.assertRegex(output, r"work\.so \[interp 1\]`work_count\(.*\) at work\.c:\d+")
            else:  # whichever thread it is
                self.assertLessEqual(len(set(inside)), 1, name)
            there = re.findall(rf" 0x(\w+) \S+/interp (\d+)/{harness.SONAME_RE}", output)
            self.assertEqual(sorted(int(i) for _, i in there), list(range(COUNT)), name)
            self.assertEqual(len({address for address, _ in there}), COUNT, name)

    def test_modules_that_lldb_cannot_write(self):
        output = harness.lldb(["breakpoint set -n host_created", "run", f"process save-core {os.path.join(self.folder.name, 'none')}"],
                              harness.HOST, "-n", "1", "pass", script=True)
        self.assertIn('lldb cannot write its modules JIT(...) into a core; after "gorgon symbols all" it has none.\n', output)


@harness.needs_lldb
@unittest.skipIf(harness.LLDB and harness.lldb_version() <= 16, "lldb 16 has its own commands: it takes no functions of Python for them")
class Namespaces(unittest.TestCase):
    """lldb looks for names in namespaces in all modules."""

    def test_a_variable_is_the_frames_or_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "shop.cc"), os.path.join(folder, "libshop.so")
            with open(source, "w") as file:
                file.write(SHOP)
            made = harness.run("g++", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
            self.assertEqual(made.returncode, 0, made.stderr)
            code = SELL.format(library=library).replace("\n", "\\n")
            output = harness.lldb(
                ["gorgon symbols auto", f"breakpoint set -f shop.cc -l {harness.source_line(source, '/* sold */')}", "run",
                 "p hidden", "expression hidden = 30", "frame variable hidden", "p shop::sold", "gorgon print shop::sold",
                 "p n + 1"], harness.HOST, "-n", "3", f'exec("""{code}""")', script=True)
        said = dict(part.partition("\n")[::2] for part in output.split("(lldb) ")[1:])
        self.assertRegex(said["p hidden"], r"^\(int\) 27\n")
        self.assertRegex(said["frame variable hidden"], r"hidden = 30\n")
        self.assertNotIn("(int)", said["p shop::sold"])
        self.assertIn("""error: lldb may take another copy's shop::sold; "gorgon print shop::sold" shows the frame's""", output)
        self.assertRegex(said["gorgon print shop::sold"], r"shop::sold = 8\n")
        self.assertRegex(said["p n + 1"], r"^\(int\) 8\n")


if __name__ == "__main__":
    unittest.main()
