# SPDX-License-Identifier: MIT
"""What libraries do at the end of a process - functions of atexit(), destructors of C++'s static objects and of C, streams that are
open, threads that read directories - works in each mode with the descriptors and the directory that the program had. Finalisers of
variables find what they use, also where Python ends quickly."""

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest

from harness import BUILD, GORGON, MODULES, PYTHON3, SANITIZED, Versions, install_package, run

LATE = os.path.join(MODULES, "libat_end.so")
PROGRAM = f"""
import ctypes, os

def begin(folder):
    os.makedirs(folder)
    os.chdir(folder)
    late = ctypes.CDLL({LATE!r})
    late.at_end_begin(b"notes")
    late.at_end_scan()
"""

@unittest.skipIf(SANITIZED, "installs what users get")
class Endings(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.site = tempfile.mkdtemp(prefix="gorgon-site-")
        cls.addClassCleanup(shutil.rmtree, cls.site)
        install_package(cls.site)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)

    def left(self, code, *command, words=(), count=1):
        """What programs have written that call begin(folder + "/0") and so on."""
        path = os.path.join(self.folder, "program.py")
        with open(path, "w") as file:
            file.write(f"{PROGRAM}\nfolder = {self.folder!r}\n{textwrap.dedent(code)}")
        result = run(*command, path, *words, cwd=self.folder, env={"PYTHONPATH": self.site})
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        found = []
        for number in range(count):
            with open(f"{self.folder}/{number}/notes") as notes, open(f"{self.folder}/{number}/stream") as stream:
                found.append(notes.read() + stream.read())
            shutil.rmtree(f"{self.folder}/{number}")
        return found

    def test_each_mode_ends_as_a_process_does(self):
        process = self.left('begin(f"{folder}/0")', PYTHON3)
        self.assertEqual(process[0].splitlines()[:3], [f"{what}: the descriptor works, the name too"
                                                       for what in ("atexit", "static object", "destructor")])
        executor = """
            from gorgon import InterpreterPoolExecutor as Pool

            if __name__ == "__main__":
                with Pool(1{options}) as pool:
                    pool.submit(begin, f"{{folder}}/0").result()
                    {then}
            """
        own = 'import gorgon; begin(f"{folder}/{gorgon.interpreter}")'
        modes = [
            (2, own, GORGON, "run", "-n", "2"),
            (1, own + "; import sys; sys.exit(0)", GORGON, "run"),
            (1, executor.format(options="", then=""), PYTHON3),
            (1, executor.format(options=", max_tasks_per_child=1", then="pool.submit(int).result()"), PYTHON3),
            (1, own + "; import os\nif not os.fork(): os._exit(0)\nos.wait()", GORGON, "run"),
        ]
        for count, code, *command in modes:
            with self.subTest(code=code, command=command):
                self.assertEqual(self.left(code, *command, count=count), process * count)
        main = """
            import time
            def main(who, folder):
                begin(folder + ('/0' if who == 'first' else '/1'))
                while not all(map(os.path.exists, [folder + '/0', folder + '/1'])):  # each in an interpreter of its own
                    time.sleep(0.001)
            """
        for mode in "pool", "limited":  # the latter's interpreters are stopped with a limit
            with self.subTest(mode):
                self.assertEqual(self.left(main, f"{BUILD}/two", mode, PYTHON3, words=[self.folder], count=2), process * 2)
        # docs/isolation.md: objects are closed when the program's descriptors are
        self.assertNotIn("works", self.left(own, GORGON, "run", "--isolate", "copy")[0])


# What a finaliser uses, and how a variable holds what has it. The program has each of the one with each of the other.
USES = {"a module": "os.getpid()", "a module's other name": "_os.getpid()", "a function": "helper()", "a class": "Helper()", "a constant": "PREFIX + PREFIX",
        "an earlier object": "earlier.get(0)", "a module that others have": "tempfile.gettempdir()"}
HOLDERS = {"a variable": "thing", "a list": "[thing]", "a dict": "{1: thing}", "an object": "Keeper(thing)", "a partial": "functools.partial(print, thing)"}
CLASSES = """
import functools, os, os as _os, tempfile, warnings

PREFIX = "x"
earlier = {}

def helper():
    return Helper

class Helper:
    pass

class Keeper:
    def __init__(self, thing):
        self.thing = thing

class Unkind(type):
    def __getattr__(self, name):
        raise RuntimeError(name)

class Refuses(metaclass=Unkind):
    def __getattribute__(self, name):
        raise RuntimeError(name)

class Warns:
    def __del__(self):
        warnings.warn("late", RuntimeWarning, 2)

refuses, warns = Refuses(), Warns()
""" + "".join(f"""
class Thing{number}:
    def __init__(self, where):
        self.where = where
    def __del__(self):
        {use}
        os.write(1, f"{what} is there for what is in {{self.where}}\\n".encode())
""" for number, (what, use) in enumerate(USES.items()))


def variables(place):
    return "\n".join(f"thing = Thing{number}('{holder} of {place}'); variable{number}_{i} = {text}"
                     for number in range(len(USES)) for i, (holder, text) in enumerate(HOLDERS.items())) + "\ndel thing\n"


@unittest.skipIf(SANITIZED, "installs what users get")
class Finalisers(Versions, unittest.TestCase):
    maxDiff = None

    def test_each_mode_finalises_variables_as_a_process_does(self):
        with tempfile.TemporaryDirectory() as folder:
            site = os.path.join(folder, "site")
            install_package(site)
            files = {
                "shop.py": CLASSES + variables("a module"),
                "program.py": CLASSES + variables("the program"),
                "imports.py": "import shop, os\nfrom shop import *\nfrom shop import _os\n" + variables("what imports its class"),
                "workers.py": "def work():\n    import imports\n\nif __name__ == '__main__':\n"
                              "    from gorgon import InterpreterPoolExecutor\n"
                              "    with InterpreterPoolExecutor(1) as pool:\n        pool.submit(work).result()\n"}
            for name, text in files.items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)

            def lines(*command):
                result = run(*command, cwd=folder, env={"PYTHONPATH": site})
                self.assertEqual(result.returncode, 0, result.stderr)
                return sorted(result.stdout.splitlines()), sorted(result.stderr.splitlines())

            ways = [(name, option) for name in ("program.py", "imports.py") for option in ([], ["--quick-end"])]
            for python, version, _ in self.pythons():
                for name, options in ways:
                    with self.subTest(version, name=name, options=options):
                        expected = lines(python, name)
                        self.assertEqual(len(expected[0]), len(USES) * len(HOLDERS) * (1 + (name == "imports.py")))
                        self.assertEqual(len(expected[1]), 1, expected[1])
                        self.assertEqual(lines(GORGON, "run", *options, "--python", python, name), expected)
            self.assertEqual(lines(PYTHON3, "workers.py"), lines(PYTHON3, "imports.py"))


if __name__ == "__main__":
    unittest.main()
