# SPDX-License-Identifier: MIT
"""Files that several use at once and that rely on record locks: what each does, and whether nothing was lost.

build/stores (tests/hosts/stores.c) calls work() in interpreters, `python3 stores.py STORE FOLDER NAME COUNT` is a process that
takes part. run_store() is what the tests want: it makes a store, lets all of them work and looks at the result. run_executor()
does so with the package's executor: there the host is a python3."""

import os
import subprocess
import sys
import tempfile
import time

CONNECTION = 10  # transactions; a connection that ends closes files that others have locked


class Sqlite:
    module, host, victims = "sqlite3", True, True
    mode = "delete"

    @staticmethod
    def connect(folder):
        import sqlite3
        database = sqlite3.connect(os.path.join(folder, "db"), timeout=600, isolation_level=None)
        database.execute("pragma synchronous = off")
        return database

    def make(self, folder):
        database = self.connect(folder)
        database.executescript(f"pragma journal_mode = {self.mode}; create table t (name, i); create table c (n); insert into c values (0)")
        database.close()

    def work(self, folder, name, count):
        for first in range(0, count, CONNECTION):
            database = self.connect(folder)
            for i in range(first, min(first + CONNECTION, count)):
                database.execute("begin immediate")
                database.execute("insert into t values (?, ?)", (name, i))
                database.execute("update c set n = n + 1")
                database.execute("commit")
            database.close()

    def check(self, folder, names, count):
        database = self.connect(folder)
        yield database.execute("pragma integrity_check").fetchall() == [("ok",)], "integrity check"
        yield database.execute("pragma journal_mode").fetchone() == (self.mode,), "mode"
        for name in names:
            rows = [i for i, in database.execute("select i from t where name = ? order by i", (name,))]
            yield rows == list(range(count)), f"{name}: {len(rows)} rows of {count}"
        total, rows = database.execute("select n, (select count(*) from t) from c").fetchone()
        yield total == rows, f"counter {total}, {rows} rows"
        database.close()


class SqliteWal(Sqlite):
    mode = "wal"


class SqliteKept(Sqlite):
    """All calls use one connection, which keeps its files open."""

    def work(self, folder, name, count):
        database = self.connect(folder)
        for i in range(count):
            database.execute("begin immediate")
            database.execute("insert into t values (?, ?)", (name, i))
            database.execute("update c set n = n + 1")
            database.execute("commit")
        database.close()


class SqliteKeptWal(SqliteKept):
    mode = "wal"


class Counter:
    """A number in a file: fcntl.lockf(), and the lock ends with close()."""
    module, host, victims = "fcntl", True, False

    def make(self, folder):
        with open(os.path.join(folder, "counter"), "w") as file:
            file.write("0")

    def work(self, folder, name, count):
        import fcntl
        for _ in range(count):
            with open(os.path.join(folder, "counter"), "r+") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                number = int(file.read())
                file.seek(0)
                file.write(str(number + 1))

    def check(self, folder, names, count):
        with open(os.path.join(folder, "counter")) as file:
            number = int(file.read())
        yield number == len(names) * count, f"{number} of {len(names) * count}"


class Mailbox:
    """mailbox.mbox calls fcntl.lockf() and makes a lock file; here it only does the former."""
    module, host, victims = "mailbox", False, False
    BOXES = 20  # every message added reads the whole file

    def make(self, folder):
        for number in range(self.BOXES):
            open(os.path.join(folder, f"box{number}"), "w").close()

    def work(self, folder, name, count):
        import mailbox
        lock_file = mailbox._lock_file
        mailbox._lock_file = lambda file: lock_file(file, dotlock=False)
        for i in range(count):
            box = mailbox.mbox(os.path.join(folder, f"box{i * self.BOXES // count}"))
            while True:
                try:
                    box.lock()
                    break
                except mailbox.ExternalClashError:
                    time.sleep(0.001)
            box.add(f"Subject: {name} {i}\n\n{i}\n")
            box.flush()
            box.unlock()
            box.close()
        mailbox._lock_file = lock_file

    def check(self, folder, names, count):
        import mailbox
        seen = [message["subject"] for number in range(self.BOXES) for message in mailbox.mbox(os.path.join(folder, f"box{number}"))]
        yield sorted(seen) == sorted(f"{name} {i}" for name in names for i in range(count)), f"{len(seen)} of {len(names) * count}"


class Gdbm:
    module, host, victims = "_gdbm", False, False

    @staticmethod
    def open(folder, mode):
        import dbm.gnu
        while True:
            try:
                return dbm.gnu.open(os.path.join(folder, "gdbm"), mode)
            except dbm.gnu.error as error:
                if error.errno != 11:  # EAGAIN
                    raise
                time.sleep(0.001)

    def make(self, folder):
        with self.open(folder, "n") as database:
            database["n"] = "0"

    def work(self, folder, name, count):
        for i in range(count):
            with self.open(folder, "w") as database:
                database[f"{name} {i}"] = "1"
                database["n"] = str(int(database["n"]) + 1)

    def check(self, folder, names, count):
        with self.open(folder, "r") as database:
            yield int(database["n"]) == len(names) * count, f"{database['n']} of {len(names) * count}"
            yield set(database.keys()) == {b"n", *(f"{name} {i}".encode() for name in names for i in range(count))}, "keys"


class Lmdb:
    module, host, victims = "lmdb", False, False

    @staticmethod
    def open(folder):
        import lmdb
        return lmdb.open(os.path.join(folder, "lmdb"), map_size=64 << 20, sync=False)

    def make(self, folder):
        database = self.open(folder)
        with database.begin(write=True) as transaction:
            transaction.put(b"n", b"0")
        database.close()

    def work(self, folder, name, count):
        database = self.open(folder)
        for i in range(count):
            with database.begin(write=True) as transaction:
                transaction.put(f"{name} {i}".encode(), b"1")
                transaction.put(b"n", str(int(transaction.get(b"n")) + 1).encode())
            with database.begin() as transaction:
                assert transaction.get(f"{name} {i}".encode()) == b"1"
        database.close()

    def check(self, folder, names, count):
        database = self.open(folder)
        with database.begin() as transaction:
            found = {key for key, _ in transaction.cursor()}
            number = int(transaction.get(b"n"))
        database.close()
        yield number == len(names) * count, f"{number} of {len(names) * count}"
        yield found == {b"n", *(f"{name} {i}".encode() for name in names for i in range(count))}, "keys"


STORES = {"sqlite-rollback": Sqlite, "sqlite-wal": SqliteWal, "sqlite-kept": SqliteKept, "sqlite-kept-wal": SqliteKeptWal,
          "counter": Counter, "mailbox": Mailbox, "gdbm": Gdbm, "lmdb": Lmdb}


def work(store, folder, name, count):
    STORES[store]().work(folder, name, count)


def is_there(store, python):
    """Whether @python has the module that the store needs."""
    return subprocess.run([python, "-c", f"import {STORES[store].module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def finish(process, timeout, what):
    """Wait for a process; returns complaints."""
    try:
        output = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return [f"{what} hangs"]
    if process.returncode:
        return [f"{what}: status {process.returncode}: {output[1][-2000:]}"]
    return output[0].splitlines() if what == "check" else []


def start(*words, env=None):
    return subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **(env or {})))


def run_beside(python, store, count, names, timeout, command, env=None):
    """Complaints. @command is given the store, its folder and @count, and does the work of @names."""
    here = os.path.abspath(__file__)
    with tempfile.TemporaryDirectory() as folder:
        complaints = finish(start(python, here, store, folder), timeout, "making it")
        outside = start(python, here, store, folder, "outside", count)
        inside = start(*command, store, folder, count, env=env)
        complaints += finish(inside, timeout, "host") + finish(outside, timeout, "outside")
        names = ",".join([*names, "outside"])
        return complaints + finish(start(python, here, store, folder, names, count, "check"), timeout, "check")


def run_store(host, python, store, count, interpreters=4, options=(), timeout=3600):
    """Complaints: none when @interpreters, the host (with "-o": descriptors of their own) and another process have done @count
    transactions each."""
    names = [*(f"interp{number}" for number in range(interpreters)), *(["host"] if STORES[store].host and "-o" in options else [])]
    return run_beside(python, store, count, names, timeout, [host, "-n", interpreters, *options, os.path.abspath(__file__)])


EXECUTOR = """
import sys, threading
from gorgon import InterpreterPoolExecutor

path, store, folder, count = sys.argv[1:]

def work(path, store, folder, name, count):
    import runpy
    runpy.run_path(path)["work"](store, folder, name, count)

with InterpreterPoolExecutor(4) as pool:
    futures = [pool.submit(work, path, store, folder, f"interp{i}", int(count)) for i in range(4)]
    work(path, store, folder, "host", int(count))
    for future in futures:
        future.result()
"""


def run_executor(python, site, store, count, timeout=3600):
    """The same with an InterpreterPoolExecutor of @python, which finds the package in @site and works itself."""
    return run_beside(python, store, count, [*(f"interp{number}" for number in range(4)), "host"], timeout,
                      [python, "-c", EXECUTOR, os.path.abspath(__file__)], {"PYTHONPATH": site})


def main(store, folder, name=None, count=0, check=None):
    if name is None:
        STORES[store]().make(folder)
    elif check is None:
        work(store, folder, name, int(count))
    else:
        for ok, what in STORES[store]().check(folder, name.split(","), int(count)):
            if not ok:
                print(what)


# An interpreter that is called runs this file, too, but gets no arguments.
if __name__ == "__main__" and len(sys.argv) > 1:
    main(*sys.argv[1:])
