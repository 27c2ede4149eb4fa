# SPDX-License-Identifier: MIT
"""Each call opens an SQLite file of its own."""

import os
import sqlite3
import tempfile
from concurrent.futures import ProcessPoolExecutor


def store(path, rows):
    with sqlite3.connect(path) as database:
        database.execute("create table t (a integer, b text)")
        database.executemany("insert into t values (?, ?)", rows)
        return database.execute("select count(*), sum(a), max(b) from t").fetchone()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2) as pool:
        paths = [os.path.join(folder, f"{i}.db") for i in range(4)]
        print(list(pool.map(store, paths, [[(i * j, f"row {j}") for j in range(50)] for i in range(4)])))
