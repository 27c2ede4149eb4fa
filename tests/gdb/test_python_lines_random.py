# SPDX-License-Identifier: MIT
"""Random sessions of plain gdb at Python lines: its stack is Python's own at each stop."""

import os
import sys
import tempfile
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from test_python_lines import PYTHONS, known  # noqa: E402

PROGRAM = os.path.join(HERE, "lines_random.py")


def session(python, seed, steps):
    driver = os.path.join(HERE, "lines_random_driver.py")
    with tempfile.TemporaryDirectory() as folder, harness.environment(
            {"FOLDER": folder, "SEED": f"{seed}", "STEPS": f"{steps}", "PYTHON": python,
             "PATH_OF_PROGRAM": PROGRAM}):
        return harness.gdb([f"source {driver}"], harness.GORGON, "run", "--python-lines=on",
                           f"--python={python}", PROGRAM, os.path.join(folder, "begin"))


@known
@harness.needs_gdb
class Random(unittest.TestCase):
    def check(self, seeds, steps):
        for python in PYTHONS:
            for seed in seeds:
                with self.subTest(python=python, seed=seed):
                    output = session(python, seed, steps)
                    self.assertNotIn("differs: ", output)
                    self.assertNotIn("ended: ", output)
                    self.assertEqual(output.count("same\n"), steps + 1, output)
                    self.assertRegex(output, r"answer \d+\n")

    def test_some(self):
        self.check([1], 12)

    @harness.thorough
    def test_many(self):
        self.check(range(2, 2 + int(os.environ.get("SEEDS", "20"))), 60)


if __name__ == "__main__":
    unittest.main()
