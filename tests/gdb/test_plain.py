# SPDX-License-Identifier: MIT
"""gdb as it is, without the scripts: names, lines, arguments and backtraces in every copy."""

import itertools
import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 3
# Functions that every backtrace of an interpreter's thread ends with.
BOTTOM = ["run_python", "run_program", "run_function", "gorgon_call_protect", "run_main", "gorgon_interp_main", "run_interpreter", "start_thread", "clone3"]
# What has called a method without arguments and is a function of its own; 3.14 calls the method from there.
CALLER = "PyObject_Vectorcall" if tuple(map(int, harness.VERSION.split("."))) >= (3, 14) else "method_vectorcall_NOARGS"

TOUCH = harness.source_line(session.WALK, "walk_depth += 3 * number;")

CONSTRUCTOR = """
#include <string.h>
static char text[32];
__attribute__((constructor)) static void ctor_start(void)
{
	strcpy(text, "constructed"); /* the constructor's line */
	text[0] = 'C';
}
int ctor_size(void)
{
	return (int)strlen(text);
}
"""


LINKAGE = """
#include <unistd.h>
int linkage_parent(void)
{
	int parent = getppid(); /* the call */
	return parent; /* after it */
}
"""
MANY = 9  # one more than gdb is given all debug information of
HUNDREDS = 160
MODULE = """
static int many_total;
static int many_static(int n)
{
	int twice = 2 * n; /* the static function's first line */
	many_total += twice;
	return many_total;
}
int many_entry(int n)
{
	int before = n + 1;
	before = many_static(before); /* the call */
	return before - 1; /* after it */
}
"""


def sleep_line():
    """The first line of time_sleep, as gdb sees it in the library file alone."""
    return int(re.search(r"^Line (\d+) of", harness.gdb(["info line time_sleep"], harness.LIBPYTHON), re.M)[1])


class Case(unittest.TestCase):
    def assert_bottom(self, backtrace):
        # A function that the compiler has split is in the backtrace twice.
        functions = [name for name, _ in itertools.groupby(session.frames(backtrace))]
        self.assertEqual(functions[-len(BOTTOM):], BOTTOM, backtrace)

    def assert_quiet(self, output):
        self.assertEqual(session.complaints(output), [])


@harness.needs_gdb
class ThreadLocal(Case):
    """The function that finds a thread-local variable has no lines, so "step" goes over it, as over the system's."""

    def test_step_goes_to_the_next_line(self):
        output = harness.gdb([f"break walk.cc:{TOUCH}", "run", "step", "step"], harness.HOST, "-n", 1, session.walk())
        self.assertEqual([int(line) for line in re.findall(r"^(\d+)\t", output, re.M)], [TOUCH, TOUCH + 1, TOUCH + 2], output)
        self.assert_quiet(output)


@harness.needs_gdb
class Live(Case):
    """One session: all breakpoints pending before the program runs, three interpreters."""

    @classmethod
    def setUpClass(cls):
        cls.line = sleep_line()
        cls.output = harness.gdb(
            ["break PyList_Append", f"break timemodule.c:{cls.line}", "break dec_mpd_isnan", session.LOOP, "run",
             f'python drive({{"PyList_Append": ["once", "bt"],'
             f' "timemodule.c:{cls.line}": ["bt", "print ((PyFloatObject *)timeout_obj)->ob_fval", "info locals"],'
             f' "dec_mpd_isnan": ["bt", "frame function {CALLER}", "print ((PyDecObject *)args[0])->dec.data[0]"]}})'],
            harness.HOST, "-n", COUNT, session.code())
        cls.addresses = harness.host_addresses(cls.output)
        cls.appends = session.stops(cls.output, "PyList_Append")
        cls.sleeps = session.stops(cls.output, f"timemodule.c:{cls.line}")
        cls.decimals = session.stops(cls.output, "dec_mpd_isnan")
        # Without this the loops below could be empty.
        assert len(cls.appends) == len(cls.sleeps) == COUNT and len(cls.decimals) >= COUNT, cls.output
        # Each interpreter runs on one thread; the address of its PyList_Append says which.
        cls.interps = {stop.lwp: session.whose(cls.addresses, stop.pc) for stop in cls.appends}

    def interp(self, stop):
        return self.interps[stop.lwp]

    def test_program_ends_and_gdb_does_not_complain(self):
        self.assertIn("exited normally", self.output)
        self.assertIn("=== end", self.output)
        self.assert_quiet(self.output)

    def test_function_by_name_stops_at_the_address_of_each_copy(self):
        self.assertEqual(len(self.addresses), COUNT)
        self.assertEqual(sorted(stop.pc for stop in self.appends), sorted(self.addresses.values()))
        self.assertEqual(sorted(self.interps.values()), list(range(COUNT)))

    def test_function_by_name_has_arguments_and_a_whole_backtrace(self):
        for stop in self.appends:
            backtrace = stop.output["bt"]
            self.assertRegex(backtrace, r"^#0  PyList_Append \(op=0x[0-9a-f]+, newitem=0x[0-9a-f]+\) at \S+:\d+\n")
            names = session.frames(backtrace)
            # Since 3.12 the function has the second name.
            self.assertIn(names[1], ("list_builtin_module_names", "_PyImport_GetBuiltinModuleNames"), backtrace)
            self.assertIn("Py_InitializeFromConfig", names)
            self.assert_bottom(backtrace)

    def test_line_of_a_file_stops_once_in_each_copy(self):
        self.assertEqual(sorted(map(self.interp, self.sleeps)), list(range(COUNT)))
        offsets = {stop.pc - self.addresses[self.interp(stop)] for stop in self.sleeps}
        self.assertEqual(len(offsets), 1, "the same place in each copy")
        for stop in self.sleeps:
            self.assertRegex(stop.output["bt"], r"^#0  time_sleep \(self=0x\w+, timeout_obj=0x\w+\) "
                             rf"at \S*Modules/timemodule\.c:{self.line}\n")
            names = session.frames(stop.output["bt"])
            self.assertIn("_PyEval_EvalFrameDefault", names)
            self.assertIn("Py_RunMain", names)
            self.assert_bottom(stop.output["bt"])

    def test_arguments_have_the_values_of_their_interpreter(self):
        values = {self.interp(stop): float(stop.output["print ((PyFloatObject *)timeout_obj)->ob_fval"].split("=")[1])
                  for stop in self.sleeps}
        self.assertEqual(values, {i: 0.125 * (i + 1) for i in range(COUNT)})

    def test_locals_are_shown(self):
        for stop in self.sleeps:
            self.assertRegex(stop.output["info locals"], r"^timeout = ")

    def test_static_function_of_an_extension_stops_in_each_copy(self):
        self.assertEqual(sorted(set(map(self.interp, self.decimals))), list(range(COUNT)))
        for stop in self.decimals:
            backtrace = stop.output["bt"]
            names = session.frames(backtrace)
            # The first frames are code that was inlined into it.
            caller = next(i for i, name in enumerate(names) if name != "dec_mpd_isnan")
            self.assertIn(names[caller], ("method_vectorcall_NOARGS", "_PyObject_VectorcallTstate"), backtrace)
            self.assertRegex(backtrace, r"^#0 .* at \S*Modules/_decimal/\S+\.[ch]:\d+\n")
            self.assertRegex(backtrace, rf"\n#{caller} .* at \S*(Objects/descrobject\.c|pycore_call\.h):\d+\n")
            self.assert_bottom(backtrace)

    def test_static_function_of_an_extension_sees_its_own_data(self):
        # In the function itself gdb may say that self is optimized out; the caller still has it.
        shown = [(self.interp(stop), stop.output["print ((PyDecObject *)args[0])->dec.data[0]"])
                 for stop in self.decimals]
        found = [(i, re.match(r"\$\d+ = (\d+)\n", text)) for i, text in shown]
        values = {(i, int(match[1])) for i, match in found if match}
        self.assertEqual(values, {(i, 100 + i) for i in range(COUNT)})


@harness.needs_gdb
class Constructor(Case):
    """A breakpoint in code that runs while the library is being loaded."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source = os.path.join(cls.folder.name, "ctor.c")
        library = os.path.join(cls.folder.name, "libctor.so")
        with open(source, "w") as file:
            file.write(CONSTRUCTOR)
        cls.line = harness.source_line(source, "the constructor's line")
        made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
        assert made.returncode == 0, made.stderr
        cls.output = harness.gdb(
            ["break ctor_start", session.LOOP, "run",
             'python drive({"ctor_start": ["bt", "print text[0]", "set scheduler-locking on",'
             ' "next", "print text", "set scheduler-locking off"]})'],
            harness.HOST, "-n", COUNT,
            f"import sys, ctypes; sys.stdout.write('size %d\\n' % ctypes.CDLL('{library}').ctor_size())")
        cls.stops = session.stops(cls.output, "ctor_start")
        assert len(cls.stops) == COUNT, cls.output

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_it_stops_before_the_first_line_in_each_copy(self):
        self.assertEqual(len({stop.lwp for stop in self.stops}), COUNT, self.output)
        self.assertEqual(len({stop.pc for stop in self.stops}), COUNT)
        for stop in self.stops:
            self.assertRegex(stop.output["bt"], rf"^#0  ctor_start \(\) at \S*ctor\.c:{self.line}\n")
            # This copy's variable is still empty, whatever the constructors of other copies have done.
            self.assertIn("= 0 ", stop.output["print text[0]"])
            self.assertRegex(stop.output["next"], rf"^{self.line + 1}\t")
            self.assertIn('= "constructed"', stop.output["print text"])
        self.assertEqual(self.output.count("size 11"), COUNT)
        self.assert_quiet(self.output)

    def test_backtrace_goes_through_the_import_to_the_thread(self):
        for stop in self.stops:
            names = session.frames(stop.output["bt"])
            self.assertIn("_PyEval_EvalFrameDefault", names)
            self.assert_bottom(stop.output["bt"])


@harness.needs_gdb
class Linkage(Case):
    """Entries of the procedure linkage table, through which a library calls functions of others, have names as in a
    library of the system's linker."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "linkage.c"), os.path.join(folder, "liblinkage.so")
            with open(source, "w") as file:
                file.write(LINKAGE)
            cls.after = harness.source_line(source, "after it")
            made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-fplt", "-o", library, source)
            assert made.returncode == 0, made.stderr
            entry = "python gdb.execute('tbreak *' + next(line.split()[-2] for line in " \
                    "gdb.execute('disassemble', to_string=True).splitlines() if 'getppid@plt' in line))"
            cls.output = harness.gdb(
                ["break linkage_parent", session.LOOP, "run",
                 "python drive({'linkage_parent': ['set scheduler-locking on', 'disassemble', " + repr(entry) + ", 'continue', 'bt 2', "
                 "'finish', 'step', 'set scheduler-locking off']}, 12)"],
                harness.HOST, "-n", COUNT, f"import ctypes; ctypes.CDLL('{library}').linkage_parent()")
        cls.stops = session.stops(cls.output, "linkage_parent")
        assert len(cls.stops) == COUNT, cls.output

    def test_entries_have_the_names_of_functions(self):
        for stop in self.stops:
            self.assertRegex(stop.output["disassemble"], r"call +0x\w+ <getppid@plt>\n")
            self.assertRegex(stop.output["bt 2"], r"^#0  0x\w+ in getppid@plt \(\).*\n#1  0x\w+ in linkage_parent \(\) at ")

    def test_steps_go_on_behind_them(self):
        for stop in self.stops:
            self.assertRegex(stop.output["finish"], r"linkage_parent \(\) at ")
            self.assertRegex(stop.output["step"], rf"^{self.after}\t")
        self.assertIn("exited normally", self.output)
        self.assert_quiet(self.output)


@harness.needs_gdb
class Destroyed(Case):
    """Locations go with an interpreter, and come with a new one."""

    @classmethod
    def setUpClass(cls):
        cls.output = harness.gdb(
            ["break time_sleep", "break host_created", "break host_destroyed", session.LOOP, "run",
             'python drive({"time_sleep": ["bt 1"], 0: ["info breakpoints"]})'],
            harness.HOST, "-n", COUNT, "-d", "1", "-a", session.code())
        cls.addresses = harness.host_addresses(cls.output)
        # The distance from PyList_Append to time_sleep, which is the same in each copy.
        cls.offsets = session.offsets("time_sleep")

    @staticmethod
    def locations(stop):
        return {int(a, 16) for a in re.findall(r"^\d+(?:\.\d+)?\s.*(0x[0-9a-f]{16}) in time_sleep at",
                                               stop.output["info breakpoints"], re.M)}

    def test_locations_of_a_destroyed_interpreter_are_gone(self):
        first, last = session.stops(self.output, "host_created")
        (destroyed,) = session.stops(self.output, "host_destroyed")
        for stop, living in ((first, (0, 1, 2)), (destroyed, (0, 2)), (last, (0, 2, 3))):
            self.assertEqual(self.locations(stop), {self.addresses[i] + offset for i in living for offset in self.offsets})

    def test_only_living_interpreters_stop(self):
        hits = session.stops(self.output, "time_sleep")
        self.assertEqual(len(hits), COUNT)
        self.assertEqual({stop.pc for stop in hits}, {self.addresses[i] + min(self.offsets) for i in (0, 2, 3)})
        self.assertIn("exited normally", self.output)
        self.assert_quiet(self.output)


@harness.needs_gdb
class Stripped(Case):
    """numpy as Debian ships it, without debug information: names come from .dynsym, and
    unwinding from the symfile's copy of .eh_frame. It calls back into Python."""

    CORE = f"/usr/lib/python3/dist-packages/numpy/{harness.NUMPY_CORE}/_multiarray_umath{harness.EXT_SUFFIX}"

    @classmethod
    def setUpClass(cls):
        cls.output = harness.gdb(
            ["break PyInit__multiarray_umath", session.LOOP, "run",
             'python drive({"PyInit__multiarray_umath": ["bt 1", "eval \\"tbreak Py_SetRecursionLimit thread %d\\", $_thread"], 0: ["bt"]})'],
            harness.HOST, "-n", COUNT, "import sys, numpy; called = numpy.frompyfunc(lambda i: sys.setrecursionlimit(1000 + i), 1, 1); "
            "called(numpy.arange(1)); sys.stdout.write('sum %d\\n' % numpy.arange(5).sum())")
        cls.stops = session.stops(cls.output, "PyInit__multiarray_umath")
        assert len(cls.stops) == COUNT, cls.output

    def test_exported_function_stops_in_each_copy(self):
        self.assertEqual(len({stop.lwp for stop in self.stops}), COUNT, self.output)
        self.assertEqual(len({stop.pc for stop in self.stops}), COUNT)
        for stop in self.stops:
            self.assertRegex(stop.output["bt 1"], r"^#0  0x\w+ in PyInit__multiarray_umath \(\)")
        self.assertEqual(self.output.count("sum 10"), COUNT)
        self.assert_quiet(self.output)

    def test_backtrace_passes_through_its_frames(self):
        inside = session.stops(self.output, "Py_SetRecursionLimit")
        init = {stop.lwp: stop.pc for stop in self.stops}
        offset = int(re.search(r"^(\w+) T PyInit__multiarray_umath$", harness.run("nm", "-D", self.CORE).stdout, re.M)[1], 16)
        self.assertEqual({stop.lwp for stop in inside}, init.keys())
        for stop in inside:
            names = session.frames(stop.output["bt"])
            self.assertEqual(names[0], "Py_SetRecursionLimit")
            start = init[stop.lwp] - offset
            pcs = [int(pc or "0", 16) for pc in re.findall(r"^#\d+ +(?:(0x\w+) in )?", stop.output["bt"], re.M)]
            numpy = [i for i, pc in enumerate(pcs) if start < pc < start + os.path.getsize(self.CORE)]
            self.assertGreater(len(numpy), 1, stop.output["bt"])
            for part in names[:numpy[0]], names[numpy[-1]:]:
                self.assertIn("_PyEval_EvalFrameDefault", part)
            self.assert_bottom(stop.output["bt"])


@harness.needs_gdb
class Afterwards(Case):
    """Attached to a process that has been running, and from a core of it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        core = os.path.join(cls.folder.name, "core")
        commands = ["thread apply all bt"]
        with harness.Background(harness.HOST, "-n", COUNT, session.code(wait=600), until=r"(?s)(ready.*){3}", asleep=3) as host:
            cls.addresses = harness.host_addresses(host.output)
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.gdb(commands, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.gdb(commands, options=[harness.HOST, f"{core}.{host.pid}"])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, output):
        backtraces = session.threads(output)
        sleeping = {lwp: text for lwp, text in backtraces.items() if "_PyEval_EvalFrameDefault" in text}
        self.assertEqual(len(sleeping), COUNT, output)
        pcs = []
        for text in sleeping.values():
            names = session.frames(text)
            self.assertIn("time_sleep", names)
            self.assertLess(names.index("time_sleep"), names.index("_PyEval_EvalFrameDefault"))
            self.assertRegex(text, r"time_sleep \(self=.*timeout_obj=.*\) at \S*timemodule\.c:\d+\n")
            self.assert_bottom(text)
            pcs.append(int(re.search(r"^#\d+\s+(0x\w+) in _PyEval_EvalFrameDefault", text, re.M)[1], 16))
        # Each thread is in a copy of its own: the same place relative to what the host has printed.
        offsets = {pc - address for pc, address in zip(sorted(pcs), sorted(self.addresses.values()))}
        self.assertEqual(len(offsets), 1)
        main = next(text for text in backtraces.values() if re.search(r"in main \(", text))
        self.assertEqual(session.frames(main)[-2:], ["run", "main"])
        self.assert_quiet(output)

    def test_attached_shows_names_lines_and_backtraces_of_each(self):
        self.check(self.attached)

    def test_core_shows_names_lines_and_backtraces_of_each(self):
        self.check(self.core)


class ManyCase(Case):
    """More interpreters than gdb is given debug information of: lines and static functions nonetheless."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source = os.path.join(cls.folder.name, "many.c")
        library = os.path.join(cls.folder.name, "libmany.so")
        with open(source, "w") as file:
            file.write(MODULE)
        cls.first, cls.call, cls.after = (harness.source_line(source, text) for text in
                                          ("the static function's first line", "the call", "after it"))
        made = harness.run("gcc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source)
        assert made.returncode == 0, made.stderr
        cls.code = f"import ctypes, sys, time; many = ctypes.CDLL('{library}'); many.many_entry(1)"
        cls.ask = ["break many_static", f"break many.c:{cls.after}", f"break timemodule.c:{sleep_line()}",
                   "thread apply all bt",
                   "python exec('try: gdb.execute(\"print many_entry(1)\")\\nexcept gdb.error as error: print(error)')",
                   "python print('units', gdb.execute('maint info symtabs', False, True).count('compunit_symtab *'))"]

    @classmethod
    def asleep(cls, count):
        """A process with interpreters that sleep."""
        sleep = cls.code + "; sys.stdout.write('ready\\n'); sys.stdout.flush(); time.sleep(600)"
        return harness.Background(harness.GORGON, "run", "-n", count, "-c", sleep,
                                  until=rf"(?s)(?>.*?ready){{{count}}}", asleep=count)

    def check(self, output, count):
        for number, where in ((1, "many_static"), (2, f"many.c:{self.after}"), (3, "timemodule.c:")):
            self.assertRegex(output, rf"(?m)^Breakpoint {number} at 0x\w+: {re.escape(where)}.*\({count} locations\)")
        backtraces = session.threads(output)
        sleeping = [text for text in backtraces.values() if "_PyEval_EvalFrameDefault" in text]
        self.assertEqual(len(sleeping), count, output)
        for text in sleeping:
            self.assertRegex(text, r"(?m)^#\d+ .*\btime_sleep \(.*\) at \S*timemodule\.c:\d+$")
            self.assertRegex(text, r"(?m)^#\d+ .*\b_PyEval_EvalFrameDefault \(.*\) at \S*(ceval\.c|generated_cases\.c\.h):\d+$")
            self.assertEqual(session.frames(text)[-2:], ["start_thread", "clone3"])
        # gdb reads few units of a copy.
        self.assertLess(int(re.search(r"^units (\d+)$", output, re.M)[1]), 30 * count + 200)


@harness.needs_gdb
class Many(ManyCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        core = os.path.join(cls.folder.name, "core")
        cls.live = harness.gdb(
            [f"break many.c:{cls.call}", "break many_static", session.LOOP, "run",
             'python drive({"many_static": ["bt 2", "set scheduler-locking on", "next", "finish", "set scheduler-locking off"], 0: []})'],
            harness.GORGON, "run", "-n", MANY, "-c", cls.code)
        with cls.asleep(MANY) as host:
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.gdb(cls.ask, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.gdb(cls.ask, options=[harness.GORGON, f"{core}.{host.pid}"])

    def test_a_line_and_a_static_function_stop_once_in_each(self):
        lines, functions = session.stops(self.live, f"many.c:{self.call}"), session.stops(self.live, "many_static")
        for stops in lines, functions:
            self.assertEqual(len({stop.pc for stop in stops}), MANY, self.live)
            self.assertEqual(len(stops), MANY, self.live)
        for stop in functions:
            self.assertRegex(stop.output["next"], rf"^{self.first + 1}\t")
            self.assertRegex(stop.output["finish"], rf"many_entry \(.*\) at \S*many\.c:{self.call}\n")
            self.assertRegex(stop.output["bt 2"], rf"^#0  many_static \(.*\) at \S*many\.c:{self.first}\n"
                             rf"#1  0x\w+ in many_entry \(.*\) at \S*many\.c:{self.call}\n")
        self.assertIn("exited normally", self.live)
        self.assert_quiet(self.live)

    def test_attached_has_lines_of_each(self):
        self.check(self.attached, MANY)

    def test_call_of_a_function_without_types_says_so(self):
        self.assertIn("'many_entry' has unknown return type; cast the call to its declared return type\n", self.attached)

    def test_core_has_lines_of_each(self):
        self.check(self.core, MANY)


@harness.needs_gdb
@harness.thorough
class Hundreds(ManyCase):
    def test_attached_has_lines_of_each(self):
        with self.asleep(HUNDREDS) as host:
            self.check(harness.gdb(self.ask, options=["-p", str(host.pid)]), HUNDREDS)


@harness.needs_gdb
class Switched(unittest.TestCase):
    """gorgon run --debug."""

    def locations(self, mode):
        output = harness.gdb(["break PyBytes_FromString", "run", "info breakpoints"],
                             harness.GORGON, "run", "--debug", mode, "-n", "2", "-c", "print('ran')")
        return len(re.findall(r"hit Breakpoint", output)), output

    def test_off_tells_debuggers_nothing(self):
        hits, output = self.locations("off")
        self.assertEqual((hits, output.count("ran\n")), (0, 2), output)

    def test_full_and_auto_stop_as_by_default(self):
        for mode in ("full", "auto"):
            with self.subTest(mode=mode):
                self.assertEqual(self.locations(mode)[0], 1)


if __name__ == "__main__":
    unittest.main()
