# SPDX-License-Identifier: MIT
"""docs/reference.md has each environment variable that the sources read, each file that they name, and what is installed."""

import fnmatch
import glob
import os
import re
import tempfile
import unittest

from harness import ROOT, run

READS = re.compile(r"""(?:getenv\(|environ(?:\.get)?[(\[]|getenv_of\()\s*"([A-Z][A-Za-z_]+)"|^\t\{"([A-Z][A-Za-z_]+)", (?:NULL|"[^"]*"), (?:true|false)\},""", re.M)
# Names that are no files of the system: folders in which libraries or programs are looked for, and a file in a
# comment's example.
SEARCHED = {"/usr", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/bin/python3", "/tmp", "/proc/", "/proc/1234/fd"}


def read(name):
    with open(f"{ROOT}/{name}") as file:
        return file.read()


def column(heading, number):
    """What stands in code font in a column of the table below a heading."""
    table = read("docs/reference.md").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {name for row in re.findall(r"^\| `.*$", table, re.M) for name in re.findall(r"`([^`]+)`", row.split(" | ")[number])}


def sources(*patterns):
    return {os.path.relpath(path, ROOT): read(os.path.relpath(path, ROOT)) for pattern in patterns
            for path in glob.glob(f"{ROOT}/{pattern}", recursive=True)}


class Reference(unittest.TestCase):
    def test_each_environment_variable_is_there(self):
        read_by = {}
        for name, text in sources("loader/**/*.c", "jitreg/**/*.c", "tools/**/*.c", "python/*.py", "python/gorgon/*.py", "gdb/**/*.py",
                                  "lldb/**/*.py", "debuggers/**/*.py", "loader/python/**/*.py").items():
            for match in READS.finditer(text):
                read_by.setdefault(match[1] or match[2], name)
        self.assertIn("XDG_CACHE_HOME", read_by)
        self.assertIn("OPENBLAS_NUM_THREADS", read_by)
        page = column("Environment variables", 0)
        self.assertEqual({name: where for name, where in read_by.items() if name not in page}, {})
        everything = "".join(sources("loader/**/*.[ch]", "jitreg/**/*.[ch]", "tools/**/*.c", "python/*.py").values())
        self.assertEqual({name for name in page if f'"{name}"' not in everything and f"{name}=" not in everything}, set())

    def test_each_file_of_the_system_is_there(self):
        page = column("Files", 0)
        named = {}
        for name, text in sources("loader/**/*.[ch]", "jitreg/**/*.[ch]", "tools/**/*.[ch]").items():
            for path in re.findall(r'"(/(?:proc|sys|etc|dev|usr|tmp|run|var)[\w/.%-]*)"', text):
                # A name with numbers in it, of a process or of this process: the part before the last number counts.
                path = re.sub(r"^/proc/%l?d/", "/proc/PID/", path)
                named.setdefault(re.sub(r"/(?:%[a-z]+|\d+)?(?:[-/]?%l?[a-z]+.*)?$|%s%s$", "", path) or path, name)
        self.assertIn("/etc/ld.so.cache", named)
        missing = {path: name for path, name in named.items()
                   if path not in SEARCHED and path not in page and not any(path.startswith(f"{entry}/") or entry.startswith(f"{path}/") for entry in page)}
        self.assertEqual(missing, {})

    def test_each_installed_file_is_there(self):
        with tempfile.TemporaryDirectory() as root:
            env = {key: None for key in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN")}
            run("make", "-C", ROOT, "install", f"DESTDIR={root}", "PREFIX=/p", "LIBDIR=/l", "INCLUDEDIR=/i", "DATADIR=/d", "GDB_DATADIR=/g",
                env=env).check_returncode()
            places = {"PREFIX": "/p", "LIBDIR": "/l", "INCLUDEDIR": "/i", "GDB_DATADIR": "/g", "DATADIR": "/d"}
            patterns = [re.sub(r"^[A-Z_]+", lambda match: places.get(match[0], match[0]), name) for name in column("Files", 0)]
            installed = [os.path.join(folder, name).removeprefix(root) for folder, _, names in os.walk(root) for name in names]
            self.assertGreater(len(installed), 100)
            self.assertEqual([path for path in installed if not any(fnmatch.fnmatch(path, pattern) for pattern in patterns)], [])
            self.assertEqual([pattern for pattern in patterns if pattern[:3] in ("/p/", "/l/", "/i/", "/g/", "/d/")
                              and not any(fnmatch.fnmatch(path, pattern) for path in installed)], [])


if __name__ == "__main__":
    unittest.main()
