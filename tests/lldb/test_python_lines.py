# SPDX-License-Identifier: MIT
"""Plain lldb and `gorgon run --python-lines=on`: Python frames, breakpoints at Python lines, steps between them."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(session.PROGRAM), "lines.py")
TOTAL = harness.source_line(PROGRAM, "total = n * rate")
CALLS = harness.source_line(PROGRAM, "# calls price")
FRAME = re.compile(r"frame #\d+: .*`lines\.([\w.<>]+)(?:\(.*\))? at lines\.py:(\d+)")


@harness.needs_python_lines
@harness.needs_lldb
class Started(session.Case):
    @classmethod
    def setUpClass(cls):
        commands = [f"breakpoint set -f lines.py -l {TOTAL}", "run", "bt", "frame variable", "expression number.n + number.rate", "expression py('n * rate')".replace("'", '"'),
                    "script print('=== next')", "next", "next", "next", "next",
                    "script print('=== rest')", "breakpoint delete -f", "breakpoint set -n python_exception_raised -c 'exception[0] == 86'",
                    "continue", "bt", "breakpoint delete -f", "continue"]
        cls.output = harness.lldb(commands, harness.GORGON, "run", "--python-lines=on", f"--python={harness.PYTHON}", PROGRAM)
        cls.first, _, rest = cls.output.partition("=== next\n")
        cls.next, _, cls.rest = rest.partition("=== rest\n")

    def test_stack(self):
        found = [name for name, _ in FRAME.findall(self.first[self.first.index("(lldb) bt"):])]
        self.assertEqual([found[:3], found[-2:]], [["price", "each", "recursive"], ["main", "<module>"]], self.output)
        self.assertRegex(self.first, r"(?s)lines\.price.*`_?functools_reduce.*lines\.recursive.*clone3", self.output)

    def test_values(self):
        self.assertRegex(self.first, r'\(const char \*\) n = 0x\w+ "2"\n\(const char \*\) rate = 0x\w+ "2"\n')

        self.assertRegex(self.first, r"\(double\) \$0 = 4\n")
        self.assertRegex(self.first, r'\(const char \*\) \$1 = 0x\w+ "4"\n')

    def test_next(self):
        self.assertEqual(FRAME.findall(self.next), [("price", str(TOTAL + 1)), ("price", str(TOTAL + 2)), ("each", str(CALLS)),
                                                    ("each", str(CALLS + 1))], self.output)

    def test_exception(self):
        self.assertRegex(self.rest, r'frame #0: .*`python_exception_raised\(exception="ValueError"\)')
        line = harness.source_line(PROGRAM, "[].index(1)")
        self.assertEqual(FRAME.findall(self.rest)[-1], ("<module>", str(line)), self.output)

    def test_end(self):
        self.assertRegex(self.output, "exited with status = 0")
        self.assert_clean(self.output)


@harness.needs_python_lines
@harness.needs_lldb
class Raised(unittest.TestCase):
    def test_from_the_programs_first_line_on(self):
        """Not what Python's start and the standard library raise and catch."""
        program = ("import ast, enum, json, re, threading\n\ndef load(text):\n    try:\n        return json.loads(text)\n"
                   "    except ValueError:\n        return re.sub('(a)|b', 'x', text)\n\nload('{')\nload(']')\nprint('end')\n")
        commands = ["breakpoint set -n python_exception_raised", "run", "bt 2", "continue", "bt 2", "continue"]
        for python in harness.PYTHONS_OF_LINES:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "raised.py")
                with open(path, "w") as file:
                    file.write(program)
                output = harness.lldb(commands, harness.GORGON, "run", f"--python={python}", path)
                self.assertEqual(re.findall(r"frame #1: .*`raised\.(\w+)\(.*\) at raised\.py:(\d+)$", output, re.M), 2 * [("load", "5")], output)
                self.assertRegex(output, r"end\n(?s:.*)exited with status = 0")


STEPPED = """import functools

def inner(n):
    k = n + 1
    return k

def both(a, b):
    return inner(a)

def outer(n):
    a = inner(n)
    return functools.reduce(both, [a, a])

def numbers(n):
    yield n

def main():
    z = outer(1)
    for z in numbers(z):
        z = abs(z)
    return z

main()
"""
INNER = ["inner:3", "inner:4", "inner:5"]
# After the last line of a function lldb stops in the middle of the caller's line, from which it goes on.
STEPS = ["outer:10", "outer:11", *INNER, "outer:11", "outer:12", "both:7", "both:8", *INNER, "both:8", "outer:12",
         "main:18", "main:19", "numbers:14", "numbers:15", "main:19", "main:20", "main:19"]


@harness.needs_python_lines
@harness.needs_lldb
class StepsInto(session.Case):
    """`step` enters functions of Python that the line calls, by itself or from C; a function begins at its first line."""

    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stepped.py")
            with open(path, "w") as file:
                file.write(STEPPED)
            output = harness.lldb(["breakpoint set -n stepped.main", "run", "breakpoint delete -f", "next", "script print('=== steps')",
                                   *len(STEPS) * ["step"], "breakpoint set -n stepped.numbers", "continue"],
                                  harness.GORGON, "run", "--python-lines=on", f"--python={harness.PYTHON}", path)
        begin, _, steps = output.partition("=== steps\n")
        place = re.compile(r"frame #0: .*`stepped\.([\w.<>]+)(?:\(.*\))? at stepped\.py:(\d+)")
        self.assertEqual([":".join(found) for found in place.findall(begin)], ["main:17", "main:18"], output)
        self.assertEqual([":".join(found) for found in place.findall(steps)], STEPS, output)
        self.assertRegex(output, "exited with status = 0")


CALLED = """import time

def work(n):
    return n + 1

for i in range(1000):
    time.sleep(1)
    work(i)
"""
SELECT = ("script thread = lldb.debugger.GetSelectedTarget().process.GetSelectedThread(); "
          "thread.SetSelectedFrame(next(f.idx for f in thread if (f.GetFunctionName() or '').startswith('{}')))")


@harness.needs_python_lines
@harness.needs_lldb
class InC(session.Case):
    """At a stop in C code."""

    def test(self):
        for python in harness.PYTHONS_OF_LINES:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "called.py")
                with open(path, "w") as file:
                    file.write(CALLED)
                output = harness.lldb(["breakpoint set -n time_sleep", "run", "continue", SELECT.format("called."), 'expression py("i, work(i)")',
                                       "breakpoint delete -f", "breakpoint set -n called.work", "continue", "frame variable n", "kill"],
                                      harness.GORGON, "run", "--python-lines=on", f"--python={python}", path)
                self.assertRegex(output, r'\(const char \*\) \$0 = 0x\w+ "\(1, 2\)"\n')
                self.assertRegex(output, r'\(const char \*\) n = 0x\w+ "1"\n')


KEPT = """def work(n):
    kept = n + 1
    each = [kept]
    return each

def main():
    first = 5
    return work(first)

main()
"""


@harness.needs_python_lines
@harness.needs_lldb
class Variables(session.Case):
    def test_arguments_and_locals(self):
        """LLDB shows a variable as static, and not by itself, if DW_OP_addr is anywhere in what says where it is."""
        for python in harness.PYTHONS_OF_LINES:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "kept.py")
                with open(path, "w") as file:
                    file.write(KEPT)
                output = harness.lldb(["breakpoint set -f kept.py -l 4", "run", "frame variable", SELECT.format("kept.main"), "frame variable", "kill"],
                                      harness.GORGON, "run", "--python-lines=on", f"--python={python}", path)
                found = re.findall(r'^\(const char \*\) (\w+) = 0x\w+ "(.*)"$', output, re.M)
                self.assertEqual(found, [("n", "5"), ("kept", "6"), ("each", "[6]"), ("first", "5")], output)
                self.assertRegex(output, r"number = \(n = 5, kept = 6, each = NaN\)")


@harness.needs_lldb
@unittest.skipUnless(harness.PYTHONS_OF_LINES[1:], "CPython 3.11 has no chain of frames")
class Circle(session.Case):
    def test_it_ends(self):
        """Somebody attaches while an evaluator begins: what its frames lead to is what was there before."""
        for python in harness.PYTHONS_OF_LINES[1:]:
            with self.subTest(python=python):
                output = harness.lldb(["breakpoint set -n time_sleep", "run",
                                       "script frame = next(f for f in lldb.thread if f.GetFunctionName() == 'lines.told'); "
                                       "newest = frame.FindRegister('rbx').GetValueAsUnsigned(); "
                                       "lldb.process.WriteMemory(newest + 8, newest.to_bytes(8, 'little'), lldb.SBError())",
                                       "bt", SELECT.format("lines.told"), "frame variable", "script print('=== end')", "kill"],
                                      harness.GORGON, "run", "--python-lines=on", f"--python={python}", PROGRAM, timeout=60)
                self.assertRegex(output, r"(?s)frame #0: .*time_sleep.*\n=== end\n", output)


@harness.needs_lldb
@unittest.skipUnless(harness.PYTHONS_OF_LINES[2:], "CPython 3.13 calls __init__ without C")
class Init(session.Case):
    def test_finish(self):
        """CPython puts a frame of its own between an __init__ that was called often and its caller."""
        output = harness.lldb(["breakpoint set -f init.py -l 6 -c 'number.v > 999'", "run", "finish", "bt 2", "next"],
                              harness.GORGON, "run", "--python-lines=on", f"--python={harness.PYTHONS_OF_LINES[2]}",
                              os.path.join(os.path.dirname(PROGRAM), "init.py"))
        places = re.findall(r"frame #(\d): .*`init\.([\w.<>]+)(?:\(.*\))? at init\.py:(\d+)", output)
        self.assertEqual([":".join(place) for place in places], ["0:Kind.__init__:6", "0:make:10", "0:make:10", "1:<module>:16", "0:make:11"], output)


if __name__ == "__main__":
    unittest.main()
