# SPDX-License-Identifier: MIT
"""gorgon bt, gorgon apply, and who holds each GIL: live, attached and from a core."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
MANY = 9
LINE = harness.source_line(session.WALK, "// where the walk stops")
# The Python line that has called walk.go(), and the function around it.
CALLS = {1: (harness.source_line(session.WALKER, "# the main thread's line"), "<module>"),
         10: (harness.source_line(session.WALKER, "# the second thread's line"), "second")}
EACH = [f"gorgon bt -i {i} -frame-arguments none" for i in range(COUNT)]
APPLY = "gorgon apply all print $gorgon_interp() * 100 + $_gorgon_interp"
MISTAKES = {
    "gorgon bt -i 9": "gorgon bt: no interpreter 9; there are 0, 1, 2",
    "gorgon bt -i": "gorgon bt: -i takes the number of an interpreter",
    "gorgon apply 9 bt": "gorgon apply: no interpreter 9; there are 0, 1, 2",
    "gorgon apply 1": 'gorgon apply: N or "all" and a COMMAND expected; see "help gorgon apply"',
    "gorgon apply": 'gorgon apply: N or "all" and a COMMAND expected; see "help gorgon apply"',
}


def sections(text):
    """{(interpreter, LWP): text} of what is printed under titles, in order."""
    parts = re.split(r"^Interpreter (\d+), thread \d+ \(LWP (\d+)\):\n", text, flags=re.M)
    return {(int(i), int(lwp)): body for i, lwp, body in zip(parts[1::3], parts[2::3], parts[3::3])}


def holders(text):
    """{interpreter: last column} of gorgon list."""
    lines = text.splitlines()
    column = lines[0].index("GIL")
    return {int(line.split()[0]): line[column:] for line in lines[1:] if re.match(r"\d", line)}


class Case(unittest.TestCase):
    def assert_merged(self, backtrace, step):
        """walk_step is called by walk_go, and that by the Python line of this thread."""
        number = int(step["number"])
        line, function = CALLS[10 if number >= 10 else 1]
        names = session.frames(backtrace)
        caller = names.index("walk_go")
        self.assertEqual(names[caller - 1], "walk_step")
        evaluator = names.index("_PyEval_EvalFrameDefault")
        self.assertLess(caller, evaluator)
        self.assertEqual(names[-2:], ["start_thread", "clone3"])
        self.assertRegex(backtrace, rf'(?m)^#{evaluator} .*\n      File "{session.WALKER}", line {line}, in {function}\n'
                         r"        .*walk\.go\(")
        if function == "second":
            # One native frame runs all three functions; the rest is Python's threading.
            inner = backtrace.index(", in second\n")
            self.assertLess(inner, backtrace.index(", in Thread.run\n"))
            self.assertLess(backtrace.index(", in Thread.run\n"), backtrace.index(", in Thread._bootstrap\n"))


@harness.needs_gdb
class Live(Case):
    @classmethod
    def setUpClass(cls):
        broken = ["set $sp_before = $rsp", "set $bp_before = $rbp", "set $rsp = 0", "set $rbp = 0", "gorgon bt 50",
                  "set $rsp = $sp_before", "set $rbp = $bp_before"]
        commands = [*broken, "gorgon list", "gorgon bt -frame-arguments none", "gorgon bt 1", *EACH, APPLY, "gorgon apply 1 no_such_command",
                    "gorgon apply all no_such_command", *MISTAKES, "up", "gorgon apply 0 gorgon whose $pc", "frame",
                    "print $_gorgon_interp", "complete gorgon apply ", "complete gorgon bt -i 2", "help gorgon bt"]
        cls.output = harness.gdb(
            ["break host_created", f"break walk.cc:{LINE}", session.LOOP, "run",
             f"python drive({{'host_created': ['gorgon list', 'gorgon bt -i 1', 'gorgon apply 1 bt'], 'walk.cc:{LINE}': {commands!r}}})"],
            harness.HOST, "-n", COUNT, session.walk(), script=True)
        (cls.created,) = session.stops(cls.output, "host_created")
        cls.stops = session.stops(cls.output, f"walk.cc:{LINE}")
        cls.steps = session.steps(cls.output)
        assert len(cls.stops) == 2 * COUNT, cls.output

    def interp(self, stop):
        number = int(self.steps[stop.lwp][0]["number"])
        return (number // 10 if number >= 10 else number) - 1

    def test_native_and_python_frames_are_merged(self):
        for stop in self.stops:
            self.assert_merged(stop.output["gorgon bt -frame-arguments none"], self.steps[stop.lwp][0])

    def test_python_frames_are_there_when_the_stack_is_broken(self):
        for stop in self.stops:
            native, _, frames = stop.output["gorgon bt 50"].partition('      File "')
            self.assertEqual(session.frames(native)[0], "walk_step")
            self.assertNotIn("_PyEval_EvalFrameDefault", native)
            line, function = CALLS[10 if int(self.steps[stop.lwp][0]["number"]) >= 10 else 1]
            self.assertTrue(frames.startswith(f'{session.WALKER}", line {line}, in {function}\n'), frames)

    def test_arguments_are_those_of_bt(self):
        for stop in self.stops:
            self.assertRegex(stop.output["gorgon bt 1"], r"^#0  walk_step from .*\n$")

    def test_every_thread_of_an_interpreter_the_programs_first(self):
        for stop in self.stops:
            interp = self.interp(stop)
            found = sections(stop.output[EACH[interp]])
            main = next(lwp for lwp, steps in self.steps.items() if int(steps[0]["number"]) == interp + 1)
            expected = [(interp, lwp) for lwp in dict.fromkeys((main, stop.lwp))]
            self.assertEqual(list(found), expected)
            self.assert_merged(found[interp, stop.lwp], self.steps[stop.lwp][0])

    def test_apply_selects_a_thread_of_each(self):
        for stop in self.stops:
            for (interp, _), text in sections(stop.output[APPLY]).items():
                self.assertEqual(session.value(text), str(101 * interp))
        self.assertEqual({i for stop in self.stops for i, _ in sections(stop.output[APPLY])}, set(range(COUNT)))

    def test_selection_is_as_before(self):
        for stop in self.stops:
            self.assertRegex(stop.output["frame"], r"^#1  .* in walk_go \(")
            self.assertEqual(session.value(stop.output["print $_gorgon_interp"]), str(self.interp(stop)))

    def test_the_thread_that_runs_holds_the_gil(self):
        for stop in self.stops:
            self.assertEqual(holders(stop.output["gorgon list"])[self.interp(stop)], f"{stop.thread} (LWP {stop.lwp})")
        self.assertEqual(holders(self.created.output["gorgon list"]), {i: "-" for i in range(COUNT)})

    def test_an_interpreter_without_a_thread(self):
        self.assertEqual(self.created.output["gorgon bt -i 1"], "No thread works for interpreter 1.\n")
        self.assertTrue(self.created.output["gorgon apply 1 bt"].startswith(
            "error: gorgon apply: no thread works for interpreter 1\n"))

    def test_mistakes_get_one_clear_line(self):
        for command, text in MISTAKES.items():
            with self.subTest(command):
                self.assertEqual(self.stops[0].output[command], f"error: {text}\n")
        last = self.stops[-1].output
        self.assertIn('Undefined command: "no_such_command"', last["gorgon apply all no_such_command"])

    def test_completion_and_help(self):
        out = self.stops[0].output
        self.assertEqual(out["complete gorgon bt -i 2"], "gorgon bt -i 2\n")
        self.assertIn("Usage: gorgon bt [-i N]", out["help gorgon bt"])
        self.assertEqual(session.complaints(self.output), [])


@harness.needs_gdb
class Afterwards(session.WaitingWalk, Case):
    """Both threads of each interpreter wait in their steps, without the GIL."""

    commands = ["gorgon list", *EACH, "echo =apply\\n", APPLY]

    def check(self, output):
        self.assertEqual(session.complaints(output), [])
        self.assertEqual(holders(output[output.index("Num  Python"):output.index("\nInterpreter")]),
                         {i: "-" for i in range(COUNT)})
        stacks, _, applied = output.partition("=apply\n")
        found = sections(stacks)
        expected = {((n // 10 if n >= 10 else n) - 1, lwp) for lwp, (step,) in self.steps.items()
                    for n in (int(step["number"]),)}
        self.assertEqual(set(found), expected)
        for (_, lwp), text in found.items():
            self.assert_merged(text, self.steps[lwp][0])
        self.assertEqual([session.value(text) for text in sections(applied).values()],
                         [str(101 * i) for i in range(COUNT)])


@harness.needs_gdb
class Without(Case):
    """The file of libpython has gone."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.libpython = shutil.copy(harness.LIBPYTHON, folder)
            cls.output = harness.gdb(
                ["set environment PYTHONHOME /usr", "break walk_go", session.LOOP, "run", f"shell rm {cls.libpython}",
                 'python drive({"walk_go": ["gorgon list", "gorgon bt"]})'],
                harness.HOST, "-n", 1, "-p", cls.libpython, session.walk(), script=True)
        cls.stop = session.stops(cls.output, "walk_go")[0]

    def test_nobody_is_said_to_hold_the_gil(self):
        self.assertEqual(holders(self.stop.output["gorgon list"]), {0: "?"})

    def test_native_frames_are_shown_and_what_is_missing_is_said(self):
        text = self.stop.output["gorgon bt"]
        self.assertEqual(session.frames(text)[0], "walk_go")
        self.assertNotIn('  File "', text)
        self.assertIn(f"\n(Python frames of interp 0: the file of {harness.SONAME} [interp 0], "
                      f"{self.libpython}, is not here)\n", text)


@harness.needs_gdb
class NobodyLooked(unittest.TestCase):
    """Backtraces of threads that had no prompt, with more interpreters than gdb gets full debug information of."""

    @classmethod
    def setUpClass(cls):
        code = "import time; print('ready', flush=True)\ndef wait(n): time.sleep(n)\nwait(600)"
        with harness.Background(harness.GORGON, "run", "-n", MANY, "-c", code, until=rf"(ready\s+){{{MANY}}}", asleep=MANY) as host:
            cls.output = harness.gdb(["thread apply all bt 6", "thread 2", "py-bt"], script=True, options=["-p", str(host.pid)])

    def test_each_has_arguments(self):
        numbers = re.findall(r"in pysleep from \S+ \[interp (\d+)\] \(timeout=.*\n"
                             r"#\d+ .*time_sleep from \S+ \[interp \1\] \(self=.*, timeout_obj=", self.output)
        self.assertEqual(sorted(map(int, numbers)), list(range(MANY)), self.output)

    def test_python_frames_of_one(self):
        self.assertRegex(self.output, r'File "<string>", line 2, in wait\n')


if __name__ == "__main__":
    unittest.main()
