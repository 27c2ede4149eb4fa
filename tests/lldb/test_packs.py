# SPDX-License-Identifier: MIT
"""lldb: packs, which describe all libraries of an interpreter in one symfile. They come while lldb looks
on, interpreters load more after that, and end."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
ROUNDS = 2


def rows(modules, name):
    """{interpreter: (start, end)} of a library, of "gorgon modules"."""
    found = re.findall(rf"^(\d+) +{re.escape(name)} +(0x\w+)-(0x\w+) ", modules, re.M)
    return {int(i): (int(start, 16), int(end, 16)) for i, start, end in found}


def copies(output, place, ranges):
    """The interpreters in which the breakpoint that is set on a place has a location, one for each location."""
    return sorted(next(i for i, (start, end) in ranges.items() if start <= a < end) for a in session.addresses_listed(output, place))


@harness.needs_lldb
class Replaced(session.Case):
    """Each copy has exactly one location, whichever symfile describes it."""

    @classmethod
    def setUpClass(cls):
        listings = ["gorgon modules", "breakpoint list", "image list -f"]
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            cls.output = harness.lldb(
                ["gorgon break enter", "breakpoint set -n risk_of", "breakpoint set -n host_created",
                 "breakpoint set -n gorgon_interp_destroy", session.DRIVER, "run",
                 session.drive({"enter": ["bt 2", *listings], "risk_of": ["bt 1"], "host_created": listings,
                                "gorgon_interp_destroy": [*listings, "gorgon list"]})],
                harness.HOST, "-l", "-o", "-n", str(COUNT), "-d", "1", "-a",  # Python lines would be modules, too
                session.fixture_code(folder, rounds=ROUNDS, in_turn=True, spares=session.SPARES), script=True)

    def test_session_is_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-2000:])
        self.assert_clean(self.output)

    def test_one_location_in_each_copy(self):
        seen = []
        for stop in session.stops(self.output, "enter", "host_created", "gorgon_interp_destroy"):
            for function, library in (("enter", "libledger.so"), ("risk_of", "librisk.so")):
                there = rows(stop.output["gorgon modules"], library)
                self.assertEqual(copies(stop.output["breakpoint list"], function, there), sorted(there))
            seen.append(sorted(there))
        self.assertEqual(seen[0], [])
        self.assertIn([0, 2], seen)
        # At the end the host destroys all interpreters in order, and tries that with interpreter 1, which is gone.
        self.assertEqual(seen[-4:], [[0, 2, 3], [2, 3], [2, 3], [3]])

    def test_each_call_stops_once(self):
        for library, function, command in (("libledger.so", "enter", "bt 2"), ("librisk.so", "risk_of", "bt 1")):
            found = [session.frames(stop.output[command])[0] for stop in session.stops(self.output, function)]
            labels = sorted(label for label, _ in found)
            self.assertEqual(labels, sorted(f"{library} [interp {i}]" for i in (0, 2, 3) for _ in range(ROUNDS)))
            if function == "risk_of":  # static functions have no name in a symfile
                self.assertEqual({name for _, name in found}, {function})

    def test_packs_have_replaced_what_was_there(self):
        # How many modules lldb has of private code: fewer than one for each library, once there are packs.
        stop = session.stops(self.output, "gorgon_interp_destroy")[1]
        modules = len(re.findall(r"JIT\(0x\w+\)", stop.output["image list -f"]))
        objects = len(re.findall(r"^\d+ +\S+ +0x\w+-0x\w+", stop.output["gorgon modules"], re.M))
        self.assertEqual(len(re.findall(rf"^\d+ +{harness.VERSION} ", stop.output["gorgon list"], re.M)), 3)
        self.assertLess(modules, objects / 2)


BARE = """#include <Python.h>
static struct PyModuleDef bare = {PyModuleDef_HEAD_INIT, "bare"};
PyMODINIT_FUNC PyInit_bare(void) { return PyModule_Create(&bare); }
"""


@harness.needs_lldb
class Automatic(session.Case):
    """gorgon symbols auto, for packs that are there already: lldb does not do slow work before somebody asks for it."""

    COUNT = 3

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            session.build_extensions(folder)
            for name in ("bare", "spare"):
                source = os.path.join(folder, f"{name}.c")
                with open(source, "w") as file:
                    file.write(BARE.replace("bare", name))
                session.build_extension(source, folder, "gcc", "-g0")
            code = f"import sys; sys.path.insert(0, {folder!r}); import work, bare, spare, time; print('ready', flush=True); time.sleep(1000)"
            with harness.Background(harness.HOST, "-l", "-n", str(cls.COUNT), code, until=rf"(?s)(ready.*){{{cls.COUNT}}}",
                                    asleep=cls.COUNT) as host:
                cls.output = harness.lldb(
                    ["gorgon symbols auto", f"process attach -p {host.pid}", "statistics dump", "image list -f",
                     "breakpoint set -n PyInit_bare", "breakpoint set -n PyInit_spare",
                     "breakpoint set -n PyInit_work", "breakpoint set -n Py_RunMain", "breakpoint list", "detach"],
                    script=True)

    def listed(self, name):
        return len(re.findall(rf"^\[ *\d+\] .*{re.escape(name)}", self.output, re.M))

    def test_session_is_whole(self):
        self.assert_clean(self.output)

    def test_a_library_without_debug_information_is_no_module_of_its_own(self):
        self.assertEqual([self.listed(name) for name in ("/bare.so", "/work.so")], [0, self.COUNT])

    def test_packs_of_an_interpreter_are_one_module(self):
        self.assertEqual(len(re.findall(r"^\[ *\d+\] .*/pack \[interp \d\]$", self.output, re.M)), self.COUNT)

    def test_all_of_them_have_names_and_the_others_lines(self):
        listing = self.output[self.output.index("(lldb) breakpoint list"):]
        for function, where in (("PyInit_bare", r"pack \[interp \d\]`PyInit_bare,"), ("PyInit_spare", r"pack \[interp \d\]`PyInit_spare,"),
                                ("PyInit_work", r"work\.so`PyInit_work.* at work\.c:\d+"),
                                ("Py_RunMain", r"libpython\S+`Py_RunMain.* at main\.c:\d+")):
            self.assertEqual(len(re.findall(rf"^  \d+\.\d+: where = {where}.*, resolved", listing, re.M)), self.COUNT, function)

    def test_names_are_not_read_before_somebody_asks_for_them(self):
        parsed = re.findall(r'"path": "[^"]*/interp \d/work\.so",.*?"symbolTableParseTime": ([\d.e-]+)', self.output, re.S)
        self.assertEqual([float(seconds) for seconds in parsed], [0] * self.COUNT)


@harness.needs_lldb
class Symbols(session.Case):
    """Symbols of one library in one interpreter; the other libraries of its pack stay as they were."""

    @classmethod
    def setUpClass(cls):
        commands = ["gorgon modules", "gorgon break enter", "gorgon break -i 2 ledger_wait", "breakpoint set -n risk_of",
                    "breakpoint set -n ledger_report", "script print('=== before')", "gorgon apply all bt",
                    "gorgon symbols 1 librisk", "image list -f", "breakpoint list", "gorgon apply all bt",
                    "gorgon whose risk_of", "script print('=== off')", "gorgon symbols off",
                    "image list -f", "breakpoint list", "gorgon apply all bt", "gorgon whose risk_of",
                    "detach"]
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            code = session.fixture_code(folder, wait=600, in_turn=True, spares=session.SPARES)
            with harness.Background(harness.HOST, "-l", "-n", COUNT, code,
                                    until=r"(?s)(ready.*){%d}" % COUNT, asleep=COUNT) as host:
                output = harness.lldb(commands, script=True, options=["-p", str(host.pid)])
        cls.output = output
        cls.before, rest = output.split("=== before\n")
        cls.with_symbols, cls.without = rest.split("=== off\n")

    def copies(self, output, function, library):
        return copies(output, function, rows(self.before, library))

    def test_nothing_is_complained_about(self):
        self.assert_clean(self.output)

    def test_modules(self):
        self.assertEqual(re.findall(r"/(interp \d+/\S+|[^/\n]+ \[interp \d+\])", self.with_symbols),
                         ["interp 1/librisk.so", "pack [interp 1]"])
        self.assertEqual(re.findall(r"/([^/\n]+ \[interp \d+\])", self.without), ["pack [interp 1]"])

    def test_breakpoints_of_all_libraries(self):
        everywhere = list(range(COUNT))
        self.assertIn(f"enter in all interpreters, {COUNT} locations.\n", self.before)
        self.assertIn("ledger_wait in interpreter 2, 1 location.\n", self.before)
        for output in (self.with_symbols, self.without):
            self.assertEqual(self.copies(output, "enter", "libledger.so"), everywhere)
            self.assertEqual(self.copies(output, "ledger_wait", "libledger.so"), [2])
            self.assertEqual(self.copies(output, "risk_of", "librisk.so"), everywhere)
            self.assertEqual(self.copies(output, "ledger_report", "libledger.so"), everywhere)

    def test_backtraces_are_whole(self):
        def backtraces(output):
            texts = re.split(r"^interp (\d+), thread .*\n", output, flags=re.M)
            return {int(i): session.frames(text.split("(lldb)")[0]) for i, text in zip(texts[1::2], texts[2::2])}

        def named(frames):
            # lldb counts functions without a name for each module anew.
            return [(module, re.sub(r"^(___lldb_unnamed_symbol\d+|\[\S+\])$", "?", function)) for module, function in frames]

        before = backtraces(self.with_symbols.split("gorgon symbols")[0])
        self.assertEqual(sorted(before), list(range(COUNT)))
        for i, frames in before.items():
            self.assertIn((f"libledger.so [interp {i}]", "ledger_wait"), frames)
            self.assertIn((f"{session.PYTHON} [interp {i}]", "Py_RunMain"), frames)
            for output in (self.with_symbols.split("gorgon symbols")[1], self.without):
                self.assertEqual(named(backtraces(output)[i]), named(frames))

    def test_lines_in_that_copy_only(self):
        line = harness.source_line(session.RISK, "double risk_of(int amount)") + 1  # the brace
        found = re.findall(r"interpreter (\d), librisk\.so, risk_of\+0(, risk\.cc:\d+)?$", self.with_symbols, re.M)
        self.assertEqual(found, [("0", ""), ("1", f", risk.cc:{line}"), ("2", "")])
        self.assertEqual(re.findall(r"interpreter (\d), librisk\.so, risk_of\+0$", self.without, re.M),
                         ["0", "1", "2"])


@harness.needs_lldb
class PackedAfterSymbols(session.Case):
    """Symbols for libraries that have symfiles of their own, and are packed afterwards. No command follows."""

    def test_lines_at_every_stop(self):
        line = harness.source_line(session.RISK, "risk_of: has caught")
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            output = harness.lldb(
                ["gorgon break enter", f"gorgon break risk.cc:{line}", session.DRIVER, "run",
                 session.drive({"enter": ["gorgon symbols all librisk", "once"],
                                f"risk.cc:{line}": ["bt 1", "frame variable amount", "image list -f"]})],
                harness.HOST, "-l", "-n", str(COUNT),
                session.fixture_code(folder, rounds=ROUNDS, in_turn=True, spares=session.SPARES), script=True)
        after = session.expectations(output, "after")
        self.assertEqual(sorted(after), list(range(COUNT)))
        seen, packed = {}, set()
        for stop in session.stops(output, f"risk.cc:{line}"):
            found = re.search(rf"librisk\.so \[interp (\d)\]`risk_of\(amount=(-?\d+)\) at risk\.cc:{line}:",
                              stop.output["bt 1"])
            self.assertTrue(found, stop.output["bt 1"])
            self.assertEqual(stop.output["frame variable amount"], f"(int) amount = {found[2]}\n")
            seen.setdefault(int(found[1]), []).append(int(found[2]))
            if f"/pack [interp {found[1]}]" in stop.output["image list -f"]:
                packed.add(int(found[1]))
        self.assertEqual(seen, {i: [values["ledger_total"] for values in rounds] for i, rounds in after.items()})
        self.assertTrue(packed)
        self.assertTrue(session.ended(output), output[-2000:])
        self.assert_clean(output)


if __name__ == "__main__":
    unittest.main()
