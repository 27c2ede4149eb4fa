# SPDX-License-Identifier: MIT
"""What a checker of types says of calls, beside ThreadPoolExecutor; what cells of a notebook get, beside a process pool."""

import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import VENV_PYTHON, run  # noqa: E402
from test_executor_values import Beside  # noqa: E402

TYPED = """
from collections.abc import Iterator
from concurrent.futures import Executor, Future, as_completed, wait
from dataclasses import dataclass
@dataclass
class Job:
    n: int
    def run(self, factor: float, *, label: str = "") -> float: return self.n * factor
def work(a: str, n: int = 1) -> float: return len(a) * n
def many(*numbers: int, **names: str) -> list[int]: return list(numbers)
def none() -> None: ...
def generic(of: Executor) -> "Future[float]": return of.submit(work, "a", 2)
with Pool(2, initializer=none) as pool:
    right: Future[float] = pool.submit(work, "a", 1)
    named: Future[float] = pool.submit(work, "a", n=1)
    left_out: Future[float] = pool.submit(work, "a")
    wrong_result: Future[str] = pool.submit(work, "a", 1)
    pool.submit(work)
    pool.submit(work, 1)
    pool.submit(work, "a", "b")
    pool.submit(work, "a", n="b")
    pool.submit(work, "a", 1, 2)
    pool.submit(work, "a", m=1)
    pool.submit(work("a"), 1)
    pool.submit(many, 1, 2, a="b")
    pool.submit(many, 1, "2", a=3)
    pool.submit(Job(1).run, 2.0, label="x")
    pool.submit(Job(1).run, "2.0")
    pool.submit(Job.run, 2.0)
    pool.submit(Job, "one")
    made: Future[Job] = pool.submit(Job, 1)
    pool.submit(lambda: 1, 2)
    pool.submit(none).result().real
    pool.submit(fn=work)
    pool.submit()
    sums: Iterator[float] = pool.map(work, ["a"], [1])
    wrong_sums: Iterator[str] = pool.map(work, ["a"], [1], timeout=1, chunksize=2)
    pool.map(work, 1)
    pool.map(work, ["a"], timeout="1")
    pool.map(None, ["a"])
    reveal_type(pool.submit(work, "a").result())
    reveal_type([each.result() for each in as_completed([pool.submit(work, "a")])])
    reveal_type(wait([right]).done)
    reveal_type(list(pool.map(work, ["a"])))
    generic(pool)
    pool.shutdown(wait=1, cancel_futures="no")
    pool.shutdown(wait=False, cancel_futures=True)
    pool.sbumit(work, "a")
pool.map(work, ["a"]).shutdown()
"""

# Cells of a notebook, run one after the other in a __main__ that no file has. Those of two numbers use the pool of an earlier one.
CELLS = [
    """
import collections, dataclasses, enum, functools, math
K, TABLE = 3, {"a": [1]}
@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    SCALE = 10
    def norm(self): return math.hypot(self.x, self.y)
    def scaled(self): return Point(self.x * self.SCALE * K, self.y)
class Color(enum.Enum):
    RED = 1
Pair = collections.namedtuple("Pair", "a b")
class Oops(Exception):
    pass
def scale(point): return Point(point.x * K, point.y * K)
def kind(value): return type(value).__name__, isinstance(value, Point)
""",
    "show(lambda pool: [*pool.map(scale, [Point(1, 2), Point(3)])])",
    "show(lambda pool: pool.submit(scale, Point(1)).result() == Point(3), lambda pool: type(pool.submit(scale, Point(1)).result()) is Point)",
    "show(lambda pool: pool.submit(Point(3, 4).norm).result(), lambda pool: pool.submit(Point(1).scaled).result())",
    "K = 5\nTABLE['a'].append(2)",
    "show(lambda pool: pool.submit(scale, Point(1, 1)).result(), lambda pool: pool.submit(Point(1).scaled).result())",
    "def scale(point): return 'new', point.x * K, TABLE['a']\nshow(lambda pool: pool.submit(scale, Point(2)).result())",
    "def norm(self): return 'patched'\nPoint.norm = norm\nPoint.SCALE = 7\nshow(lambda pool: (pool.submit(Point(1).norm).result(), pool.submit(Point(1).scaled).result()))",
    "old = Point(1)\n@dataclasses.dataclass\nclass Point:\n    x: float\n    y: float = 0.0\n    def norm(self): return 'second', self.x\n"
    "def kind(value): return type(value).__name__, isinstance(value, Point)",
    "show(lambda pool: pool.submit(kind, Point(1)).result(), lambda pool: pool.submit(Point(1).norm).result())",
    "def fail(x): raise Oops(x, K)\nshow(lambda pool: pool.submit(fail, 1).result())",
    "show(lambda pool: pool.submit(kind, Color.RED).result(), lambda pool: pool.submit(kind, Pair(1, 2)).result())",
    "def same(x): return x\nshow(lambda pool: pool.submit(same, Color.RED).result() is Color.RED, lambda pool: pool.submit(same, Pair(1, 2)).result())",
    "class Base:\n    def who(self): return 'base', K",
    "class Derived(Base):\n    def who(self): return 'derived', *super().who()\nshow(lambda pool: pool.submit(Derived().who).result())",
    "@functools.lru_cache\ndef cached(x): return x * K\nshow(lambda pool: pool.submit(cached, 2).result())",
    "def count():\n    global K\n    K += 1\n    return K\nshow(lambda pool: [pool.submit(count).result() for _ in range(3)], lambda pool: K)",
    "import statistics as st\ndef mean(x): return st.mean(x)\nshow(lambda pool: pool.submit(mean, [1, 2, 3]).result())",
    "del K",
    "show(lambda pool: pool.submit(count).result())",
    "K = 'again'\nshow(lambda pool: pool.submit(fail, 2).result(), lambda pool: pool.submit(Base().who).result())",
    "class Holder:\n    def __init__(self): self.points = [Point(1)]\n    def __reduce__(self): return remake, (len(self.points),)\n"
    "def remake(n):\n    made = Holder()\n    made.points = [Point(n)] * n\n    return made\ndef held(h): return h.points, type(h) is Holder\n"
    "show(lambda pool: pool.submit(held, Holder()).result())",
    "@functools.wraps(math.floor)\ndef floor(x): return K, math.floor(x)\nceil = functools.cache(math.ceil)\n"
    "def both(x): return floor(x), ceil(x)\nshow(lambda pool: pool.submit(both, 1.5).result())",
    "def inner(): return scale(Point(1)), fail\nshow(lambda pool: pool.submit(inner).result()[0])",
]
RUN_CELLS = """
import gc, multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
gc.set_threshold(5)  # what nothing refers to any more is gone at once
def run_cells():
    def Pool():
        if sys.argv[1] == "gorgon":
            from gorgon import InterpreterPoolExecutor
            return InterpreterPoolExecutor(1)
        return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    def show(*calls):
        with Pool() as pool:
            for call in calls:
                try:
                    print(number, call(pool))
                except Exception as error:
                    print(number, type(error).__name__, error)
    space = vars(sys.modules["__main__"])
    space["show"] = show
    for number, cell in enumerate(CELLS):
        exec(compile(cell, f"<cell {number}>", "exec"), space)
run_cells()
"""


class Types(Beside):
    def test_wrong_calls_are_reported_as_for_threads(self):
        imports = {"threads": "from concurrent.futures import ThreadPoolExecutor as Pool",
                   "interpreters": "from gorgon import InterpreterPoolExecutor as Pool"}
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, line in imports.items():
                with open(f"{folder}/{name}.py", "w") as file:
                    file.write(line + TYPED)
            result = run(VENV_PYTHON, "-m", "mypy", "--strict", "--cache-dir", f"{folder}/cache", *(f"{name}.py" for name in imports),
                         cwd=folder, env={"MYPYPATH": self.site})
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        for name in imports:
            lines = re.findall(rf"^{name}\.py:(\d+: (?:error|note: Revealed).*)$", result.stdout, re.M)
            # ThreadPoolExecutor inherits some methods.
            found[name] = [re.sub(r"(Thread|Interpreter)PoolExecutor|(?<=of \")Executor|; maybe .*\?", "", line) for line in lines]
        self.assertGreater(len(found["threads"]), 25)
        self.assertEqual(found["interpreters"], found["threads"])


class Notebook(Beside):
    def test_cells_get_what_a_process_pool_gives(self):
        found = {}
        for kind in "fork", "gorgon":
            result = run(VENV_PYTHON, "-c", RUN_CELLS.replace("CELLS", repr(CELLS)), kind, env={"PYTHONPATH": self.site})
            self.assertEqual((result.stderr, result.returncode), ("", 0))
            found[kind] = result.stdout.splitlines()
        self.assertGreater(len(found["fork"]), 25)
        self.assertEqual(found["gorgon"], found["fork"])


if __name__ == "__main__":
    unittest.main()
