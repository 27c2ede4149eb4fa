# SPDX-License-Identifier: MIT
"""What a user who types a plain "print" is told when gdb has shown another variable."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402
from terminal import Terminal  # noqa: E402

LINE = harness.source_line(session.WALK, "// where the walk stops")
OTHER_MEMORY = 'gorgon: {}: it is a thread-local variable of private code, and that was some other memory; ' \
               'see "help gorgon print"\n'
TYPED = {"print walk_depth": [OTHER_MEMORY.format("walk_depth")],
         "p /x walk_depth + 1": [OTHER_MEMORY.format("walk_depth")],
         "output walk_depth - walk_space::walk_inside": [OTHER_MEMORY.format("walk_depth"),
                                                         OTHER_MEMORY.format("walk_space::walk_inside")],
         "print walk_static": [], "print local + number": [], "print 1 +": [], "gorgon print walk_depth": [],
         "echo print walk_depth\\n": [], "info locals": [], "": []}


@harness.needs_gdb
class Typed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Terminal(harness.HOST, "-n", 2, session.walk()) as gdb:
            gdb.ask("print walk_depth")
            cls.sourced = gdb.ask(f"source {harness.GDB_SCRIPT}")
            gdb.ask(f"break walk.cc:{LINE} if number == 2")
            gdb.ask("run")
            cls.answers = {line: gdb.ask(line) for line in TYPED}
            gdb.ask("define hook-print\necho my own hook\\n\nend")
            cls.hooked = gdb.ask("print walk_depth")
            cls.counter = gdb.ask("print walk_counter")
            cls.same = {line: gdb.ask(line) for line in ("set var walk_counter = walk_counter", "x /dw &walk_counter",
                                                         "watch -location walk_counter")}
            gdb.ask("python [b.delete() for b in gdb.breakpoints() if b.type != gdb.BP_BREAKPOINT]")  # another copy's
            gdb.ask("gorgon print walk_counter = 4711")
            cls.assigned = gdb.ask("gorgon print walk_counter")
            gdb.ask("gorgon print &walk_counter")
            cls.watched = gdb.ask("watch -l *$")
            gdb.ask("set var $where = (long) $")
            cls.where = gdb.ask("print $gorgon_interp($where)")
            gdb.ask("delete 1")
            cls.changed = gdb.ask("continue")
            gdb.ask("delete")
            gdb.ask("up-silently 40")
            cls.outside = gdb.ask("print host_append_at[0]")

    def hints(self, text):
        return re.findall(r"gorgon: .*\n", text)

    def test_thread_local_variables_are_said_to_be_misread(self):
        for line, expected in TYPED.items():
            with self.subTest(line):
                self.assertEqual(self.hints(self.answers[line]), expected)
        self.assertRegex(self.answers["print walk_depth"], r"^\$\d+ = -?\d+\n")

    def test_a_users_own_hook_still_runs(self):
        self.assertIn("my own hook\n", self.hooked)
        self.assertEqual(self.hints(self.hooked), [OTHER_MEMORY.format("walk_depth")])

    def test_external_variable_of_another_copy(self):
        """gdb takes the first copy's; which one that is, it decides itself."""
        told = self.hints(self.counter)
        right = self.answers["gorgon print walk_depth"]
        self.assertRegex(right, r"^\$\d+ = 8\n")
        self.assertEqual(told, [] if re.search(r"= 7\n", self.counter) else
                         ['gorgon: walk_counter: that was not the one of interp 1; see "help gorgon print"\n'])

    def test_the_same_of_what_sets_and_watches_it(self):
        for line, text in self.same.items():
            with self.subTest(line):
                self.assertEqual(self.hints(text), self.hints(self.counter))

    def test_what_help_says_for_these_is_right(self):
        self.assertRegex(self.assigned, r"(?m)^\$\d+ = 4711\n")
        self.assertRegex(self.watched, r"(?m)^Hardware watchpoint \d+: -location \*\$\n")
        self.assertRegex(self.changed, r"Hardware watchpoint \d+: -location \*\$\n\nOld value = 4711\n")
        self.assertRegex(self.where, r"(?m)^\$\d+ = 1\n")

    def test_nothing_is_said_elsewhere(self):
        self.assertEqual(self.hints(self.sourced), [])
        self.assertEqual(self.hints(self.outside), [])


if __name__ == "__main__":
    unittest.main()
