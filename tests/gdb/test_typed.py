# SPDX-License-Identifier: MIT
"""Breakpoints with commands, typed: if the commands end in "continue" the program runs on, gdb answers afterwards, and
nothing is lost. "gdb -batch -x" does not show what a terminal shows, because there gdb waits for each stop before it
goes on."""

import ast
import glob
import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402
from terminal import Terminal  # noqa: E402

TURNS = 3  # turns of the first interpreter; the others have one each
CODE = f"""import gorgon, time
for turn in range(1 if gorgon.interpreter else {TURNS}): time.sleep(0.01 * gorgon.interpreter)"""
CALLER = r"(cfunction_vectorcall_O|_PyEval_EvalFrameDefault)"  # of time_sleep(); CPython 3.13 calls it without a function between
SCRIPTS = os.path.join(os.path.dirname(harness.GDB_SCRIPT), "gorgon_gdb")


class Typed:
    count = None
    options = ()

    @classmethod
    def setUpClass(cls):
        with Terminal(harness.HOST, *cls.options, "-n", cls.count, CODE) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask("break time_sleep")
            gdb.block("commands", "silent", "bt 1", "continue")
            cls.each = gdb.ask("run")
            cls.hits = gdb.ask("info breakpoints")
            gdb.ask("delete")

            gdb.ask("tbreak time_sleep")
            gdb.block("commands", "echo once\\n", "continue")
            gdb.ask("break time_sleep if $gorgon_interp() == 0")
            gdb.block("commands", "silent", "echo first\\n", "finish")
            gdb.ask("ignore 3 1")
            gdb.ask("break time_sleep if 0")
            gdb.block("commands", "echo never\\n", "continue")
            cls.once = gdb.ask("run")
            cls.finished = gdb.ask("bt 1")
            cls.short = gdb.ask("bt -frame-arguments none -frame-info short-location")
            cls.usual = gdb.ask("bt -frame-arguments none 2")
            cls.types = gdb.ask("python o = PyObjectPtr.from_pyobject_ptr(gdb.parse_and_eval('func')); t = o.type(); "
                                "print([v._gdbval.type.target().code == gdb.TYPE_CODE_STRUCT for v in (o, t)],"
                                " type(o).__name__, t.field('tp_name').string(), t.type().field('tp_name').string())")
            cls.second = gdb.ask("continue")
            cls.frame = gdb.ask("frame")
            gdb.ask("delete")
            gdb.ask("kill")

            # A loop of the user's own, with commands that go on inside.
            gdb.ask("break time_sleep")
            gdb.block("commands", "silent", "echo hit\\n", "continue")
            cls.loop = gdb.block("python", "gdb.execute('run')", "while gdb.selected_inferior().pid:",
                                 "    gdb.execute('continue')", "")
            cls.looped = gdb.ask("info breakpoints")
            cls.answer = gdb.ask("print 6 * 7")

    def test_backtrace_without_places(self):
        """The README's session has it; gdb itself forgets this option where there is a frame filter."""
        self.assertRegex(self.short, r"(?m)^#0 +\w+ from libpython\S+ \[interp 0\] \([^)]*\)$")
        self.assertRegex(self.short, r"(?m)^#\d+ +\w+ \([^)]*\)$")
        self.assertNotRegex(self.short, r" at |0x")
        self.assertIn(" at ", self.usual)

    def test_commands_run_at_each_stop(self):
        found = re.findall(r"^#0  time_sleep from \S+ \[interp (\d+)\] \(.*timemodule\.c:\d+$", self.each, re.M)
        self.assertEqual(sorted(found), sorted(TURNS * ["0"] + [str(i) for i in range(1, self.count)]), self.each)
        self.assertIn(f"already hit {TURNS + self.count - 1} times", self.hits)
        self.assertIn("exited normally", self.each)

    def test_temporary_conditional_and_ignored(self):
        self.assertEqual((self.once.count("once\n"), self.once.count("first\n")), (1, 1), self.once)
        self.assertNotIn("never", self.once)

    def test_finish_among_commands(self):
        """The breakpoint's stop comes next, and commands that are typed then go on from there."""
        self.assertIn("Value returned is", self.once)
        self.assertRegex(self.finished, rf"^#0 +(0x\w+ in )?{CALLER} from \S+ \[interp 0\]")
        self.assertEqual(self.second.count("first\n"), 1, self.second)
        self.assertRegex(self.frame, rf"^#0 +(0x\w+ in )?{CALLER} ")

    def test_cpythons_helper_has_whole_types(self):
        """gdb would look for types that are only declared in all copies, each time."""
        if 'No symbol "func"' in self.types:
            self.skipTest("this CPython calls time.sleep() from its evaluation function")
        self.assertEqual(self.types, "[True, True] PyCFunctionObjectPtr builtin_function_or_method type\n")

    def test_a_loop_of_the_users(self):
        """gdb 18 goes on from some of the stops before their commands have run, without scripts, too."""
        hits = TURNS + self.count - 1
        self.assertIn(f"already hit {hits} times", self.looped)
        self.assertIn(self.loop.count("hit\n"), range(1, hits + 1) if harness.gdb_version() >= 18 else [hits], self.loop)
        self.assertIn("exited normally", self.loop)

    def test_gdb_answers_afterwards(self):
        self.assertRegex(self.answer, r"^\$\d+ = 42\n")
        for text in (self.each, self.once, self.second, self.loop):
            self.assertNotRegex(text, r"No stack|Error occurred|Traceback|Cannot ")


@harness.needs_gdb
class Progress(unittest.TestCase):
    def test_the_command_draws_no_progress_into_gdbs_lines(self):
        """On a terminal gdb would do so after half a second."""
        with Terminal(harness.GORGON, "run", "-n", 3, "-c", "import time; time.sleep(0.6)") as gdb:
            gdb.ask("break gorgon_interp_create")
            gdb.block("commands", "silent", "shell sleep 0.6", "continue")
            output = gdb.ask("run")
        self.assertIn("exited normally", output)
        self.assertNotIn("interpreters", output)


@harness.needs_gdb
class One(Typed, unittest.TestCase):
    count = 1


@harness.needs_gdb
class Three(Typed, unittest.TestCase):
    count = 3


@harness.needs_gdb
class Many(Typed, unittest.TestCase):
    """As with more than eight interpreters: symbols come at the stop, by a command of gdb's."""
    count, options = 3, ["-l"]


@harness.needs_gdb
class Line(unittest.TestCase):
    """As with more than eight interpreters, and a breakpoint that gdb can place only with the lines: they are there before
    the code runs, though the breakpoint has commands."""
    count, options = 3, ["-l"]

    @classmethod
    def setUpClass(cls):
        line = session.line_of("time_sleep")
        with Terminal(harness.HOST, *cls.options, "-n", cls.count, CODE) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask(f"break timemodule.c:{line}")
            gdb.block("commands", "silent", "bt 1", "continue")
            cls.each = gdb.ask("run")
            cls.hits = gdb.ask("info breakpoints")

    def test_each_copy_stops(self):
        found = re.findall(r"^#0  time_sleep from \S+ \[interp (\d+)\] \(.*timemodule\.c:\d+$", self.each, re.M)
        self.assertEqual(sorted(found), sorted(TURNS * ["0"] + [str(i) for i in range(1, self.count)]), self.each)
        self.assertIn(f"already hit {TURNS + self.count - 1} times", self.hits)
        self.assertIn("exited normally", self.each)
        self.assertNotRegex(self.each, r"No stack|Error occurred|Traceback|Cannot ")


class Static(unittest.TestCase):
    """No event reaches gdb.execute() but through execute.run(); before_prompt and commands may.

    A call of a function of another file is followed by the file's and the function's name, one of a function of the
    same file by its name, and one of a method by its name alone, into every class that has such a method."""

    # What gdb calls in an event, beside the handlers that registration.py connects.
    CALLED_BY_GDB = {"stop", "register"}

    @classmethod
    def setUpClass(cls):
        cls.functions = {}  # (file, name of a function, or Class.name) -> its tree
        for path in glob.glob(os.path.join(SCRIPTS, "*.py")):
            file = os.path.basename(path)[:-3]
            with open(path, encoding="utf-8") as source:
                for node in ast.parse(source.read()).body:
                    members = node.body if isinstance(node, ast.ClassDef) else [node]
                    prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                    cls.functions.update({(file, prefix + f.name): f for f in members if isinstance(f, ast.FunctionDef)})

    def handlers(self):
        for call in ast.walk(self.functions["registration", "register"]):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "connect":
                event, handler = call.args
                if event.value != "before_prompt":
                    yield (handler.value.id, handler.attr) if isinstance(handler, ast.Attribute) else ("registration", handler.id)
        for file, name in self.functions:
            if name.partition(".")[2] in self.CALLED_BY_GDB or name in self.CALLED_BY_GDB:
                yield file, name

    def called(self, key):
        """Functions whose names a function mentions: as a call, or to hand them on, unless it is to connect()."""
        file, name = key
        connected = {part for node in ast.walk(self.functions[key]) if isinstance(node, ast.Call)
                     and getattr(node.func, "id", "") == "connect" for part in ast.walk(node)}
        for node in ast.walk(self.functions[key]):
            if node in connected:
                continue
            if isinstance(node, ast.Name):
                found = [(file, node.id), (file, f"{node.id}.__init__")]
            elif isinstance(node, ast.Attribute):
                module = getattr(node.value, "id", None)
                found = [(module, node.attr), (module, f"{node.attr}.__init__")]
                if module in sys.stdlib_module_names:
                    continue
                if not any(known in self.functions for known in found):
                    found = [known for known in self.functions if known[1].partition(".")[2] == node.attr]
            else:
                continue
            yield from (known for known in found if known in self.functions)

    @staticmethod
    def executes(function):
        return any(isinstance(node, ast.Attribute) and node.attr == "execute" and getattr(node.value, "id", "") == "gdb"
                   for node in ast.walk(function))

    def reached(self, start):
        seen, left = {}, [(key, None) for key in start]
        while left:
            key, caller = left.pop()
            if key not in seen and key != ("execute", "run"):
                seen[key] = caller
                left += [(found, key) for found in self.called(key)]
        return seen

    def test_no_event_runs_a_command(self):
        reached = self.reached(set(self.handlers()))
        self.assertGreater(len(reached), 100)
        for key in reached:
            with self.subTest(key, caller=reached[key]):
                self.assertFalse(self.executes(self.functions[key]))

    def test_the_way_from_a_handler_is_followed(self):
        """What adds files is reached from a stop, and commands that run gdb's commands are seen to do so."""
        reached = self.reached({("registration", "on_stop")})
        self.assertIn(("symbols", "add"), reached)
        self.assertTrue(self.executes(self.functions["execute", "run"]))
        self.assertTrue(self.executes(self.functions["hooks", "newest_command"]))


if __name__ == "__main__":
    unittest.main()
