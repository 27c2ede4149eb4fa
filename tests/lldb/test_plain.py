# SPDX-License-Identifier: MIT
"""lldb as it is, without the scripts: functions, lines and whole backtraces in every copy."""

import itertools
import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
# What every backtrace of an interpreter's thread ends with.
# The compiler inlines run_python(), which would be the first here. lldb 16 does not show inlined functions of the library that the host is
# linked with.
BOTTOM = ["run_program", "run_function", "gorgon_call_protect", "run_main", "gorgon_interp_main", "run_interpreter", "start_thread", "__clone3"]

CONSTRUCTOR = """
#include <string.h>
static char text[32];
__attribute__((constructor)) void ctor_start(void)
{
	strcpy(text, "constructed");
	text[0] = 'C';
}
int ctor_size(void)
{
	return (int)strlen(text);
}
"""


class Case(unittest.TestCase):
    def assert_bottom(self, backtrace):
        # A function that the compiler has split is in the backtrace twice.
        functions = [name for name, _ in itertools.groupby(session.functions(backtrace))]
        self.assertEqual(functions[-len(BOTTOM):], BOTTOM, backtrace)

    def assert_quiet(self, output):
        self.assertEqual(session.complaints(output), [])


@harness.needs_lldb
class Live(Case):
    """One session: breakpoints pending before the program runs, three interpreters."""

    @classmethod
    def setUpClass(cls):
        cls.output = harness.lldb(
            ["breakpoint set -n PyList_Append", "breakpoint set -n PyInit__decimal", session.DRIVER, "run",
             session.drive({"PyList_Append": ["once", "bt"], "PyInit__decimal": ["bt"]})],
            harness.HOST, "-n", str(COUNT), session.code())
        cls.addresses = harness.host_addresses(cls.output)
        cls.appends = session.stops(cls.output, "PyList_Append")
        cls.imports = session.stops(cls.output, "PyInit__decimal")
        # Without this the loops below could be empty.
        assert (len(cls.appends), len(cls.imports)) == (COUNT, COUNT), cls.output
        cls.interps = {stop.lwp: session.whose(cls.addresses, stop.pc) for stop in cls.appends}

    def test_program_ends_and_lldb_does_not_complain(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assert_quiet(self.output)

    def test_function_by_name_stops_at_the_same_place_of_each_copy(self):
        self.assertEqual(len(self.addresses), COUNT)
        offsets = {stop.pc - self.addresses[self.interps[stop.lwp]] for stop in self.appends}
        self.assertEqual(len(offsets), 1)
        self.assertEqual(sorted(self.interps.values()), list(range(COUNT)))

    def test_backtrace_goes_from_private_code_to_the_start_of_the_thread(self):
        for stop in self.appends:
            found = session.functions(stop.output["bt"])
            self.assertEqual(found[0], "PyList_Append")
            self.assertIn("Py_InitializeFromConfig", found)
            self.assert_bottom(stop.output["bt"])

    def test_frames_of_the_host_have_lines(self):
        for stop in self.appends:
            self.assertRegex(stop.output["bt"], r"`run_interpreter\(arg=.*\) at host\.c:\d+")

    def test_extension_stops_in_each_copy(self):
        self.assertEqual(sorted(self.interps[stop.lwp] for stop in self.imports), list(range(COUNT)))
        self.assertEqual(len({stop.pc for stop in self.imports}), COUNT)
        for stop in self.imports:
            found = session.functions(stop.output["bt"])
            self.assertEqual(found[0], "PyInit__decimal")
            self.assertIn("_PyEval_EvalFrameDefault", found)
            self.assert_bottom(stop.output["bt"])


@harness.needs_lldb
class Lines(Case):
    """Code that is registered while lldb is attached: a static function, a file and line, steps, backtraces. Copies have
    symfiles of their own, or with many interpreters the symfiles that replace these."""

    def check(self, count):
        line = session.libpython_symbol("PyLong_FromUnicodeObject")[1]  # nobody calls this function here
        output = harness.lldb(
            ["breakpoint set -n time_sleep -N sleep", f"breakpoint set -f longobject.c -l {line} -N line",
             session.DRIVER, "run", session.drive({"time_sleep": ["bt", "breakpoint list sleep", "breakpoint list line"]})],
            harness.GORGON, "run", "-n", str(count), "-c", "import time; time.sleep(0.01)")
        stops = session.stops(output, "time_sleep")
        # Threads that come to the breakpoint at the same moment stop once.
        hits = re.findall(r"address = (0x\w+), resolved, hit count = 1 *$", stops[-1].output["breakpoint list sleep"], re.M)
        self.assertEqual(len(set(hits)), count, output)
        for stop in stops:
            lines = re.findall(r"frame #\d+: 0x\w+ JIT\(0x\w+\)`(\S+) at ([\w.]+):\d+", stop.output["bt"])
            self.assertEqual(lines[0], ("time_sleep", "timemodule.c"), stop.output["bt"])
            # Since CPython 3.12 ceval.c includes the code that it runs.
            self.assertIn(dict(lines).get("_PyEval_EvalFrameDefault"), ("ceval.c", "generated_cases.c.h"), lines)
            self.assertIn("start_thread", session.functions(stop.output["bt"]))
        for name, where in (("breakpoint list sleep", r"time_sleep .*at timemodule\.c"),
                            ("breakpoint list line", r"PyLong_FromUnicodeObject .*at longobject\.c")):
            listed = re.findall(rf"where = JIT\(0x\w+\)`{where}:\d+, address = (0x\w+)", stops[-1].output[name])
            self.assertEqual(len(set(listed)), count, stops[-1].output[name])
        self.assertTrue(session.ended(output), output[-500:])
        self.assert_quiet(output)

    def test_steps(self):
        output = harness.lldb(["breakpoint set -n time_sleep", "run", "next", "finish"],
                              harness.GORGON, "run", "-n", "1", "-c", "import time; time.sleep(0.01)")
        self.assertRegex(output, r"stop reason = step over\n.*`time_sleep at timemodule\.c:\d+")
        self.assertRegex(output, r"stop reason = step out\n.*`(cfunction_vectorcall_O|PyObject_Vectorcall)(\.\w+)* .*at \w+\.[ch]:\d+")
        self.assert_quiet(output)

    def test_three(self):
        self.check(COUNT)

    def test_twelve(self):
        self.check(12)


@harness.needs_lldb
class Constructor(Case):
    """A breakpoint in code that runs while the library is being loaded."""

    def test_it_stops_before_the_constructor_in_each_copy(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "ctor.c"), os.path.join(folder, "libctor.so")
            with open(source, "w") as file:
                file.write(CONSTRUCTOR)
            made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
            self.assertEqual(made.returncode, 0, made.stderr)
            output = harness.lldb(
                ["breakpoint set -n ctor_start", session.DRIVER, "run", session.drive({"ctor_start": ["bt"]})],
                harness.HOST, "-n", str(COUNT),
                f"import sys, ctypes; sys.stdout.write('size %d\\n' % ctypes.CDLL('{library}').ctor_size())")
        stops = session.stops(output, "ctor_start")
        self.assertEqual(len({stop.lwp for stop in stops}), COUNT, output)
        self.assertEqual(len({stop.pc for stop in stops}), COUNT)
        # The first stop is before any constructor has run, so before anybody could print.
        self.assertLess(output.index("=== stop "), output.index("size 11"))
        self.assertEqual(output.count("size 11"), COUNT)
        for stop in stops:
            found = session.functions(stop.output["bt"])
            self.assertEqual(found[0], "ctor_start")
            self.assertIn("dl_open_for", found)
            self.assertIn("_PyEval_EvalFrameDefault", found)
            self.assert_bottom(stop.output["bt"])
        self.assert_quiet(output)


@harness.needs_lldb
class Destroyed(Case):
    """Locations go with an interpreter, and come with a new one."""

    def test_locations_follow_the_interpreters(self):
        output = harness.lldb(
            ["breakpoint set -n PyList_Append -N append", "breakpoint set -n host_created", "breakpoint set -n host_destroyed",
             session.DRIVER, "run", session.drive({"PyList_Append": ["once"], 0: ["breakpoint list append"]})],
            harness.HOST, "-n", str(COUNT), "-d", "1", "-a", session.code())
        addresses = harness.host_addresses(output)
        # A new interpreter may have the addresses of an interpreter that has gone, so addresses are compared.
        listed = [{addresses[session.whose(addresses, int(a, 16))]
                   for a in re.findall(r"address = (0x\w+), resolved", stop.output["breakpoint list append"])}
                  for stop in session.stops(output, "host_created", "host_destroyed")]
        expected = [{addresses[i] for i in living} for living in ((0, 1, 2), (0, 2), (0, 2, 3))]
        self.assertEqual(len(listed), 3, output)
        self.assertEqual(listed[:2], expected[:2])
        # Interpreters that have run keep their location, which was disabled at its stop.
        self.assertIn(addresses[3], listed[2])
        self.assertEqual({addresses[session.whose(addresses, stop.pc)] for stop in session.stops(output, "PyList_Append")}, expected[2])
        self.assertTrue(session.ended(output), output[-500:])
        self.assert_quiet(output)


@harness.needs_lldb
class Stripped(Case):
    """numpy as Debian ships it, without debug information."""

    def test_exported_function_stops_in_each_copy_and_unwinds(self):
        output = harness.lldb(
            ["breakpoint set -n PyInit__multiarray_umath", session.DRIVER, "run",
             session.drive({"PyInit__multiarray_umath": ["bt", "breakpoint set --one-shot true -n Py_SetRecursionLimit"], 0: ["bt"]})],
            harness.HOST, "-n", str(COUNT), "import sys, numpy; called = numpy.frompyfunc(lambda i: sys.setrecursionlimit(1000 + i), 1, 1); "
            "called(numpy.arange(1)); sys.stdout.write('sum %d\\n' % numpy.arange(5).sum())")
        stops = session.stops(output, "PyInit__multiarray_umath")
        self.assertEqual(len({stop.lwp for stop in stops}), COUNT, output)
        self.assertEqual(len({stop.pc for stop in stops}), COUNT)
        for stop in stops:
            self.assertEqual(session.functions(stop.output["bt"])[0], "PyInit__multiarray_umath")
            self.assert_bottom(stop.output["bt"])
        modules = {stop.lwp: session.frames(stop.output["bt"])[0][0] for stop in stops}
        inside = session.stops(output, "?", "Py_SetRecursionLimit")
        self.assertTrue(inside, output)
        for stop in inside:
            # numpy calls back into Python.
            found = session.functions(stop.output["bt"])
            self.assertEqual(found[0], "Py_SetRecursionLimit")
            numpy = [i for i, (module, _) in enumerate(session.frames(stop.output["bt"])) if module == modules[stop.lwp]]
            self.assertTrue(numpy, stop.output["bt"])
            for part in found[:numpy[0]], found[numpy[-1]:]:
                self.assertIn("_PyEval_EvalFrameDefault", part)
            self.assert_bottom(stop.output["bt"])
        self.assertEqual(output.count("sum 10"), COUNT)


@harness.needs_lldb
class Afterwards(Case):
    """Attached to a process that has been running, and from a core that gcore has made."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        core = os.path.join(cls.folder.name, "core")
        with harness.Background(harness.HOST, "-n", COUNT, session.code(wait=600), until=r"(?s)(ready.*){3}", asleep=3) as host:
            cls.addresses = harness.host_addresses(host.output)
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.lldb(["bt all", "detach"], options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.lldb([f"target create {harness.HOST} --core {core}.{host.pid}", "bt all"])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, output):
        sleeping = [text for text in session.threads(output) if "_PyEval_EvalFrameDefault" in text]
        self.assertEqual(len(sleeping), COUNT, output)
        pcs = []
        for text in sleeping:
            self.assertIn("Py_RunMain", session.functions(text))
            self.assert_bottom(text)
            pcs.append(int(re.search(r"(0x\w+) [^`]*`PyObject_Vectorcall", text)[1], 16))
        # Each thread is in a copy of its own: the same place relative to what the host has printed.
        self.assertEqual(len({pc - a for pc, a in zip(sorted(pcs), sorted(self.addresses.values()))}), 1)

    def test_attached_shows_names_and_backtraces_of_each(self):
        self.check(self.attached)

    def test_core_shows_names_and_backtraces_of_each(self):
        self.check(self.core)


if __name__ == "__main__":
    unittest.main()
