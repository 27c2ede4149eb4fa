# SPDX-License-Identifier: MIT
"""What the second gdb of "gorgon break" has answered is kept as long as the files stay as they are."""

import json
import os
import re
import tempfile
import unittest

import harness

SOURCE = """
%s
int leaf(int i)
{
	i += 1;
	return i * 2;
}
"""
# Each step asks for "leaf" and prints the result, and "asked" when the second gdb was needed.
BEGIN = """python
import glob, json, os, gorgon_gdb.location_cache as cache, gorgon_gdb.location_resolver as resolver
folder = {folder!r}
library = folder + "/libleaf.so"
os.environ["XDG_CACHE_HOME"] = folder + "/cache"
ask = resolver.ask
asked = []
resolver.ask = lambda paths, locations: asked.extend(locations) or ask(paths, locations)
def step(name, location="leaf"):
    asked.clear()
    try:
        found = resolver.find([library], [location])[0].get(library, [])
    except Exception as error:
        found = str(error)
    print("step", json.dumps([name, found, bool(asked)]))
def kept():
    return sorted(glob.glob(folder + "/cache/gorgon/places/*"))
end"""


@harness.needs_gdb
class LocationCache(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def build(self, before=""):
        with open(self.path("leaf.c"), "w") as file:
            file.write(SOURCE % before)
        harness.run("gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", self.path("libleaf.so"),
                    self.path("leaf.c")).check_returncode()

    def setUp(self):
        harness.run("rm", "-rf", self.path("cache"), self.path("debug"))
        self.build()

    def session(self, *lines):
        """{step: (what was found, the second gdb was asked)}."""
        begin = BEGIN.format(folder=self.folder.name)
        output = harness.gdb([begin, f"set debug-file-directory {self.path('debug')}",
                              *(f"python {line}" for line in lines)], script=True)
        self.assertNotRegex(output, r"Python Exception|Traceback|Error")
        steps = map(json.loads, re.findall(r"^step (.*)$", output, re.M))
        return {name: (found, asked) for name, found, asked in steps}

    def test_a_later_session_does_not_ask_again(self):
        first = self.session("step('first')", "step('line', 'leaf.c:5')")
        second = self.session("step('first')", "step('line', 'leaf.c:5')", "print(len(kept()))")
        for name, (found, asked) in first.items():
            self.assertTrue(asked)
            self.assertEqual(len(found), 1)
            self.assertEqual(second[name], (found, False))

    def test_another_library_is_asked_about(self):
        (before, _), = self.session("step('before')").values()
        self.build("int more(int i) { return i * i * 3 + 1; }")
        after = self.session("step('after')", "step('again')")
        self.assertNotEqual(after["after"][0], before)
        self.assertEqual(after, {"after": (after["after"][0], True), "again": (after["after"][0], False)})

    def test_debug_information_that_comes_and_goes(self):
        harness.run("objcopy", "--only-keep-debug", self.path("libleaf.so"), self.path("leaf.debug")).check_returncode()
        harness.run("strip", self.path("libleaf.so")).check_returncode()
        notes = harness.run("readelf", "-n", self.path("libleaf.so")).stdout
        build_id = re.search(r"Build ID: (\w+)", notes)[1]
        name = self.path(f"debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
        found = self.session(
            "step('none', 'leaf.c:5')", "step('none again', 'leaf.c:5')", f"os.makedirs({os.path.dirname(name)!r})",
            f"os.link({self.path('leaf.debug')!r}, {name!r})", "step('there', 'leaf.c:5')",
            "step('there again', 'leaf.c:5')", f"os.unlink({name!r})", "step('gone', 'leaf.c:5')")
        (address,), _ = found["there"]
        self.assertEqual(found, {"none": ([], True), "none again": ([], True), "there": ([address], True),
                                 "there again": ([address], False), "gone": ([], True)})

    def test_a_damaged_answer_is_asked_again(self):
        found = self.session("step('first')", "(name,) = kept()", "key, _ = json.load(open(name))",
                             "os.truncate(name, os.path.getsize(name) - 1)", "step('cut')",
                             "open(name, 'w').write(json.dumps(['another key', [1]]))", "step('another')",
                             "open(name, 'w').write(json.dumps([key, ['text']]))", "step('text')", "step('last')")
        right = found["first"][0]
        self.assertEqual(found, {"first": (right, True), "cut": (right, True), "another": (right, True),
                                 "text": (right, True), "last": (right, False)})

    def test_a_folder_that_others_may_write_is_not_used(self):
        found = self.session("step('first')", "os.chmod(os.path.dirname(kept()[0]), 0o777)", "step('open')",
                             "os.chmod(folder + '/cache/gorgon/places', 0o700)", "step('closed')")
        self.assertEqual([asked for _, asked in found.values()], [True, True, False])

    def test_the_oldest_go(self):
        self.session("cache.FILES_MAX = 2", "step('1')", "step('2', 'leaf.c:5')", "step('3', 'leaf.c:6')",
                     "assert len(kept()) == 2, kept()")
        found = self.session("step('2', 'leaf.c:5')", "step('3', 'leaf.c:6')", "step('1')")
        self.assertEqual([asked for _, asked in found.values()], [False, False, True])


if __name__ == "__main__":
    unittest.main()
