# SPDX-License-Identifier: MIT
"""Operations on what a process has, drawn by a seed (operations.py): two interpreters at once, in each mode, come to what two
python3 come to."""

import contextlib
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import modes  # noqa: E402
from harness import BUILD, GORGON, PYTHON3, run  # noqa: E402
from test_executor import Package  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = int(os.environ.get("SEED", "1"))
COUNT = int(os.environ.get("COUNT", "60"))  # operations of each of the two, in each mode
CODE = f"import sys; sys.path.insert(0, {HERE!r}); import operations; operations."
EXECUTOR = """
import sys
sys.path.insert(0, HERE)
import gorgon, operations
if __name__ == "__main__":
    with gorgon.InterpreterPoolExecutor(2, **OPTIONS) as pool:
        [future.result() for future in [pool.submit(operations.main, who, FOLDER) for who in ("first", "second")]]
"""


class Operations(Package):
    maxDiff = None

    def plan(self, folder, **members):
        with open(f"{folder}/plan.json", "w") as file:
            json.dump(members, file)

    def done(self, folder, who):
        with open(f"{folder}/{who}") as file:
            return json.load(file)

    def compare(self, mode, start):
        """The same folder for both, because results have its name."""
        column = modes.MODES.index(mode)
        members = {"seed": SEED + column, "count": COUNT,
                   "shared": [row for row, cells in modes.TABLE.items() if cells[column] == modes.SHARED]}
        with tempfile.TemporaryDirectory() as above:
            folder = f"{above}/here"
            os.mkdir(folder)
            self.plan(folder, **members)
            result = start(folder)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            ours = {who: self.done(folder, who) for who in ("first", "second")}
            os.rename(folder, f"{above}/ours")
            os.mkdir(folder)
            for who, found in ours.items():
                self.plan(folder, main_thread=found["main_thread"], **members)
                peer = run(PYTHON3, "-c", CODE + "main(*sys.argv[1:])", who, folder)
                self.assertEqual((peer.returncode, peer.stderr), (0, ""))
                expected = self.done(folder, who)
                for i, (mine, his) in enumerate(zip(found["done"], expected["done"], strict=True)):
                    self.assertEqual(mine, his, f"{mode}: {who}, operation {i} of seed {members['seed']}")

    def run_program(self, mode, *options):
        self.compare(mode, lambda folder: run(GORGON, "run", "-n", "2", *options, "-c",
                                              CODE + "main_of_interpreter(sys.argv[1])", folder))

    def run_executor(self, mode, **options):
        def start(folder):
            with open(f"{folder}/program.py", "w") as file:
                file.write(EXECUTOR.replace("HERE", repr(HERE)).replace("FOLDER", repr(folder)).replace("OPTIONS", repr(options)))
            return run(PYTHON3, f"{folder}/program.py", env={"PYTHONPATH": self.site})

        self.compare(mode, start)

    def test_programs(self):
        self.run_program("a program")

    def test_programs_that_are_copies(self):
        self.run_program("a program", "--isolate", "copy")

    def test_programs_with_shared_files(self):
        self.run_program("with `--shared-files`", "--shared-files")

    def test_programs_with_shared_environment(self):
        self.run_program("with `--shared-environment`", "--shared-environment")

    def test_forked_child(self):
        self.compare("a forked child", lambda folder: run(GORGON, "run", "-c", CODE + "main_of_fork(sys.argv[1])", folder))

    def test_calls_of_a_host(self):
        self.compare("a host's call", lambda folder: run(f"{BUILD}/two", "call", PYTHON3, f"{HERE}/operations.py", folder))

    def test_jobs_of_a_pool(self):
        self.compare("a pool's job", lambda folder: run(f"{BUILD}/two", "pool", PYTHON3, f"{HERE}/operations.py", folder))

    def test_executor(self):
        self.run_executor("the executor")

    def test_executor_with_shared_files(self):
        self.run_executor("executor with `share_files`", share_files=True)

    def test_executor_with_shared_environment(self):
        self.run_executor("executor with `share_environment`", share_environment=True)

    def test_a_difference_is_found(self):
        with self.assertRaisesRegex(AssertionError, "first, operation 0 of seed"):
            with contextlib.redirect_stdout(None):
                self.compare("a program", self.wrong)

    def wrong(self, folder):
        for who in ("first", "second"):
            with open(f"{folder}/{who}", "w") as file:
                json.dump({"main_thread": True, "done": [["nothing", None]] * COUNT}, file)
        return run("true")


if __name__ == "__main__":
    unittest.main()
