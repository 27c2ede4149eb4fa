# SPDX-License-Identifier: MIT
"""A core whose debug files in the cache are gone: one line says so, and what it says helps."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 9
FEW = 3  # with -l described as more than eight are
CODE = "import time; print('ready', flush=True); time.sleep(600)"


@harness.needs_gdb
class Gone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cache, core = os.path.join(folder, "cache"), os.path.join(folder, "core")
            with harness.Background("env", f"XDG_CACHE_HOME={cache}", harness.HOST, "-l", "-n", FEW, CODE,
                                    until=rf"(?s)(ready.*){{{FEW}}}", asleep=FEW) as host:
                made = harness.run("gcore", "-o", core, host.pid)
            assert made.returncode == 0, made.stderr
            commands = [f"core-file {core}.{host.pid}", "thread apply all bt"]
            cls.there = harness.gdb(commands, harness.HOST, script=True)
            # What another session has left in the cache of gdb's own user is gone, too.
            os.rename(cache, cache + ".gone")
            elsewhere = ["env", f"XDG_CACHE_HOME={folder}/other"]
            cls.gone = harness.gdb(commands, harness.HOST, script=True, before=elsewhere)
            cls.names = harness.gdb([commands[0], "info symbol time_sleep"], harness.HOST, script=True, before=elsewhere)
            cls.added = harness.gdb([commands[0], "gorgon symbols all libpython", commands[1]], harness.HOST, script=True,
                                    before=elsewhere)

    def test_nothing_is_said_while_they_are_there(self):
        self.assertNotIn("gorgon: ", self.there)
        self.assertEqual(len(re.findall(r"^#\d+ .* in (?:pysleep|time_sleep) from ", self.there, re.M)), FEW)

    def test_one_line_says_what_is_missing(self):
        self.assertEqual(len(re.findall(r"^gorgon: /.*/cache/gorgon/\S+\.debug is not here: .*gorgon symbols all", self.gone, re.M)), 1,
                         self.gone)
        # gdb may know its address by a copy that it has looked at, but no symbol there.
        self.assertRegex(self.names, 'No symbol (?:"time_sleep"|matches time_sleep)')

    def test_backtraces_find_their_own(self):
        self.assertEqual(len(re.findall(r"^#\d+ .*\btime_sleep from ", self.gone, re.M)), FEW, self.gone[-3000:])

    def test_what_it_says_helps(self):
        self.assertEqual(len(re.findall(r"^#\d+ .*\btime_sleep from ", self.added, re.M)), FEW, self.added[-3000:])


@harness.needs_gdb
class NoFolder(unittest.TestCase):
    """Where the process can keep no files, `gorgon list` says of which interpreters lines are missing, and they are, until somebody asks
    for them; steps stop where they do elsewhere."""

    LINE = "python print(gdb.find_pc_line(int(gdb.parse_and_eval('(long)&time_sleep'))).symtab)"
    ASKED = ("info functions ^time_sleep$", "info line time_sleep", "info scope time_sleep", "list time_sleep")

    def session(self, count, cache):
        with harness.environment({"XDG_CACHE_HOME": cache}), \
             harness.Background(harness.HOST, "-n", count, CODE, until=rf"(?s)(ready.*){{{count}}}") as host:
            return harness.gdb([f"source {harness.GDB_SCRIPT}", f"attach {host.pid}", "gorgon list", self.LINE])

    def test_list(self):
        with tempfile.TemporaryDirectory() as cache:
            for count, where, missing in ((COUNT, "/proc", True), (COUNT, cache, False), (3, "/proc", False)):
                with self.subTest(count=count, where=where):
                    output = self.session(count, where)
                    said = f"Lines may be missing in interpreters 0 to {count - 1}: the process keeps no files for debuggers"
                    self.assertEqual(said in output, missing, output)
                    self.assertEqual("timemodule.c" not in output, missing, output)

    def test_lines_come_when_they_are_asked_for(self):
        with harness.environment({"XDG_CACHE_HOME": "/proc"}), \
             harness.Background(harness.HOST, "-n", COUNT, CODE, until=rf"(?s)(ready.*){{{COUNT}}}") as host:
            for asked in self.ASKED:
                with self.subTest(asked):
                    output = harness.gdb([f"source {harness.GDB_SCRIPT}", f"attach {host.pid}", "echo asked\\n", asked])
                    self.assertRegex(output.partition("\nasked\n")[2], r"(?m)timemodule\.c|^\d+:\tstatic PyObject \*time_sleep|timeout_obj", output)

    def test_a_step_stops_in_another_librarys_function(self):
        call = harness.source_line(session.WALK, "// the line of the call")
        with tempfile.TemporaryDirectory() as folder, harness.environment({"XDG_CACHE_HOME": "/proc"}):
            turns = session.walk(os.path.join(session.HERE, "turns.py"), folder=folder, count=COUNT)
            output = harness.gdb([f"break walk.cc:{call} if number == {COUNT}", "run", *session.commands(["step", "gorgon bt 1", "next", "gorgon whose $pc"]),
                                  "kill"], harness.HOST, "-n", COUNT, turns, script=True)
        found = session.answers(output)
        self.assertRegex(found["step"], r"(?m)^walk_dep_twice \(", output)
        self.assertRegex(found["gorgon whose $pc"], rf": interpreter {COUNT - 1}, libwalk_dep\.so, walk_dep_twice\+\d+, walk_dep\.c:", output)


if __name__ == "__main__":
    unittest.main()
