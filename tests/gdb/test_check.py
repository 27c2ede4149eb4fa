# SPDX-License-Identifier: MIT
"""gorgon check, and gorgon symbols for copies that debuggers are not told of."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 2
# Members of the first object, at their offsets in debug_root.h.
NS = "(*(char **)((char *)&gorgon_debug_root + 40))"
OBJECT = f"(*(char **)({NS} + 32))"
# The descriptor of the JIT interface; and an address in the object which, taken for an entry of that list, has the
# object's symfile where an entry has its own.
DESCRIPTOR = "((char *)&__jit_debug_descriptor)"
ENTRY = f"{OBJECT} + 56"
CHANGED = "set variable *(unsigned long *)((char *)&gorgon_debug_root + 16) += 2"


def poke(base, offset, value):
    return f"set variable *(unsigned long *)({base} + {offset}) {value}"


@harness.needs_gdb
class Check(unittest.TestCase):
    # What is overwritten, and what is reported then; {python} stands for libpython's label in interpreter 0.
    DAMAGE = {
        "range": ([poke(OBJECT, 56, "+= 0x100000000000"), poke(OBJECT, 64, "+= 0x100000000000")],
                  rf"^{{python}}: nothing of /\S+/{harness.SONAME_RE} is mapped at 0x\w+-0x\w+$"),
        # The address of a function, because variables may be on a page that belongs to no file.
        "neighbour": ([poke(OBJECT, 56, "= (unsigned long)&gorgon_version"),
                       poke(OBJECT, 64, "= (unsigned long)&gorgon_version + 8")],
                      rf"^{{python}}: /\S+/libgorgon\.so\.0 is mapped at 0x\w+-0x\w+, /\S+/{harness.SONAME_RE} expected$"),
        "symfile": ([poke(OBJECT, 72, "= 8")], r"^{python}: symfile: cannot read 4 bytes at 0x8$"),
        "content": ([poke(OBJECT, 72, "= (unsigned long)&gorgon_debug_root"), poke(OBJECT, 80, "= 64")],
                    r"^{python}: symfile: begins with b'GORG', b'\\x7fELF' expected$"),
        "other": ([poke(OBJECT, 72, f"= *(unsigned long *)({OBJECT} + 56)"), poke(OBJECT, 80, "= 64")],
                  r"^{python}: symfile: gdb has no object file at 0x\w+$"),
        "build-id": ([f"set variable **(char **)({OBJECT} + 40) += 1"],
                     rf"^{harness.SONAME_RE} \[interp \d\]: /\S+: build-id is [0-9a-f]{{{{40}}}}, [0-9a-f]{{{{40}}}} was loaded$"),
        "count": ([poke("((char *)&gorgon_debug_root)", 56, "+= 1")],
                  rf"^gorgon_debug_root: {COUNT} namespaces in the list, {COUNT + 1} expected$"),
        "thread": ([poke(NS, 64, "= 1")], r"^interp 0: its thread, LWP 1, is not in the process$"),
    }

    @classmethod
    def setUpClass(cls):
        lines = ["break host_created", "run", "python",
                 "def copies():",
                 "    i = gdb.selected_inferior()",
                 f"    ranges = [('(char *)&gorgon_debug_root', 80), ('{NS}', 72), ('{OBJECT}', 120),"
                 f" ('*(char **)({OBJECT} + 40)', 20), ('{DESCRIPTOR}', 16)]",
                 "    return [(a, i.read_memory(a, n).tobytes()) for a, n in"
                 " ((int(gdb.parse_and_eval(e)), n) for e, n in ranges)]",
                 "end", "python print('=== healthy')", "gorgon check"]
        for i, (name, (commands, _)) in enumerate(cls.DAMAGE.items(), 1):
            lines += ["python saved = copies()", f"python print('=== {name}')", *commands,
                      CHANGED.replace("2", str(2 * i)), "gorgon check",
                      "python [gdb.selected_inferior().write_memory(a, b) for a, b in saved]"]
        # As if a thread stood where gdb has not been told of the symfile yet.
        lines += ["python saved = copies()", "python print('=== announced')", *cls.DAMAGE["other"][0],
                  f"set variable *(int *)({DESCRIPTOR} + 4) = 1", poke(DESCRIPTOR, 8, f"= (unsigned long)({ENTRY})"),
                  CHANGED.replace("2", "50"), "gorgon check",
                  "python [gdb.selected_inferior().write_memory(a, b) for a, b in saved]"]
        lines += ["python print('=== again')", CHANGED.replace("2", "100"), "gorgon check"]
        cls.output = harness.gdb(lines, harness.HOST, "-n", COUNT, "pass", script=True)
        parts = re.split(r"^=== (.*)\n", cls.output, flags=re.M)
        cls.parts = dict(zip(parts[1::2], parts[2::2]))

    def test_healthy(self):
        for name in ("healthy", "announced", "again"):
            self.assertRegex(self.parts[name], rf"^{COUNT} namespaces, \d+ objects: consistent\.\n$")

    def test_each_damage_is_named(self):
        for name, (_, expected) in self.DAMAGE.items():
            with self.subTest(name):
                *lines, summary = self.parts[name].splitlines()
                # Copies of a file share the bytes of its build-id.
                self.assertEqual(len(lines), COUNT if name == "build-id" else 1, lines)
                for line in lines:
                    self.assertRegex(line, expected.format(python=rf"{harness.SONAME_RE} \[interp 0\]"))
                self.assertRegex(summary, rf"^{COUNT} namespaces, \d+ objects: ({COUNT} problems|1 problem)\.$")


@harness.needs_gdb
class Core(unittest.TestCase):
    """On a core; and when a file was replaced since."""

    def test_core_and_a_file_that_has_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("walk.so", "libwalk_dep.so", "libwalk_plain.so"):
                shutil.copy(os.path.join(harness.MODULES, name), folder)
            code = f"import sys, time; sys.path.insert(0, {folder!r}); import walk; print('ready', flush=True); time.sleep(600)"
            with harness.Background(harness.HOST, "-n", COUNT, code, until=r"(?s)(ready.*){2}", asleep=2) as host:
                core = os.path.join(folder, f"core.{host.pid}")
                harness.run("gcore", "-o", os.path.join(folder, "core"), host.pid).check_returncode()
            commands = [f"core-file {core}", "gorgon check"]
            healthy = harness.gdb(commands, harness.HOST, script=True)
            shutil.copy(os.path.join(harness.MODULES, "libwalk_dep.so"), os.path.join(folder, "walk.so"))
            changed = harness.gdb(commands, harness.HOST, script=True)
        self.assertRegex(healthy, rf"\n{COUNT} namespaces, \d+ objects: consistent\.\n")
        self.assertEqual(re.findall(r"^walk\.so (\[interp \d\]): \S+/walk\.so: build-id is \w+, \w+ was loaded$", changed,
                                    re.M), [f"[interp {i}]" for i in range(COUNT)])
        self.assertRegex(changed, rf"\n{COUNT} namespaces, \d+ objects: {COUNT} problems\.\n")


@harness.needs_gdb
class Symbols(unittest.TestCase):
    STOP = "import os, signal; os.kill(os.getpid(), signal.SIGTRAP)"

    @classmethod
    def setUpClass(cls):
        def mark(*commands):
            return [f"python say({command!r})" for command in commands]

        cls.output = harness.gdb(
            ["python", "def say(command):", "    print('--- ' + command, flush=True)", "    try:",
             "        gdb.execute(command)", "    except gdb.error as error:", "        print(error, flush=True)", "end",
             "run", *mark("info line time_sleep", "gorgon check", "gorgon symbols 0 libpython", "info line time_sleep",
                          "gorgon list", "gorgon symbols all libpython", "break time_sleep", "gorgon symbols off"),
             *mark("gorgon list", "gorgon symbols all"), "signal 0", *mark("bt 1")],
            harness.GORGON, "run", "--debug", "off", "-n", COUNT, "-c",
            f"import time, gorgon\nif not gorgon.interpreter: time.sleep(1); {cls.STOP}\n"
            "else: time.sleep(1.5)\ntime.sleep(0.1)", script=True)
        parts = re.split(r"^--- (.*)\n", cls.output, flags=re.M)
        cls.steps = list(zip(parts[1::2], parts[2::2]))
        cls.places = len(session.offsets("time_sleep"))

    def said(self, command, nth=0):
        return [text for name, text in self.steps if name == command][nth]

    def rows(self, text):
        return [list(row) for row in re.findall(r"^(\d) +(\S+) +(added.*|gdb has it.*)$", text, re.M)]

    def test_files_are_added_to_the_chosen_copies(self):
        self.assertIn('Function "time_sleep" not defined.', self.said("info line time_sleep"))
        self.assertEqual(self.rows(self.said("gorgon symbols 0 libpython")), [["0", harness.SONAME, "added"]])
        self.assertEqual(self.said("info line time_sleep", 1).count('of "../Modules/timemodule.c" starts'), self.places)
        self.assertEqual([row[2] for row in self.rows(self.said("gorgon symbols all libpython"))],
                         ["added before", "added"])

    def test_check_counts_what_debuggers_were_not_told(self):
        self.assertRegex(self.said("gorgon check"), r"^2 namespaces, (\d+) objects, \1 of them not told to debuggers: "
                         r"consistent\.\n$")

    def test_taken_back(self):
        self.assertEqual({row[2] for row in self.rows(self.said("gorgon symbols all"))}, {"added"})

    def test_a_breakpoint_finds_places_all_the_same(self):
        found = re.search(r"^Breakpoint 1 at 0x\w+: .*\((\d+) locations\)\n", self.said("break time_sleep"))
        self.assertEqual(int(found[1]), COUNT * self.places)
        self.assertRegex(self.said("bt 1"), rf"^#0  time_sleep from {harness.SONAME_RE} \[interp \d\] \(")

    def test_known_copies_are_left_alone(self):
        output = harness.gdb(["break host_created", "run", "gorgon symbols 1 libpython", "complete gorgon symbols 1 libp",
                              "complete gorgon symbols a"], harness.HOST, "-n", COUNT, "pass", script=True)
        self.assertRegex(output, rf"\n1 +{harness.SONAME_RE} +gdb has it: /\S+ \(build-id\)\n"
                         rf"gorgon symbols 1 {harness.SONAME_RE}\ngorgon symbols all\n$")


if __name__ == "__main__":
    unittest.main()
