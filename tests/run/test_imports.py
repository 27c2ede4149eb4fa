# SPDX-License-Identifier: MIT
"""Imports in interpreters that share what they know of modules' files: as in python3, whatever programs and files do."""

import json
import os
import re
import tempfile
import time
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
# How often files are opened while the program imports.
COUNT = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
import json, email.mime.text, xml.etree.ElementTree
print(len([name for name in opened if str(name).endswith(".pyc")]))
"""


class Imports(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)

    def program(self, code, *options, lines=None, env=None):
        """What it prints: `gorgon run` with the folder in sys.path."""
        ended = run(GORGON, "run", *options, "-c", code, env={"PYTHONPATH": self.folder.name, "PYTHONDONTWRITEBYTECODE": "", **(env or {})})
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

    def test_compiled_files_are_read_once(self):
        first, second = map(int, self.program(COUNT, "--repeat", "2"))
        self.assertEqual((first, second), (0, 0))  # the first one has read them itself, without Python
        first, second = map(int, self.program(COUNT, "--repeat", "2", "--no-import-cache"))
        self.assertGreater(first, 20)
        self.assertEqual(first, second)

    def test_changes_between_interpreters(self):
        self.write("changes/__init__.py", "")
        self.write("changes/one.py", "value = 1")
        time.sleep(3.1)
        program = ("import os, gorgon, sys\n"
                   "from changes import one\n"
                   "print(one.value)\n"
                   "path = one.__file__\n"
                   "times = os.stat(path)\n"
                   "with open(path, 'w') as file: file.write(f'value = {one.value + 1}')\n"
                   "os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10 ** 9))\n")
        self.assertEqual(self.program(program, "--repeat", "3"), ["1", "2", "3"])

    def test_new_and_removed_modules(self):
        time.sleep(3.1)  # the folder is as old as it has to be
        program = ("import importlib, os, sys\n"
                   "folder = os.environ['PYTHONPATH']\n"
                   "path = os.path.join(folder, 'appears.py')\n"
                   "try:\n"
                   "    import appears\n"
                   "    print('there'); os.remove(path)\n"
                   "except ImportError:\n"
                   "    print('not there')\n"
                   "    open(path, 'w').close(); importlib.invalidate_caches()\n"
                   "    import appears; print(appears.__file__ == path)\n")
        self.assertEqual(self.program(program, "--repeat", "3"), ["not there", "True", "there", "not there", "True"])

    def test_what_a_program_replaces_counts(self):
        self.write("replaced.py", "value = 'source'")
        run(PYTHON3, "-m", "compileall", "-q", self.folder.name)
        time.sleep(3.1)
        program = ("import importlib.machinery as m, importlib.util, sys, marshal\n"
                   "sys.dont_write_bytecode = True\n"
                   "import replaced; print(replaced.value); del sys.modules['replaced']\n"
                   "class Loader(m.SourceFileLoader):\n"
                   "    def get_code(self, name): return compile('value = 1', self.path, 'exec')\n"
                   "finder = m.FileFinder.path_hook((Loader, ['.py']))\n"
                   "sys.path_hooks.insert(0, finder); sys.path_importer_cache.clear()\n"
                   "import replaced; print(replaced.value, type(replaced.__loader__).__name__); del sys.modules['replaced']\n"
                   "sys.path_hooks.remove(finder); sys.path_importer_cache.clear()\n"
                   "old = m.SourceFileLoader.get_data\n"
                   "m.SourceFileLoader.get_data = lambda self, path: b'value = 2' if path.endswith('replaced.py') else b''\n"
                   "import replaced; print(replaced.value); del sys.modules['replaced']\n"
                   "m.SourceFileLoader.get_data = old\n"
                   "spec = importlib.util.find_spec('replaced')\n"
                   "spec.loader.get_data = lambda path: b'value = 3' if path.endswith('replaced.py') else b''\n"
                   "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module); print(module.value)\n"
                   "class Finder(m.FileFinder):\n"
                   "    def find_spec(self, name, target=None):\n"
                   "        spec = super().find_spec(name, target); print('asked for', name); return spec\n"
                   "print(Finder(sys.path[0] or '.', (m.SourceFileLoader, ['.py'])).find_spec('nothing'))\n"
                   "sys.pycache_prefix = '/nowhere'\n"
                   "import replaced; print(replaced.value, replaced.__spec__.cached.startswith('/nowhere/'))\n")
        expected = ["source", "1 Loader", "2", "3", "asked for nothing", "None", "source True"]
        self.assertEqual(self.program(program, "--repeat", "2"), expected * 2)

    def test_optimised_code_is_kept_apart(self):
        self.write("asserts.py", '"""Doc."""\nassert False, "not optimised"\n')
        for option in "-O", "-OO":
            run(PYTHON3, option, "-m", "compileall", "-q", self.folder.name)
        time.sleep(3.1)
        program = "import asserts; print(asserts.__doc__, asserts.__cached__.rsplit('.', 3)[2])"
        for option, expected in ("-O", "Doc. opt-1"), ("-OO", "None opt-2"):
            self.assertEqual(self.program(program, option, "--repeat", "2"), [expected] * 2)

    def test_names_that_are_no_names(self):
        self.write("sub/inner.py", "")
        self.write("dot.py", "")
        run(PYTHON3, "-m", "compileall", "-q", self.folder.name)
        time.sleep(3.1)
        program = ("import importlib\n"
                   "for name in 'sub/inner', '/etc/passwd', 'dot.', 'no\\0thing', '\\udc80', 'sub.inner':\n"
                   "    try: print(importlib.import_module(name).__name__)\n"
                   "    except (ImportError, ValueError) as error: print(type(error).__name__)\n")
        ended = run(PYTHON3, "-c", program, env={"PYTHONPATH": self.folder.name})
        self.assertEqual(self.program(program, "--repeat", "2"), ended.stdout.splitlines() * 2)

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

    def test_a_program_may_look_at_what_importlib_has(self):
        program = ("import inspect, importlib.machinery as m\n"
                   "print(*[str(inspect.signature(f)).replace(', /', '') for f in (m.FileFinder.find_spec, m.SourceFileLoader.get_code)])\n"
                   "print(repr(m.FileFinder('/usr')), m.FileFinder('/nowhere').find_spec('x'), m.FileFinder('/usr').find_spec(fullname='x'))\n"
                   "try: m.FileFinder('/usr').find_spec()\n"
                   "except TypeError as error: print('TypeError')\n"
                   "try: m.SourceFileLoader('one', '/one.py').get_code('two')\n"
                   "except ImportError as error: print(error)\n")
        expected = ["(self, fullname, target=None) (self, fullname)", "FileFinder('/usr') None None", "TypeError", "loader for one cannot handle two"]
        for options in [], ["--no-import-cache"]:
            self.assertEqual(self.program(program, *options), expected)

    @harness.needs_gdb
    def test_nothing_is_looked_up_for_a_question_after_imports(self):
        """While a thread waits for a module's lock, all look whether an interrupt was kept when they ask which thread they are."""
        code = "import json, threading; a = [threading.get_ident() for i in range(20000)]; print(len(set(a)))"
        output = harness.gdb(["break interruption_answer", "ignore 1 100000", "run", "info breakpoints"], GORGON, "run", "-c", code)
        self.assertRegex(output, r"(?m)^1$")
        self.assertLess(int(re.search(r"already hit (\d+) time", output)[1]), 5000, output)  # the imports' own


if __name__ == "__main__":
    unittest.main()
