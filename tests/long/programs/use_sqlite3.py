# SPDX-License-Identifier: MIT
"""sqlite3: functions, an aggregate, a collation and a trace in Python; errors; threads."""

import rounds

rounds.begin()

import math  # noqa: E402
import sqlite3  # noqa: E402
import threading  # noqa: E402


class Product:
    def __init__(self):
        self.value = 1

    def step(self, value):
        self.value *= value

    def finalize(self):
        return self.value


def fail(value):
    raise LookupError(value)


def work(results):
    lines = []
    with sqlite3.connect(":memory:") as base:
        base.set_trace_callback(lines.append)
        base.create_aggregate("product", 1, Product)
        base.create_function("fail", 1, fail)
        base.create_collation("backwards", lambda a, b: (a < b) - (a > b))
        base.execute("create table n(value integer, name text)")
        base.executemany("insert into n values(?, ?)", [(i, chr(96 + i)) for i in range(1, 11)])
        assert base.execute("select product(value) from n").fetchone() == (math.factorial(10),)
        names = [row[0] for row in base.execute("select name from n order by name collate backwards limit 3")]
        assert names == ["j", "i", "h"]
        try:
            base.execute("select fail(value) from n").fetchall()
            raise AssertionError("no error came out of a function")
        except sqlite3.OperationalError as error:
            assert "user-defined function raised exception" in str(error)
        assert any("product" in line for line in lines)
        base.commit()  # a backup waits for an open transaction
        copy = sqlite3.connect(":memory:")
        base.backup(copy)
        assert copy.execute("select count(*) from n").fetchone() == (10,)
        copy.close()
    base.close()
    results.append("ok")


finished = []
threads = [threading.Thread(target=work, args=(finished,)) for _ in range(3)]
for thread in threads:
    thread.start()
work(finished)
for thread in threads:
    thread.join()
assert finished == ["ok"] * 4
rounds.done()
