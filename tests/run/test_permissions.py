# SPDX-License-Identifier: MIT
"""`gorgon run --deny`: each refusal is a clear exception, and what is not denied works."""

import unittest

from harness import DYNLOAD, GORGON, run

IN_C = "_bz2"  # a module of the standard library that is a file of its own in each version


def told(code, *options):
    ended = run(GORGON, "run", *options, "-c", code)
    return ended.returncode, ended.stdout, ended.stderr.strip().splitlines()[-1:]


def name(statement):
    """Code that prints the type and the text of the exception that a statement raises."""
    return (f"try:\n {statement}\nexcept Exception as error: print(type(error).__name__, error, sep=': ')\n"
            "else: print('nothing')\n")


class Permissions(unittest.TestCase):
    def check(self, code, expected, *options):
        self.assertEqual(told(code, *options), (0, expected, []))

    def test_extensions(self):
        status, out, _ = told(name(f"import {IN_C}"), "--deny", "extensions")
        self.assertEqual(status, 0)
        self.assertRegex(out, rf"^ImportError: {DYNLOAD}/{IN_C}\S+: the host denies this interpreter extension modules\n$")
        # A module that is built into libpython or written in Python is no extension.
        self.check("import sys, json, dataclasses; print(json.loads('[1]'))", "[1]\n", "--deny", "extensions")

    def test_extensions_on_the_list(self):
        for allowed in (f"{IN_C}.*", f"{DYNLOAD}/*"):
            with self.subTest(allowed):
                self.check(name(f"import {IN_C}"), "nothing\n", "--deny", "extensions", "--allow-extension", allowed)
        _, out, _ = told(name("import _ctypes"), "--deny", "extensions", "--allow-extension", f"{IN_C}.*")
        self.assertIn("extension modules that are not on its list", out)

    def test_libraries(self):
        code = "import ctypes\nctypes.CDLL(None)\n" + name("ctypes.CDLL('libz.so.1')")
        self.check(code, "OSError: libz.so.1: the host denies this interpreter to open libraries\n", "--deny", "libraries")
        self.check(code, "nothing\n", "--deny", "exec")

    def test_fork(self):
        code = "import os, subprocess\n" + "".join(map(name, (
            "os.fork()", "subprocess.run(['true'])", "os.posix_spawn('/bin/true', ['true'], {})", "os.forkpty()")))
        lines = told(code, "--deny", "fork")[1].splitlines()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, r"^PermissionError: \[Errno 1\] Operation not permitted")
        self.check("import os; print(os.system('true'))", "-1\n", "--deny", "fork")

    def test_exec(self):
        code = "import os, subprocess\n" + "".join(map(name, (
            "subprocess.run(['true'])", "os.execv('/bin/true', ['true'])", "os.execve('/bin/true', ['true'], {})",
            "os.posix_spawn('/bin/true', ['true'], {})")))
        lines = told(code, "--deny", "exec")[1].splitlines()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, r"^PermissionError: \[Errno 1\] Operation not permitted")
        self.check("import os\npid = os.fork()\nif not pid: os._exit(5)\nprint(os.waitpid(pid, 0)[1] >> 8)", "5\n",
                   "--deny", "exec")

    def test_signals(self):
        code = ("import asyncio, signal\n" + name("signal.signal(signal.SIGUSR1, print)") +
                "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\nasync def f(): return 7\nprint(asyncio.run(f()))\n"
                "try: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: print('interrupted')")
        self.check(code, "PermissionError: [Errno 1] Operation not permitted\n7\ninterrupted\n", "--deny", "signals")

    def test_several_at_once_and_again(self):
        code = "import os\n" + name("os.fork()") + name("os.execv('/bin/true', ['true'])")
        self.check(code, "PermissionError: [Errno 1] Operation not permitted\n" * 8,
                   "--deny", "fork,exec", "--repeat", "2", "-n", "2")

    def test_what_cannot_be(self):
        status, _, last = told("pass", "--deny", "fork,all")
        self.assertEqual(status, 2)
        self.assertIn("--deny all: expected extensions, libraries, fork, exec or signals", last[0])
        status, _, last = told("pass", "--deny", "fork", "--isolate", "copy")
        self.assertEqual(status, 3)
        self.assertIn("its code can be denied nothing", last[0])


if __name__ == "__main__":
    unittest.main()
