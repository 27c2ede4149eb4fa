# SPDX-License-Identifier: MIT
"""Cores that the kernel has written, with its default filter: what gdb shows of the process before and of
its core, here and on another machine with the same files under a sysroot, side by side."""

import glob
import os
import re
import signal
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import elsewhere  # noqa: E402
import gdb_session as session  # noqa: E402
from terminal import Terminal  # noqa: E402

COUNT = 2
WAIT_LINE = harness.source_line(session.WALK, "// where attached sessions find it")
MAIN_LINE = harness.source_line(session.WALKER, "# the main thread's line")
SECOND_LINE = harness.source_line(session.WALKER, "# the second thread's line")
CRASH = os.path.join(session.HERE, "crash.py")
CRASH_LINE = harness.source_line(CRASH, "# the last line")
PATTERN = "/proc/sys/kernel/core_pattern"

BACKTRACES = session.backtraces(COUNT)
WORDS = session.words(COUNT)
PLAIN = ["thread apply all -s bt"]


def kernel_writes_cores():
    """Whether the kernel writes cores into the current folder."""
    with open(PATTERN) as file:
        return not re.match(r"[|/]", file.read())


@harness.needs_gdb
@unittest.skipUnless(kernel_writes_cores(), f"{PATTERN} does not put cores into the current folder")
class Aborted(unittest.TestCase):
    """Both threads of each interpreter wait in their steps; a signal ends the process."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        start = f'cd {cls.folder.name} && ulimit -c unlimited && exec "$@"'
        with harness.Background("sh", "-c", start, "sh", harness.HOST, "-n", COUNT, session.walk(wait=600, with_numpy=1),
                                until=r"(?s)(walk: number.*){4}", asleep=4) as host:
            cls.steps = session.steps(host.output)
            cls.live = session.answers(harness.gdb(session.commands(WORDS), script=True, options=["-p", str(host.pid)]))
            cls.live_plain = session.answers(harness.gdb(session.commands(PLAIN), options=["-p", str(host.pid)]))
            files = [*elsewhere.files_of(host.pid), session.WALKER]
            os.kill(host.pid, signal.SIGABRT)
            host.process.wait()
        (core,) = glob.glob(f"{cls.folder.name}/core*")
        cls.core = session.answers(cls.gdb([], core, WORDS, script=True))
        cls.core_plain = session.answers(cls.gdb([], core, PLAIN))
        cls.make_elsewhere(core, files)

    @classmethod
    def gdb(cls, settings, core, words, host=harness.HOST, run=harness.gdb, **options):
        return run([*settings, f"file {host}", f"core-file {core}", *session.commands(words)], **options)

    @classmethod
    def make_elsewhere(cls, core, files):
        cls.elsewhere = elsewhere.available()
        if not cls.elsewhere:
            return
        sysroot = cls.sysroot = os.path.join(cls.folder.name, "sysroot")
        elsewhere.copy(sysroot, files)

        def there(settings, words, **options):
            output = cls.gdb(settings, core, words, sysroot + harness.HOST,
                             lambda lines, **more: elsewhere.gdb(sysroot, files, lines, **more), **options)
            return session.answers(output.replace(sysroot, ""))

        cls.there = there([], WORDS, script=True)
        cls.there_plain = there([], PLAIN)
        cls.there_late = cls.set_late(core, files).replace(sysroot, "")
        cls.there_told = there([f"set debug-file-directory {sysroot}{elsewhere.DEBUG}:{sysroot}"], PLAIN)

    @classmethod
    def set_late(cls, core, files):
        """For a user who forgets the sysroot at first: gdb reads the list of the JIT interface only when it opens a
        core."""
        with tempfile.NamedTemporaryFile("w", suffix=".hidden") as listing, \
                Terminal(cls.sysroot + harness.HOST, before=elsewhere.UNSHARE) as gdb:
            for line in (elsewhere.hiding(listing, files), f"source {harness.GDB_SCRIPT}", f"core-file {core}",
                         f"set sysroot {cls.sysroot}", f"core-file {core}"):
                gdb.ask(line)
            return gdb.ask(BACKTRACES[1])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_same(self, expected, found):
        for word in expected.keys() - {"after"}:
            with self.subTest(word):
                self.assertEqual(found[word].splitlines(), expected[word].splitlines())

    def test_live_session_says_what_the_program_does(self):
        """Without these values the comparisons would compare nothing."""
        for i in range(COUNT):
            text = self.live[BACKTRACES[i]]
            self.assertEqual(text.count(f" in walk_step from walk.so [interp {i}] "), 2)
            self.assertEqual(text.count(f" at tests/modules/walk.cc:{WAIT_LINE}\n"), 2)
            for line, function in ((MAIN_LINE, "<module>"), (SECOND_LINE, "second")):
                self.assertRegex(text, rf'File "{session.WALKER}", line {line}, in {function}\n +.*walk\.go\(')

    def test_core_says_the_same(self):
        self.assert_same(self.live, self.core)

    def test_core_says_the_same_to_plain_gdb(self):
        self.assertGreater(self.live_plain[PLAIN[0]].count(f"walk.cc:{WAIT_LINE}"), COUNT)
        self.assert_same(self.live_plain, self.core_plain)

    def needs_elsewhere(self):
        if not self.elsewhere:
            self.skipTest("unshare is not installed, or not allowed")

    def test_core_says_the_same_on_another_machine(self):
        self.needs_elsewhere()
        self.assert_same(self.live, self.there)

    def test_a_core_that_is_loaded_again_when_the_sysroot_is_known(self):
        self.needs_elsewhere()
        self.assertEqual(session.settled(self.there_late).splitlines(), self.live[BACKTRACES[1]].splitlines())

    def test_plain_gdb_misses_debug_links_on_another_machine(self):
        """Names and callers are right. A newer gdb finds these files itself, without the scripts."""
        self.needs_elsewhere()
        found, expected = self.there_plain[PLAIN[0]], self.live_plain[PLAIN[0]]
        # Of a C++ function about which gdb knows nothing else it says the types of the arguments.
        self.assertEqual([name.partition("(")[0] for name in session.frames(found)], session.frames(expected))
        self.assertIn("walk.cc", expected)
        self.assertNotIn("walk.cc", found)
        self.assertIn("ceval.c:", found, "a build-id is enough")

    def test_plain_gdb_finds_debug_links_where_it_is_told_to_look(self):
        self.needs_elsewhere()
        self.assert_same(self.live_plain, self.there_told)


@harness.needs_gdb
@unittest.skipUnless(kernel_writes_cores(), f"{PATTERN} does not put cores into the current folder")
class Crashed(unittest.TestCase):
    """A fault in a private extension module."""

    def test_core_says_whose_fault_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = harness.run("sh", "-c", f'cd {folder} && ulimit -c unlimited && exec "$@"', "sh",
                                harness.GORGON, "run", "-n", COUNT, CRASH)
            self.assertEqual(ended.returncode, -signal.SIGSEGV, ended.stderr)
            (core,) = glob.glob(f"{folder}/core*")
            output = harness.gdb([f"core-file {core}", *session.commands(["gorgon whose $pc", "gorgon bt", "gorgon bt -i 0"])],
                                 harness.GORGON, script=True)
        found = session.answers(output)
        self.assertIn("Program terminated with signal SIGSEGV", output)
        self.assertRegex(found["gorgon whose $pc"], rf": interpreter 1, _ctypes{re.escape(harness.EXT_SUFFIX)}, "
                         r"O_get\+\d+, (cfield\.c|object\.h|refcount\.h):\d+$")
        self.assertRegex(found["gorgon bt"], r"(?s)^#0 .*\bO_get from _ctypes\S+ \[interp 1\] .* in _PyEval_EvalFrameDefault from "
                         rf'[^\n]*\n +File "{CRASH}", line {CRASH_LINE}, in crash\n +return ctypes\.cast.*\n'
                         rf' +File "{CRASH}", line \d+, in <module>\n')
        self.assertRegex(found["gorgon bt -i 0"], rf'(?s)time_sleep from .* \[interp 0\].*File "{CRASH}", line \d+, in <module>\n')


MANY = 9
FAULT = """
int fault_inner(int *to, int value)
{
	int twice = 2 * value;
	*to = twice; /* the fault */
	return twice;
}
int fault_outer(int n)
{
	int before = n + 1;
	before = fault_inner(0, before);
	return before;
}
"""


@harness.needs_gdb
@unittest.skipUnless(kernel_writes_cores(), f"{PATTERN} does not put cores into the current folder")
class Many(unittest.TestCase):
    """A core with more interpreters than gdb is given debug information of. In a core there is no stop at which scripts
    could add it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source, library = (os.path.join(cls.folder.name, name) for name in ("fault.c", "libfault.so"))
        with open(source, "w") as file:
            file.write(FAULT)
        cls.line = harness.source_line(source, "the fault")
        made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
        assert made.returncode == 0, made.stderr
        code = (f"import ctypes, gorgon, time; fault = ctypes.CDLL('{library}'); me = gorgon.interpreter\n"
                f"if me == 3: time.sleep(1); fault.fault_outer(3)\ntime.sleep(600)")
        ended = harness.run("sh", "-c", f'cd {cls.folder.name} && ulimit -c unlimited && exec "$@"', "sh",
                            harness.HOST, "-n", MANY, code)
        assert ended.returncode == -signal.SIGSEGV, ended.stderr
        (cls.core,) = glob.glob(f"{cls.folder.name}/core*")

    def assert_variables(self, output):
        self.assertRegex(output, rf"(?m)^#0 .*fault_inner from libfault\.so \[interp 3\] \(to=0x0, value=4\) at \S*fault\.c:{self.line}$")
        self.assertRegex(output, r"(?m)^#1 .*fault_outer from libfault\.so \[interp 3\] \(n=3\) at ")
        self.assertRegex(output, r"(?m)^twice = 8$")
        self.assertEqual(session.complaints(output), [])

    def test_variables_without_a_prompt(self):
        scripts = ["-iex", f"source {harness.GDB_SCRIPT}"]
        self.assert_variables(harness.gdb(["bt 2", "info locals"], options=[*scripts, harness.HOST, self.core]))

    def test_variables_when_the_scripts_are_read_later(self):
        self.assert_variables(harness.gdb(["bt 2", "info locals"], options=[harness.HOST, self.core], script=True))

    def test_variables_of_a_thread_that_is_selected_later(self):
        with Terminal(harness.HOST) as gdb:
            for line in (f"source {harness.GDB_SCRIPT}", f"core-file {self.core}"):
                gdb.ask(line)
            number = next(n for n in range(2, 6) if "sleep" in gdb.ask(f"thread apply {n} bt"))
            gdb.ask(f"thread {number}")
            found = gdb.ask("frame function _PyEval_EvalFrameDefault")
            self.assertRegex(found, r"_PyEval_EvalFrameDefault \(tstate=")
            self.assertIn("_PyEval_EvalFrameDefault (", gdb.ask("frame"), "it stays selected")


if __name__ == "__main__":
    unittest.main()
