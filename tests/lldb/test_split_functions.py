# SPDX-License-Identifier: MIT
"""Functions that the compiler has split in two parts have whole backtraces and the right breakpoints in copies, which lldb before
version 21 does not manage in an ordinary program; gorgon_lldb/split_functions.py and libraries.py."""

import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(harness.ROOT, "lldb"))
import lldb_session as session  # noqa: E402
from gorgon_lldb import split_functions  # noqa: E402
from gorgon_shared import dwarf_index  # noqa: E402
from gorgon_lldb.debug_files import DebugFile  # noqa: E402

COUNT = 3
# GCC puts the code behind "unlikely" into the second part of split_sum(). The second part has a block of its own and an inlined function.
# The attribute noipa keeps GCC from inlining the other functions.
SOURCE = """
extern int printf(const char *, ...);
int split_sum(int n, const int *list);
__attribute__((cold, noipa)) void split_complain(const char *what, int n)
{
	(void)what, (void)n;
}
static inline __attribute__((always_inline)) int halved(int n)
{
	int half = n / 2;
	split_complain("half", half);
	return half;
}
__attribute__((noipa)) int split_leaf(int n)
{
	return n * 3;
}
__attribute__((noipa)) int split_between(int n)
{
	return split_leaf(n + 1) + 1;
}
__attribute__((noipa)) int split_sum(int n, const int *list)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(list[i] < 0, 0)) { /* unlikely */
			for (int left = list[i]; left < 0; left++)
				split_complain("negative", left);
			sum -= halved(list[i]);
		}
		sum += split_between(list[i]);
	}
	return sum;
}
int split_entry(void)
{
	const int list[] = {1, -3, 4};
	return split_sum(3, list) * 2;
}
"""
PROGRAM = ("import ctypes, gorgon, os, time; split = ctypes.CDLL({library!r}); open({library!r} + f'.{{gorgon.interpreter}}', 'w').close()\\n"
           "while not all(os.path.exists({library!r} + f'.{{i}}') for i in range({count})): time.sleep(0.01)\\n"
           "if gorgon.interpreter == 1: split.split_entry()")


def build(folder, *flags):
    library = os.path.join(folder, "libsplit.so")
    subprocess.run(["gcc", "-O2", "-g", *flags, "-shared", "-fPIC", "-Wl,--build-id", "-x", "c", "-", "-o", library], input=SOURCE, text=True,
                   check=True)
    return library


class Trimming(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def read(self, path):
        with open(path, "rb") as file:
            return DebugFile(file.read())

    def extents(self, library):
        """{name of a function's part: (start, end)}"""
        return {name.decode(): (address, address + size) for name, address, size in self.read(library).functions()}

    def ranges(self, library):
        """(start, end) of all that .debug_ranges or .debug_rnglists has."""
        said = harness.run("readelf", "--debug-dump=Ranges", library).stdout
        return [(int(start, 16), int(end, 16)) for start, end in re.findall(r"^ +[0-9a-f]+ ([0-9a-f]{16}) ([0-9a-f]{16})", said, re.M)]

    def test_second_parts_are_in_no_list_and_their_blocks_behind_all(self):
        for flags in (["-gdwarf-5"], ["-gdwarf-4"]):
            with self.subTest(flags):
                library, trimmed = build(self.folder, *flags), os.path.join(self.folder, "trimmed")
                extents = self.extents(library)
                self.assertIn("split_sum.cold", extents)
                cold = extents["split_sum.cold"]

                def is_cold(address):
                    return cold[0] <= address < cold[1]

                file = self.read(library)
                file.trim_split_functions()
                file.write(trimmed)
                before, after = self.ranges(library), self.ranges(trimmed)
                self.assertTrue([start for start, _ in before if is_cold(start)])
                self.assertEqual([start for start, _ in after if is_cold(start)], [])
                self.assertIn(extents["split_sum"], after)
                said = [harness.run("readelf", "--debug-dump=info", path).stdout for path in (library, trimmed)]
                blocks = [re.findall(r"\((?:DW_TAG_lexical_block|DW_TAG_inlined_subroutine)\)(?:\n +<(?!.*DW_TAG).*)*?DW_AT_low_pc +: 0x([0-9a-f]+)", text)
                          for text in said]
                self.assertTrue([start for start in blocks[0] if is_cold(int(start, 16))])
                self.assertEqual([start for start in blocks[1] if is_cold(int(start, 16))], [])
                self.assertEqual(len(blocks[0]), len(blocks[1]))

    def test_without_second_parts_nothing_changes(self):
        file = self.read(build(self.folder, "-fno-reorder-blocks-and-partition"))
        file.trim_split_functions()
        self.assertEqual(file.new, {})

    def test_damaged_files_stay_as_they_are(self):
        for name in (b".debug_info", b".debug_abbrev", b".debug_rnglists", b".symtab", b".strtab"):
            whole = self.read(build(self.folder))
            content = bytes(whole.find(name))
            for size in range(0, len(content), max(len(content) // 40, 1)):
                for damaged in (content[:size], content[:size] + b"\xff" * 8 + content[size + 8:], content[:size] + bytes(8) + content[size + 8:]):
                    file = self.read(os.path.join(self.folder, "libsplit.so"))
                    file.replace(name, damaged)
                    try:
                        file.trim_split_functions()
                    except dwarf_index.FAILURES:
                        self.assertEqual(list(file.new.values()), [damaged])

    def test_an_empty_second_part_takes_nothing_from_its_neighbours(self):
        parts = split_functions.SecondParts([(b"f", 0x100, 0x10), (b"f.cold", 0x50, 0), (b"g.cold", 0x50, 8), (b"h.cold", 0x100, 0)])
        self.assertEqual([parts.has(address) for address in (0x4f, 0x50, 0x57, 0x58, 0x100)], [False, True, True, False, False])
        self.assertEqual(parts.behind_all, 0x110)
        self.assertFalse(split_functions.SecondParts([(b"f", 0x100, 0x10)]))

    def test_lists_of_blocks_in_second_parts_are_behind_all(self):
        parts = split_functions.SecondParts([(b"f", 0x100, 0x10), (b"f.cold", 0x50, 8)])
        content = bytearray(b"\5" + struct.pack("<Q", 0x52) + b"\4\0\1\4\2\3\0rest")
        self.assertEqual(split_functions.trim_list(content, 0, parts), 16)
        self.assertEqual(bytes(content), b"\5" + struct.pack("<Q", 0x110) + b"\4\0\1\4\2\3\0rest")

    def test_entries_keep_their_places(self):
        """Another list may begin in the middle of a list."""
        parts = split_functions.SecondParts([(b"f", 0x100, 0x10), (b"f.cold", 0x50, 8)])
        first, second = b"\7" + struct.pack("<Q", 0x100) + b"\x10", b"\7" + struct.pack("<Q", 0x50) + b"\4"
        moved = b"\7" + struct.pack("<Q", 0x110) + b"\4"
        for before, after in ((first + second, first + bytes(10)), (second + first, moved + first), (second, moved),
                              (first + second + first, first + moved + first)):
            content = bytearray(before + b"\0")
            self.assertEqual(split_functions.trim_list(content, 0, parts), len(before) + 1)
            self.assertEqual(bytes(content), after + b"\0")

    def test_bases_of_pairs(self):
        parts = split_functions.SecondParts([(b"f", 0x100, 0x10), (b"f.cold", 0x50, 8)])
        pairs = [(0x100, 0x110), (0x50, 0x58), (0, 0), ((1 << 64) - 1, 0x40), (0x10, 0x18), (0xc0, 0xd0), (0, 0)]
        trimmed = split_functions.trim_pairs(b"".join(struct.pack("<QQ", *pair) for pair in pairs), parts)
        self.assertEqual(list(struct.iter_unpack("<QQ", trimmed)), [(0x100, 0x110), (0, 0), (0, 0), ((1 << 64) - 1, 0x40), (0xd0, 0xd8), (0xc0, 0xd0), (0, 0)])


@harness.needs_lldb
class Session(session.Case):
    """The extension has its debug information itself; that of libpython is in another file."""
    flags = ()

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        library = build(holder.name, *cls.flags)
        code = PROGRAM.format(library=library, count=COUNT)
        commands = ["gorgon symbols auto", "breakpoint set -n split_sum -N sum", "breakpoint set -n split_leaf -o true",
                    "breakpoint set -n split_complain", "run", "breakpoint list sum", "bt", "continue", "bt", "continue", "bt"]
        cls.output = harness.lldb(commands, harness.HOST, "-n", str(COUNT), f'exec("""{code}""")', script=True)
        said = [text.partition("(lldb) ")[0] for text in re.split(r"^\(lldb\) bt\n", cls.output, flags=re.M)[1:]]
        cls.stacks = [re.findall(r"frame #\d+: 0x[0-9a-f]+ [^`\n]+`(.*)", text) for text in said]

    def test_session_is_clean(self):
        self.assert_clean(self.output)

    def test_backtraces_are_whole(self):
        for stack, inner in zip(self.stacks, (["split_sum", "split_entry"], ["split_leaf", "split_between", "split_sum", "split_entry"],
                                              ["split_complain"])):
            names = [re.match(r"\w+|<string>", function)[0] for function in stack]
            self.assertEqual(names[:len(inner)], inner)
            self.assertIn("_PyEval_EvalFrameDefault", names)
            self.assertIn("gorgon_interp_main", names)
            self.assertTrue(names[-1].endswith("clone3"), names)

    def test_frames_of_the_first_part_have_arguments(self):
        self.assertRegex(self.stacks[0][0], r"^split_sum\(n=3, list=0x")

    def test_a_frame_of_the_second_part_has_a_name_and_a_line(self):
        name = r"split_sum\(.*" if not harness.LLDB or harness.lldb_version() >= split_functions.KNOWN_SINCE else r"split_sum\.cold"
        self.assertRegex(self.stacks[2][1], name + " at <stdin>:\\d+")
        self.assertIn("split_entry", self.stacks[2][2])

    def test_a_breakpoint_is_at_the_entry_of_each_copy(self):
        listed = self.output.partition("(lldb) breakpoint list sum\n")[2].partition("(lldb) ")[0]
        self.assertEqual(len(re.findall(r"where = libsplit\.so(?: \[interp \d\])?`split_sum", listed)), COUNT, listed)


if __name__ == "__main__":
    unittest.main()
