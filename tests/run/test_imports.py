# SPDX-License-Identifier: MIT
"""Imports in interpreters are as in python3."""

import json
import re
import unittest

import harness
from harness import GORGON, PYTHON3, SANITIZED, run

# Of each module what importlib has made of it. Namespace packages, and packages that change their own specs, are there, too.
DESCRIBE = """
import importlib, json, sys
import numpy, numpy.linalg, sqlite3, ctypes, email.mime.text, xml.etree.ElementTree, unittest.mock, concurrent.futures, asyncio, decimal
import multiprocessing.pool, logging.handlers, http.server, zoneinfo, importlib.metadata, encodings.idna
def text(value): return None if value is None else str(value)
def describe(module):
    spec = module.__spec__
    try: code = spec.loader.get_code(module.__name__)
    except (ImportError, AttributeError): code = None
    return [spec.name, type(spec.loader).__module__, type(spec.loader).__name__, text(spec.origin), spec.has_location, text(spec.cached),
            spec.submodule_search_locations and list(spec.submodule_search_locations), text(module.__file__ if hasattr(module, "__file__") else None),
            text(getattr(module, "__cached__", None)), text(getattr(module, "__path__", None)), spec.parent,
            code and [code.co_filename, code.co_name, code.co_firstlineno, len(code.co_code), code.co_consts and len(code.co_consts)]]
modules = {name: describe(module) for name, module in sorted(sys.modules.items())
           if getattr(module, "__spec__", None) and not name.startswith(("_distutils", "sitecustomize"))}
json.dump(modules, sys.stdout)
print()
"""
# Which compiled files Python reports to be opened while the program imports (PEP 578).
OPENED = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import json, email.mime.text, xml.etree.ElementTree
print([name for name in opened if name.endswith(".pyc")])
"""


class Imports(unittest.TestCase):
    def program(self, code, *options):
        """What it prints under `gorgon run`."""
        ended = run(GORGON, "run", *options, "-c", code)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.splitlines()

    def test_modules_are_as_in_python3(self):
        ended = run(PYTHON3, "-c", DESCRIBE)
        first, second = self.program(DESCRIBE, "--repeat", "2")
        expected = json.loads(ended.stdout)
        self.assertGreater(len(expected), 250)
        for got in json.loads(first), json.loads(second):
            for name, module in expected.items():
                self.assertEqual(got.get(name), module, name)

    def test_each_opened_file_is_reported(self):
        expected = run(PYTHON3, "-c", OPENED).stdout.splitlines()
        self.assertGreater(len(expected[0]), 500)
        self.assertEqual(self.program(OPENED, "--repeat", "2"), expected * 2)

    # While other interpreters import. (A thread of its own that imports may leave a child of CPython with a lock of a module.)
    @unittest.skipIf(SANITIZED, "a child may find the address sanitizer's allocator locked")
    def test_a_forked_child_imports(self):
        program = ("import os, gorgon\n"
                   "for i in range(10):\n"
                   "    pid = os.fork()\n"
                   "    if not pid:\n"
                   "        import email.mime.text, xml.etree.ElementTree\n"
                   "        os._exit(3)\n"
                   "    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3\n"
                   "    import json, decimal, fractions, statistics, csv, configparser\n"
                   "print('done')\n")
        self.assertEqual(self.program(program, "-n", "4", "--repeat", "2"), ["done"] * 8)

    @harness.needs_gdb
    def test_nothing_is_looked_up_for_a_question_after_imports(self):
        """While a thread waits for a module's lock, all look whether an interrupt was kept when they ask which thread they are."""
        code = "import json, threading; a = [threading.get_ident() for i in range(20000)]; print(len(set(a)))"
        output = harness.gdb(["break interruption_answer", "ignore 1 100000", "run", "info breakpoints"], GORGON, "run", "-c", code)
        self.assertRegex(output, r"(?m)^1$")
        self.assertLess(int(re.search(r"already hit (\d+) time", output)[1]), 5000, output)  # the imports' own


if __name__ == "__main__":
    unittest.main()
