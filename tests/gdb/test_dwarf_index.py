# SPDX-License-Identifier: MIT
"""gorgon break spares the second gdb what has nothing of a function, and loses no place by that."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "gdb"))
from gorgon_gdb import split_parts  # noqa: E402
from gorgon_shared import dwarf_index, function_units  # noqa: E402

HEADER = """
int work(int i);
extern volatile int total;
static inline __attribute__((always_inline)) int small(int i)
{
	total += i;
	return total * i;
}
"""
SOURCES = {
    "work.c": """
volatile int total;
static __attribute__((noinline)) int hidden(int i)
{
	total += 2;
	return total + i;
}
__attribute__((noinline)) int work(int i)
{
	return hidden(i) + small(i) + hidden(i + 1);
}
""",
    "twice.c": "int twice(int i) { return work(i) + small(i + 3); }\n",
    "thrice.c": "int thrice(int i) { return work(i) + work(i + 1) + work(i + 2); }\n",
}
# GCC splits the unlikely end off append and puts it back; walk calls itself, which is inlined some times.
PARTS = """
extern void complain(const char *text, int line);
int
append(int *list, int item)
{
	if (list && item) {
		list[list[0]++] = item;
		return 0;
	}
	complain("append", 12);
	return -1;
}
int several(int *list) { return append(list, 1) + append(list, 2); }
struct node { struct node *left, *right; int value; };
int
walk(const struct node *n)
{
	if (!n)
		return 0;
	return walk(n->left) + 3 * walk(n->right) + n->value;
}
"""
# A unit of binutils 2.44: the size of its code (DW_AT_high_pc) is an uleb128, and comes before its language.
ASSEMBLER = """
	.text
by_hand:
	ret
	.section .debug_abbrev, "", @progbits
.Labbrev:
	.uleb128 1, 0x11
	.byte 0
	.uleb128 0x11, 0x01, 0x12, 0x0f, 0x13, 0x05, 0, 0, 0
	.section .debug_info, "", @progbits
	.long .Lend - .Lstart
.Lstart:
	.value 5
	.byte 1, 8
	.long .Labbrev
	.uleb128 1
	.quad by_hand
	.uleb128 300
	.value LANGUAGE
.Lend:
	.section .note.GNU-stack, "", @progbits
"""
NAMES = ["work", "hidden", "small", "twice", "thrice"]
# Units of link-time optimisation refer to those of each source.
LTO = ["-O2", "-flto", "-flto-partition=1to1"]
COMPARE = """python
import json, gorgon_gdb.location_resolver as resolver
def ask(path, names):
    return [sorted(answer) if isinstance(answer, list) else answer for answer in resolver.ask([path], names)[0]]
def compare(path, names):
    indexed, search = ask(path, names), resolver.search
    resolver.search = lambda *_: (False, [])
    print("compare", json.dumps([indexed, ask(path, names)]))
    resolver.search = search
end"""


def build(folder, *flags, compiler="gcc", name="libwork.so"):
    path = os.path.join(folder, name)
    for file, text in SOURCES.items():
        with open(os.path.join(folder, file), "w") as out:
            out.write(HEADER + text)
    sources = [os.path.join(folder, file) for file in SOURCES]
    language = ["-x", "c++"] if compiler == "g++" else []
    harness.run(compiler, "-g", "-shared", "-fPIC", "-Wl,--build-id", *flags, "-o", path, *language,
                *sources).check_returncode()
    return path


def compare(path, *names):
    """[(places with the index, and without)] of functions."""
    output = harness.gdb([COMPARE, f"python compare({path!r}, {list(names)!r})"], script=True)
    return list(zip(*json.loads(re.search(r"^compare (.*)$", output, re.M)[1])))


def index(path, names):
    library = dwarf_index.read(path)
    functions = function_units.read(library, names) if library else None
    return function_units.index(functions, names) if functions else None


class Search(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def units(self, path, name):
        """How many of all units have code of a function."""
        library = dwarf_index.read(path)
        return len(function_units.Functions(library).units[name]), len(library.units)

    def test_units_are_those_with_code(self):
        for flags in (["-O2"], ["-O2", "-gdwarf-4"], ["-O2", "-gz"], ["-O0"]):
            with self.subTest(flags):
                path = build(self.folder, *flags)
                self.assertEqual([self.units(path, name) for name in NAMES],
                                 [(1, 3), (1, 3), (2, 3), (1, 3), (1, 3)])

    def test_units_that_only_call_are_none_after_link_time_optimisation(self):
        path = build(self.folder, *LTO)
        found, count = self.units(path, "work")
        self.assertEqual(found, 1)
        self.assertGreaterEqual(count, 6)
        self.assertEqual(self.units(path, "small")[0], 2)

    def test_what_is_not_certain_is_left_to_gdb(self):
        path = build(self.folder, "-O2")
        self.assertIsNotNone(index(path, ["work"]))
        self.assertIsNotNone(index(path, ["nowhere"]))
        for location in ("work.c:12", "*work", "work if i", "wörk"):
            self.assertFalse(dwarf_index.is_name(location), location)
        for flags, compiler in ((["-O2"], "g++"), (["-gdwarf-2", "-gstrict-dwarf"], "gcc"), (["-s"], "gcc"),
                                (["-gdwarf64"], "gcc")):
            with self.subTest(flags):
                self.assertIsNone(index(build(self.folder, *flags, compiler=compiler), ["work"]))
        self.assertIsNone(index(os.path.join(self.folder, "no such file"), ["work"]))

    def test_the_language_of_a_unit_is_found_behind_a_number_of_any_length(self):
        assembler = os.path.join(self.folder, "by_hand.s")
        for language, count in ((0x8001, 4), (4, None)):  # assembler, and C++
            with open(assembler, "w") as file:
                file.write(ASSEMBLER.replace("LANGUAGE", str(language)))
            path = build(self.folder, "-O2", assembler)
            with self.subTest(language):
                if count:
                    self.assertEqual(self.units(path, "work"), (1, count))
                else:
                    self.assertIsNone(index(path, ["work"]))

    def test_a_damaged_file_is_left_to_gdb_or_found_in(self):
        path = build(self.folder, *LTO)
        with open(path, "rb") as file:
            whole = file.read()
        for size in range(0, len(whole), len(whole) // 97):
            with open(path, "wb") as file:
                file.write(whole[:size])
            self.assertIsNone(index(path, ["work"]), size)
        for at in range(64, len(whole), len(whole) // 197):
            with open(path, "wb") as file:
                file.write(whole[:at] + bytes(byte ^ 0xFF for byte in whole[at:at + 16]) + whole[at + 16:])
            index(path, ["work", "small"])  # and no exception


@harness.needs_gdb
class Places(unittest.TestCase):
    def test_places_are_the_same_in_a_library(self):
        for flags in (LTO, ["-O2"], ["-O0"]):
            with self.subTest(flags), tempfile.TemporaryDirectory() as folder:
                path = build(folder, *flags)
                self.assertIsNotNone(index(path, NAMES))
                *found, nowhere = compare(path, *NAMES, "nowhere")
                for name, (narrowed, plain) in zip(NAMES, found):
                    # gdb 18 by itself misses what gcc 16 has inlined everywhere when it optimised at link time.
                    self.assertTrue(plain or (name, flags) == ("small", LTO), name)
                    self.assertEqual(narrowed, plain or narrowed, name)
                    self.assertTrue(narrowed, name)
                self.assertEqual(nowhere, ([], []))

    def test_places_are_the_same_in_libpython(self):
        # GCC has put a part of PyList_Append back.
        names = ["PyList_Append", "list_append", "time_sleep", "_PyEval_EvalFrameDefault", "PyTuple_New"]
        notes = subprocess.run(["readelf", "-n", harness.LIBPYTHON], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: (\w+)", notes)[1]
        path = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        functions = function_units.Functions(dwarf_index.read(path))
        found = [len(functions.units[name]) for name in names]
        self.assertLess(max(found), len(functions.debug.units) / 4)
        for name, (narrowed, plain) in zip(names, compare(harness.LIBPYTHON, *names)):
            self.assertTrue(plain, name)
            if split_parts.find(functions, name):
                self.assertLess(set(narrowed), set(plain), name)
            else:
                self.assertEqual(narrowed, plain, name)

    def test_a_part_that_was_split_off_and_put_back_is_no_place(self):
        with tempfile.TemporaryDirectory() as folder:
            source, path = os.path.join(folder, "parts.c"), os.path.join(folder, "libparts.so")
            with open(source, "w") as file:
                file.write(PARTS)
            for flags in (["-O2"], ["-O2", "-gdwarf-4"], LTO):
                with self.subTest(flags):
                    harness.run("gcc", "-g", "-shared", "-fPIC", "-Wl,--build-id", *flags, "-o", path,
                                source).check_returncode()
                    (append, append_of_gdb), (walk, walk_of_gdb) = compare(path, "append", "walk")
                    self.assertEqual(len(append), 1)
                    if len(append_of_gdb) == 1:
                        self.skipTest("the compiler puts nothing back")
                    self.assertLess(set(append), set(append_of_gdb))
                    self.assertLessEqual(set(walk), set(walk_of_gdb))
                    if flags != LTO:  # real calls
                        self.assertEqual(walk, walk_of_gdb)
                        self.assertGreater(len(walk), 2)


if __name__ == "__main__":
    unittest.main()
