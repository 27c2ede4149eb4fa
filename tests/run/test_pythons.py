# SPDX-License-Identifier: MIT
"""Debian's CPython and its debug build, by every name that leads to them: what they say of themselves."""

import os
import shutil
import tempfile
import unittest
from unittest import mock

import pythons
from harness import GORGON, LIBPYTHON, PYTHON, PYTHON3, SONAME, VERSION, run

RELEASE, DEBUG = PYTHON, PYTHON + "d"


class Named(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.surroundings = pythons.surroundings(f"{cls.folder}/surroundings", RELEASE)
        cls.forms = pythons.forms(cls.folder)

    def same(self, executable, form, surroundings, options=()):
        with self.subTest(executable=executable, form=form, surroundings=surroundings, options=options):
            env, cwd = self.surroundings[surroundings]
            cwd = self.folder if form == "-m" else cwd
            self.assertEqual(pythons.differences(executable, self.forms[form], env, cwd, options), [])

    def test_release_build_by_every_name(self):
        for executable in pythons.ways(RELEASE, f"{self.folder}/release").values():
            self.same(executable, "-c", "another python on PATH")
            self.same(executable, "-c", "PYTHONHOME of nobody")

    @unittest.skipUnless(os.path.exists(DEBUG), f"python{VERSION}-dbg is not installed")
    def test_debug_build_by_every_name(self):
        ways = pythons.ways(DEBUG, f"{self.folder}/debug")
        # venv copies the release build, but writes down that it was the debug build.
        del ways["copies of copies"]
        for executable in ways.values():
            self.same(executable, "-c", "PYTHONHOME of another")

    def test_release_build_wherever_it_is_run(self):
        for name in self.surroundings:
            self.same(RELEASE, "-c", name)
        for form in ("FILE", "-m"):
            for name in ("nothing", "PYTHONPATH", "PYTHONSAFEPATH"):
                self.same(RELEASE, form, name)

    # What CPython leaves on the heap is freed with an interpreter of the loader only.
    @mock.patch.dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    def test_other_strategies_know_the_same(self):
        for isolate in ("copy", "dlmopen"):
            for name in ("another python on PATH", "PYTHONHOME of nobody", "PYTHONPATH"):
                self.same(RELEASE, "-c", name, ["--isolate", isolate])

    def test_a_library_without_a_standard_library_takes_PYTHONHOME(self):
        with tempfile.TemporaryDirectory() as folder:
            library = shutil.copy(LIBPYTHON, folder)
            code = "import sys; print(sys.prefix)"
            result = run(GORGON, "run", "--python", library, "-c", code, env={"PYTHONHOME": "/usr"})
            self.assertEqual((result.stdout, result.stderr), ("/usr\n", ""))
            result = run(GORGON, "run", "--python", library, "-c", code, env={"PYTHONHOME": "/nonexistent"})
            self.assertIn("No module named 'encodings'", result.stderr)
            self.assertEqual(result.returncode, 1)


@unittest.skipUnless(pythons.can_hide(), "unshare is not installed, or not allowed")
class NotInstalled(unittest.TestCase):
    """Distributions have libpython in a package that nothing else needs: their python3 is linked statically."""

    def refused(self, message, *options):
        with tempfile.TemporaryDirectory() as folder:
            result = pythons.without_libpython(folder, GORGON, "run", *options, "-c", "print(1)")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("", f"gorgon: {message}\n", 3))

    def test_nothing_named(self):
        for isolate in ("loader", "copy", "dlmopen"):
            self.refused("no libpython3.11.so.1.0 or newer in /etc/ld.so.cache; install the distribution's "
                         f"libpython{VERSION}, or name a python", "--isolate", isolate)

    def test_executable_of_the_distribution(self):
        self.refused(f"{PYTHON3}: found no {SONAME} in lib, lib/x86_64-linux-gnu or lib64 of /usr; "
                     f"install the distribution's libpython{VERSION}", "--python", PYTHON3)

    def test_environments_name_the_package_too(self):
        with tempfile.TemporaryDirectory() as folder:
            for way in ("--symlinks", "--copies"):
                python = pythons.venv(PYTHON3, f"{folder}/{way}", way)
                self.refused(f"{python}: found no {SONAME} in lib, lib/x86_64-linux-gnu or lib64 of /usr; "
                             f"install the distribution's libpython{VERSION}", "--python", python)

    @unittest.skipUnless(os.path.exists(DEBUG), f"python{VERSION}-dbg is not installed")
    def test_debug_build_has_another_package(self):
        self.refused(f"{DEBUG}: found no libpython{VERSION}d.so.1.0 in lib, lib/x86_64-linux-gnu or lib64 of /usr; "
                     f"install the distribution's libpython{VERSION}-dbg", "--python", DEBUG)


if __name__ == "__main__":
    unittest.main()
