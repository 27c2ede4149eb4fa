# SPDX-License-Identifier: MIT
"""A hundred generated programs, with the executor, some of them with a C pool, and with pools of processes (tests/programs)."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from harness import ROOT, VENV_PYTHON, needs_templates, run  # noqa: E402
from test_executor import Package  # noqa: E402

PROGRAMS = os.path.join(ROOT, "tests", "programs")
sys.path.insert(0, PROGRAMS)
import differences  # noqa: E402
import generate  # noqa: E402

SIGNALS = "handler of a signal sent to itself,alarm,processor timers,signal that waits,wakeup descriptor,dispositions,fork there"


class Programs(Package):
    def run_programs(self, *options):
        return run(VENV_PYTHON, os.path.join(PROGRAMS, "run.py"), *options, env={"PYTHONPATH": self.site})

    def test_programs_print_what_they_print_with_processes(self):
        for options in ["--seeds", "1-74"], ["--seeds", "75-99", "--modes", "gorgon,cpool"]:
            result = self.run_programs(*options, "--shrink")
            self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)

    @needs_templates
    def test_programs_print_the_same_in_copies_of_a_template(self):
        result = self.run_programs("--seeds", "100-124", "--modes", "copies,cpool-copies", "--shrink")
        self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)

    @needs_templates
    def test_signals_of_workers_are_as_in_processes_whatever_the_host_does_with_them(self):
        for host in "ignores", "handles":
            result = self.run_programs("--seeds", "125-134", "--modes", "cpool,cpool-copies", "--host", host, "--only", SIGNALS, "--shrink")
            self.assertEqual((result.stderr, result.returncode), ("", 0), result.stdout)

    def test_differences_are_found_and_shrunk(self):
        result = self.run_programs("--seeds", "7", "--only", "lambda,random numbers", "--strict", "--shrink")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"^7: lambda\n")
        self.assertRegex(result.stdout, r"by run.py --seeds 7 --steps 7\.\d --keep")

    def test_differences_rest_on_sentences(self):
        for *names, document, sentence in differences.OPERATIONS + differences.TEXTS + differences.CLUSTER_TEXTS + differences.CLUSTER:
            with self.subTest(names[0]):
                with open(os.path.join(ROOT, document)) as file:
                    self.assertIn(sentence, " ".join(file.read().split()))
        self.assertLessEqual({operation for operation, *_ in differences.OPERATIONS}, set(generate.operations()))

    def test_programs_are_the_same_each_time(self):
        for seed in range(0, 100, generate.FAMILY):
            one, other = (generate.Files([generate.Program(each) for each in range(seed, seed + generate.FAMILY)])
                          for _ in range(2))
            self.assertEqual(one.texts, other.texts)
