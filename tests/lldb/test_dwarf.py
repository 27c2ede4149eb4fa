# SPDX-License-Identifier: MIT
"""lldb: debug information that the process puts into its symfiles, for each copy."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
EVERY = range(COUNT)
VALUE = "expression --allow-jit false -- ((PyFloatObject *)timeout_obj)->ob_fval"


@harness.needs_lldb
class Python(session.Case):
    """libpython's is in a file of its own, compressed, of version 5, and comes from link-time optimisation."""

    @classmethod
    def setUpClass(cls):
        cls.offset, cls.line = session.libpython_symbol("time_sleep")
        cls.output = harness.lldb(
            ["breakpoint set -n host_created", f"breakpoint set -f timemodule.c -l {cls.line}",
             "breakpoint set -N main -n Py_BytesMain", "run", "gorgon symbols --dwarf all libpython",
             "gorgon symbols --dwarf 1 libpython", "gorgon check", "breakpoint list",
             "breakpoint disable main", session.DRIVER, "continue",
             session.drive({f"timemodule.c:{cls.line}": ["bt", "frame variable", VALUE, "gorgon whose $pc"]})],
            harness.HOST, "-n", str(COUNT), session.code(), script=True)
        cls.addresses = harness.host_addresses(cls.output)
        cls.sleeps = {}
        for stop in session.stops(cls.output, f"timemodule.c:{cls.line}"):
            cls.sleeps[min(EVERY, key=lambda i: abs(stop.pc - cls.addresses[i] - cls.offset))] = stop
        assert sorted(cls.sleeps) == list(EVERY), cls.output

    def test_program_ends_and_lldb_does_not_complain(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assert_clean(self.output)

    def test_command_says_what_it_did_and_may_be_repeated(self):
        self.assertEqual(re.findall(r"^(\d) objects have their debug information in the process\.$", self.output, re.M),
                         [str(COUNT), "1"])
        self.assertRegex(self.output, rf"\n{COUNT} interpreters, \d+ objects: no problems\.\n")

    def test_pending_line_breakpoint_has_one_place_in_each_copy(self):
        places = session.addresses_listed(self.output, f"timemodule.c:{self.line}")
        self.assertEqual(len(places), COUNT)
        self.assertEqual(len({a - self.addresses[i] for i, stop in self.sleeps.items()
                              for a in places if a == stop.pc}), 1)

    def test_breakpoint_by_name_keeps_one_place_in_each_copy(self):
        self.assertEqual(len(session.addresses_listed(self.output, "Py_BytesMain")), COUNT)

    def test_line_breakpoint_stops_once_in_each_copy(self):
        self.assertEqual(len(session.stops(self.output, f"timemodule.c:{self.line}")), COUNT)
        self.assertEqual(len({stop.lwp for stop in self.sleeps.values()}), COUNT)

    def test_frames_have_lines_and_arguments_of_their_interpreter(self):
        for i, stop in self.sleeps.items():
            seconds = re.escape(str(0.125 * (i + 1)))
            text = stop.output["bt"]
            self.assertRegex(text, rf"\[interp {i}\]`time_sleep\(self=<module>, timeout_obj={seconds}\) "
                             rf"at timemodule\.c:{self.line}:\d+\n")
            self.assertRegex(text, rf"\[interp {i}\]`(cfunction_vectorcall_O\(.*\) at methodobject|"
                             r"_PyObject_VectorcallTstate\(.*\) at pycore_call)\.[ch]:\d+:\d+")
            # In any process, lldb 16 knows no arguments of functions that the compiler has split.
            arguments = r"\(.*\)" if harness.lldb_version() > 16 else ""
            self.assertRegex(text, rf"\[interp {i}\]`_PyEval_EvalFrameDefault{arguments} at "
                                   r"(?:ceval\.c|generated_cases\.c\.h):\d+:\d+\n")
            self.assertEqual(set(re.findall(r"\[interp (\d)\]", text)), {str(i)})
            self.assertEqual(float(re.search(r"= ([\d.]+)", stop.output[VALUE])[1]), 0.125 * (i + 1))
            self.assertRegex(stop.output["frame variable"], rf"\(PyObject \*\) timeout_obj = 0x\w+ {seconds}\n")
            self.assertRegex(stop.output["frame variable"], r"\(_?PyTime_t\) timeout = ")  # without _ since 3.13
            self.assertRegex(stop.output["gorgon whose $pc"], rf"time_sleep\+(0|0x\w+), timemodule\.c:{self.line}\n")


@harness.needs_lldb
class Attached(session.Case):
    """A process that waits in a library with static variables: after the command, in its core without any scripts, and
    after the command took it back."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        core = os.path.join(cls.folder.name, "core")
        look = ["gorgon apply all bt", "gorgon apply all frame variable -g"]
        code = session.fixture_code(cls.folder.name, rounds=2, wait=600)
        cls.line = harness.source_line(session.LEDGER, "ledger_wait: sleeps")
        cls.entered = harness.source_line(session.LEDGER, "enter: variables")
        with harness.Background(harness.HOST, "-n", COUNT, code, until=r"(?s)(expect \d ready.*){3}", asleep=3) as host:
            attach = ["-p", str(host.pid)]
            cls.attached = harness.lldb(
                [f"breakpoint set -f ledger.c -l {cls.entered}", "gorgon symbols --dwarf all libledger",
                 "gorgon symbols --dwarf all libpython", "breakpoint list", *look, "gorgon check", "detach"],
                script=True, options=attach)
            made = harness.run("gcore", "-o", core, host.pid)
            cls.back = harness.lldb(["gorgon symbols --dwarf off", *look, "gorgon check", "detach"], script=True,
                                    options=attach)
            cls.host = host.output
        assert made.returncode == 0, made.stderr
        core = f"{core}.{host.pid}"
        cls.core = harness.lldb([f"target create {harness.HOST} --core {core}", "bt all"])
        cls.refused = harness.lldb([f"target create {harness.HOST} --core {core}", "gorgon symbols --dwarf all"],
                                   script=True)
        cls.gdb = harness.gdb([f"core-file {core}", "thread apply all bt"], harness.HOST)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def parts(self, output, command):
        """{interpreter: what a command has printed that was applied to it}"""
        text = output.split(f"(lldb) gorgon apply all {command}\n", 1)[1].split("(lldb)", 1)[0]
        found = re.split(r"^interp (\d), thread .*:\n", text, flags=re.M)
        return {int(i): part for i, part in zip(found[1::2], found[2::2])}

    def frame(self, i):
        return rf"`ledger_wait\(owner={i}, seconds=600\) at ledger\.c:{self.line}:\d+\n"

    def test_lines_and_arguments(self):
        parts = self.parts(self.attached, "bt")
        self.assertEqual(sorted(parts), list(EVERY))
        for i, text in parts.items():
            self.assertRegex(text, rf"libledger\.so \[interp {i}\]{self.frame(i)}")
            self.assertRegex(text, rf"{re.escape(session.PYTHON)} \[interp {i}\]`\w+\(.*\) at \w+\.[ch]:\d+:\d+\n")

    def test_locals_and_statics_of_each_copy(self):
        parts = self.parts(self.attached, "frame variable -g")
        expected = session.expectations(self.host, "ready")
        self.assertEqual(len({values[0]["ledger_total"] for values in expected.values()}), COUNT)
        for i, text in parts.items():
            want = expected[i][0]
            self.assertIn(f"(int) calls = {want['calls']}\n", text)
            self.assertIn(f"(int) ledger_total = {want['ledger_total']}\n", text)
            self.assertIn(f"(int) mine = {want['ledger_total'] + i}", text)

    def test_line_breakpoint_has_one_place_in_each_copy(self):
        self.assertEqual(len(set(session.addresses_listed(self.attached, f"ledger.c:{self.entered}"))), COUNT)
        self.assertRegex(self.attached, rf"\n{COUNT} interpreters, \d+ objects: no problems\.\n")

    def test_core_shows_lines_and_arguments_without_scripts(self):
        for i in EVERY:
            self.assertRegex(self.core, r"JIT\(0x\w+\)" + self.frame(i))

    def test_gdb_reads_the_same_core(self):
        for i in EVERY:
            self.assertRegex(self.gdb, rf"ledger_wait \(owner={i}, seconds=600\) at \S*ledger\.c:{self.line}\n")
        self.assertRegex(self.gdb, r"_PyEval_EvalFrameDefault \(.*\) at \S*(?:ceval\.c|generated_cases\.c\.h):\d+\n")

    def test_taken_back(self):
        self.assertRegex(self.back, r"\n\d+ objects have small symfiles\.\n")
        for i, text in self.parts(self.back, "bt").items():
            self.assertRegex(text, rf"libledger\.so \[interp {i}\]`ledger_wait at ledger\.c:{self.line}\n")
        self.assertRegex(self.back, rf"\n{COUNT} interpreters, \d+ objects: no problems\.\n")

    def test_core_is_refused(self):
        self.assertRegex(self.refused, r"error: gorgon symbols: debug information is moved by the process itself, and "
                         r"a core does not run; without --dwarf lldb reads the files\n")

    def test_no_complaints(self):
        # With lines only lldb says that of "frame variable".
        back = re.sub("error: no variable information is available in debug info for this compile unit\n", "", self.back)
        for output in (self.attached, back, self.core):
            self.assert_clean(output)


@harness.needs_lldb
class Refused(session.Case):
    """When the process cannot do it, a line says why, and everything is as before."""

    ASKED = {
        "gorgon symbols --dwarf 0 libz": "libz.so.1 [interp 0]: no debug information in the file, and no detached file "
                                         "for it\n0 objects have their debug information in the process.",
        "gorgon symbols --dwarf 0": "1 objects have their debug information in the process, 2 have none.",
        "gorgon symbols --dwarf 2 libpython": f'{session.PYTHON} [interp 2]: has the symbols of its file; '
                                              '"gorgon symbols off" removes them\n'
                                              "0 objects have their debug information in the process.",
        "gorgon symbols --dwarf 9": "gorgon symbols: no interpreter 9; there are 0, 1, 2",
        "gorgon symbols --dwarf 0 nothing": "No object's name fits nothing.",
        "gorgon symbols --dwarf": 'gorgon symbols: an argument is missing; see "help gorgon symbols"',
        "gorgon symbols --dwarfs 1": "gorgon symbols: no interpreter --dwarfs; there are 0, 1, 2",
    }

    def test_reasons(self):
        output = harness.lldb(
            ["breakpoint set -n host_created", "breakpoint set -n jitreg_unregister", "run", session.DRIVER,
             session.drive({"host_created": ["gorgon symbols 2 libpython", *self.ASKED, "gorgon check"],
                            "jitreg_unregister": ["once", "gorgon symbols --dwarf 1 libpython"]})],
            harness.HOST, "-n", str(COUNT), "-d", "1", "pass", script=True)
        start, = session.stops(output, "host_created")
        for command, text in self.ASKED.items():
            with self.subTest(command):
                self.assertEqual(start.output[command].replace("error: ", "").rstrip("\n"), text)
        self.assertIn("no problems.", start.output["gorgon check"])
        # The thread holds the lock that the command would need.
        self.assertIn(f"{session.PYTHON} [interp 1]: a thread is loading or unloading at this moment\n"
                      "0 objects have their debug information in the process.\n",
                      session.stops(output, "jitreg_unregister")[0].output["gorgon symbols --dwarf 1 libpython"])
        self.assertTrue(session.ended(output), output[-500:])
        self.assertNotRegex(output, session.TRACEBACK)

    def test_a_thread_in_the_allocator_is_not_used(self):
        output = harness.lldb(
            ["breakpoint set -n host_created", "run", "breakpoint set -n _int_malloc", session.DRIVER, "continue",
             session.drive({"_int_malloc": ["once", "gorgon symbols --dwarf 1 libpython"]})],
            harness.HOST, "-n", str(COUNT), "pass", script=True)
        self.assertRegex(session.stops(output, "_int_malloc")[0].output["gorgon symbols --dwarf 1 libpython"],
                         r"^error: gorgon symbols: thread \d is inside of _int_malloc; select another one, or let it "
                         r'go on \("finish"\)\n')


@harness.needs_lldb
class Stripped(session.Case):
    def test_a_stripped_libgorgon_is_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            host = harness.copy_stripped(folder)
            output = harness.lldb(["breakpoint set -n gorgon_interp_destroy", "run",
                                   "gorgon symbols --dwarf 0 libpython", "gorgon whose time_sleep", "kill"],
                                  host, "-n", "1", "pass", script=True)
        self.assertRegex(output, rf"\n0x\w+: interpreter 0, {harness.SONAME_RE}, time_sleep\+0, "
                         r"timemodule\.c:\d+\n")
        self.assert_clean(output)


if __name__ == "__main__":
    unittest.main()
