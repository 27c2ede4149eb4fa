# SPDX-License-Identifier: MIT
"""Programs that mostly allocate, for memory.py: allocations.py NAME TIMES."""

import sqlite3
import sys

import numpy


def small(values=numpy.arange(10.0)):
    """Arrays of ten doubles."""
    for _ in range(5000):
        values * values


def medium(values=numpy.arange(1000.0)):
    """Arrays of a thousand doubles, which numpy does not keep for the next one."""
    for _ in range(3000):
        values * values


def large(values=numpy.ones(1 << 18)):
    """Arrays of 2 MiB."""
    for _ in range(10):
        values + values


def lists():
    """Lists that grow, and bytes of all sizes up to 64 KiB."""
    for _ in range(20):
        kept = []
        for size in range(0, 65536, 128):
            kept.append(bytes(size))


def inserts():
    """Rows of an SQLite table."""
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a, b, c)")
    for i in range(3000):
        base.execute("insert into t values (?, ?, ?)", (i, str(i), i / 2))
    assert base.execute("select count(*) from t").fetchone() == (3000,)


for _ in range(int(sys.argv[2])):
    {"small": small, "medium": medium, "large": large, "lists": lists, "inserts": inserts}[sys.argv[1]]()
