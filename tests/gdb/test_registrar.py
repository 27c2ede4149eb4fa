# SPDX-License-Identifier: MIT
"""gdb without scripts sees what private compilers have made (tests/modules/jit.c), however they call
their registrar."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
LIBRARIES = ("libjit_direct.so", "libjit_exported.so", "libjit_late.so", "libjit_symbolic.so")


# gdb hides a temporary breakpoint of a thread that has ended: it has no number any more, but until the next stop gdb
# goes on to look for its function.
HIDDEN = 'Error in re-setting breakpoint 0: Function "jit_bottom" not defined.'


class Case(unittest.TestCase):
    def assert_backtrace(self, backtrace, *top):
        names = session.frames(backtrace)
        self.assertEqual(names[:len(top)], list(top), backtrace)
        self.assertIn("_PyEval_EvalFrameDefault", names)
        self.assertEqual(names[-3:], ["run_interpreter", "start_thread", "clone3"], backtrace)


@harness.needs_gdb
class Live(Case):
    def session(self, library):
        """Breakpoints are on compiled_0 to _2 and gone_0 to _2, all pending at first."""
        names = [f"{name}_{i}" for name in ("compiled", "gone") for i in range(COUNT)]
        return harness.gdb(
            [f"break {name}" for name in names] +
            [session.LOOP, "run", 'python drive({"compiled_0": ["info breakpoints", "bt", "eval \\"tbreak jit_bottom thread %d\\",'
             ' $_thread"], 0: ["bt"]})'],
            harness.HOST, "-n", COUNT, harness.compiled_code(library))

    def test_functions_have_names_breakpoints_and_backtraces(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                output = self.session(library)
                for name in ("compiled", "gone"):
                    found = harness.compiled_addresses(output, name)
                    self.assertEqual(sorted(found), list(range(COUNT)), output)
                    for i in range(COUNT):
                        (stop,) = session.stops(output, f"{name}_{i}")
                        # gdb stops behind the two instructions that make a frame.
                        self.assertEqual(stop.pc, found[i] + 4)
                        self.assert_backtrace(stop.output["bt"], f"{name}_{i}", "call", "jit_call")
                self.assertEqual(len(re.findall(r"compiled_\d returns 4\d\b", output)), COUNT, output)
                self.assertIn("exited normally", output)
                self.assertEqual([line for line in session.complaints(output) if line != HIDDEN], [])

    def test_what_a_function_calls_has_it_in_the_backtrace(self):
        output = self.session("libjit_direct.so")
        stops = session.stops(output, "jit_bottom")
        self.assertEqual(len(stops), 1, output)
        self.assert_backtrace(stops[0].output["bt"], "jit_bottom", "compiled_0", "call", "jit_call")

    def test_removed_function_is_gone(self):
        output = self.session("libjit_direct.so")
        (stop,) = session.stops(output, "compiled_0")
        table = stop.output["info breakpoints"]
        self.assertRegex(table, r"\n\d+ .*<PENDING> +gone_0\n", table)
        self.assertRegex(table, r"\n\d+ .*0x[0-9a-f]{16} <compiled_0\+4>\n", table)


@harness.needs_gdb
class Detached(Case):
    """The debug information of such a library is in a file of its own: so are Debian's libpythons from CPython 3.15.2 on."""

    def session(self, **options):
        with tempfile.TemporaryDirectory() as folder:
            library, line = harness.detached_compiler(folder)
            output = harness.gdb([f"break jit.c:{line}", session.LOOP, "run",
                                  "python drive({0: ['bt 1', 'info locals', 'info source', 'print value']})"],
                                 harness.HOST, "-n", COUNT, harness.compiled_code(library), **options)
        stops = re.findall(r"^#0 +(.*)", output, re.M)
        self.assertGreaterEqual(len(stops), 2 * COUNT, output)
        for stop in stops:
            self.assertRegex(stop, rf"\bjit_bottom .*\(value=\d+\) at .*\bjit\.c:{line}$", output)
        self.assertEqual(len(re.findall(r"^\$\d+ = \d+$", output, re.M)), len(stops))
        self.assertIn("exited normally", output)

    def test_functions_have_lines_and_arguments_in_each_copy(self):
        self.session()

    def test_scripts_add_nothing_to_that(self):
        self.session(script=True)


@harness.needs_gdb
class Afterwards(Case):
    """Attached, and from a core."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        core = os.path.join(cls.folder.name, "core")
        commands = ["thread apply all bt"] + [f"info symbol again_{i}" for i in range(COUNT)] + ["info address gone_1"]
        with harness.Background(harness.HOST, "-n", COUNT, harness.compiled_code("libjit_direct.so", wait=600),
                                until=r"(?s)(ready.*){3}", asleep=3) as host:
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.gdb(commands, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.gdb(commands, options=[harness.HOST, f"{core}.{host.pid}"])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, output):
        inside = [text for text in session.threads(output).values() if "compiled_" in text]
        self.assertEqual(len(inside), COUNT, output)
        seen = []
        for text in inside:
            names = session.frames(text)
            place = next(i for i, name in enumerate(names) if name.startswith("compiled_"))
            self.assertEqual([names[place - 1], *names[place + 1:place + 3]], ["wait_for", "call", "jit_wait"], text)
            seen.append(names[place])
        self.assertEqual(sorted(seen), [f"compiled_{i}" for i in range(COUNT)])
        self.assertEqual(re.findall(r"^(again_\d) in section \.text", output, re.M),
                         [f"again_{i}" for i in range(COUNT)], output)
        self.assertIn('No symbol "gone_1" in current context', output)

    def test_attached_shows_the_functions_that_are_there(self):
        self.check(self.attached)

    def test_core_shows_the_functions_that_were_there(self):
        self.check(self.core)


if __name__ == "__main__":
    unittest.main()
