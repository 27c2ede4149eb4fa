# SPDX-License-Identifier: MIT
"""Plain gdb and `gorgon run --python-lines=on`: steps between Python lines, into functions and out of them."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_lines import CHEAP, PROGRAM, PYTHONS, run  # noqa: E402


RECURSIVE = """def down(n):
    if n:
        value = down(n - 1)
        return value
    leaf = 1
    return leaf

x = list(map(down, [1, 2]))
y = x
"""

FINISHED = """def down(n):
    if n:
        value = down(n - 1)
        value += 1
        return value
    return 5

def main():
    value = down(4)
    print("end", value)

main()
"""


GENERATED = """def tree(n):
    if n:
        yield from tree(n - 1)
    yield n

def main():
    t = sum(tree(2))
    return t

answer = main()
print("end", answer)
"""


COPIED = """import copy
class Kind:
    def __deepcopy__(self, memo):
        return 1

def main():
    x = copy.deepcopy([[Kind()]])
    print("copied", x)

main()
"""


RETURNS = """def down(n):
    if n > 0:
        return down(n - 1)
    return leaf(n)

def leaf(n):
    if not n:
        y = n
        return y
    z = n
    raise ValueError(n)

def once(n):
    x = down(n)
    return x

once(3)

def twice():
    try:
        down(-1)
    except ValueError:
        print("caught")

twice()
"""


@harness.needs_python_lines
@harness.needs_gdb
class Steps(unittest.TestCase):
    def test_out_of_recursion(self):
        """After the last line of a function: the caller's next line, of the frame that has called it."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "steps.py")
                with open(path, "w") as file:
                    file.write(RECURSIVE)
                output = harness.gdb(["break steps.py:6", "run", "continue", "delete", *5 * ["echo === next\\n", "next"]],
                                     *run(1, python=python)[:-1], path)
                found = [re.search(r"^(\d+)\t.*$", part, re.M) for part in output.split("=== next\n")[1:]]
                self.assertEqual([line and line[1] for line in found], ["4", "4", "9", None, None], output)

    def test_through_callers_at_one_line(self):
        """Each caller goes on in the line that its function has just left: gdb compares no frames within a line."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "steps.py")
                with open(path, "w") as file:
                    file.write(RETURNS)
                output = harness.gdb(["break steps.py:9", "break steps.py:11", "run", *2 * ["echo === next\\n", "next"], "continue",
                                      *2 * ["echo === next\\n", "next"], "continue"], *run(1, python=python)[:-1], path)
                self.assertNotRegex(output, "python_line_leave|gorgon_lines", output)
                found = [re.search(r"^(\d+)\t.*$", part, re.M) for part in output.split("=== next\n")[1:]]
                self.assertEqual([line and line[1] for line in found], ["15", "19", "22", "23"], output)
                self.assertRegex(output, r"caught\n(?s:.*)exited normally")

    def test_finish_through_callers_at_one_line(self):
        """Each stops in the caller of its own frame, and while the caller is at that line."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "steps.py")
                with open(path, "w") as file:
                    file.write(FINISHED)
                output = harness.gdb(["break steps.py:6", "run", *3 * ["finish", 'printf "at %g %g\\n", number.n, number.value'], "next",
                                      'printf "at %g %g\\n", number.n, number.value', "finish", "finish", "next", "continue"],
                                     *run(1, python=python)[:-1], path)
                self.assertEqual(re.findall(r"^at (.*)$", output, re.M), ["1 nan", "2 nan", "3 nan", "3 7"], output)
                self.assertRegex(output, r'(?s)\(n=0x\w+ "4"\) at \S+:3\n.* steps\.main \(\) at \S+:9\n.*\n10\t.*end 9\n.*exited normally')

    def test_generators_of_one_function(self):
        """What a debugger waits for in one of them has the same address in the others."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "steps.py")
                with open(path, "w") as file:
                    file.write(GENERATED)
                output = harness.gdb(["tbreak steps.py:4 if number.n == 0", "run", "step", "step", *3 * ["echo === next\\n", "next"], "continue"],
                                     *run(1, python=python)[:-1], path)
                found = re.findall(r"^(\d+)\t", output, re.M)
                # gdb may take the second generator's first line for that of the first, and go on.
                self.assertIn(found, (["4", "1", "1", "4", "8", "11"], ["4", "1", "4", "8", "11"]), output)
                self.assertNotRegex(output, "python_line_leave|gorgon_lines")
                self.assertRegex(output, r"end 3\n(?s:.*)exited normally")

    def test_finish_in_code_without_lines(self):
        """Its functions have one place where debuggers wait for them."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "steps.py")
                with open(path, "w") as file:
                    file.write(COPIED)
                output = harness.gdb([*CHEAP, "break steps.py:4", "run", "delete",
                                      *3 * ["echo === stack\\n", "bt", "echo === finish\\n", "finish"], "continue"],
                                     *run(1, python=python)[:-1], path)
                first, *others = [re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", part.partition("=== finish")[0], re.M)
                                  for part in output.split("=== stack\n")[1:]]
                self.assertEqual(first[:4], ["steps.Kind.__deepcopy__", *3 * ["python_code"]], output)
                self.assertEqual(others, [first[1:], first[2:]], output)
                self.assertRegex(output, r"(?s)copied \[\[1\]\]\n.*exited normally")


LAST = """import functools

@functools.lru_cache(maxsize=None)
def cached(n):
    if not n:
        return 0
    return cached(n - 1)

def down(n):
    if not n:
        return 0
    return down(n - 1)

for i in range(3):
    down(3)
    cached.cache_clear()
    cached(3)
print("end")
"""


@harness.needs_python_lines
@harness.needs_gdb
class LastLine(unittest.TestCase):
    def test_next_over_a_call_of_the_function_itself(self):
        """By itself, and by C: what a debugger thinks that the caller has called is behind the function's last line."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "last.py")
                with open(path, "w") as file:
                    file.write(LAST)
                output = harness.gdb(["break last.py:12 if number.n == 3", "break last.py:7 if number.n == 3", "run", "next", *5 * ["continue", "next"]],
                                     *run(1, python=python)[:-1], path)
                self.assertLessEqual({"12", "7"}, found := set(re.findall(r"^(\d+)\t", output, re.M)), output)
                self.assertFalse(found & {"3", "4", "9"}, output)
                self.assertEqual(output.count("hit Breakpoint"), 6, output)


@harness.needs_gdb
@unittest.skipUnless(PYTHONS[2:], "CPython 3.13 calls __init__ without C")
class Init(unittest.TestCase):
    def test_stack_and_finish(self):
        """CPython puts a frame of its own between an __init__ that was called often and its caller."""
        output = harness.gdb([*CHEAP, "break init.py:6 if number.v > 999", "run", "bt 3", "finish", "bt 2", "next", "next"],
                             *run(1, python=PYTHONS[2])[:-1], os.path.join(os.path.dirname(PROGRAM), "init.py"))
        self.assertRegex(output, r"#0 +init\.Kind\.__init__ .*\n#1 .* init\.make .*\n#2 .* init\.<module> ")
        self.assertRegex(output, r"#0 .* init\.make .*\n#1 .* init\.<module> ")
        self.assertEqual(re.findall(r"^(\d+)\t", output, re.M), ["6", "10", "11", "17"], output)


SHOWN = """import functools

@functools.singledispatch
def show(n):
    return n

def main():
    x = show(3)
    y = x
    return y

main()
print("end")
"""


@harness.needs_gdb
@unittest.skipUnless(PYTHONS[1:], "CPython 3.11 calls functions through C where arguments come from a tuple")
class WithoutLines(unittest.TestCase):
    def test_steps_after_finish_in_a_function_of_the_standard_library(self):
        for python in PYTHONS[1:]:
            for step in ("next", "step", "finish"):
                with self.subTest(python=python, step=step), tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "shown.py")
                    with open(path, "w") as file:
                        file.write(SHOWN)
                    output = harness.gdb(["tbreak shown.py:5", "run", "finish", step, "next", "next"], *run(1, python=python)[:-1], path)
                    self.assertRegex(output, r"(?m)^0x\w+ in python_code \(\)$")
                    self.assertEqual(re.findall(r"^(\d+)\t", output, re.M),
                                     ["5", "8", "9", "10"] if step == "finish" else ["5", "9", "10", "13"], output)


EVALUATED = """import time

def wait(n):
    time.sleep(0)

def key(n):
    wait(n)
    return n

def main():
    x = sorted([2], key=key)
    y = x
    return y

main()
"""


DEEP = """import sys

sys.setrecursionlimit(1000000)
KINDS = []
for i in range(7):  # frames of different sizes
    exec(compile(f"def down(n{''.join(f', a{j}=0' for j in range(i))}):\\n"
                 "    return KINDS[(n * 2654435761 >> 8) % 7](n - 1) + 1 if n else 0\\n", __file__, "exec"))
    KINDS.append(down)

def main():
    x = list(map(down, [50000]))
    y = x
    return y

main()
"""


@harness.needs_gdb
@harness.needs_python_lines
class ManyFrames(unittest.TestCase):
    def test_finish_of_an_evaluator(self):
        """It has run several functions, and ends where C code has called the first of them."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "evaluated.py")
                with open(path, "w") as file:
                    file.write(EVALUATED)
                output = harness.gdb([*CHEAP, "tbreak time_sleep", "run", "frame function _PyEval_EvalFrameDefault", "finish", "bt 2",
                                      "echo === key\\n", "tbreak evaluated.py:12", "shell sleep 0.2", "continue"], *run(1, python=python)[:-1], path)
                self.assertRegex(output, r"(?m)^0x\w+ in python_frame \(\)\n(?s:.*)^#1 .* _Py\w+ \(.*\n(?s:.*)=== key\n", output)
                self.assertRegex(output, r"(?s)=== key\n.*hit Temporary breakpoint 2, evaluated\.main \(\) at .*evaluated\.py:12\n")

    def test_a_circle_ends(self):
        """Somebody attaches while an evaluator begins: what its frames lead to is what was there before."""
        for python in PYTHONS:
            previous = 48 if python.endswith("3.11") else 8
            with self.subTest(python=python):
                output = harness.gdb([*CHEAP, "break time_sleep", "run", "frame function lines.told", "set $newest = $rbx",
                                      f"set {{long}}($newest + {previous}) = $newest", "bt", "echo === end\\n", "kill"],
                                     *run(1, python=python), timeout=120)
                self.assertRegex(output, r"(?s)#0 +time_sleep.*=== end\n", output)

    def test_next_over_more_than_there_are_places_for(self):
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "deep.py")
                with open(path, "w") as file:
                    file.write(DEEP)
                output = harness.gdb(["break deep.py:11", "run", "next", "next"], *run(1, python=python)[:-1], path)
                self.assertEqual(re.findall(r"^(\d+)\t", output, re.M), ["11", "12", "13"], output)


STEPPED = """import asyncio

def inner(n):
    k = n + 1
    return k

def outer(n):
    a = inner(n)
    return a + inner(a)

def numbers(n):
    yield n
    yield n + 1

class Kind:
    def __init__(self, n):
        self.n = n

    @property
    def twice(self):
        return 2 * self.n

async def wait(n):
    await asyncio.sleep(0)
    return inner(n)

def main():
    x = abs(-1)
    z = outer(x)
    w = sorted([3, 1], key=inner)
    for u in numbers(2):
        x += u
    t = Kind(x).twice
    return asyncio.run(wait(1))

main()
print("end", flush=True)
"""
INNER = ["inner:3", "inner:4", "inner:5"]


# Where each step of main() ends. A generator or coroutine that goes on is entered at its first line again.
STEPS = ["main:29", "outer:7", "outer:8", *INNER, "outer:9", *INNER, "main:30", *INNER, *INNER, "main:31",
         "numbers:11", "numbers:12", "main:32", "main:31", "numbers:11", "numbers:13", "main:32", "main:31", "numbers:11",
         "main:33", "Kind.__init__:16", "Kind.__init__:17", "Kind.twice:19", "Kind.twice:21",
         "main:34", "wait:23", "wait:24", "wait:23", "wait:25", *INNER, "<module>:37"]


@harness.needs_python_lines
@harness.needs_gdb
class StepsInto(unittest.TestCase):
    """`step` enters functions of Python that the line calls, by itself or from C, and no others."""

    @staticmethod
    def session(python, *commands):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stepped.py")
            with open(path, "w") as file:
                file.write(STEPPED)
            return harness.gdb([*CHEAP, "break stepped.py:28", "run", "delete", *commands], *run(1, python=python)[:-1], path)

    def test_each_step(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                output = self.session(python, *len(STEPS) * ["echo === step\\n", "step", "frame"])
                found = [re.search(r"^#0 .*?stepped\.(\S+) \(.*\.py:(\d+)$", part, re.M) for part in output.split("=== step\n")[1:]]
                self.assertEqual([place and f"{place[1]}:{place[2]}" for place in found], STEPS, output)

    def test_stack_finish_and_next(self):
        commands = ["next", "step", "info args", "bt", "finish", "echo === next\\n", "tbreak stepped.py:31", "continue", *6 * ["next"]]
        for python in PYTHONS:
            with self.subTest(python=python):
                begin, _, end = self.session(python, *commands).partition("=== next\n")
                stack = re.findall(r"^#\d+ .*?stepped\.(\S+) \(.*\.py:(\d+)$", begin, re.M)
                self.assertEqual(stack, [("outer", "7"), ("main", "29"), ("<module>", "36")], begin)
                self.assertRegex(begin, r'(?m)^n = 0x\w+ "1"$')
                self.assertRegex(begin, r"(?m)^0x\w+ in stepped\.main \(.*\) at ")
                self.assertEqual(re.findall(r"^(\d+)\t", end, re.M)[:7], ["31", "32", "31", "32", "31", "33", "34"], end)
