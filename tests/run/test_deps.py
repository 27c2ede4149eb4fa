# SPDX-License-Identifier: MIT
"""gorgon info --deps: what a file would bring, private or shared, and which names cross."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import DYNLOAD, EXT_SUFFIX, GORGON, LIBPYTHON, MODULES, NUMPY_CORE, run

NUMPY = f"/usr/lib/python3/dist-packages/numpy/{NUMPY_CORE}/_multiarray_umath{EXT_SUFFIX}"
SSL = f"{DYNLOAD}/_ssl{EXT_SUFFIX}"
CATCH = os.path.join(MODULES, "libcatch.so")
TOP = os.path.join(MODULES, "libtop.so")
# Debian's reference implementation of BLAS needs none of them.
POOL = {"libopenblas.so.0", "libblis.so.4", "libatlas.so.3"}


def deps(*args, **kwargs):
    return run(GORGON, "info", "--deps", *args, **kwargs)


class Reader(unittest.TestCase):
    maxDiff = None

    def read(self, *args, status=0):
        result = deps(*args, "--json")
        self.assertEqual((result.stderr, result.returncode), ("", status))
        return json.loads(result.stdout)


class Deps(Reader):
    def rows(self, *args, **kwargs):
        """{name: row}; every library is there once."""
        rows = self.read(*args, **kwargs)["deps"]
        self.assertEqual(len({row["name"] for row in rows}), len(rows))
        return {row["name"]: row for row in rows}

    def kinds(self, *args, **kwargs):
        return {os.path.basename(name): "shared" if row["shared"] else "private"
                for name, row in self.rows(*args, **kwargs).items()}

    def test_numpy_is_private_and_a_blas_with_threads_is_shared(self):
        rows = self.rows(NUMPY)
        self.assertEqual((rows[NUMPY]["shared"], rows[NUMPY]["path"], rows[NUMPY]["reason"]),
                         (False, NUMPY, "private by default"))
        blas = rows["libblas.so.3"]
        if POOL & rows.keys():
            self.assertEqual((blas["shared"], blas["pattern"]), (True, "libblas.so.3"))
            self.assertIn("BLAS", blas["reason"])
        else:
            self.assertEqual((blas["shared"], blas["reason"]), (
                False, "on the list of shared libraries, but neither starts threads nor needs a library that does"))
        self.assertTrue(all(row["shared"] for name, row in rows.items() if name not in (NUMPY, "libblas.so.3")), rows)
        shared = self.rows(NUMPY, "--share", "libblas.so.3")["libblas.so.3"]
        self.assertEqual((shared["shared"], shared["reason"]), (True, "shared by option"))

    def test_names_that_are_no_text_are_shown_as_bytes(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        shown = r"Zürich\x1b[2J\x0a\xff.so"
        name = os.fsencode(folder) + "/Zürich\x1b[2J\n".encode() + b"\xff.so"
        with open(TOP, "rb") as file:
            data = file.read().replace(b"libmiddle.so\0", b"lib\n\x1b\xffl.so\0\0\0\0"[:13])
        with open(name, "wb") as file:
            file.write(data)
        for options in ([], ["--json"]):
            result = subprocess.run([GORGON, "info", "--deps", name, *options], capture_output=True)
            text = result.stdout.decode("utf-8")
            self.assertNotIn("\x1b", text)
            if "--json" not in options:
                self.assertIn(shown, text.splitlines()[0])
                continue
            rows = json.loads(text)["deps"]
            self.assertEqual(rows[0]["path"], f"{folder}/{shown}")
            self.assertTrue(any(row["name"].startswith(r"lib\x0a\x1b\xff") for row in rows), rows)
        with open(name, "wb") as file:
            file.write(b"no library")
        result = subprocess.run([GORGON, "info", "--deps", name], capture_output=True)
        self.assertEqual(result.returncode, 3)
        self.assertIn(shown, result.stderr.decode("utf-8"))
        self.assertEqual(result.stderr.count(b"\n"), 1)

    def test_files_are_those_that_ldd_finds(self):
        for file in NUMPY, SSL:
            found = {name: os.path.realpath(path)
                     for name, path in re.findall(r"^\s*(\S+) => (\S+) \(", run("ldd", file).stdout, re.M)}
            rows = self.rows(file)
            self.assertGreater(len(found), 2)
            self.assertEqual({name: os.path.realpath(rows[name]["path"]) for name in found if name in rows}, found)

    def test_a_run_loads_what_was_announced(self):
        code = ("import _ssl, sys\n"
                "print(*sorted({line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}))\n")
        announced = {os.path.realpath(row["path"]) for row in self.rows(SSL).values()}
        mapped = set(run(GORGON, "run", "-c", code).stdout.split())
        self.assertGreater(len(announced), 3)
        self.assertLessEqual(announced, mapped)

    def test_tree_has_each_library_under_what_needs_it(self):
        lines = deps(TOP).stdout.splitlines()
        self.assertEqual([re.match(r"(\w+ +\S+) => ", line)[1] for line in lines],
                         ["private  libtop.so", "private    libmiddle.so", "private      libbottom.so"])
        self.assertEqual(lines[1], f"private    libmiddle.so => {MODULES}/dep/libmiddle.so (private by default)")

    def test_library_that_needs_a_private_one_is_private(self):
        rows = self.rows(os.path.join(MODULES, "libthrow.so"), "--private", "libm.so.*")
        self.assertEqual((rows["libm.so.6"]["shared"], rows["libm.so.6"]["pattern"]), (False, "libm.so.*"))
        self.assertEqual((rows["libstdc++.so.6"]["shared"], rows["libstdc++.so.6"]["reason"]),
                         (False, "on the list of shared libraries, but needs libm.so.6, which is private by option"))

    def test_share_takes_the_closure_or_is_an_error(self):
        kinds = self.kinds(TOP, "--share", "libmiddle*", "--share", "libbottom*")
        self.assertEqual([kinds[name] for name in ("libtop.so", "libmiddle.so", "libbottom.so")],
                         ["private", "shared", "shared"])
        result = deps(TOP, "--share", "libmiddle*")
        self.assertEqual((result.stdout, result.returncode), ("", 3))
        self.assertRegex(result.stderr, r"\Agorgon: \S+/libtop.so: libmiddle.so: .*\(libmiddle\*\), but needs "
                                        r"libbottom.so, which is private by default[^\n]*\n\Z")

    def test_run_refuses_what_cannot_be_shared(self):
        result = run(GORGON, "run", "--share", "libssl.so.*", "-c", "import _ssl")
        self.assertEqual((result.stdout, result.returncode), ("", 1))
        self.assertRegex(result.stderr, r"libssl.so.\d+: is to be shared by option \(libssl.so.\*\), but needs "
                                        r"libcrypto.so.\d+, which is private by default")

    def test_patterns_that_cannot_be_obeyed_are_one_line(self):
        for option, pattern, text in (("--private", "libc.so.6", "libc.so.6, which cannot be private: owns malloc"),
                                      ("--private", "ld-linux*", "ld-linux-x86-64.so.2, which cannot be private"),
                                      ("--private", "*", "take patterns that leave it out"),
                                      ("--share", "libpython*", "a libpython cannot be shared"),
                                      ("--private", "/lib/libz.so.1", "without folders")):
            for command in ("run", option, pattern, "-c", "1"), ("info", "--deps", TOP, option, pattern):
                with self.subTest(command=command):
                    result = run(GORGON, *command)
                    self.assertEqual((result.stdout, result.returncode), ("", 3))
                    self.assertRegex(result.stderr, r"\Agorgon: [^\n]+\n\Z")
                    self.assertIn(f'{option[2:]} "{pattern}": ', result.stderr)
                    self.assertIn(text, result.stderr)

    def test_missing_library_is_listed_and_is_status_1(self):
        row = self.rows(os.path.join(MODULES, "libmissing.so"), status=1)["libnowhere.so"]
        self.assertEqual((row["path"], row["shared"]), (None, False))
        self.assertIn("not found in $ORIGIN/dep, LD_LIBRARY_PATH", row["reason"])

    def test_shared_library_and_libpython_themselves(self):
        self.assertEqual(set(self.kinds("libgfortran.so.5").values()), {"shared"})
        kinds = self.kinds(LIBPYTHON)
        self.assertEqual((kinds[os.path.basename(LIBPYTHON)], kinds["libexpat.so.1"], kinds["libm.so.6"]),
                         ("private", "private", "shared"))

    def test_path_of_a_shared_library_is_judged_by_its_soname(self):
        library = self.rows("libgfortran.so.5")["libgfortran.so.5"]["path"]
        file = os.path.realpath(library)
        self.assertNotEqual(os.path.basename(file), os.path.basename(library))
        row = self.rows(file)[file]
        self.assertEqual((row["shared"], row["pattern"]), (True, "libgfortran.so.5"))
        self.assertFalse(self.rows(file, "--private", "libgfortran.so.*")[file]["shared"])

    def test_file_here_needs_no_slash(self):
        result = deps("libtop.so", cwd=MODULES)
        self.assertTrue(result.stdout.startswith(f"private  libtop.so => {TOP} ("), result.stdout)

    def test_what_is_no_library_is_one_line(self):
        for args, text in (((__file__,), "not an ELF file"), (("libno_such.so",), "not found in"),
                           ((NUMPY, "--python", "/nonexistent"), "/nonexistent")):
            with self.subTest(args=args):
                result = deps(*args)
                self.assertEqual((result.stdout, result.returncode), ("", 3))
                self.assertRegex(result.stderr, r"\Agorgon: [^\n]+\n\Z")
                self.assertIn(text, result.stderr)

    def test_wrong_usage_is_status_2(self):
        for args in (["--names"], ["--share", "x"], ["--private", "x"], ["--deps"], ["--deps", TOP, TOP]):
            with self.subTest(args=args):
                result = run(GORGON, "info", *args)
                self.assertEqual((result.stdout, result.returncode), ("", 2))
                self.assertRegex(result.stderr, r"\Agorgon: [^\n]+ \(gorgon --help\)\n\Z")


class Names(Reader):
    def names(self, *args):
        """{name: (source, last part of where it is from)}"""
        return {row["name"]: (row["source"], os.path.basename(row["from"] or ""))
                for row in self.read(*args, "--names")["names"]}

    def test_numpy_takes_libc_and_a_shared_blas_from_the_system(self):
        names = self.names(NUMPY, "--share", "libblas.so.3")
        self.assertEqual(names["cblas_dgemm"][0], "system")
        self.assertEqual(names["__errno_location"], ("system", "libc.so.6"))  # no sanitizer defines this name
        self.assertEqual(names["sin"], ("system", "libm.so.6"))
        self.assertEqual([name for name in names if name.startswith(("Py", "_Py"))], [])
        self.assertEqual([name for name, (source, _) in names.items() if source == "unresolved"], [])

    def test_private_blas_crosses_no_more(self):
        names = self.names(NUMPY, "--private", "libblas*", "--private", "libopenblas*")
        self.assertNotIn("cblas_dgemm", names)
        self.assertIn("malloc", names)

    def test_replaced_names_have_reasons(self):
        rows = {row["name"]: row for row in self.read(LIBPYTHON, "--names")["names"]}
        self.assertEqual((rows["dlopen"]["source"], rows["dlopen"]["from"], rows["dlopen"]["version"]),
                         ("replaced", "CPython and its extensions load into their own namespace", "GLIBC_2.34"))
        self.assertEqual(rows["sigaction"]["source"], "replaced")
        self.assertEqual(rows["memcpy"]["source"], "system")
        self.assertEqual(rows["dlopen"]["object"], LIBPYTHON)

    def test_every_imported_name_is_private_or_listed(self):
        symbols = run("nm", "-D", "--undefined-only", CATCH).stdout
        strong = {name.split("@")[0] for name in re.findall(r"^ +U (\S+)", symbols, re.M)}
        private = run("nm", "-D", "--defined-only", os.path.join(MODULES, "libthrow.so")).stdout
        private = {name.split("@")[0] for name in re.findall(r" (\S+)$", private, re.M)}
        self.assertIn("__cxa_begin_catch", strong - private)
        self.assertLessEqual(strong - private, set(self.names(CATCH)))
        self.assertEqual(set(self.names(CATCH)) & private, set())

    def test_text_groups_by_library(self):
        text = deps(CATCH, "--names").stdout
        names = re.search(r"^from \S+/libstdc\+\+\.so\.6:\n((?:  .*\n)+)", text, re.M)[1].split()
        self.assertIn("__cxa_begin_catch", names)
        self.assertEqual(names, sorted(set(names)))
        self.assertIn(f"unresolved: test_note, for {CATCH}\n", text)
        self.assertIn("replaced by gorgon: dlopen (CPython and its extensions", deps(LIBPYTHON, "--names").stdout)

    def test_closure_with_a_missing_library_has_no_names(self):
        result = deps(os.path.join(MODULES, "libmissing.so"), "--names")
        self.assertEqual((result.stdout, result.returncode), ("", 3))
        self.assertIn("needs libnowhere.so: not found", result.stderr)
