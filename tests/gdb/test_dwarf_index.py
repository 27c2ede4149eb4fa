# SPDX-License-Identifier: MIT
"""Which compilation units of a library have code of a function."""

import os
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "debuggers"))
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


def functions(path):
    """What a library says of functions, or None: that is left to gdb."""
    library = dwarf_index.read(path)
    try:
        return library and function_units.Functions(library)
    except dwarf_index.FAILURES:
        return None


class Search(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def units(self, path, name):
        """How many of all units have code of a function."""
        found = functions(path)
        return len(found.units[name]), len(found.debug.units)

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
        self.assertNotIn("nowhere", functions(path).units)
        for flags, compiler in ((["-O2"], "g++"), (["-gdwarf-2", "-gstrict-dwarf"], "gcc"), (["-s"], "gcc"),
                                (["-gdwarf64"], "gcc")):
            with self.subTest(flags):
                self.assertIsNone(functions(build(self.folder, *flags, compiler=compiler)))
        self.assertIsNone(functions(os.path.join(self.folder, "no such file")))

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
                    self.assertIsNone(functions(path))

    def test_a_damaged_file_is_left_to_gdb_or_found_in(self):
        path = build(self.folder, *LTO)
        with open(path, "rb") as file:
            whole = file.read()
        for size in range(0, len(whole), len(whole) // 97):
            with open(path, "wb") as file:
                file.write(whole[:size])
            self.assertIsNone(functions(path), size)
        for at in range(64, len(whole), len(whole) // 197):
            with open(path, "wb") as file:
                file.write(whole[:at] + bytes(byte ^ 0xFF for byte in whole[at:at + 16]) + whole[at + 16:])
            functions(path)  # and no exception


if __name__ == "__main__":
    unittest.main()
