# SPDX-License-Identifier: MIT
"""gdb on an ordinary python3 whose executor has private interpreters: its own Python and theirs in one backtrace."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

PROGRAM = """
from gorgon import InterpreterPoolExecutor
def outer(x):
    return nap(x)
def nap(x):
    import time
    time.sleep(x)
    return x
with InterpreterPoolExecutor(2) as pool:
    print(sorted(pool.map(outer, [0.25, 0.5])))
"""
SIGNALS = """
import ctypes, signal, time
signals = 0
def note(*each):
    global signals
    signals += 1
signal.signal(signal.SIGALRM, note)
gorgon = ctypes.CDLL("{build}/libgorgon.so.0")
gorgon.gorgon_interp_create.restype = gorgon.gorgon_interp_start.restype = gorgon.gorgon_interp_run_string.restype = ctypes.c_void_p
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for _ in range(2):
    interp = ctypes.c_void_p()
    assert not gorgon.gorgon_interp_create(None, ctypes.byref(interp))
    assert not gorgon.gorgon_interp_start(interp, None)
    assert not gorgon.gorgon_interp_run_string(interp, b"import ctypes, decimal, json, sqlite3", None)
signal.setitimer(signal.ITIMER_REAL, 0)
print("signals:", signals, flush=True)
time.sleep(0.1)
"""
# What py-bt shows above the host's own frames: the call, then the worker that has made it. The first name is missing
# where the compiler has made the call a jump.
NAMES = ["sleep", "nap", "outer", "call", "run", "_call", "run", "call", "take_work", "live", "run", "_bootstrap_inner", "_bootstrap"]


@harness.needs_gdb
class HostPython(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = tempfile.mkdtemp(prefix="gorgon-site-")
        harness.install_package(cls.site)
        program = os.path.join(cls.site, "program.py")
        with open(program, "w") as file:
            file.write(PROGRAM)
        cls.output = harness.gdb(
            [f"set environment PYTHONPATH {cls.site}", "break time_sleep", "run", "echo first\\n", "gorgon list",
             "gorgon whose $pc", "bt 1", "py-bt", "continue", "echo second\\n", "py-bt", "continue"],
            harness.PYTHON3, program, script=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.site)

    def test_breakpoint_stops_in_each_interpreter(self):
        stops = re.findall(r'^Thread \d+ "(?:python3|gorgon-\d|InterpreterPool)" hit Breakpoint 1(?:\.\d+)?, time_sleep \(self=.*timeout_obj=<float',
                           self.output, re.M)
        self.assertEqual(len(stops), 2, self.output)
        self.assertIn("\n[0.25, 0.5]\n", self.output)

    def test_interpreters_and_frames_are_labelled(self):
        first = self.output.split("first\n")[1].split("second\n")[0]
        self.assertRegex(first, rf"\n[01] +{harness.VERSION} .* live .*")
        number = re.search(rf"interpreter ([01]), {harness.SONAME_RE}, time_sleep\+\d+, timemodule\.c:\d+", first)[1]
        self.assertIn(f"#0  time_sleep from {harness.SONAME} [interp {number}] (", first)

    @harness.needs_python_lines
    def test_python_lines(self):
        """gdb without scripts stops at lines of a module that calls import, unless the program says that it does not."""
        with open(os.path.join(self.site, "priced.py"), "w") as file:
            file.write("def price(n):\n    return n * 2\n")
        program = os.path.join(self.site, "lines.py")
        with open(program, "w") as file:
            file.write("import sys\nfrom gorgon import InterpreterPoolExecutor\n"
                       "options = {'python_lines': sys.argv[1]} if len(sys.argv) > 1 else {}\n"
                       "def call(n):\n    import priced\n    return priced.price(n)\n"
                       "with InterpreterPoolExecutor(1, **options) as pool:\n    print([pool.submit(call, n).result() for n in (1, 2)])\n")
        for lines, hit in (("", ["1", "2"]), ("on", ["1", "2"]), ("auto", ["1", "2"]), ("off", [])):
            with self.subTest(lines=lines):
                output = harness.gdb([f"set environment PYTHONPATH {self.site}", "break priced.py:2", "commands", "continue", "end", "run", *session.MORE],
                                     harness.PYTHON3, program, *[lines][:len(lines)])
                self.assertEqual(re.findall(r'hit Breakpoint 1, priced\.price \(n=0x\w+ "(\d)"\) at ', output), hit, output)
                self.assertIn("\n[2, 4]\n", output)
        refused = harness.run(harness.PYTHON3, program, "maybe", env=dict(os.environ, PYTHONPATH=self.site))
        self.assertIn("ValueError: python_lines must be one of off, on, auto, all, found 'maybe'\n", refused.stderr)

    @harness.needs_python_lines
    def test_python_lines_in_interpreters(self):
        with open(os.path.join(self.site, "counted.py"), "w") as file:
            file.write("def count(n):\n    return n + 1\n")
        program = os.path.join(self.site, "interpreters.py")
        with open(program, "w") as file:
            file.write("from gorgon import interpreters\nfor n in range(2):\n    interp = interpreters.create()\n"
                       "    interp.exec(f'import counted; print(counted.count({n}))')\n    interp.close()\n")
        output = harness.gdb([f"set environment PYTHONPATH {self.site}", "break counted.py:2", "commands", "continue", "end", "run"],
                             harness.PYTHON3, program)
        self.assertEqual(re.findall(r'hit Breakpoint 1, counted\.count \(n=0x\w+ "(\d)"\) at ', output), ["0", "1"], output)
        self.assertRegex(output, r"(?s)\n1\n.*\n2\n.*exited normally")

    @harness.needs_python_lines
    def test_exceptions(self):
        """Only the program's, not those of the modules with which an interpreter of the package begins."""
        text = "try:\n    {}['key']\nexcept KeyError:\n    print('end')\n"
        told = {"executor": "from gorgon import InterpreterPoolExecutor\nwith InterpreterPoolExecutor(1) as pool:\n    pool.submit(exec, TEXT).result()",
                "interpreters": "from gorgon import interpreters\ninterp = interpreters.create()\ninterp.exec(TEXT)\ninterp.close()"}
        for name, code in told.items():
            program = os.path.join(self.site, "raising.py")
            with open(program, "w") as file:
                file.write(f"TEXT = {text!r}\n{code}\n")
            with self.subTest(name):
                output = harness.gdb([f"set environment PYTHONPATH {self.site}", "break python_exception_raised", "commands", "silent",
                                      'printf "raised %s\\n", exception', "continue", "end", "run"], harness.PYTHON3, program)
                raised = re.findall(r"^raised (\w+)$", output, re.M)  # CPython 3.11 tells of generators that end, too
                self.assertEqual([each for each in raised if each != "StopIteration"], ["KeyError"], output)
                self.assertRegex(output, r"end\n(?s:.*)exited normally")

    @harness.needs_python_lines
    def test_lines_of_functions_that_cross_by_value(self):
        """gdb stops in functions of the program itself. What comes again and again is one file for debuggers."""
        told = {"executor": "with InterpreterPoolExecutor(1, python_lines='on') as pool:\n    print([pool.submit(call, n).result() for n in range(9)])",
                "joblib": "import joblib, gorgon.joblib\nwith joblib.parallel_config(backend='gorgon', python_lines='on'):\n"
                          "    print(joblib.Parallel(n_jobs=2)(joblib.delayed(call)(n) for n in range(9)))"}
        for name, call in told.items():
            python = harness.PYTHON3 if name == "executor" else harness.VENV_PYTHON  # the distribution's joblib may be too old
            program = os.path.join(self.site, "crossing.py")
            with open(program, "w") as file:
                file.write(f"from gorgon import InterpreterPoolExecutor\ndef call(n):\n    twice = lambda: n * 2\n    return twice()\n{call}\n")
            with self.subTest(name):
                output = harness.gdb([f"set environment PYTHONPATH {self.site}", "break crossing.py:4", "commands", "silent",
                                      'printf "called %g\\n", number.n', "info breakpoints", "continue", "end", "run", *session.MORE], python, program)
                self.assertEqual(sorted(re.findall(r"^called (\d+)$", output, re.M)), [str(n) for n in range(9)], output)
                self.assertIn(f"\n{[2 * n for n in range(9)]}\n", output)
                self.assertIn("in crossing.call at ", output)
                self.assertNotIn(f"\n1.{2 if name == 'executor' else 3} ", output)  # a further place

    def test_signals_make_gdb_take_nothing_twice(self):
        """The thread that tells gdb of libraries gets a signal every ten milliseconds, as profilers send them, and does not stop for it."""
        program = os.path.join(self.site, "signals.py")
        with open(program, "w") as file:
            file.write(SIGNALS.format(build=harness.BUILD))
        output = harness.gdb(["handle SIGALRM nostop noprint pass", "break time_sleep if $_thread == 1", "run", "maint info jit"],
                             harness.PYTHON3, program)
        self.assertRegex(output, r"(?m)^signals: [1-9]\d*$")
        entries = re.findall(r"(?m)^(0x\w+) +0x\w+ +\d+ *$", output)
        self.assertGreater(len(entries), 10, output)
        self.assertEqual(sorted(set(entries)), sorted(entries), output)

    def test_python_frames_of_both_are_in_one_backtrace(self):
        for part in self.output.split("first\n")[1].split("second\n"):
            trace = part.split("Traceback (most recent call first):\n")[1]
            names = re.findall(r"^  (?:<built-in method (\w+) |File \"[^\"]+\", line \d+, in (\w+))", trace, re.M)
            names = [builtin or name for builtin, name in names]
            self.assertEqual(names[names[0] == "sleep":], NAMES[1:], self.output)
