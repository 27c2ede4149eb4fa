# SPDX-License-Identifier: MIT
"""A walk through a host with four interpreters: numpy, a C++ module with exceptions and
thread-local variables, a library with debug information and one without any. Interpreter 1
is destroyed while breakpoints are set, number 4 created after the others have ended. What
gdb must show, walk.cc has computed and printed."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 4
WALKING = (0, 2, 3, 4)
CALL = harness.source_line(session.WALK, "// the line of the call")
AFTER = harness.source_line(session.WALK, "// the line after the call")
LINE = harness.source_line(session.WALK, "// where the walk stops")
WAIT = harness.source_line(session.WALK, "// where attached sessions find it")
# The scripts' breakpoints.
NUMPY, THROW, PLAIN, ONE = "PyInit__multiarray_umath", "walk_throw", "walk_plain_next", "walk_catch"
AT_CALL, AT_LINE = f"walk.cc:{CALL}", f"walk.cc:{LINE}"
VALUES = {"walk_counter": "gorgon print walk_counter", "walk_static": "gorgon print walk_static",
          "walk_plain_count": "gorgon print (int) walk_plain_count", "walk_depth": "gorgon tls walk_depth",
          "walk_ratio": "gorgon tls walk_ratio", "walk_inside": "gorgon tls walk_space::walk_inside",
          "walk_plain_tls": "gorgon tls (int) walk_plain_tls"}
BREAKPOINTS = ["gorgon break PyInit__multiarray_umath", f"gorgon break walk.cc:{CALL}", f"gorgon break walk.cc:{LINE}",
               "gorgon break walk_throw", "gorgon break walk_plain_next", "gorgon break -i 2 walk_catch if number > 20"]
# Other threads stand still while this thread steps, so nothing in between may need what they hold. The first use of a
# thread-local variable takes the loader's lock, which a thread holds that loads a library.
ACTIONS = {
    "host_created": ["gorgon list"], "host_destroyed": ["gorgon list"],
    NUMPY: ["bt 1"],
    AT_CALL: ["set scheduler-locking on", "info args", "print local", "step", "print number", "next", "next", "next",
              "print result", "up", "print local + 1", "gorgon whose $pc", "down", "finish", "print $", "next",
              "print twice", "set scheduler-locking off"],
    AT_LINE: [*VALUES.values(), "print twice", "print odd", "print local", "frame", "up", "print number",
              "gorgon print &walk_counter"],
    THROW: ["print number", "bt 3", "up", "print number"],
    PLAIN: ["bt 2"],
    ONE: ["print number"],
}


def number(step):
    return int(step["number"])


def interp(step):
    return (number(step) // 10 if number(step) >= 10 else number(step)) - 1


class Case(unittest.TestCase):
    mode = ()

    def assert_values(self, commands, output, step):
        for name, command in commands.items():
            with self.subTest(command):
                self.assertEqual(session.value(output[command]), step[name])


@harness.needs_gdb
class Live(Case):
    @classmethod
    def setUpClass(cls):
        cls.output = harness.gdb(
            ["break host_created", "break host_destroyed", *BREAKPOINTS, session.LOOP, "run",
             f"python drive({ACTIONS!r}, limit=400)"],
            harness.HOST, *cls.mode, "-n", COUNT, "-d", 1, "-a", session.walk(with_numpy=True), script=True)
        cls.steps = session.steps(cls.output)
        cls.created, cls.again = session.stops(cls.output, "host_created")
        (cls.destroyed,) = session.stops(cls.output, "host_destroyed")

    def each(self, breakpoint):
        """(stop, step) in the order of the steps' numbers; one for each step."""
        # The number of a thread may be given again after its end: the steps of one come in their order.
        left = {lwp: list(steps) for lwp, steps in self.steps.items()}
        found = [(stop, left[stop.lwp].pop(0)) for stop in session.stops(self.output, breakpoint)]
        self.assertEqual(sorted(number(step) for _, step in found),
                         sorted(n for i in WALKING for n in (i + 1, 10 * (i + 1))))
        return sorted(found, key=lambda pair: number(pair[1]))

    def test_the_program_is_not_disturbed(self):
        self.assertIn("exited normally", self.output)
        # gdb 13 prints this warning for copies that get lines at a stop (gdb/README.md).
        known = "warning: location number not found for breakpoint" if self.mode else "none"
        self.assertEqual([line for line in session.complaints(self.output) if not line.startswith(known)], [])
        self.assertNotRegex(self.output, r"Python Exception|Cannot remove|Error removing|Error in testing")
        sums = {int(i): int(s) for i, s in re.findall(r"numpy: interp (\d) sum (\d+)", self.output)}
        self.assertEqual(sums, {i: sum(range(10 * (i + 1))) for i in WALKING})

    def test_interpreters_come_and_go_under_breakpoints(self):
        def living(stop):
            return re.findall(r"^(\d) .* live ", stop.output["gorgon list"], re.M)
        self.assertEqual(living(self.created), ["0", "1", "2", "3"])
        self.assertEqual(living(self.destroyed), ["0", "2", "3"])
        self.assertEqual(living(self.again), ["0", "2", "3", "4"])

    def test_numpy_is_stopped_in_and_labelled(self):
        labels = [re.search(r"^#0 .* PyInit__multiarray_umath from _multiarray_umath\S+ \[interp (\d)\]",
                            stop.output["bt 1"])[1] for stop in session.stops(self.output, NUMPY)]
        self.assertEqual(sorted(map(int, labels)), list(WALKING))

    def test_arguments_and_lines(self):
        for stop, step in self.each(AT_CALL):
            self.assertEqual(stop.output["info args"].splitlines()[:3],
                             [f"number = {number(step)}", f"local = {step['local']}", "seconds = 0"])
            self.assertEqual(session.value(stop.output["print local"]), step["local"])

    def test_step_into_another_library_and_back(self):
        for stop, step in self.each(AT_CALL):
            out = stop.output
            self.assertRegex(out["step"], rf"^walk_dep_twice \(number={step['local']}\) at \S*walk_dep\.c:\d+\n")
            self.assertEqual(session.value(out["print number"]), step["local"])
            self.assertEqual(session.value(out["print result"]), step["twice"], "after its last line but one")
            self.assertEqual(session.value(out["print local + 1"]), str(int(step["local"]) + 1), "up: the caller's")
            self.assertRegex(out["gorgon whose $pc"], rf"interpreter {interp(step)}, walk\.so, .*walk\.cc:{CALL}\n$")
            self.assertRegex(out["finish"], rf"(?s)walk_step .*walk\.cc:{CALL}\n.*Value returned is \$\d+ = {step['twice']}\n")
            self.assertRegex(out["next"], rf"^{AFTER}\t")
            self.assertEqual(session.value(out["print twice"]), step["twice"])

    def test_values_of_the_copy_and_of_the_thread(self):
        for stop, step in self.each(AT_LINE):
            self.assert_values(VALUES, stop.output, step)
            self.assert_values({name: f"print {name}" for name in ("twice", "odd", "local", "number")}, stop.output, step)
            self.assertRegex(stop.output["frame"], rf"^#0  walk_step \(.*walk\.cc:{LINE}\n")
        copies = {session.value(stop.output["gorgon print &walk_counter"]) for stop, _ in self.each(AT_LINE)}
        self.assertEqual(len(copies), len(WALKING))

    def test_a_function_that_throws_and_who_catches(self):
        for stop, step in self.each(THROW):
            self.assertEqual(session.frames(stop.output["bt 3"]), ["walk_throw", "walk_catch", "walk_step"])
            self.assertEqual(session.value(stop.output["print number"]), step["number"])

    def test_a_library_without_debug_information(self):
        stops = session.stops(self.output, PLAIN)
        self.assertEqual(len(stops), 2 * len(WALKING))
        for stop in stops:
            self.assertRegex(stop.output["bt 2"], r"^#0  0x\w+ in walk_plain_next from libwalk_plain\.so \[interp (\d)\] "
                             r"\(\)\n#1  0x\w+ in walk_go from walk\.so \[interp \1\] \(.*walk\.cc:\d+\n")

    def test_a_condition_in_one_interpreter_only(self):
        (stop,) = session.stops(self.output, ONE)
        numbers = [step["number"] for steps in self.steps.values() for step in steps
                   if interp(step) == 2 and number(step) > 20]
        self.assertEqual([session.value(stop.output["print number"])], numbers)


@harness.needs_gdb
class Watch(Case):
    """Out of the library without debug information; then a watchpoint on one copy's variable."""

    def test_finish_and_only_that_copys_writes_stop(self):
        output = harness.gdb(
            ["gorgon tbreak -i 2 walk_plain_next", session.LOOP, "run", "echo =finish\\n", "finish", "echo =watch\\n",
             "gorgon print &walk_static", "watch -location *(int *) $", "continue",
             "python drive({2: ['gorgon whose $pc', 'gorgon print walk_static']})"],
            harness.HOST, *self.mode, "-n", 3, session.walk(), script=True)
        self.assertRegex(output.partition("=finish\n")[2].partition("=watch\n")[0], r"walk_go \(.*walk\.cc:\d+\n")
        stops = session.stops(output, 2)
        steps = [step for each in session.steps(output).values() for step in each if interp(step) == 2]
        # The first step has written before the watchpoint was set.
        self.assertEqual([session.value(stop.output["gorgon print walk_static"]) for stop in stops],
                         [step["walk_static"] for step in steps if number(step) >= 10])
        self.assertEqual(len(stops), 1)
        self.assertRegex(stops[0].output["gorgon whose $pc"], r"interpreter 2, walk\.so, .*walk\.cc:\d+\n$")


@harness.needs_gdb
class Afterwards(session.WaitingWalk, Case):
    """The same without running the program: attached, and from a core."""

    count, waiting, variables = COUNT, 8, {"with_numpy": True}
    # walk_counter and the like have the numbers of both steps added by now; thread-local variables have only their
    # thread's.
    commands = ["gorgon symbols all", *session.in_each_step(
        ["frame", *VALUES.values(), "print twice", "print odd", "print local", "up", "print number", "down",
         "frame function _PyEval_EvalFrameDefault", "gorgon whose $pc"])]

    def check(self, output):
        stops = session.stops(output, 1)
        self.assertEqual(sorted(stop.lwp for stop in stops), sorted(self.steps), output)
        # What both threads share has the value of the later step.
        last = {}
        for steps in self.steps.values():
            for step in steps:
                kept = last.setdefault(interp(step), step)
                if int(step["walk_counter"]) > int(kept["walk_counter"]):
                    last[interp(step)] = step
        for stop in stops:
            (step,) = self.steps[stop.lwp]
            shared = ("walk_counter", "walk_static", "walk_plain_count")
            self.assert_values({n: VALUES[n] for n in VALUES if n in shared}, stop.output, last[interp(step)])
            self.assert_values({n: VALUES[n] for n in VALUES if n not in shared}, stop.output, step)
            self.assert_values({n: f"print {n}" for n in ("twice", "odd", "local", "number")}, stop.output, step)
            self.assertRegex(stop.output["frame"], rf"^#\d+ .* in walk_step \(.*walk\.cc:{WAIT}\n")
            self.assertRegex(stop.output["gorgon whose $pc"], rf"interpreter {interp(step)}, {harness.SONAME_RE}, ")
        self.assertEqual(session.complaints(output), [])


# Copies have names only, until they are in the stack or somebody asks for symbols.

class LiveLazy(Live):
    mode = ("-l",)


class WatchLazy(Watch):
    mode = ("-l",)


class AfterwardsLazy(Afterwards):
    mode = ("-l",)


if __name__ == "__main__":
    unittest.main()
