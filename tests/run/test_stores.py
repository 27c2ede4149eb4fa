# SPDX-License-Identifier: MIT
"""Databases and other files with record locks that interpreters, their host and another process use at once."""

import os
import shutil
import tempfile
import unittest

import stores
from harness import BUILD, PYTHON3, SANITIZED, TIMEOUT, install_package

HOST = os.path.join(BUILD, "stores")
COUNT = 50  # transactions of each; tests/long/locks.py does more


@unittest.skipIf(SANITIZED, "what the interpreters run is not ours")
class Stores(unittest.TestCase):
    def check(self, store, interpreters=4, options=()):
        self.assertEqual(stores.run_store(HOST, PYTHON3, store, COUNT, interpreters, options, TIMEOUT), [])

    def check_both(self, store, *options):
        for number, isolation in ((2, []), (4, []), (2, ["-c"]), (4, ["-o"])):
            with self.subTest(interpreters=number, isolation=isolation):
                self.check(store, number, [*isolation, *options])

    def test_sqlite_with_a_rollback_journal(self):
        self.check_both("sqlite-rollback")

    def test_sqlite_with_a_write_ahead_log(self):
        self.check_both("sqlite-wal")

    def test_sqlite_while_interpreters_are_interrupted_and_destroyed(self):
        self.check("sqlite-kept", options=["-v"])
        self.check("sqlite-kept-wal", options=["-v"])
        self.check("sqlite-kept", options=["-o", "-v"])
        self.check("sqlite-kept-wal", options=["-o", "-v"])

    def test_lockf(self):
        self.check_both("counter")

    def test_mailbox(self):
        self.check_both("mailbox")

    @unittest.skipUnless(stores.is_there("gdbm", PYTHON3), "python3-gdbm is not installed")
    def test_gdbm(self):
        self.check_both("gdbm")

    @unittest.skipUnless(stores.is_there("lmdb", PYTHON3), "python3-lmdb is not installed")
    def test_lmdb(self):
        self.check_both("lmdb")


@unittest.skipIf(SANITIZED, "installs what users get")
class Executor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = tempfile.mkdtemp(prefix="gorgon-site-")
        install_package(cls.site)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.site)

    def check(self, store):
        self.assertEqual(stores.run_executor(PYTHON3, self.site, store, COUNT, TIMEOUT), [])

    def test_sqlite_with_a_rollback_journal(self):
        self.check("sqlite-rollback")

    def test_sqlite_with_a_write_ahead_log(self):
        self.check("sqlite-wal")

