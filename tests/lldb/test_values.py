# SPDX-License-Identifier: MIT
"""lldb: globals of each copy and thread-local variables of each thread; commands applied to interpreters.

What is right is what the program has printed; see fixture/program.py."""

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
GLOBALS = ["ledger_total", "calls", "market::quotes", "plain_factor"]
TLS = ["ledger_thread", "thread_calls", "market::depth", "plain_thread"]
SHOW = [f"gorgon print {name}" for name in GLOBALS] + [f"gorgon tls {name}" for name in TLS]
MISTAKES = {
    "gorgon print nothing": "gorgon print: no global variable nothing in interp {interp}",
    "gorgon print ledger_thread": 'gorgon print: ledger_thread is thread-local; "gorgon tls ledger_thread" shows it',
    "gorgon tls ledger_total": "gorgon tls: no thread-local variable ledger_total in interp {interp}",
    "gorgon print -i 9 ledger_total": "gorgon print: no interpreter 9; there are 0, 1, 2",
    "gorgon print -i one x": 'gorgon print: a number expected after -i, not one; see "help gorgon print"',
    "gorgon print ledger_book.nothing": "gorgon print: ledger_book has no member .nothing",
    "gorgon print 1+1": "gorgon print: 1+1 is no name of a variable; members may follow one (book.entries[1])",
    "gorgon print": 'gorgon print: an argument is missing; see "help gorgon print"',
    "gorgon tls": 'gorgon tls: an argument is missing; see "help gorgon tls"',
    "gorgon apply 9 bt": "gorgon apply: no interpreter 9; there are 0, 1, 2",
    "gorgon apply all": 'gorgon apply: an argument is missing; see "help gorgon apply"',
}


def value(text):
    """(type, name, number) of a line of lldb's."""
    found = re.match(r"\(([^)]*)\) (\S+) = (-?\d+)", text)
    return (found[1], found[2], int(found[3])) if found else text


@harness.needs_lldb
class Live(session.Case):
    """At the return of a function, in each interpreter, twice."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        line = harness.source_line(session.LEDGER, "ledger_add: has returned")
        cls.output = harness.lldb(
            [f"gorgon break ledger.c:{line}", "gorgon break scale_plain", session.DRIVER, "run",
             session.drive({f"ledger.c:{line}": [*SHOW, "gorgon print ledger_book", "gorgon print ledger_book.entries[1]",
                                "gorgon tls market::notes.lines", "gorgon print plain_factor", *MISTAKES, "bt"],
                            "scale_plain": ["gorgon print ledger_total"]})],
            harness.HOST, "-n", str(COUNT), session.fixture_code(cls.folder.name, rounds=2, wait=0), script=True)
        cls.after = session.expectations(cls.output, "after")
        cls.before = session.expectations(cls.output, "before")
        cls.stops = {i: [] for i in EVERY}
        for stop in session.stops(cls.output, f"ledger.c:{line}"):
            cls.stops[int(re.search(r"libledger\.so \[interp (\d)\]", stop.output["bt"])[1])].append(stop)
        assert {i: len(found) for i, found in cls.stops.items()} == {i: 3 for i in EVERY}, cls.output
        # The last stop is on another thread.
        cls.others = {i: found.pop() for i, found in cls.stops.items()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        for i in EVERY:
            for stop, expected in zip(self.stops[i], self.after[i], strict=True):
                yield i, stop, expected

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-500:])
        self.assertNotRegex(self.output, session.TRACEBACK)
        # The copies do differ.
        self.assertEqual(len({values["ledger_total"] for found in self.after.values() for values in found}), 2 * COUNT)

    def test_globals_and_statics_are_those_of_the_frames_copy(self):
        for _, stop, expected in self.each():
            for name in GLOBALS[:3]:
                self.assertEqual(value(stop.output[f"gorgon print {name}"]), ("int", name, expected[name]))

    def test_thread_local_variables_are_those_of_the_thread(self):
        for _, stop, expected in self.each():
            for name in TLS[:3]:
                self.assertEqual(value(stop.output[f"gorgon tls {name}"]), ("int", name, expected[name]))
            self.assertEqual(value(stop.output["gorgon tls market::notes.lines"]),
                             ("int", "market::notes.lines", expected["market::notes"]))

    def test_another_thread_has_its_own(self):
        for i, stop in self.others.items():
            self.assertNotEqual(stop.thread, self.stops[i][0].thread)
            other = session.expectations(self.output, "other")[i][0]["ledger_thread"]
            ready = session.expectations(self.output, "ready")[i][0]
            self.assertEqual(value(stop.output["gorgon tls ledger_thread"]), ("int", "ledger_thread", other))
            self.assertEqual(value(stop.output["gorgon tls thread_calls"]), ("int", "thread_calls", 1))
            self.assertEqual(value(stop.output["gorgon print ledger_total"]),
                             ("int", "ledger_total", ready["ledger_total"]))
            self.assertEqual(other == ready["ledger_thread"], i == 0)  # owner 0 adds nothing

    def test_without_debug_information_a_number_of_that_size(self):
        for _, stop, expected in self.each():
            for command, name in (("print", "plain_factor"), ("tls", "plain_thread")):
                self.assertEqual(value(stop.output[f"gorgon {command} {name}"]), ("unsigned int", name, expected[name]))

    def test_structures_and_members(self):
        for i, stop, _ in self.each():
            self.assertIn(f"owner = {i}\n", stop.output["gorgon print ledger_book"])
            self.assertTrue(stop.output["gorgon print ledger_book"].startswith("(ledger) ledger_book = {\n"))
        # Interpreter 1 writes entry 1, which is two rows of two numbers, first 10 and then 20.
        self.assertEqual([value(stop.output["gorgon print ledger_book.entries[1]"]) for stop in self.stops[1]],
                         [("int", "ledger_book.entries[1]", 4 * amount) for amount in (10, 20)])

    def test_from_a_library_without_debug_information(self):
        seen = set()
        for stop in session.stops(self.output, "scale_plain"):
            name, number = value(stop.output["gorgon print ledger_total"])[1:]
            self.assertEqual(name, "ledger_total")
            seen.add(number)
        self.assertEqual(seen, {values["ledger_total"] for i in EVERY for values in [*self.before[i], *self.after[i]]})

    def test_mistakes_get_one_clear_line(self):
        for i, stop, _ in self.each():
            for command, text in MISTAKES.items():
                with self.subTest(command):
                    expected = f"error: {text.format(interp=i)}\n"
                    self.assertEqual(stop.output[command][:len(expected)], expected)


@harness.needs_lldb
class Afterwards(session.Case):
    """Attached, and from a core: every value of the thread that runs each interpreter."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        core = os.path.join(cls.folder.name, "core")
        commands = [f"gorgon apply all {command}" for command in SHOW]
        commands += ["gorgon apply all gorgon print ledger_constants[1]",
                     "gorgon apply 1 gorgon print -i 2 ledger_total",
                     "gorgon apply 1 gorgon tls -i 2 ledger_thread", harness.select_thread(1),
                     "gorgon apply 1 thread info", "thread info", "gorgon apply 1 frame info",
                     "gorgon apply 2 gorgon nothing"]
        code = session.fixture_code(cls.folder.name, wait=600)
        with harness.Background(harness.HOST, "-n", COUNT, code, until=r"(?s)(ready.*){3}", asleep=3) as host:
            cls.ready = session.expectations(host.output, "ready")
            cls.other = session.expectations(host.output, "other")
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.lldb([*commands, "detach"], script=True, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.lldb([f"target create {harness.HOST} --core {core}.{host.pid}", *commands], script=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, output):
        for command in SHOW:
            name = command.split()[2]
            text = output.split(f"(lldb) gorgon apply all {command}\n")[1]
            found = re.findall(r"^interp (\d), thread \d+ \(tid \d+\):\n\(([^)]*)\) (\S+) = (\d+)\n", text,
                               re.M)[:COUNT]
            kind = "unsigned int" if name.startswith("plain") else "int"
            self.assertEqual(found, [(str(i), kind, name, str(self.ready[i][0][name])) for i in EVERY], command)
        self.assertIn(f"(int) ledger_total = {self.ready[2][0]['ledger_total']}\n",
                      output.split("(lldb) gorgon apply 1 gorgon print -i 2 ledger_total\n")[1][:100])
        self.assertRegex(output, r"gorgon tls -i 2 ledger_thread\n"
                         r"interp 1, thread (\d+) \(tid \d+\):\nerror: gorgon tls: "
                         r"thread \1 has not used thread-local variables of libledger\.so \[interp 2\] yet\n")
        # A core leaves this constant out, but the file has it.
        self.assertEqual(output.count("\n(const int) ledger_constants[1] = 77\n"), COUNT)
        applied, after = re.findall(r"thread #(\d+)[:,].* tid = \d+", output)[-2:]
        self.assertNotEqual(applied, "1")
        self.assertEqual(after, "1")  # the selection is as it was
        self.assertRegex(output, r"gorgon apply 1 frame info\n"
                         r"interp 1, .*\nframe #\d+: .* libledger\.so \[interp 1\]`ledger_wait")
        self.assertRegex(output, r"interp 2, thread \d+ \(tid \d+\):\n(invalid command 'gorgon nothing'\.|"
                         r"\"nothing\" is not a valid subcommand of \"gorgon\"\.)")
        self.assertNotRegex(output, session.TRACEBACK)

    def test_programs_differ(self):
        self.assertEqual(len({values[0]["ledger_total"] for values in self.ready.values()}), COUNT)

    def test_attached(self):
        self.check(self.attached)

    def test_core(self):
        self.check(self.core)

    def test_interpreters_that_no_thread_runs(self):
        output = harness.lldb(["breakpoint set -n host_created", "run", "gorgon apply all thread info"],
                              harness.HOST, "-n", "2", "pass", script=True)
        self.assertIn("interp 0: no thread runs it\ninterp 1: no thread runs it\n", output)
        self.assert_clean(output)


if __name__ == "__main__":
    unittest.main()
