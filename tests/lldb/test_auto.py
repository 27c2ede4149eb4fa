# SPDX-License-Identifier: MIT
"""lldb: "gorgon symbols auto", said before there is a program: ordinary breakpoints have their places when copies come."""

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

AUTO = "gorgon symbols auto"
SERVER = harness.LLDB and shutil.which(os.path.basename(harness.LLDB).replace("lldb", "lldb-server", 1))
PROGRAM = ("import sys; sys.path.insert(0, {folder!r}); import gorgon, time; me = gorgon.interpreter; import work; "
           "work.count(10 * me + 2, 'of %d' % me); time.sleep(0.01)")


CODE_MAX = 64  # bytes, to the first line of a function


def modules(listing, place):
    """Of the locations of the breakpoint that is set on a place, with a line each."""
    return sorted(re.findall(r"^  \d+\.\d+: where = ([^`\n]+)`\S+(?: \+ \d+)? at \S+?:\d+\S*, address = ", session.listed(listing, place), re.M))


def is_listening(place):
    """Without connecting: the server would take that for its debugger."""
    with open("/proc/net/tcp") as file:
        return any(line.split()[1].endswith(":%04X" % int(place.partition(":")[2])) and line.split()[3] == "0A" for line in list(file)[1:])


@contextlib.contextmanager
def served(pid):
    """A server of lldb that has attached to a process. It answers one connection, and ends with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = "127.0.0.1:%d" % free.getsockname()[1]
    with subprocess.Popen([SERVER, "gdbserver", "--attach", str(pid), place],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        while server.poll() is None and not is_listening(place):
            time.sleep(0.01)
        yield place
        server.terminate()


class Session(session.Case):
    """Breakpoints that wait for lines and functions of CPython and of an extension."""

    count = 3
    before = [AUTO]
    commands = []
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_extensions(cls.folder.name)
        cls.line = harness.source_line(session.WORK, "count: end")
        cls.sleep_line = session.libpython_symbol("time_sleep")[1]
        cls.output = harness.lldb(
            [*cls.before, f"breakpoint set -f work.c -l {cls.line}", f"breakpoint set -f timemodule.c -l {cls.sleep_line}",
             "breakpoint set -n helper", "breakpoint set -n PyInit_work", "breakpoint list", session.DRIVER, "run",
             session.drive({f"work.c:{cls.line}": ["frame variable", "bt 3"], f"timemodule.c:{cls.sleep_line}": ["bt 1"],
                            "helper": ["frame variable", "breakpoint list"], "PyInit_work": ["bt 1"]}),
             "breakpoint list", *cls.commands],
            harness.HOST, "-n", str(cls.count), *cls.options, PROGRAM.format(folder=cls.folder.name), script=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def interps(self, place, command="bt 1"):
        return sorted(int(re.search(r"\[interp (\d+)\]`", stop.output[command])[1])
                      for stop in session.stops(self.output, place))


@harness.needs_lldb
class Before(Session):
    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assert_clean(self.output)

    def test_line_of_an_extension_that_was_not_loaded_yet_stops_in_each(self):
        self.assertEqual(self.interps(f"work.c:{self.line}", "bt 3"), list(range(self.count)))
        for stop in session.stops(self.output, f"work.c:{self.line}"):
            me = int(re.search(r"\[interp (\d+)\]`", stop.output["bt 3"])[1])
            self.assertIn(f"(int) n = {10 * me + 2}\n", stop.output["frame variable"])
            self.assertIn(f"'of {me}'", stop.output["frame variable"])

    def test_line_of_cpython_stops_in_each(self):
        self.assertEqual(self.interps(f"timemodule.c:{self.sleep_line}"), list(range(self.count)))
        for stop in session.stops(self.output, f"timemodule.c:{self.sleep_line}"):
            self.assertIn(f"time_sleep(self=<module>, timeout_obj=0.01) at timemodule.c:{self.sleep_line}",
                          stop.output["bt 1"])

    def test_static_function_stops_behind_its_prologue(self):
        found = [int(re.search(r"\(int\) n = (-?\d+)", stop.output["frame variable"])[1])
                 for stop in session.stops(self.output, "helper")]
        self.assertEqual(sorted(found), sorted([1, 2] * self.count))

    def test_function_that_runs_once_when_a_module_is_imported(self):
        self.assertEqual(self.interps("PyInit_work"), list(range(self.count)))

    def test_ours_is_in_no_list_and_others_have_no_dead_locations(self):
        for listing in self.output.split("Current breakpoints:")[1:]:
            self.assertNotIn("gorgon", listing.partition("\n\n---")[0].partition("(lldb)")[0])
        for stop in session.stops(self.output, "helper"):
            self.assertNotIn("unresolved", stop.output["breakpoint list"])
        listing = session.stops(self.output, "helper")[-1].output["breakpoint list"]
        self.assertEqual(modules(listing, "helper"), ["work.so"] * self.count)


@harness.needs_lldb
class Many(Before):
    """So many interpreters that each has a pack."""

    count = 9


@harness.needs_lldb
class Goes(session.Case):
    """Interpreters come and go; breakpoints follow, and "off" leaves names."""

    def test_modules_follow_the_interpreters(self):
        listing = ["breakpoint list"]
        output = harness.lldb(
            [AUTO, "breakpoint set -n main", "breakpoint delete -f", "breakpoint set -n host_created",
             "breakpoint set -n host_destroyed", "breakpoint set -n list_vectorcall", session.DRIVER, "run",
             session.drive({"host_created": listing, "host_destroyed": listing, "list_vectorcall": ["once"]})],
            harness.HOST, "-n", "3", "-d", "1", "-a", session.code(), script=True)
        self.assert_clean(output)
        self.assertTrue(session.ended(output), output[-500:])
        # Interpreter 3 has the addresses that interpreter 1 had.
        addresses, offset = harness.host_addresses(output), session.libpython_symbol("list_vectorcall")[0]
        self.assertEqual(addresses[1], addresses[3])
        found = [[i for i in range(3) if any(0 <= at - addresses[i] - offset < CODE_MAX
                                             for at in session.addresses_listed(stop.output["breakpoint list"], "list_vectorcall"))]
                 for stop in session.stops(output, "host_created", "host_destroyed")]
        self.assertEqual(found, [[0, 1, 2], [0, 2], [0, 1, 2]])

    def test_off_leaves_names_and_on_again_brings_lines(self):
        output = harness.lldb(
            [AUTO, "breakpoint set -n builtin_repr", "run", "bt 1", "gorgon symbols off", "bt 1", AUTO,
             "bt 1", "breakpoint delete -f", "continue"], harness.HOST, "-n", "2",
            "repr(1)", script=True)
        self.assert_clean(output)
        # The output of the last three bt; at the stop itself another thread may be shown as well.
        full, names, again = re.findall(r"frame #0: 0x\w+ (.*)", output)[-3:]
        self.assertRegex(full, r"`builtin_repr\(.*\) at bltinmodule\.c:\d+")
        self.assertRegex(names, r"\[interp \d\]`builtin_repr at bltinmodule\.c:\d+$")  # lines, and no arguments
        self.assertRegex(again, r"`builtin_repr\(.*\) at bltinmodule\.c:\d+")
        self.assertIn("exited with status = 0", output)


@harness.needs_lldb
class Attached(session.Case):
    """The process runs before lldb attaches."""

    def test_copies_have_lines_at_once_and_those_to_come(self):
        code = "import time; print('ready', flush=True); time.sleep(1000)"
        with harness.Background(harness.HOST, "-n", "2", code, until=r"(?s)(ready.*){2}", asleep=2) as host:
            output = harness.lldb([AUTO, f"process attach -p {host.pid}", "gorgon apply all bt 2",
                                   "breakpoint set -n time_sleep", "breakpoint list", "detach"], script=True)
        self.assert_clean(output)
        self.assertEqual(modules(output, "time_sleep"), [harness.SONAME] * 2)

    def test_a_core_has_the_frames_that_it_has_without_scripts(self):
        code = "import time; print('ready', flush=True); time.sleep(1000)"
        with tempfile.TemporaryDirectory() as folder:
            with harness.Background(harness.HOST, "-n", "3", code, until=r"(?s)(ready.*){3}", asleep=3) as host:
                harness.run("gcore", "-o", f"{folder}/core", host.pid).check_returncode()
                load = f"target create {harness.HOST} --core {folder}/core.{host.pid}"
            show = [harness.select_thread(3), "bt 8"]
            plain = harness.lldb([load, *show]).count("frame #")
            for commands in [AUTO, load], [load, AUTO]:
                with self.subTest(commands):
                    output = harness.lldb([*commands, *show], script=True)
                    self.assert_clean(output)
                    self.assertEqual(output.count("frame #"), plain, output[-2000:])
                    self.assertRegex(output, r"frame #\d+: .* \[interp 1\]`time_sleep\(")

    @unittest.skipUnless(SERVER, "lldb has no lldb-server beside it")
    def test_through_gdb_remote(self):
        code = "import time; print('ready', flush=True); time.sleep(1000)"
        with harness.Background(harness.HOST, "-n", "3", code, until=r"(?s)(ready.*){3}", asleep=3) as host:
            with served(host.pid) as place:
                output = harness.lldb([AUTO, f"target create {harness.HOST}", f"gdb-remote {place}",
                                       "breakpoint set -n time_sleep", "breakpoint list", "detach"], script=True)
        self.assert_clean(output)
        self.assertEqual(modules(output, "time_sleep"), [harness.SONAME] * 3, output[-2000:])

    def test_a_file_that_was_replaced_is_not_added(self):
        """lldb keeps what the process has registered: names at their right addresses."""
        with tempfile.TemporaryDirectory() as folder:
            session.build_extensions(folder)
            code = f"import sys; sys.path.insert(0, {folder!r}); import time, work; print('ready', flush=True); time.sleep(1000)"
            with harness.Background(harness.HOST, "-n", "2", code, until=r"(?s)(ready.*){2}", asleep=2) as host:
                known = harness.lldb([f"process attach -p {host.pid}", "breakpoint set -n work_count", "breakpoint list", "detach"])
                os.mkdir(f"{folder}/new")
                session.build_extension(session.WORK, f"{folder}/new", "gcc", "-g", "-O2", "-DNEW")
                for name in os.listdir(f"{folder}/new"):
                    os.replace(f"{folder}/new/{name}", f"{folder}/{name}")
                output = harness.lldb([AUTO, f"process attach -p {host.pid}", "breakpoint set -n work_count", "breakpoint list",
                                       "gorgon symbols 0 work", "detach"], script=True)
        self.assert_clean(output)
        self.assertIn("was replaced: its build-id is not that of the file that the process has loaded", output)
        places = [session.addresses_listed(text, "work_count") for text in (known, output)]
        self.assertEqual([len(found) for found in places], [2, 2], output[-3000:])
        self.assertEqual(*map(sorted, places))

    @unittest.skipIf(harness.LLDB and harness.lldb_version() <= 16, "lldb 16 ends such a command by itself, and shows nothing of it")
    def test_ctrl_c_is_for_all_interpreters_of_a_command(self):
        code = "import time; print('ready', flush=True); time.sleep(1000)"
        interrupt = "script import os, time; os.kill(os.getpid(), 2); time.sleep(0.2)"  # as Ctrl-C does
        with harness.Background(harness.HOST, "-n", "3", code, until=r"(?s)(ready.*){3}", asleep=3) as host:
            output = harness.lldb([f"process attach -p {host.pid}", f"gorgon apply all {interrupt}"], script=True)
        self.assertNotRegex(output, session.TRACEBACK)
        self.assertEqual(re.findall(r"^(interp \d), thread \d+ .*:$", output, re.M), ["interp 0"], output[-2000:])


@harness.needs_lldb
class Typed(session.Case):
    """Typed when there is a process already. lldb goes through its list of modules while a breakpoint is set, and the list
    moves when it grows: here the next module makes it grow, and memory that was given back is overwritten."""

    def check(self, *begin):
        show = ["breakpoint set -n time_sleep", "breakpoint list", "continue", "bt 1"]
        with harness.environment({"MALLOC_PERTURB_": "165"}):
            output = harness.lldb([*begin, *session.fill_modules(self.folder), AUTO, *show], script=True)
        self.assert_clean(output)
        self.assertIn("the list is full\n", output)
        self.assertEqual(modules(output, "time_sleep"), [harness.SONAME] * 3, output[-3000:])
        self.assertRegex(output, r"stop reason = breakpoint \d(?s:.*)frame #0: .* \[interp \d\]`time_sleep\(")

    def program(self, repeated=True):
        path = os.path.join(self.folder, "sleeps.py")
        with open(path, "w") as file:
            file.write("import time\nprint('ready', flush=True)\n"
                       + ("while True: time.sleep(0.01)\n" if repeated else "for _ in 'ab': time.sleep(0.01)\n"))
        lines = "on" if harness.PYTHON_LINES else "off"
        return harness.GORGON, "run", "-n", "3", f"--python-lines={lines}", f"--python={harness.PYTHON}", path

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def running(self):
        return harness.Background(*self.program(), until=r"(?s)(ready.*){3}")

    def test_after_attaching(self):
        with self.running() as program:
            self.check(f"process attach -p {program.pid}")

    @unittest.skipUnless(SERVER, "lldb has no lldb-server beside it")
    def test_after_attaching_through_gdb_remote(self):
        with self.running() as program, served(program.pid) as place:
            self.check(f"target create {harness.GORGON}", f"gdb-remote {place}")

    def test_in_a_program_that_was_launched(self):
        program, *arguments = self.program(repeated=False)
        self.check(f"target create {program}", "breakpoint set -n time_sleep", f"process launch -- {shlex.join(arguments)}",
                   "breakpoint delete -f")


class Old(unittest.TestCase):
    def test_lldb_that_is_too_old_is_told_in_a_line(self):
        """lldb 14 lacks more than this one has."""
        code = ("import sys, types; sys.path.insert(0, sys.argv[1]); lldb = sys.modules['lldb'] = types.ModuleType('lldb')\n"
                "lldb.SBDebugger = types.SimpleNamespace(GetVersionString=lambda: 'lldb version 14.0.6')\n"
                "import gorgon; gorgon.__lldb_init_module(None, {})")
        result = harness.run(harness.PYTHON3, "-c", code, os.path.dirname(harness.LLDB_SCRIPT))
        self.assertEqual((result.stdout, result.stderr, result.returncode),
                         ("", "gorgon: this is lldb 14, expected 16 or newer (on Debian: apt install lldb-19)\n", 0))


@harness.needs_lldb
class Registrations(session.Case):
    def test_our_breakpoint_stays_while_the_program_runs(self):
        """An adapter that asks for threads while one of them steps over it would have lldb 21 miss the next registration."""
        with tempfile.TemporaryDirectory() as folder:
            session.build_extensions(folder)
            log = os.path.join(folder, "packets")
            output = harness.lldb(
                [AUTO, f"log enable -f {log} gdb-remote packets", "breakpoint set -n PyInit_work", "run",
                 "image lookup -v -s __jit_debug_register_code", "kill"],
                harness.HOST, "-n", "2", f"import sys; sys.path.insert(0, {folder!r}); import work", script=True)
            with open(log) as file:
                text = file.read()
        self.assert_clean(output)
        start = int(re.search(r"Symbol: .* range = \[(0x\w+)-.*name=\"__jit_debug_register_code\"", output)[1], 16)
        self.assertIn(f"packet: $Z0,{start:x},", text)
        self.assertNotIn(f"packet: $z0,{start:x},", text[:text.rindex("packet: $vCont")])


@harness.needs_lldb
class Cost(session.Case):
    """Showing a Python object costs mostly reads of memory."""

    def test_an_object_whose_type_is_known_takes_one_read(self):
        with tempfile.TemporaryDirectory() as folder:
            session.build_extensions(folder)
            output = harness.lldb(
                [AUTO, "breakpoint set -F work_count", "run", "frame variable self args", "continue",
                 "script import lldb; read = lldb.SBProcess.ReadMemory; places = []",
                 "script lldb.SBProcess.ReadMemory = lambda *arguments: (places.append(arguments[1]), read(*arguments))[1]",
                 "frame variable self args", "script print('reads', len(places))", "kill"], harness.HOST, "-n", "2",
                f"import sys; sys.path.insert(0, {folder!r}); import work; work.count(1, 'a'); work.count(2, 'b')", script=True)
        self.assert_clean(output)
        self.assertEqual(len(re.findall(r"^\(PyObject \*\) (?:self = \w+ <module>|args = \w+ tuple of 2)$", output, re.M)), 4, output[-2000:])
        self.assertIn("reads 2\n", output)


if __name__ == "__main__":
    unittest.main()
