# SPDX-License-Identifier: MIT
"""gdb has indexes in which a function's name leads to the units with its code: it reads little of libpython, and finds the same."""

import glob
import json
import os
import re
import sys
import tempfile
import time
import unittest

import harness

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(harness.ROOT, "gdb")]
import test_dwarf_index as sample  # noqa: E402
from gorgon_gdb import narrowed_index  # noqa: E402
from gorgon_shared import dwarf_index  # noqa: E402

COUNT = 9  # of so many gdb gets the debug information when they are in the stack
PROGRAM = "import os, time\nprint('ready', flush=True)\nwhile True: time.sleep(0.1); os.listdir('/')"
MAKE = f"""python
import sys
sys.path.insert(0, {os.path.join(harness.ROOT, "gdb")!r})
from gorgon_gdb import narrowed_index
narrowed_index.make(%r, %r, bytes.fromhex(%r))
end"""
# {function: addresses of its breakpoint}, each looked up first of all, then how many units gdb has read for the first.
PLACES = """python
import gdb, json
def units():
    return gdb.execute("maint info symtabs", to_string=True).count("struct compunit_symtab *")
found, read = {}, None
for name in %r:
    found[name] = sorted(place.address for place in gdb.Breakpoint(name).locations)
    read = read or units()
print("places", json.dumps([found, read]))
end"""
UNITS = """python print("units", gdb.execute("maint info symtabs", to_string=True).count("struct compunit_symtab *"))"""
# Of CPython: PyList_Append is called by many units, list_resize is inlined into functions, list_append is static.
FUNCTIONS = ["PyList_Append", "list_append", "_PyObject_GC_New", "time_sleep", "_PyEval_EvalFrameDefault", "list_resize"]


def places(library, names, cache=None):
    on = [f"set index-cache directory {cache}", "set index-cache enabled on"] if cache else []
    output = harness.gdb([*on, f"file {library}", PLACES % (names,)])
    return json.loads(re.search(r"^places (.*)$", output, re.M)[1])


def build_id(library):
    return re.search(r"Build ID: (\w+)", harness.run("readelf", "-n", library).stdout)[1]


@harness.needs_gdb
class Index(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def make(self, library):
        """The narrowed index of a library."""
        path = os.path.join(self.folder, f"{build_id(library)}.gdb-index")
        harness.gdb([f"file {library}", MAKE % (library, path, build_id(library))])
        with open(path, "rb") as file:
            return file.read()

    def assert_same(self, with_it, without):
        """gdb 18 by itself misses what gcc 16 has inlined everywhere when it optimised at link time."""
        self.assertEqual(with_it, {name: found or with_it[name] for name, found in without.items()})
        self.assertTrue(all(with_it.values()))

    def test_functions_are_found_where_they_are_without_it(self):
        library = sample.build(self.folder, *sample.LTO)
        self.assertTrue(self.make(library))
        with_it, read = places(library, sample.NAMES, self.folder)
        without, read_without = places(library, sample.NAMES)
        self.assert_same(with_it, without)
        self.assertEqual(len(with_it["small"]), 2)  # inlined into two functions
        self.assertLessEqual(read, read_without)

    def test_libpython_is_found_in_few_units(self):
        number = build_id(harness.LIBPYTHON)
        debug = f"/usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug"
        path = os.path.join(self.folder, f"{number}.gdb-index")
        harness.gdb([f"file {debug}", MAKE % (debug, path, number)])
        self.assertGreater(os.path.getsize(path), 100000)
        with_it, read = places(harness.LIBPYTHON, FUNCTIONS, self.folder)
        without, read_without = places(harness.LIBPYTHON, FUNCTIONS)
        self.assert_same(with_it, without)
        self.assertLess(read * 3, read_without)

    def test_damaged_index_is_none(self):
        index = self.make(sample.build(self.folder))
        units = {name: {0} for name in sample.NAMES}
        for size in range(0, len(index), 7):
            damaged = [index[:size], index[:size] + b"\xff" * 4 + index[size + 4:], index[:size] + b"\0" * 8 + index[size + 8:]]
            for each in damaged:
                try:
                    self.assertIsInstance(narrowed_index.narrow(each, units), bytes)
                except narrowed_index.FAILURES:
                    pass
        with self.assertRaises(dwarf_index.Unsure):
            narrowed_index.narrow(b"\x0a\0\0\0" + index[4:], units)

    def test_a_file_of_another_build_has_none(self):
        library, path = sample.build(self.folder), os.path.join(self.folder, "index")
        harness.gdb([f"file {library}", MAKE % (library, path, "00" * 20)])
        self.assertEqual(os.path.getsize(path), 0)

    def test_other_languages_have_gdb_s_own(self):
        library = sample.build(self.folder, compiler="g++")
        self.assertEqual(self.make(library), b"")


@harness.needs_gdb
class Session(unittest.TestCase):
    def wait_for(self, pattern):
        """A file that a second gdb makes in the background."""
        end = time.monotonic() + harness.TIMEOUT
        while not glob.glob(pattern):
            self.assertLess(time.monotonic(), end, pattern)
            time.sleep(0.1)

    def test_session_makes_it_and_uses_it(self):
        with tempfile.TemporaryDirectory() as cache:
            with harness.Background(harness.HOST, "-n", COUNT, PROGRAM, until=rf"(?s)(ready.*){{{COUNT}}}") as host:
                begin = [f"python import os; os.environ['XDG_CACHE_HOME'] = {cache!r}", f"source {harness.GDB_SCRIPT}",
                         f"python from gorgon_gdb import index_cache; index_cache.PATIENCE = {harness.TIMEOUT}"]  # the machine may be busy
                output = harness.gdb([*begin, "show index-cache directory", f"attach {host.pid}", "break PyList_Append", "continue", "bt 1"])
            (kept,) = glob.glob(os.path.join(cache, "gorgon", "gdb", "*", "*.narrowed"))
            self.assertGreater(os.path.getsize(kept), 100000, output)
            self.assertTrue(os.path.samefile(kept, os.path.join(os.path.dirname(kept), f"{build_id(harness.LIBPYTHON)}.gdb-index")))
            self.assertRegex(output, f'is "{os.path.dirname(kept)}/*"')
            self.assertEqual(len(os.listdir(os.path.dirname(kept))), 2)  # none of gdb's own
            self.assertRegex(output, r"#0 .*PyList_Append.* \(op=")

    @harness.thorough
    def test_few_interpreters_have_it_in_the_next_session(self):
        """gdb reads what it needs of each of three libpythons, and finds the same places."""
        with tempfile.TemporaryDirectory() as cache:
            begin = [f"python import os; os.environ['XDG_CACHE_HOME'] = {cache!r}", f"source {harness.GDB_SCRIPT}"]
            with harness.Background(harness.HOST, "-n", 3, PROGRAM, until=r"(?s)(ready.*){3}") as host:
                harness.gdb([*begin, f"attach {host.pid}"])
                self.wait_for(os.path.join(cache, "gorgon", "gdb", "*", "*.narrowed"))
                look = [f"attach {host.pid}", UNITS, "break PyList_Append", UNITS, "info breakpoints"]
                narrowed, own = (harness.gdb([*begin, *switch, *look]) for switch in ([], ["set index-cache enabled off"]))
            read, read_without = ((lambda before, after: after - before)(*map(int, re.findall(r"^units (\d+)$", output, re.M)))
                                  for output in (narrowed, own))
            self.assertLess(read * 2, read_without, narrowed + own)
            places = [re.findall(r"in PyList_Append at .*", output) for output in (narrowed, own)]
            self.assertEqual(*places)
            self.assertGreaterEqual(len(places[0]), 3)

    def test_gdb_writes_nothing_of_its_own_there(self):
        """gdb 13 does not find a template by its name with its own index of it."""
        with tempfile.TemporaryDirectory() as cache:
            source, library = os.path.join(cache, "biggest.cc"), os.path.join(cache, "biggest.so")
            with open(source, "w") as file:
                file.write("template <class T> T biggest(T a) { return a; }\ntemplate int biggest(int);\n")
            harness.run("g++", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", library, source).check_returncode()
            begin = [f"python import os; os.environ['XDG_CACHE_HOME'] = {cache!r}", f"source {harness.GDB_SCRIPT}", "show index-cache enabled"]
            for _ in range(2):
                output = harness.gdb([*begin, f"file {library}", "break biggest"])
                self.assertIn("index cache is on", output)
                self.assertRegex(output, r"(?m)^Breakpoint 1 at ")
            self.assertEqual(glob.glob(os.path.join(cache, "gorgon", "gdb", "*", "*")), [])

    def test_oldest_indexes_go_and_all_that_is_not_ours(self):
        with tempfile.TemporaryDirectory() as cache:
            begin = [f"python import os; os.environ['XDG_CACHE_HOME'] = {cache!r}", f"source {harness.GDB_SCRIPT}"]
            harness.gdb(begin)
            (place,) = glob.glob(os.path.join(cache, "gorgon", "gdb", "*"))
            for number in range(66):
                path = os.path.join(place, f"{number}-1.narrowed")
                with open(path, "w") as file:
                    file.write("an index")
                os.utime(path, (number, number))
                os.link(path, os.path.join(place, f"{number}.gdb-index"))
            with open(os.path.join(place, "66.gdb-index"), "w") as file:
                file.write("of an older version of the scripts, or of gdb")
            for name in ("of a gdb that was killed", "being made"):
                os.mkdir(os.path.join(place, name))
            os.utime(os.path.join(place, "of a gdb that was killed"), (0, 0))
            harness.gdb(begin)
            self.assertEqual(set(os.listdir(place)) - {"being made"}, {f"{number}{end}" for number in range(2, 66) for end in ("-1.narrowed", ".gdb-index")})
            self.assertIn("being made", os.listdir(place))

    def test_cache_of_the_user_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            output = harness.gdb([f"set index-cache directory {folder}", "set index-cache enabled on", f"source {harness.GDB_SCRIPT}",
                                  "show index-cache directory"])
            self.assertIn(f'is "{folder}"', output)


if __name__ == "__main__":
    harness.main()
