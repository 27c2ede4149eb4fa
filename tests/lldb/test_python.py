# SPDX-License-Identifier: MIT
"""lldb: Python frames between native ones, who holds the GIL, and what objects are, in each
version of CPython that is there. What is right is what the program prints; see fixture/python.py."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 2
EVERY = range(COUNT)
EVALUATE = "_PyEval_EvalFrameDefault"


def said(output, what):
    """{interpreter: [text]}"""
    found = {}
    for interp, text in re.findall(rf"^expect (\d+) {what} (.*)$", output, re.M):
        found.setdefault(int(interp), []).append(text)
    return found


def python_frames(backtrace):
    return [f"{function}@{place}" for function, place in re.findall(r"^      py (.*)  (\S+)$", backtrace, re.M)]


def lines(backtrace):
    """[function], native ones as they are and Python's with "py " before them."""
    return [native or python for native, python in
            re.findall(r"^(?:#\d+ +0x\w+ in (.*?)  .*|      (py .*)  \S+)$", backtrace, re.M)]


def objects(text):
    """What "gorgon print seen" shows of each."""
    return [shown for shown in re.findall(r"^  \[\d+\] = (?:0x\w+|NULL)(?: (.*))?$", text, re.M)]


def gil(table):
    return [re.search(r"live   (.*)$", line)[1] for line in table.splitlines() if "live" in line]


class Versions:
    """Cases that are the same for every version."""

    version = None

    @classmethod
    def setUpClass(cls):
        python = harness.find_python(cls.version) if cls.version else None
        if cls.version and not python:
            raise unittest.SkipTest(f"no CPython {cls.version} with a libpython")
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        host = [harness.HOST, "-n", str(COUNT), *(["-p", python] if python else [])]
        cls.output = harness.lldb(
            ["gorgon break time_sleep", session.DRIVER, "run",
             session.drive({"time_sleep": ["gorgon list", "gorgon bt", "gorgon print seen", "gorgon bt -i 9", "gorgon bt 1"]})],
            *host, session.fixture_code(cls.folder.name, "python.py", wait=0), script=True)
        core = os.path.join(cls.folder.name, "core")
        commands = ["gorgon list", *(f"gorgon bt -i {i}" for i in EVERY), "gorgon apply all gorgon print seen"]
        with harness.Background(*host, session.fixture_code(cls.folder.name, "python.py", wait=600),
                                until=r"(?s)(ready.*){%d}" % COUNT, asleep=COUNT) as process:
            cls.waiting = process.output
            made = harness.run("gcore", "-o", core, process.pid)
            cls.attached = harness.lldb([*commands, "detach"], script=True, options=["-p", str(process.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.lldb([f"target create {harness.HOST} --core {core}.{process.pid}", *commands], script=True)
        cls.stops = {i: [] for i in EVERY}
        for stop in session.stops(cls.output, "time_sleep"):
            cls.stops[int(re.search(r"\[interp (\d)\]", stop.output["gorgon bt"])[1])].append(stop)
        assert {i: len(found) for i, found in cls.stops.items()} == {i: 2 for i in EVERY}, cls.output

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assertNotRegex(self.output, session.TRACEBACK)

    def test_python_frames_are_those_of_the_program(self):
        expected = {i: [text.split(" ") for text in found] for i, found in said(self.output, "stack").items()}
        # The second interpreter has one call more.
        self.assertEqual(len(expected[1][0]), len(expected[0][0]) + 1)
        self.assertEqual({i: [python_frames(stop.output["gorgon bt"]) for stop in found]
                          for i, found in self.stops.items()}, expected)

    def test_each_call_of_the_evaluation_function_has_its_frames(self):
        for i, found in self.stops.items():
            shown = lines(found[0].output["gorgon bt"])
            self.assertEqual(shown[0], "time_sleep")
            groups = []
            for before, line in zip(shown, shown[1:]):
                if line.startswith("py ") and not before.startswith("py "):
                    self.assertEqual(before, EVALUATE)
                    groups.append([])
                if line.startswith("py "):
                    groups[-1].append(line[len("py "):])
            self.assertEqual(groups, [["Walker.descend.<locals>.<lambda>"],
                                      ["Walker.descend"] * (i + 2) + ["generate"], ["<module>"], ["<module>"]])
            # What stands between the first two Python frames, and below all of them.
            between = shown[shown.index("py Walker.descend.<locals>.<lambda>"):shown.index("py Walker.descend")]
            self.assertIn("builtin_sorted", between)
            self.assertEqual(shown[-2:], ["start_thread", "__clone3"])

    def test_native_lines_come_without_symbols(self):
        for i, found in self.stops.items():
            for stop in found:
                self.assertRegex(stop.output["gorgon bt"],
                                 rf"^#0 +{stop.pc:#018x} in time_sleep  libpython3\.\d+\.so\.1\.0 \[interp {i}\]  "
                                 r"timemodule\.c:\d+\n")

    def test_the_stopped_thread_holds_its_gil(self):
        for i, found in self.stops.items():
            for stop in found:
                self.assertEqual(gil(stop.output["gorgon list"])[i], f"{stop.thread} (tid {stop.lwp})")

    def test_objects_show_their_values(self):
        self.check_objects({i: [stop.output["gorgon print seen"] for stop in found] for i, found in self.stops.items()},
                           self.output)

    def check_objects(self, texts, output):
        for i in EVERY:
            count = int(said(output, "count")[i][0])
            expected = [said(output, f"object-{n}")[i][0] for n in range(count)]
            for text in texts[i]:
                self.assertEqual(objects(text)[:count], expected)
                # Garbage, and something that is no object at all.
                self.assertEqual(set(objects(text)[count:]), {""})

    def test_mistakes_get_one_clear_line(self):
        # What programs print may follow.
        for command, text in (("gorgon bt -i 9", "gorgon bt: no interpreter 9; there are 0, 1"),
                              ("gorgon bt 1", 'gorgon bt: too many arguments; see "help gorgon bt"')):
            self.assertTrue(self.stops[0][0].output[command].startswith(f"error: {text}\n"))

    def check_afterwards(self, output):
        self.assertNotRegex(output, session.TRACEBACK)
        self.assertEqual(gil(output[output.index("Num  Python"):].split("(lldb)")[0]), ["-"] * COUNT)
        for i in EVERY:
            shown = output.split(f"(lldb) gorgon bt -i {i}\n")[1].split("(lldb)")[0]
            self.assertEqual(python_frames(shown), said(self.waiting, "stack")[i][-1].split(" "))
            self.assertIn("time_sleep", lines(shown))
            self.assertEqual(lines(shown)[-2:], ["start_thread", "__clone3"])
        seen = re.split(r"^interp (\d), .*\n", output.split("gorgon apply all gorgon print seen\n")[1], flags=re.M)
        self.check_objects({int(i): [text.split("(lldb)")[0]] for i, text in zip(seen[1::2], seen[2::2])}, self.waiting)

    def test_attached(self):
        self.check_afterwards(self.attached)

    def test_core(self):
        self.check_afterwards(self.core)


@harness.needs_lldb
class Default(Versions, session.Case):
    """The distribution's CPython, which is stripped and has a detached debug file."""


@harness.needs_lldb
class Python312(Versions, session.Case):
    version = "3.12"


@harness.needs_lldb
class Python313(Versions, session.Case):
    version = "3.13"


@harness.needs_lldb
class Python314(Versions, session.Case):
    version = "3.14"


@harness.needs_lldb
class Python315(Versions, session.Case):
    version = "3.15"


@harness.needs_lldb
class WithSymbols(session.Case):
    """lldb's unwinding ends early in a copy with symbols; Python's frames are all there."""

    def test_no_python_frame_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            output = harness.lldb(
                ["gorgon break time_sleep", session.DRIVER, "run",
                 session.drive({"time_sleep": ["once", "gorgon symbols all libpython", "gorgon bt",
                                               "frame variable timeout_obj"]})],
                harness.HOST, "-n", "1", session.fixture_code(folder, "python.py"), script=True)
        stop = session.stops(output, "time_sleep")[0]
        self.assertEqual(python_frames(stop.output["gorgon bt"]), said(output, "stack")[0][0].split(" "))
        self.assertEqual(lines(stop.output["gorgon bt"]).count("time_sleep"), 1)
        self.assertRegex(stop.output["frame variable timeout_obj"], r"\(PyObject \*\) timeout_obj = 0x\w+ 0\.01\n")
        self.assert_clean(output)


@harness.needs_lldb
class WithoutDebugInformation(session.Case):
    def test_python_frames_and_the_gil_are_there(self):
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            library = os.path.join(folder, os.path.basename(harness.LIBPYTHON))
            # Without its build-id nobody finds the detached debug file.
            harness.run("objcopy", "-R", ".note.gnu.build-id", "-R", ".gnu_debuglink", harness.LIBPYTHON,
                        library).check_returncode()
            output = harness.lldb(
                ["gorgon break PyFloat_FromString", session.DRIVER, "run",
                 session.drive({"PyFloat_FromString": ["once", "gorgon list", "gorgon bt", "gorgon print _Py_NoneStruct"]})],
                harness.HOST, "-p", library, "-n", "1", "float('1')", script=True)
        stop = session.stops(output, "PyFloat_FromString")[0]
        self.assertEqual(gil(stop.output["gorgon list"]), [f"{stop.thread} (tid {stop.lwp})"])
        shown = lines(stop.output["gorgon bt"])
        self.assertEqual((shown[0], shown[-1]), ("PyFloat_FromString", "__clone3"))
        self.assertIn("Py_RunMain", shown)
        self.assertEqual(python_frames(stop.output["gorgon bt"]), ["<module>@<string>:1"])
        self.assertNotRegex(output, session.TRACEBACK)


@harness.needs_lldb
class List(session.Case):
    def test_lldb_has_nothing_to_complain_about(self):
        output = harness.lldb(["breakpoint set -n host_created", "run", "gorgon list", "script import time; time.sleep(0.5)"],
                              harness.HOST, "-n", "2", "pass", script=True)
        self.assertRegex(output, r"(?m)^1 .* live +(-|\d+ \(tid \d+\))$")
        self.assertNotRegex(output, session.QUIRK)


if __name__ == "__main__":
    unittest.main()
