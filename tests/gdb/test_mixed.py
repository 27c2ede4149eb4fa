# SPDX-License-Identifier: MIT
"""gdb: interpreters of different CPythons in one process. Each has its own structures: names, Python frames
and the helper's backtraces are right in all. A release and a debug build wherever Debian's packages are."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

PROGRAM = os.path.join(session.HERE, "frames.py")
FRAME = re.compile(rf'^ +File "{PROGRAM}", line (\d+), in (\S+)', re.M)

# The helper as it is where the compiler has kept no variables of the evaluation function (Debian's CPython 3.13).
BLIND = ("python import sys; from gorgon_gdb import python_helper; main = sys.modules['__main__']; seeing = main.Frame.get_pyop; "
         "main.Frame.get_pyop = lambda self: None; python_helper.use_frames_of_each(main.Frame, main.PyFramePtr, False); "
         "gdb.execute('py-bt'); main.Frame.get_pyop = seeing")


class Mixed:
    """Both threads of each interpreter stop in the same function of C, below the same functions of Python."""

    commands = ["gorgon list", "gorgon bt"]

    @classmethod
    def setUpClass(cls):
        cls.members = cls.pythons()
        code = f"exec(compile(open('{PROGRAM}').read(), '{PROGRAM}', 'exec'))"
        options = [word for python, _, _ in cls.members for word in ("-p", python)]
        cls.output = harness.gdb(
            ["break getpgrp if $gorgon_interp() >= 0", session.LOOP, "run",
             f"python drive({{'getpgrp': {cls.commands}}})"],
            harness.HOST, "-n", len(cls.members), *options, code, script=True)
        # The other frames belong to Python's own threading, and to the line that has read the program.
        cls.expected = {int(lwp): (int(interp), [frame for frame in found.split() if ":Thread." not in frame and
                                                 frame != "1:<module>"])
                        for interp, lwp, found in re.findall(r"expect (\d+) (\d+) (.*)", cls.output)}
        cls.stops = session.stops(cls.output, "getpgrp")
        assert len(cls.stops) == len(cls.expected) == 2 * len(cls.members), cls.output

    def frames(self, text):
        return [f"{line}:{name}" for line, name in FRAME.findall(text)]

    def test_python_frames_are_those_that_each_program_sees(self):
        for stop in self.stops:
            interp, expected = self.expected[stop.lwp]
            with self.subTest(python=self.members[interp][0], lwp=stop.lwp):
                self.assertGreaterEqual(len(expected), 8)
                self.assertEqual(self.frames(stop.output["gorgon bt"]), expected)

    def test_native_frames_are_of_each_interpreter_s_own_library(self):
        for stop in self.stops:
            interp = self.expected[stop.lwp][0]
            found = set(re.findall(r" from (libpython\S+ \[interp \d+\])", stop.output["gorgon bt"]))
            self.assertEqual(found, {f"{self.members[interp][2]} [interp {interp}]"})

    def test_the_list_has_a_version_for_each(self):
        for stop in self.stops:
            rows = [line.split()[:2] for line in stop.output["gorgon list"].splitlines() if re.match(r"\d", line)]
            self.assertEqual(rows, [[str(i), version] for i, (_, version, _) in enumerate(self.members)])

    def test_nothing_is_complained_of(self):
        self.assertEqual(session.complaints(self.output), [])


@harness.needs_gdb
class Builds(harness.Builds, Mixed, unittest.TestCase):
    """In a debug build members of objects are at other offsets."""

    commands = ["gorgon list", "gorgon bt", "py-bt", BLIND]

    def test_the_helper_knows_both(self):
        for stop in self.stops:
            names = [frame.split(":")[1].split(".")[-1] for frame in self.expected[stop.lwp][1]]
            for command in ("py-bt", BLIND):
                self.assertEqual([name for _, name in FRAME.findall(stop.output[command])], names)


@harness.needs_gdb
class Versions(harness.Versions, Mixed, unittest.TestCase):
    """Without CPython's helper, which reads the structures of one version."""


if __name__ == "__main__":
    unittest.main()
