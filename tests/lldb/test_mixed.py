# SPDX-License-Identifier: MIT
"""lldb: interpreters of different CPythons in one process, each read by its own structures. A release and a debug
build wherever Debian's packages are."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402
import test_python as single  # noqa: E402



class Mixed:
    @classmethod
    def setUpClass(cls):
        cls.members = cls.pythons()
        options = [word for python, _, _ in cls.members for word in ("-p", python)]
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            cls.output = harness.lldb(
                ["gorgon break time_sleep", session.DRIVER, "run", session.drive({"time_sleep": ["gorgon list", "gorgon bt"]})],
                harness.HOST, "-n", str(len(cls.members)), *options,
                session.fixture_code(folder, "python.py", wait=0), script=True)
        cls.stops = {i: [] for i in range(len(cls.members))}
        for stop in session.stops(cls.output, "time_sleep"):
            cls.stops[int(re.search(r"\[interp (\d)\]", stop.output["gorgon bt"])[1])].append(stop)
        assert all(len(found) == 2 for found in cls.stops.values()), cls.output

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assertNotRegex(self.output, session.TRACEBACK)

    def test_python_frames_are_those_that_each_program_sees(self):
        expected = {i: [text.split(" ") for text in found] for i, found in single.said(self.output, "stack").items()}
        self.assertEqual({i: [single.python_frames(stop.output["gorgon bt"]) for stop in found]
                          for i, found in self.stops.items()}, expected)

    def test_native_frames_are_of_each_interpreter_s_own_library(self):
        for i, found in self.stops.items():
            for stop in found:
                self.assertRegex(stop.output["gorgon bt"], rf"^#0 +{stop.pc:#018x} in time_sleep  "
                                 rf"{re.escape(self.members[i][2])} \[interp {i}\]  timemodule\.c:\d+\n")

    def test_the_stopped_thread_holds_its_gil(self):
        for i, found in self.stops.items():
            for stop in found:
                self.assertEqual(single.gil(stop.output["gorgon list"])[i], f"{stop.thread} (tid {stop.lwp})")


@harness.needs_lldb
class Builds(harness.Builds, Mixed, unittest.TestCase):
    """In a debug build members of objects are at other offsets."""


@harness.needs_lldb
class Versions(harness.Versions, Mixed, unittest.TestCase):
    """Each interpreter is read by the structures of its own version."""


if __name__ == "__main__":
    unittest.main()
