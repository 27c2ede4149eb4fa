# SPDX-License-Identifier: MIT
"""Debian's CPython and its debug build, by every name that leads to them: what they say of themselves."""

import json
import os
import shutil
import tempfile
import unittest
from unittest import mock

import pythons
from harness import GORGON, LIBPYTHON, PYTHON, PYTHON3, SONAME, VENV_PYTHON, VERSION, Versions, run

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
    def test_isolation_by_copy_knows_the_same(self):
        for name in ("another python on PATH", "PYTHONHOME of nobody", "PYTHONPATH"):
            self.same(RELEASE, "-c", name, ["--isolate", "copy"])

    def test_a_library_without_a_standard_library_takes_PYTHONHOME(self):
        with tempfile.TemporaryDirectory() as folder:
            library = shutil.copy(LIBPYTHON, folder)
            code = "import sys; print(sys.prefix)"
            result = run(GORGON, "run", "--python", library, "-c", code, env={"PYTHONHOME": "/usr"})
            self.assertEqual((result.stdout, result.stderr), ("/usr\n", ""))
            result = run(GORGON, "run", "--python", library, "-c", code, env={"PYTHONHOME": "/nonexistent"})
            self.assertIn("No module named 'encodings'", result.stderr)
            self.assertEqual(result.returncode, 1)


class Path(unittest.TestCase):
    """What the command takes is what PATH's python3 says that it is."""

    SAY = "import sys; print(sys.executable, sys.version_info[:2], sys.prefix)"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.path = f"{self.folder}:/usr/bin:/bin"

    def make(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)
        os.chmod(file.name, 0o755)

    def compare(self, *options, name="python3", stderr=""):
        """Says in an interpreter what the program of that name says by itself."""
        expected = run("/usr/bin/env", f"PATH={self.path}", name, "-c", self.SAY)
        result = run(GORGON, "run", *options, "-c", self.SAY, env={"PATH": self.path})
        self.assertEqual((result.stdout, result.stderr, result.returncode), (expected.stdout, stderr, 0), expected)

    def test_virtual_environments(self):
        for way in ("--symlinks", "--copies"):
            with self.subTest(way):
                python = pythons.venv(PYTHON3, f"{self.folder}/{way}", way)
                self.path = f"{os.path.dirname(python)}:/usr/bin:/bin"
                self.compare()

    def test_shim_is_asked(self):
        self.make("python3", f"#!/bin/sh\nexec {VENV_PYTHON} \"$@\"\n")
        self.compare()
        self.make("other", f"#!/bin/sh\nexec {VENV_PYTHON} \"$@\"\n")
        self.compare("--python", "other", name="other")
        info = run(GORGON, "info", env={"PATH": self.path}).stdout
        self.assertIn(f"why this one {self.folder}/python3 stands for it\n", info)

    def test_name_is_looked_up_in_path(self):
        os.symlink(PYTHON, os.path.join(self.folder, "mine"))
        self.compare("--python", "mine", name="mine")
        result = run(GORGON, "run", "--python", "nobody", "-c", "1", env={"PATH": self.path})
        self.assertEqual((result.stderr, result.returncode), ("gorgon: nobody: No such file or directory\n", 3))

    def test_python_without_a_library_gives_way(self):
        """This one is asked, and has no libpython beside it."""
        binary = os.path.join(self.folder, "opt", "bin", os.path.basename(PYTHON))
        os.makedirs(os.path.dirname(binary))
        shutil.copyfile(PYTHON, binary)
        os.chmod(binary, 0o755)
        os.symlink(binary, os.path.join(self.folder, "python3"))
        result = run(GORGON, "run", "-c", self.SAY, env={"PATH": self.path})
        self.assertEqual(result.stdout, run(PYTHON, "-c", self.SAY).stdout)
        self.assertRegex(result.stderr, rf"\Agorgon: {LIBPYTHON} is taken: the distribution's build of the same version: "
                                        rf"{self.folder}\S* has no libpython\n\Z")
        row = json.loads(run(GORGON, "doctor", "--json", env={"PATH": self.path}).stdout)[0]
        self.assertEqual(row["state"], "note")
        named = run(GORGON, "run", "--python", "python3", "-c", "1", env={"PATH": self.path})
        self.assertEqual(named.returncode, 3, "who names one gets no other")

    def test_program_that_is_no_python(self):
        for text, problem in (("#!/bin/sh\nexit 1\n", "is a script"), ("#!/bin/sh\necho /nonexistent\necho 3.11\n", "No such file")):
            self.make("python3", text)
            result = run(GORGON, "run", "-c", "1", env={"PATH": self.path})
            self.assertRegex(result.stderr, rf"\Agorgon: .*{problem}.* \(it is python3 in PATH; --python takes another\)\n\Z")

    def test_no_python_in_path(self):
        result = run(GORGON, "info", env={"PATH": "/nonexistent"})
        self.assertIn("why this one the newest libpython of the system: PATH has no python3\n", result.stdout)


class Threads(Versions, unittest.TestCase):
    def test_who_starts_a_thread_does_not_wait_for_what_waits_for_it(self):
        """From CPython 3.13 on a new thread does. The limit is the one after which the wait would end otherwise, many times."""
        code = "import threading\nfor _ in range(40):\n thread = threading.Thread(target=int); thread.start(); thread.join()\nprint('done')"
        for python, version, _ in self.pythons():
            for isolate in ("loader", "copy"):
                with self.subTest(version, isolate=isolate):
                    result = run(GORGON, "run", "--isolate", isolate, "--python", python, "-c", code, timeout=100)
                    self.assertEqual(result.stdout, "done\n")


@unittest.skipUnless(pythons.can_hide(), "unshare is not installed, or not allowed")
class NotInstalled(unittest.TestCase):
    """Distributions have libpython in a package that nothing else needs: their python3 is linked statically."""

    def refused(self, message, *options, path=os.environ["PATH"]):
        with tempfile.TemporaryDirectory() as folder:
            result = pythons.without_libpython(folder, "/usr/bin/env", f"PATH={path}", GORGON, "run", *options, "-c", "print(1)")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("", f"gorgon: {message}\n", 3))

    def test_nothing_named(self):
        for isolate in ("loader", "copy"):
            self.refused("no libpython3.11.so.1.0 or newer in /etc/ld.so.cache; install the distribution's "
                         f"libpython{VERSION}, or name a python", "--isolate", isolate, path="/nonexistent")

    def test_python_in_path(self):
        python = shutil.which("python3")
        self.refused(f"{python}: found no {SONAME} in lib, lib/x86_64-linux-gnu or lib64 of /usr; install the distribution's "
                     f"libpython{VERSION} (it is python3 in PATH; --python takes another)")

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
