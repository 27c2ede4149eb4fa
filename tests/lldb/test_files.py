# SPDX-License-Identifier: MIT
"""What copies have in common is kept: links, debug files, indexes; gorgon_lldb/files.py, debug_files.py and debug_names.py."""

import glob
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from unittest import mock

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(harness.ROOT, "lldb"))
import lldb_session as session  # noqa: E402
from gorgon_lldb import debug_names, files  # noqa: E402
from gorgon_lldb.debug_files import DebugFile  # noqa: E402

COUNT = 3
LINKS = re.compile(rf"/\S+/interp \d/{harness.SONAME_RE}")
SOURCE = "".join(f"struct book{i} {{ int pages{i}; }} book{i};\nint read_book{i}(int n)\n{{\n\treturn book{i}.pages{i} + n;\n}}\n" for i in range(50))


def sections(path):
    """{name of a section with debug information: its bytes}"""
    with tempfile.TemporaryDirectory() as folder:
        names = re.findall(r"\] (\.debug_\w+)", harness.run("readelf", "-SW", path).stdout)
        found = {}
        for name in names:
            copy = os.path.join(folder, "section")
            subprocess.run(["objcopy", "-O", "binary", "--only-section", name, "--set-section-flags", f"{name}=alloc", path, copy], check=True)
            with open(copy, "rb") as file:
                found[name] = file.read()
        return found


class Inflating(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.plain, self.compressed, self.inflated = (os.path.join(self.folder.name, n) for n in ("plain", "compressed", "inflated"))
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-x", "c", "-", "-o", self.plain], input=SOURCE, text=True, check=True)

    def compress(self, how):
        return subprocess.run(["objcopy", f"--compress-debug-sections={how}", self.plain, self.compressed], check=False,
                              capture_output=True).returncode == 0

    def read(self, path):
        with open(path, "rb") as file:
            return DebugFile(file.read())

    def inflate(self, path):
        file = self.read(path)
        file.inflate()
        file.write(self.inflated)

    def test_sections_are_what_they_were_before_they_were_compressed(self):
        self.assertTrue(self.compress("zlib"))
        self.assertIn("C", re.search(r"\.debug_str .*", harness.run("readelf", "-SW", self.compressed).stdout)[0])
        self.inflate(self.compressed)
        self.assertNotRegex(harness.run("readelf", "-SW", self.inflated).stdout, r"\.debug_\w+ .* C +\d")
        self.assertEqual(sections(self.inflated), sections(self.plain))
        self.assertEqual(harness.run("readelf", "-snW", self.inflated).stdout, harness.run("readelf", "-snW", self.compressed).stdout)

    def test_what_is_not_compressed_stays(self):
        self.inflate(self.plain)
        self.assertEqual(sections(self.inflated), sections(self.plain))

    def test_what_cannot_be_inflated_is_refused(self):
        if self.compress("zstd"):
            with self.assertRaises(ValueError):
                self.inflate(self.compressed)
        self.compress("zlib")
        with open(self.compressed, "rb") as file:
            data = file.read()
        with self.assertRaises((ValueError, IndexError, struct.error, zlib.error)):
            DebugFile(data[:len(data) // 2]).inflate()

    def test_symbols_without_a_kind_go(self):
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-x", "c", "-", "-o", self.plain], check=True, text=True,
                       input=SOURCE + 'static int here;\nint *where(void)\n{\n\treturn &here;\n}\n__asm__("mark: .set number, 42");\n')
        file = self.read(self.plain)
        file.trim_symbols()
        file.write(self.inflated)
        before, after = (re.findall(r"(\w+) +(LOCAL|GLOBAL|WEAK) +\w+ +\w+ (\S+)$", harness.run("readelf", "-sW", path).stdout.partition("'.symtab'")[2],
                                    re.M) for path in (self.plain, self.inflated))
        self.assertIn(("NOTYPE", "LOCAL", "mark"), before)
        self.assertEqual(after, [symbol for symbol in before if symbol[0] in ("FUNC", "OBJECT")])
        self.assertEqual(harness.run("nm", "-g", "--defined-only", self.inflated).stdout, "".join(
            line for line in harness.run("nm", "-g", "--defined-only", self.plain).stdout.splitlines(True) if "_start" not in line and "_end" not in line
            and "_edata" not in line))

    def test_each_unit_has_a_range(self):
        sources = []
        for name, text in (("code", SOURCE), ("data", "int nothing_but_data = 3;\n")):
            sources.append(os.path.join(self.folder.name, f"{name}.c"))
            with open(sources[-1], "w", encoding="ascii") as file:
                file.write(text)
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", *sources, "-o", self.plain], check=True)
        file = self.read(self.plain)
        file.complete_aranges()
        file.write(self.inflated)
        counts = [len(re.findall(r"^ +(?!0+ 0+$)[0-9a-f]{16} [0-9a-f]{16}$", harness.run("readelf", "--debug-dump=aranges", path).stdout, re.M))
                  for path in (self.plain, self.inflated)]
        self.assertEqual((counts, len(file.units())), ([1, 2], 2))


class Index(unittest.TestCase):
    def test_an_unknown_index_is_refused(self):
        strings = b"STAB" + struct.pack("<I", 6) + b"\0name\0"
        table = b"\1N2DI" + struct.pack("<IIQ", 1, 1, 12) + b"\xff"
        self.assertEqual(debug_names.read_index(b"\xff" + strings + b"DIDX" + struct.pack("<I", 2) + table), {b"name": {12}})
        for data in (strings + b"DIDX" + struct.pack("<I", 3) + table, strings + b"XXXX", b"nothing", strings + b"DIDX" + struct.pack("<I", 2)
                     + table.replace(b"N2DI", b"N3DI")):
            with self.assertRaises((ValueError, struct.error)):
                debug_names.read_index(data)

    def test_a_name_that_is_not_ascii_is_refused(self):
        self.assertEqual(debug_names.hash_of(b"List_Append"), debug_names.hash_of(b"list_append"))
        with self.assertRaises(UnicodeError):
            debug_names.hash_of("größe".encode())


class Unused(unittest.TestCase):
    def test_what_nobody_has_used_for_long_goes(self):
        with tempfile.TemporaryDirectory() as place:
            for name, age in (("new", 0), ("old", files.UNUSED_MAX + 60)):
                path = os.path.join(place, name, "x.debug")
                os.mkdir(os.path.dirname(path))
                with open(path, "w", encoding="ascii"):
                    pass
                os.utime(os.path.dirname(path), (0, time.time() - age))
            files.remove_unused(place)
            self.assertEqual(os.listdir(place), ["new"])


class WithoutHome(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.dict(os.environ))
        for name in ("HOME", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        self.enterContext(mock.patch.object(tempfile, "tempdir", os.path.join(self.folder, "tmp")))
        os.mkdir(tempfile.tempdir)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        self.addCleanup(files.folder.cache_clear)

    @staticmethod
    def place():
        files.folder.cache_clear()  # as in another session
        return files.folder("links")

    def test_sessions_share_a_folder(self):
        self.assertEqual(self.place(), self.place())
        self.assertEqual(len(os.listdir(tempfile.tempdir)), 1)
        self.assertEqual(os.listdir(self.folder), ["tmp"])

    def test_a_folder_where_others_write_is_not_taken(self):
        os.chmod(os.path.dirname(self.place()), 0o777)
        self.assertNotEqual(self.place(), self.place())

    def test_a_link_is_not_taken(self):
        os.mkdir("elsewhere", 0o700)
        os.symlink(os.path.join(self.folder, "elsewhere"), os.path.join(tempfile.tempdir, f"gorgon-lldb-{os.geteuid()}"))
        self.assertNotEqual(self.place(), self.place())
        self.assertEqual(os.listdir("elsewhere"), [])


@harness.needs_lldb
class Sessions(session.Case):
    """Two sessions of one user, and one of a user whose folder others may write to."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.home.cleanup)
        cls.kept = os.path.join(cls.home.name, "gorgon", "lldb")
        commands = ["gorgon symbols auto", "breakpoint set -n time_sleep", "run", "breakpoint list", f"image list -f -S {harness.SONAME}",
                    "settings show symbols.enable-lldb-index-cache", "breakpoint delete -f", "continue"]
        cls.outputs = []
        for mode in (0o700, 0o700, 0o777):
            if os.path.isdir(cls.kept):
                os.chmod(cls.kept, mode)
            before = dict(os.environ)
            os.environ.update(XDG_CACHE_HOME=cls.home.name, TMPDIR=cls.home.name)
            try:
                cls.outputs.append(harness.lldb(commands, harness.HOST, "-n", str(COUNT), "import time; time.sleep(0.1)", script=True,
                                                # In place of the tests' own cache, which would be the user's choice.
                                                options=["-O", "settings set symbols.enable-lldb-index-cache false"]))
            finally:
                os.environ.clear()
                os.environ.update(before)

    def test_each_session_has_lines_in_each_copy(self):
        for output in self.outputs:
            self.assert_clean(output)
            self.assertEqual(len(re.findall(r"`time_sleep at timemodule\.c:\d+.* resolved", output)), COUNT, output)
            self.assertIn("exited with status = 0", output)

    def test_paths_are_the_same_in_each_session(self):
        first, second, other = (sorted(set(LINKS.findall(output))) for output in self.outputs)
        self.assertEqual(len(first), COUNT)
        self.assertEqual(first, second)
        self.assertTrue(all(os.path.islink(path) and path.startswith(self.kept) for path in first))
        self.assertEqual([path for path in other if path.startswith(self.kept)], [])

    def made(self):
        if not harness.run("readelf", "-n", harness.LIBPYTHON).stdout.count("Build ID"):
            self.skipTest("libpython has no debug file of its own")
        found = glob.glob(os.path.join(self.kept, "inflated", "*", "*.debug"))
        self.assertEqual(len(found), 1)
        return found[0]

    def test_copies_share_a_debug_file_with_an_index(self):
        made = self.made()
        for output in self.outputs[:2]:
            self.assertIn(made, output)
        if harness.lldb_version() >= files.INDEXES_SINCE:
            self.assertIn(" .debug_names ", harness.run("readelf", "-SW", made).stdout)
            self.assertEqual(glob.glob(os.path.join(self.kept, "indexes", f"*{harness.SONAME}-*-dwarf-index-*")), [])
            self.assertTrue(glob.glob(os.path.join(self.kept, "indexes", "*libc.so*-dwarf-index-*")))
            self.assertEqual([name for _, names, others in os.walk(os.path.join(self.kept, "links")) for name in (*names, *others)
                              if "unfinished" in name], [])

    def test_lldb_knows_as_much_as_with_the_library_s_own_debug_file(self):
        commands = ["image lookup -n list_append", "image lookup -r -n ^time_s", "image lookup -t PyListObject", "image lookup -t _ts",
                    "target variable _PyRuntime.main_thread time_as_a_name", "image lookup -s PyList_Append", "breakpoint set -n list_append",
                    "breakpoint set -f listobject.c -l 336", "breakpoint set -r ^unicode_a", "breakpoint list -v", "target variable",
                    "expression (int)sizeof(PyListObject)"]
        made = self.made()
        own = re.search(r"\S+/\.build-id/\S+", harness.lldb([f"target create {harness.LIBPYTHON}", "image list -S"]))[0]
        with_own, with_made = (sorted(harness.lldb([f"target create {harness.LIBPYTHON} -s {path}", *commands]).replace(path, "").splitlines())
                               for path in (own, made))
        self.assertGreater(len(with_own), 50)
        self.assertEqual({line for line in set(with_own) ^ set(with_made) if ".lldb'" not in line}, set())


if __name__ == "__main__":
    unittest.main()
