# SPDX-License-Identifier: MIT
"""gorgon print and gorgon tls: the variables of each copy and of each thread, as the program has printed them."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
LINE = harness.source_line(session.WALK, "// where the walk stops")
# What walk.cc prints, and the command that shows it.
PRINT = {"walk_counter": "gorgon print walk_counter", "walk_static": "gorgon print walk_static",
         "walk_plain_count": "gorgon print (int) walk_plain_count", "local": "gorgon print local",
         "odd": "gorgon print (odd + walk_counter) - walk_counter"}
TLS = {"walk_depth": "gorgon tls walk_depth", "walk_ratio": "gorgon tls walk_ratio",
       "walk_inside": "gorgon tls walk_space::walk_inside", "walk_plain_tls": "gorgon tls (int) walk_plain_tls"}
MISTAKES = {
    "gorgon print": 'gorgon print: an EXPRESSION expected; see "help gorgon print"',
    "gorgon print -i 9 walk_counter": "gorgon print: no interpreter 9; there are 0, 1, 2",
    "gorgon print no_such_variable": 'gorgon print: No symbol "no_such_variable" in current context.',
    "gorgon print walk_plain_count": "gorgon print: nothing describes the type of walk_plain_count; "
                                     "say (TYPE) walk_plain_count",
    "gorgon tls walk_counter": "gorgon tls: walk_counter has no thread-local variable of a private object in it",
    "gorgon tls": 'gorgon tls: an EXPRESSION expected; see "help gorgon tls"',
}
OTHERS = [f"gorgon print -i {i} walk_counter" for i in range(COUNT)]
FORMATS = ["gorgon print /x walk_counter", "gorgon print &walk_counter", "gorgon print walk_depth * 1000 + walk_counter",
           "gorgon print *&walk_static", "gorgon print sizeof(walk_static) + 'a' + \"walk_static\"[0]",
           "gorgon print (long) &walk_plain_count", "gorgon whose &walk_counter", "gorgon print walk_go == &walk_go",
           "print walk_counter", "print walk_depth"]


class Case(unittest.TestCase):
    def assert_values(self, commands, output, step):
        for name, command in commands.items():
            with self.subTest(command):
                self.assertEqual(session.value(output[command]), step[name])


@harness.needs_gdb
class Live(Case):
    """Every step of every thread, and what the other threads have at that moment."""

    @classmethod
    def setUpClass(cls):
        commands = [*PRINT.values(), *TLS.values(), *OTHERS, *FORMATS, *MISTAKES, "up", "gorgon print number",
                    "gorgon tls walk_depth"]
        cls.output = harness.gdb(
            [f"break walk.cc:{LINE}", session.LOOP, "run", f"python drive({{'walk.cc:{LINE}': {commands!r}}})"],
            harness.HOST, "-n", COUNT, session.walk(), script=True)
        cls.stops = session.stops(cls.output, f"walk.cc:{LINE}")
        cls.steps = session.steps(cls.output)
        assert len(cls.stops) == len(cls.steps) == 2 * COUNT, cls.output

    def each(self):
        for stop in self.stops:
            (step,) = self.steps[stop.lwp]
            yield stop, step

    def test_global_static_and_local_variables_are_of_the_copy(self):
        for stop, step in self.each():
            self.assert_values(PRINT, stop.output, step)

    def test_thread_local_variables_are_of_the_thread(self):
        for stop, step in self.each():
            self.assert_values(TLS, stop.output, step)
        self.assertEqual(len({step["walk_depth"] for _, step in self.each()}), 2 * COUNT)

    def test_plain_print_is_right(self):
        for stop, step in self.each():
            self.assert_values({"walk_counter": "print walk_counter", "walk_depth": "print walk_depth"}, stop.output, step)

    def test_another_interpreters_variable(self):
        # At the last stop every interpreter has printed both of its steps.
        by_number = {int(step["number"]): step for _, step in self.each()}
        for i, command in enumerate(OTHERS):
            self.assertEqual(session.value(self.stops[-1].output[command]), by_number[10 * (i + 1)]["walk_counter"])

    def test_expressions_formats_and_addresses(self):
        for stop, step in self.each():
            out = stop.output
            self.assertEqual(session.value(out["gorgon print /x walk_counter"]), hex(int(step["walk_counter"])))
            self.assertRegex(session.value(out["gorgon print &walk_counter"]), r"^\(int \*\) 0x\w+ <walk_counter>$")
            self.assertEqual(session.value(out[FORMATS[2]]), str(int(step["walk_depth"]) * 1000 +
                                                                 int(step["walk_counter"])))
            self.assertEqual(session.value(out["gorgon print *&walk_static"]), step["walk_static"])
            self.assertEqual(session.value(out[FORMATS[4]]), str(4 + ord("a") + ord("w")))
            self.assertEqual(session.value(out["gorgon print walk_go == &walk_go"]), "true")
            self.assertEqual(session.value(out["gorgon print number"]), step["number"], "walk_go's, one frame up")

    def test_mistakes_get_one_clear_line(self):
        for command, text in MISTAKES.items():
            with self.subTest(command):
                self.assertEqual(self.stops[0].output[command], f"error: {text}\n")

    def test_nothing_goes_wrong(self):
        self.assertEqual(session.complaints(self.output), [])


@harness.needs_gdb
class Afterwards(session.WaitingWalk, Case):
    """Attached, and from a core: both threads of each interpreter stay in their step."""

    commands = session.in_each_step([*TLS.values(), "gorgon print (int) walk_plain_count", "gorgon print walk_static"])

    def check(self, output):
        stops = session.stops(output, 1)
        self.assertEqual(sorted(stop.lwp for stop in stops), sorted(self.steps), output)
        # Both threads have stepped, so both numbers have been added to the copy's variables.
        for stop in stops:
            (step,) = self.steps[stop.lwp]
            self.assert_values(TLS, stop.output, step)
            number = int(step["number"]) // (10 if int(step["number"]) >= 10 else 1)
            self.assertEqual(session.value(stop.output["gorgon print (int) walk_plain_count"]), str(100 + 11 * number))
            self.assertEqual(session.value(stop.output["gorgon print walk_static"]), str(7 + 2 * 11 * number))
        self.assertEqual(session.complaints(output), [])


# offsetof(slots) in a thread's entry, and the sequence number that readers go by, of debug_root.h.
DAMAGE = """python
from gorgon_gdb import process
thread = process.snapshot().find_thread(gdb.selected_thread().ptid[1])
inferior = gdb.selected_inferior()
inferior.write_memory(thread.address + 16, (8).to_bytes(8, "little"))
inferior.write_memory(process.snapshot().address + 16, (process.snapshot().sequence + 2).to_bytes(8, "little"))
end"""


@harness.needs_gdb
class Damaged(unittest.TestCase):
    def test_a_threads_list_that_leads_nowhere_is_one_clear_line(self):
        output = harness.gdb([f"break walk.cc:{LINE}", "run", DAMAGE, "gorgon tls walk_depth"], harness.HOST, "-n", 1,
                             session.walk(), script=True)
        self.assertIn("gorgon tls: cannot read 16 bytes at 0x8\n", output)
        self.assertNotIn("Traceback", output)


if __name__ == "__main__":
    unittest.main()
