# SPDX-License-Identifier: MIT
"""What copies have in common is kept: links, debug information without compression, indexes; gorgon_lldb/files.py."""

import glob
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(harness.ROOT, "lldb"))
import lldb_session as session  # noqa: E402
from gorgon_lldb import files  # noqa: E402

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
            return bytearray(file.read())

    def test_sections_are_what_they_were_before_they_were_compressed(self):
        self.assertTrue(self.compress("zlib"))
        self.assertIn("C", re.search(r"\.debug_str .*", harness.run("readelf", "-SW", self.compressed).stdout)[0])
        files.write(self.inflated, files.inflate(self.read(self.compressed)))
        self.assertNotRegex(harness.run("readelf", "-SW", self.inflated).stdout, r"\.debug_\w+ .* C +\d")
        self.assertEqual(sections(self.inflated), sections(self.plain))
        self.assertEqual(harness.run("readelf", "-snW", self.inflated).stdout, harness.run("readelf", "-snW", self.compressed).stdout)

    def test_nothing_to_inflate(self):
        self.assertEqual(files.inflate(self.read(self.plain)), [])

    def test_what_cannot_be_inflated_is_refused(self):
        if self.compress("zstd"):
            with self.assertRaises(ValueError):
                files.inflate(self.read(self.compressed))
        self.compress("zlib")
        data = self.read(self.compressed)
        with self.assertRaises((ValueError, files.struct.error, files.zlib.error)):
            files.inflate(data[:len(data) // 2])


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
                cls.outputs.append(harness.lldb(commands, harness.HOST, "-n", str(COUNT), "import time; time.sleep(0.1)", script=True))
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

    def test_copies_share_what_was_inflated_and_indexed(self):
        if not harness.run("readelf", "-n", harness.LIBPYTHON).stdout.count("Build ID"):
            self.skipTest("libpython has no debug file of its own")
        self.assertEqual(len(glob.glob(os.path.join(self.kept, "inflated", "*", "*.debug"))), 1)
        if harness.lldb_version() < files.INDEXES_SINCE:
            return
        indexes = glob.glob(os.path.join(self.kept, "indexes", f"*{harness.SONAME}-*-dwarf-index-*"))
        self.assertEqual(len(indexes), COUNT)
        self.assertEqual(len({os.stat(path)[stat.ST_INO] for path in indexes}), 1)
        for output in self.outputs[:2]:
            self.assertIn(os.path.join(self.kept, "inflated"), output)


if __name__ == "__main__":
    unittest.main()
