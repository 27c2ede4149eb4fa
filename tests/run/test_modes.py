# SPDX-License-Identifier: MIT
"""Each cell of the table of what is own and what is shared (modes.py), and the documents that say so."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import modes  # noqa: E402
from harness import BUILD, GORGON, PYTHON3, ROOT, VENV_PYTHON, run  # noqa: E402
from test_executor import Package  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
EXECUTOR = """
import sys
sys.path.insert(0, HERE)
import gorgon, modes, os
if __name__ == "__main__":
    with gorgon.InterpreterPoolExecutor(2, **OPTIONS) as pool:
        futures = [pool.submit(modes.main, who, FOLDER) for who in ("first", "second")]
        [future.result() for future in futures]
"""
JOBLIB = """
import sys
sys.path.insert(0, HERE)
import joblib, gorgon.joblib, modes
with joblib.parallel_config("gorgon", n_jobs=2):
    joblib.Parallel(batch_size=1)(joblib.delayed(modes.main)(who, FOLDER) for who in ("first", "second"))
"""


class Cells:
    """Runs the program in a mode, and compares with the column."""
    maxDiff = None

    def compare(self, mode, start):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/other")
            with open(f"{folder}/lock", "w"):
                pass
            result = start(folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            first, second = modes.read(folder, "first"), modes.read(folder, "second")
        found = {name: modes.SHARED if first[name] == second[name] else modes.OWN for name in modes.TABLE}
        column = modes.MODES.index(mode)
        self.assertEqual(found, {name: cells[column] for name, cells in modes.TABLE.items()}, (first, second))


class Programs(Cells, unittest.TestCase):
    def run_program(self, mode, *options):
        code = f"import sys; sys.path.insert(0, {HERE!r}); import modes; modes.main_of_interpreter(sys.argv[1])"
        self.compare(mode, lambda folder: run(GORGON, "run", "-n", "2", *options, "-c", code, folder))

    def test_programs(self):
        self.run_program("a program")

    def test_programs_with_shared_files(self):
        self.run_program("with `--shared-files`", "--shared-files")

    def test_programs_with_shared_environment(self):
        self.run_program("with `--shared-environment`", "--shared-environment")

    def test_forked_child(self):
        code = f"import sys; sys.path.insert(0, {HERE!r}); import modes; modes.main_of_fork(sys.argv[1])"
        self.compare("a forked child", lambda folder: run(GORGON, "run", "-c", code, folder))

    def test_calls_of_a_host(self):
        self.compare("a host's call", lambda folder: run(f"{BUILD}/two", "call", PYTHON3, f"{HERE}/modes.py", folder))

    def test_calls_in_a_child_of_a_host(self):
        self.compare("a call in a host's child", lambda folder: run(f"{BUILD}/two", "fork", PYTHON3, f"{HERE}/modes.py", folder))

    def test_jobs_of_a_pool(self):
        self.compare("a pool's job", lambda folder: run(f"{BUILD}/two", "pool", PYTHON3, f"{HERE}/modes.py", folder))


class Python3(Cells, Package):
    def run_python(self, mode, code, python=PYTHON3, options=None):
        def start(folder):
            text = code.replace("HERE", repr(HERE)).replace("FOLDER", repr(folder)).replace("OPTIONS", repr(options or {}))
            with open(f"{folder}/program.py", "w") as file:
                file.write(text)
            return run(python, f"{folder}/program.py", env={"PYTHONPATH": self.site})

        self.compare(mode, start)

    def test_executor(self):
        self.run_python("the executor", EXECUTOR)

    def test_executor_with_shared_files(self):
        self.run_python("executor with `share_files`", EXECUTOR, options={"share_files": True})

    def test_executor_with_shared_environment(self):
        self.run_python("executor with `share_environment`", EXECUTOR, options={"share_environment": True})

    def test_joblib(self):
        self.run_python("joblib", JOBLIB, VENV_PYTHON)


class Documents(unittest.TestCase):
    def read(self, name):
        with open(f"{ROOT}/{name}") as file:
            return file.read()

    def test_the_page_has_the_table(self):
        self.assertIn("\n" + modes.render() + "\n", self.read("loader/process/NAMES.md"))

    def test_sentences_are_those_of_the_documents_and_say_what_the_table_says(self):
        for name, sentence, mode, rows in modes.SENTENCES:
            with self.subTest(sentence=sentence):
                self.assertIn(" ".join(sentence.split()), " ".join(self.read(name).split()))
                for row in rows:
                    self.assertEqual(modes.TABLE[row][modes.MODES.index(mode)], modes.OWN, row)


if __name__ == "__main__":
    unittest.main()
