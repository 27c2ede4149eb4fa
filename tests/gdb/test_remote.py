# SPDX-License-Identifier: MIT
"""gdbserver: a process that it starts, and a process that it attaches to. gdb must show what the program says, and what
gdb shows without gdbserver."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import elsewhere  # noqa: E402
import gdb_session as session  # noqa: E402

COUNT = 3
LINE = harness.source_line(session.WALK, "// where the walk stops")
SERVER = shutil.which("gdbserver")
LISTENING = r"Listening on port \d+"
BUSY = "import gorgon, time; print('ready', gorgon.interpreter, flush=True)\nwhile True: time.sleep(0.02)"

needs_gdbserver = unittest.skipUnless(harness.GDB and SERVER, "gdb or gdbserver is not installed")


def port(server):
    return re.search(LISTENING, server.output)[0].split()[-1]


@needs_gdbserver
class Started(unittest.TestCase):
    """target remote: every step of every thread of a walk."""

    COMMANDS = ["gorgon list", "gorgon bt", "gorgon print walk_counter", "gorgon tls walk_depth",
                "gorgon tls (int) walk_plain_tls", "print $_gorgon_interp"]

    @classmethod
    def setUpClass(cls):
        with harness.Background(SERVER, "--once", "localhost:0", harness.HOST, "-n", COUNT, session.walk(),
                                until=LISTENING) as server:
            cls.output = harness.gdb(
                [f"target remote localhost:{port(server)}", f"break walk.cc:{LINE}", "gorgon break walk_dep_twice",
                 session.LOOP, "continue", f"python drive({{'walk.cc:{LINE}': {cls.COMMANDS!r}}})"], harness.HOST, script=True)
            cls.steps = session.steps(server.output)
        cls.stops = session.stops(cls.output, f"walk.cc:{LINE}")
        assert len(cls.stops) == len(cls.steps) == 2 * COUNT, cls.output

    def test_variables_are_those_of_the_copy_and_of_the_thread(self):
        for stop in self.stops:
            (step,) = self.steps[stop.lwp]
            for name, command in (("walk_counter", "gorgon print walk_counter"), ("walk_depth", "gorgon tls walk_depth"),
                                  ("walk_plain_tls", "gorgon tls (int) walk_plain_tls")):
                self.assertEqual(session.value(stop.output[command]), step[name], command)

    def test_frames_native_and_of_python(self):
        for stop in self.stops:
            text = stop.output["gorgon bt"]
            self.assertEqual(session.frames(text)[0], "walk_step")
            self.assertEqual(session.frames(text)[-2:], ["start_thread", "clone3"])
            self.assertIn("walk.go(", text)

    def test_the_interpreter_and_who_holds_its_gil(self):
        for stop in self.stops:
            interp = int(session.value(stop.output["print $_gorgon_interp"]))
            (row,) = [line for line in stop.output["gorgon list"].splitlines() if line.startswith(f"{interp} ")]
            self.assertTrue(row.endswith(f"live   {stop.thread} (LWP {stop.lwp})"), row)

    def test_breakpoint_of_gorgon_stops_in_every_copy(self):
        hits = session.stops(self.output, "walk_dep_twice")
        self.assertEqual({stop.lwp for stop in hits}, set(self.steps))
        self.assertIn("exited normally", self.output)


@needs_gdbserver
class Attached(unittest.TestCase):
    """target extended-remote and attach."""

    def serve(self, lines, **options):
        with harness.Background(SERVER, "--multi", "localhost:0", until=LISTENING) as server:
            return harness.gdb([f"target extended-remote localhost:{port(server)}", *lines], script=True, **options)

    def test_every_word_says_what_it_says_without_a_server(self):
        words = session.words(COUNT)
        with harness.Background(harness.HOST, "-n", COUNT, session.walk(wait=600), until=r"(?s)(walk: number.*){6}", asleep=6) as host:
            native = session.answers(harness.gdb(session.commands(words), script=True, options=["-p", str(host.pid)]))
            through = session.answers(self.serve([f"attach {host.pid}", *session.commands(words)]))
        for word in words:
            with self.subTest(word):
                self.assertEqual(through[word].splitlines(), native[word].splitlines())

    def test_breakpoints_stop_in_every_copy(self):
        with harness.Background(harness.HOST, "-n", COUNT, BUSY, until=r"(?s)(ready.*){3}") as host:
            output = self.serve([f"attach {host.pid}", "break time_sleep", "gorgon break -i 1 PyList_Append", session.LOOP,
                                 "continue", "python drive({'time_sleep': ['print $gorgon_interp()']}, limit=30)", "detach"])
        found = {session.value(stop.output["print $gorgon_interp()"]) for stop in session.stops(output, "time_sleep")}
        self.assertEqual(found, {str(i) for i in range(COUNT)}, output)
        self.assertRegex(output, r"(?m)^Breakpoint 2 at 0x\w+: PyList_Append\. \(\d+ locations\)")


@needs_gdbserver
@unittest.skipUnless(elsewhere.available(), "unshare is not installed, or not allowed")
class Elsewhere(unittest.TestCase):
    """gdb on another machine, with the same files under a sysroot."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.sysroot = cls.folder.name
        cls.words = session.words(COUNT)
        with harness.Background(harness.HOST, "-n", COUNT, session.walk(wait=600), until=r"(?s)(walk: number.*){6}", asleep=6) as host, \
                harness.Background(SERVER, "--multi", "localhost:0", until=LISTENING) as server:
            cls.files = [*elsewhere.files_of(host.pid), session.WALKER]
            elsewhere.copy(cls.sysroot, cls.files)
            cls.native = harness.gdb(session.commands(cls.words), script=True, options=["-p", str(host.pid)])
            cls.attached = cls.gdb([f"target extended-remote localhost:{port(server)}", f"attach {host.pid}",
                                    *session.commands(cls.words)])
        with harness.Background(SERVER, "--once", "localhost:0", harness.HOST, "-n", COUNT, session.walk(),
                                until=LISTENING) as server:
            cls.started = cls.gdb([f"target remote localhost:{port(server)}", f"gorgon break walk.cc:{LINE}", session.LOOP,
                                   "continue", f"python drive({{'walk.cc:{LINE}': {Started.COMMANDS!r}}})"],
                                  system=False)
            cls.steps = session.steps(server.output)

    @classmethod
    def gdb(cls, lines, **options):
        return elsewhere.gdb(cls.sysroot, cls.files, [f"file {cls.sysroot}{harness.HOST}", *lines], script=True, **options)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_attached_every_word_says_what_it_says_there(self):
        native, through = session.answers(self.native), session.answers(self.attached.replace(self.sysroot, ""))
        for word in self.words:
            with self.subTest(word):
                self.assertEqual(through[word].splitlines(), native[word].splitlines())

    def test_started_it_stops_in_every_copy_with_lines_and_variables(self):
        stops = session.stops(self.started, f"walk.cc:{LINE}")
        self.assertEqual({stop.lwp for stop in stops}, set(self.steps), self.started)
        self.assertEqual(len(self.steps), 2 * COUNT)
        for stop in stops:
            (step,) = self.steps[stop.lwp]
            self.assertEqual(session.value(stop.output["gorgon print walk_counter"]), step["walk_counter"])
            self.assertEqual(session.value(stop.output["gorgon tls walk_depth"]), step["walk_depth"])
            self.assertRegex(stop.output["gorgon bt"], rf"^#0 .*walk_step from walk\.so .* at tests/modules/walk\.cc:{LINE}\n")
            self.assertIn("walk.go(", stop.output["gorgon bt"])


if __name__ == "__main__":
    unittest.main()
