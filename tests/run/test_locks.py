# SPDX-License-Identifier: MIT
"""Threads take locks in the order of the table in docs/architecture.md: programs under a preload that writes the order down."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, GORGON, PYTHON3, ROOT, SANITIZED, install_package, run

sys.path.insert(0, os.path.join(ROOT, "tests"))
import lock_order  # noqa: E402

EXECUTOR = """
import os, threading
from gorgon import InterpreterPoolExecutor
with InterpreterPoolExecutor(2, max_tasks_per_child=1) as pool:
    churn = threading.Thread(target=lambda: [pool.submit(int).result() for _ in range(6)])
    churn.start()
    for _ in range(20):
        if not (pid := os.fork()):
            os._exit(0)
        os.waitpid(pid, 0)
"""
PROGRAM = """
import ctypes, os, subprocess, threading
threads = [threading.Thread(target=len, args=("",)) for _ in range(4)]
[thread.start() for thread in threads]
os.environ["A"] = "b"
if not (pid := os.fork()):
    os._exit(0)
os.waitpid(pid, 0)
subprocess.run(["true"])
"""


@unittest.skipIf(SANITIZED, "a sanitizer has a pthread_mutex_lock() of its own")
class Order(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gorgon-locks-")
        cls.preload = os.path.join(cls.folder, "lock_order.so")
        lock_order.build_preload(cls.preload)
        cls.places = lock_order.Places()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def pairs_of(self, *command, env=None):
        """What a program writes, which has to end well."""
        folder = tempfile.mkdtemp(dir=self.folder)
        result = run(*command, env={**lock_order.environment(self.preload, folder), **(env or {})})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return lock_order.read(folder)

    def check(self, *command, env=None):
        problems, count = lock_order.check(self.pairs_of(*command, env=env), lock_order.read_table(), self.places)
        self.assertEqual(problems, [])
        self.assertGreater(count, 3)

    def test_programs(self):
        self.check(GORGON, "run", "-n", "3", "-c", PROGRAM)

    def test_unit_tests(self):
        names = ("test_fork", "test_child", "test_pool")
        make = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
        subprocess.run(["make", "-C", ROOT, *(os.path.relpath(f"{BUILD}/tests/{name}", ROOT) for name in names)], check=True,
                       env=make, stdout=subprocess.DEVNULL)
        for name in names:
            with self.subTest(name):
                self.check(f"{BUILD}/tests/{name}")

    def test_executor(self):
        site = os.path.join(self.folder, "site")
        install_package(site)
        self.check(PYTHON3, "-c", EXECUTOR, env={"PYTHONPATH": site})

    def test_other_order_is_told_with_both_stacks(self):
        """With two rows of the table exchanged, with a leaf that is none, and without a row."""
        pairs = self.pairs_of(GORGON, "run", "-c", "pass")
        with open(os.path.join(ROOT, "docs", "architecture.md")) as file:
            text = file.read()
        jitreg, root = (next(line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
                        for name in ("jitreg/descriptor.c:lock", "ns/debug_root.c"))
        for changed, why in (
                (text.replace(jitreg, "X").replace(root, jitreg).replace("X", root), "the table has them the other way"),
                (text.replace(jitreg, jitreg.rsplit("|", 2)[0] + "| leaf |"), "the first one is a leaf"),
                (text.replace(jitreg + "\n", ""), "jitreg/descriptor.c lock is in no row of the table")):
            problems, _ = lock_order.check(pairs, lock_order.Table(changed), self.places)
            problem = next((text for text in problems if text.splitlines()[0] == f"jitreg/descriptor.c:lock, and under it loader/ns/debug_root.c:lock: {why}"),
                           None)
            self.assertIsNotNone(problem, problems)
            self.assertRegex(problem, r"(?s)held by\n.* jitreg_register  jitreg/register.c:\d+\n.*"
                                      r"taken by\n      gorgon_debug_begin  loader/ns/debug_root.c:\d+\n")


if __name__ == "__main__":
    unittest.main()
