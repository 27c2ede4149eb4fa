# SPDX-License-Identifier: MIT
"""gorgon-symdump and interpreters that the system's linker has loaded."""

import re
import unittest

import harness
import symdump_session as session

SLEEP = "import _decimal, time; print('ready', flush=True); time.sleep(600)"


class Strategy:
    isolate = None

    @classmethod
    def setUpClass(cls):
        cls.program = harness.Background(harness.GORGON, "run", "--isolate", cls.isolate, "-n", "2", "-c", SLEEP,
                                         until="(ready\\s+){2}")
        cls.pid = cls.program.pid
        cls.addClassCleanup(cls.program.stop)

    def test_objects_have_the_interpreter_the_file_and_its_build_id(self):
        namespaces = session.dump(self.pid)["namespaces"]
        self.assertEqual([ns["interpreter"] for ns in namespaces], [0, 1])
        for ns in namespaces:
            found = {o["path"]: o for o in ns["objects"]}
            python = found[harness.LIBPYTHON]
            self.assertTrue(any("/_decimal." in path for path in found), found)
            self.assertEqual((python["symfile"], "link_map" in python), (None, True))
            self.assertIn(f"Build ID: {python['build_id']}", harness.run("readelf", "-n", harness.LIBPYTHON).stdout)
        self.assertIn("debug info: as any library of the system's linker", session.output(self.pid))

    def test_a_function_is_found_in_each_and_its_address_named(self):
        found = re.findall(rf"^(0x\w+) +\d+  interp (\d)  {harness.SONAME_RE}!time_sleep(?:\.\w+)*\+0x0  timemodule\.c:\d+$",
                           session.output(self.pid, "--find", "time_sleep"), re.M)
        self.assertEqual([number for _, number in found], ["0", "1"])
        for address, number in found:
            self.assertRegex(session.output(self.pid, "--addr", address),
                             rf"interp {number}  {harness.SONAME_RE}!time_sleep(?:\.\w+)*\+0x0  timemodule\.c:\d+$")

    def test_stacks_have_frames_of_both_languages(self):
        stacks = session.output(self.pid, "--stacks")
        for number in range(2):
            self.assertRegex(stacks, rf"(?s)interp {number}, thread \d+\n.*?interp {number}  {harness.SONAME_RE}!time_sleep.*?"
                                     r"Python  <module>  <string>:1")

    def test_all_of_it_agrees(self):
        self.assertRegex(session.output(self.pid, "--check"), r"consistent: 2 namespaces, \d+ objects")


class Copy(Strategy, unittest.TestCase):
    isolate = "copy"
