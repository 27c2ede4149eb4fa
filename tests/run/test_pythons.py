# SPDX-License-Identifier: MIT
"""Debian's CPython and its debug build, by every name that leads to them: what they say of themselves."""

import os
import shutil
import tempfile
import unittest

import pythons
from harness import GORGON, LIBPYTHON, run

RELEASE, DEBUG = "/usr/bin/python3.11", "/usr/bin/python3.11d"


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

    @unittest.skipUnless(os.path.exists(DEBUG), "python3.11-dbg is not installed")
    def test_debug_build_by_every_name(self):
        ways = pythons.ways(DEBUG, f"{self.folder}/debug")
        # venv copies the release build here, and writes down that it was the debug build.
        del ways["copies of copies"]
        for executable in ways.values():
            self.same(executable, "-c", "PYTHONHOME of another")

    def test_release_build_wherever_it_is_run(self):
        for name in self.surroundings:
            self.same(RELEASE, "-c", name)
        for form in ("FILE", "-m"):
            for name in ("nothing", "PYTHONPATH", "PYTHONSAFEPATH"):
                self.same(RELEASE, form, name)

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


if __name__ == "__main__":
    unittest.main()
