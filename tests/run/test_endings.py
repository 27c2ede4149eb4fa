# SPDX-License-Identifier: MIT
"""What libraries do at the end of a process - functions of atexit(), destructors of C++'s static objects and of C, streams that are
open, threads that read directories - works in each mode with the descriptors and the directory that the program had."""

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest

from harness import BUILD, GORGON, MODULES, PYTHON3, SANITIZED, install_package, run

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


if __name__ == "__main__":
    unittest.main()
