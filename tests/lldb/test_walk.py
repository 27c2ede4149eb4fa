# SPDX-License-Identifier: MIT
"""lldb: a walk through a host with four interpreters, numpy, a C++ library with exceptions and
thread-local variables, and a library without debug information. Interpreters take turns, so that
a step is not interrupted by another one's breakpoint. What is right is what the program prints."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

LIVING = (0, 2, 3, 4)  # interpreter 1 is destroyed before the programs start
LATER = 5              # created when the other interpreters have ended
RAN = (*LIVING, LATER)
ROUNDS = 2
HOST = [harness.HOST, "-n", "5", "-d", "1", "-a"]

SYMBOLS = ["gorgon symbols all libledger", "gorgon symbols all librisk"]
GLOBALS = ["ledger_total", "calls", "market::quotes", "plain_factor"]
TLS = ["ledger_thread", "thread_calls", "market::depth", "plain_thread"]
VALUES = [f"gorgon print {name}" for name in GLOBALS] + [f"gorgon tls {name}" for name in TLS]


def line(path, text):
    return harness.source_line(path, text)


def number(text):
    """The number of the first variable that lldb shows."""
    return int(re.search(r"\([\w ]+\) (?:\S+) = (-?\d+)", text)[1])


def interp(text):
    return int(re.search(r"\[interp (\d+)\]", text)[1])


def locations(listing, place):
    """The addresses of the breakpoint that is set on a place. Each address is there once."""
    found = session.addresses_listed(listing, place)
    assert len(set(found)) == len(found), listing
    return set(found)


def packs(images):
    """The interpreters that have symbols in addition to a pack."""
    return {int(i) for i in re.findall(r"/pack \[interp (\d+)\]", images)}


class Walk(session.Case):
    """A session with a host; `commands` and `actions` are the walker's."""

    host, variables = HOST, {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        cls.output = harness.lldb(
            [*cls.commands, session.DRIVER, "run", session.drive(cls.actions)], *cls.host,
            session.fixture_code(cls.folder.name, rounds=ROUNDS, in_turn=True, **cls.variables), script=True)
        cls.after = session.expectations(cls.output, "after")
        assert sorted(cls.after) == sorted(RAN), cls.output

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def visits(self, place, command):
        """[(interpreter, output of each command, what its program says afterwards)], in order of rounds."""
        found = {}
        for stop in session.stops(self.output, place):
            found.setdefault(interp(stop.output[command]), []).append(stop.output)
        return [(i, output, expected) for i, outputs in sorted(found.items())
                for output, expected in zip(outputs, self.after[i], strict=True)]

    def assert_whole(self):
        self.assertTrue(session.ended(self.output), self.output[-2000:])
        self.assert_clean(self.output)


@harness.needs_lldb
class Steps(Walk):
    """From a breakpoint out of a function, over a call, into another private library and back."""

    commands = ["gorgon break enter", "gorgon break PyConfig_SetBytesArgv", "gorgon break PyInit__multiarray_umath",
                "breakpoint set -n host_created", "breakpoint set -n host_destroyed"]
    actions = {
        "enter": [*SYMBOLS, "bt 2", "frame variable owner", "frame variable amount", "up", "frame variable owner amount",
            "frame info", "down", "frame select 0", "finish", "thread info", "next", "thread list", "step", "bt 3",
            "gorgon bt", "frame variable amount ", "finish ", "register read rip", "next ", *VALUES,
            "frame variable risk", "thread backtrace -c 1", "image list -f"],
        "PyInit__multiarray_umath": ["bt 1"],
        **dict.fromkeys(("host_created", "host_destroyed"), ["gorgon list", "breakpoint list"])}

    def each(self):
        found = self.visits("enter", "bt 2")
        self.assertEqual([i for i, _, _ in found], sorted(RAN * ROUNDS))
        return found

    def test_session_is_whole(self):
        self.assert_whole()

    def test_function_file_line_and_arguments(self):
        calls, inside = line(session.LEDGER, "calls enter"), line(session.LEDGER, "int scaled =")
        for i, output, expected in self.each():
            amount = expected["amount"]
            self.assertEqual(re.findall(r"`(.*?):\d+\n", output["bt 2"]),
                             [f"enter(owner={i}, amount={amount}) at ledger.c:{inside}",
                              f"ledger_add(owner={i}, amount={amount}) at ledger.c:{calls}"])
            self.assertEqual([number(output["frame variable owner"]), number(output["frame variable amount"])],
                             [i, amount])

    def test_up_and_down(self):
        for i, output, expected in self.each():
            self.assertRegex(output["up"], r"^frame #1: .*`ledger_add\(")
            self.assertEqual(output["frame variable owner amount"],
                             f"(int) owner = {i}\n(int) amount = {expected['amount']}\n")
            self.assertRegex(output["frame info"], r"^frame #1: ")
            self.assertRegex(output["down"], r"^frame #0: .*`enter\(")

    def test_finish_shows_the_value(self):
        for i, output, expected in self.each():
            self.assertRegex(output["finish"], rf"Return value: \(int\) \$\d+ = {expected['ledger_total']}\n")
            self.assertRegex(output["thread info"], rf"\[interp {i}\]`ledger_add\(.*stop reason = step out")

    def test_step_over_and_into_another_private_library(self):
        called = line(session.LEDGER, "risk = risk_of(total);")
        for i, output, expected in self.each():
            self.assertRegex(output["next"], rf"libledger\.so \[interp {i}\]`ledger_add\(.*\) at ledger\.c:{called}:")
            self.assertEqual(session.frames(output["bt 3"])[:2],
                             [(f"librisk.so [interp {i}]", "risk_of"), (f"libledger.so [interp {i}]", "ledger_add")])
            self.assertEqual(number(output["frame variable amount "]), expected["ledger_total"])

    def test_finish_goes_back_to_the_caller(self):
        for i, output, expected in self.each():
            self.assertRegex(output["finish "], rf"Return value: \(double\) \$\d+ = {expected['result']}\n")
            self.assertRegex(output["finish "], rf"libledger\.so \[interp {i}\]`ledger_add\(")

    def test_values_of_that_copy_and_that_thread(self):
        for _, output, expected in self.each():
            self.assertEqual({name: number(output[command]) for name, command in zip(GLOBALS + TLS, VALUES)},
                             {name: expected[name] for name in GLOBALS + TLS})
            self.assertEqual(number(output["frame variable risk"]), expected["result"])

    def test_merged_backtrace(self):
        program = os.path.join(session.FIXTURE, "program.py")
        places = [f"work  program.py:{line(program, 'ledger.ledger_add(me, amount)')}",
                  f"<module>  program.py:{line(program, 'done = work(')}", "<module>  <string>:1"]
        for i, output, _ in self.each():
            text = output["gorgon bt"]
            self.assertEqual(re.findall(r"^      py (.*)$", text, re.M), places)
            natives = re.findall(r"^#\d+ +0x\w+ in (\S+)  (\S+) \[interp (\d+)\]", text, re.M)
            self.assertEqual(natives[:2], [("risk_of", "librisk.so", str(i)), ("ledger_add", "libledger.so", str(i))])
            self.assertEqual({number for _, _, number in natives}, {str(i)})
            self.assertLess(text.index("in ffi_call"), text.index("in PyCFuncPtr_call"))

    def test_libraries_without_debug_information(self):
        stops = session.stops(self.output, "PyInit__multiarray_umath")
        self.assertEqual(sorted(interp(stop.output["bt 1"]) for stop in stops), sorted(RAN))
        for stop in stops:
            self.assertRegex(stop.output["bt 1"], r"_multiarray_umath\.\S+ \[interp \d\]`PyInit__multiarray_umath")

    def test_interpreters_come_and_go(self):
        stops = session.stops(self.output, "host_created", "host_destroyed")
        there = [[int(n) for n in re.findall(rf"^(\d+) +{harness.VERSION} ", stop.output["gorgon list"], re.M)] for stop in stops]
        self.assertEqual(there, [[0, 1, 2, 3, 4], [0, 2, 3, 4], [0, 2, 3, 4, 5]])
        placed = [locations(stop.output["breakpoint list"], "PyConfig_SetBytesArgv") for stop in stops]
        self.assertEqual([len(found) for found in placed], [5, 4, 5])
        hit = {stop.pc for stop in session.stops(self.output, "PyConfig_SetBytesArgv")}
        self.assertEqual(hit, placed[1] | placed[2])
        self.assertEqual(len(session.stops(self.output, "PyConfig_SetBytesArgv")), len(RAN))


@harness.needs_lldb
class PackedSteps(Steps):
    """Four symfiles become one while the walk goes on, and libraries are loaded after that."""

    host, variables = [*HOST, "-l"], {"spares": session.SPARES}

    def test_each_has_symbols_beside_a_pack(self):
        self.assertLessEqual(set(LIVING), packs(session.stops(self.output, "enter")[-1].output["image list -f"]))


@harness.needs_lldb
class Stops(Walk):
    """Watchpoints, conditions, exceptions, and code without debug information."""

    entered, returned = (f"ledger.c:{line(session.LEDGER, text)}" for text in ("enter: variables", "ledger_add: has returned"))
    caught = f"risk.cc:{line(session.RISK, 'risk_of: has caught')}"
    commands = ["gorgon break scale_plain", f"gorgon break -i 2 {entered}", f"gorgon break -i 3 {returned} if total > 500",
                f"gorgon break {caught}", "breakpoint set -n __cxa_throw"]
    actions = {
        "scale_plain": ["gorgon symbols all libledger", "bt 2", "gorgon print plain_factor", "gorgon bt"],
        entered: ["bt 1", "watch ledger_total", "continue", "thread info", "gorgon print ledger_total", "watchpoint delete"],
        returned: ["bt 1", "frame variable total"],
        caught: ["gorgon bt"],
        "__cxa_throw": ["gorgon bt"]}

    def test_session_is_whole(self):
        self.assert_whole()

    def test_code_without_debug_information(self):
        found = self.visits("scale_plain", "bt 2")
        self.assertEqual([i for i, _, _ in found], sorted(RAN * ROUNDS))
        for i, output, expected in found:
            self.assertEqual(session.frames(output["bt 2"]),
                             [(f"libplain.so [interp {i}]", "scale_plain"), (f"libledger.so [interp {i}]", "enter")])
            self.assertEqual(number(output["gorgon print plain_factor"]), expected["plain_factor"])

    def test_watchpoint_on_one_copys_global(self):
        found = self.visits(self.entered, "bt 1")
        self.assertEqual([i for i, _, _ in found], [2] * ROUNDS)
        for _, output, expected in found:
            # The next change of that copy is the change on that line, which the program reports.
            self.assertRegex(output["thread info"], r"\[interp 2\]`enter\(.*stop reason = watchpoint \d")
            self.assertEqual(number(output["gorgon print ledger_total"]), expected["ledger_total"])
        totals = [expected["ledger_total"] for expected in self.after[2]]
        changes = re.findall(r"^old value: (\d+)\nnew value: (\d+)$", self.output, re.M)
        self.assertEqual([int(new) for _, new in changes], totals)
        self.assertEqual([int(old) for old, _ in changes[1:]], totals[:-1])

    def test_condition_in_one_interpreter(self):
        asked = [(interp(stop.output["bt 1"]), number(stop.output["frame variable total"]))
                 for stop in session.stops(self.output, self.returned)]
        totals = [expected["ledger_total"] for expected in self.after[3]]
        self.assertEqual(asked, [(3, total) for total in totals if total > 500])
        self.assertTrue(0 < len(asked) < len(totals))

    def test_exceptions_inside_of_private_code(self):
        throws, catches = ([stop.output["gorgon bt"] for stop in session.stops(self.output, place)] for place in ("__cxa_throw", self.caught))
        self.assertEqual(len(throws), len(RAN) * ROUNDS)
        self.assertEqual(len(catches), len(RAN) * ROUNDS)
        for text in throws:
            functions = re.findall(r"^#\d+ +0x\w+ in (.*?)  ", text, re.M)
            self.assertEqual(functions[0], "__cxa_throw")
            self.assertTrue(functions[1].startswith("market::divide"), functions)
            self.assertEqual(functions[2:4], ["risk_of", "ledger_add"])
        self.assertEqual(sorted(interp(text) for text in catches), sorted(RAN * ROUNDS))
        for text in catches:
            self.assertRegex(text, rf"^#0 +0x\w+ in risk_of  librisk\.so \[interp \d\]  {re.escape(self.caught)}\n")


@harness.needs_lldb
class PackedStops(Stops):
    host, variables = [*HOST, "-l"], {"spares": session.SPARES}


@harness.needs_lldb
class Conditions(Walk):
    """What lldb has made of expressions stays usable while modules come and go between two uses."""

    commands = ["expression int $kept = 5", f"gorgon break {Stops.returned} if $rsp != 0"]
    actions = {Stops.returned: ["bt 1", "expression $kept", "gorgon symbols all libledger", "image list -f", "gorgon symbols off"]}

    def test_session_is_whole(self):
        self.assert_whole()

    def test_each_evaluation_after_the_first(self):
        found = self.visits(Stops.returned, "bt 1")
        self.assertEqual([i for i, _, _ in found], sorted(RAN * ROUNDS))
        for i, output, _ in found:
            self.assertEqual(output["expression $kept"], "(int) $kept = 5\n")
            self.assertIn(f"/interp {i}/libledger.so", output["image list -f"])
            self.assertRegex(output["gorgon symbols off"], r"^Symbols removed from [1-9]")
        self.assertNotIn("error evaluating condition", self.output)


@harness.needs_lldb
class PackedConditions(Conditions):
    host, variables = [*HOST, "-l"], {"spares": session.SPARES}

    def test_parts_of_packs_came_and_went(self):
        self.assertLessEqual(set(LIVING), packs(session.stops(self.output, Stops.returned)[-1].output["image list -f"]))


@harness.needs_lldb
class Afterwards(session.Case):
    """The same without running the program: attached, and from a core."""

    COUNT = 4
    options, variables = [], {}

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_fixture(cls.folder.name)
        core = os.path.join(cls.folder.name, "core")
        cls.commands = ["gorgon list", *SYMBOLS, "image list -f", "gorgon apply all frame variable",
                        *(f"gorgon apply all {command}" for command in VALUES), "gorgon apply all gorgon bt",
                        "gorgon apply all bt 2", "gorgon symbols off", "gorgon apply all bt"]
        code = session.fixture_code(cls.folder.name, wait=600, **cls.variables)
        with harness.Background(harness.HOST, *cls.options, "-n", cls.COUNT, code, until=r"(?s)(ready.*){%d}" % cls.COUNT,
                                asleep=cls.COUNT) as host:
            cls.ready = session.expectations(host.output, "ready")
            made = harness.run("gcore", "-o", core, host.pid)
            cls.attached = harness.lldb([*cls.commands, "detach"], script=True, options=["-p", str(host.pid)])
        assert made.returncode == 0, made.stderr
        cls.core = harness.lldb([f"target create {harness.HOST} --core {core}.{host.pid}", *cls.commands], script=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def applied(self, output, command):
        """{interpreter: output} of "gorgon apply all"."""
        text = output.split(f"(lldb) gorgon apply all {command}\n")[1].split("(lldb)")[0]
        parts = re.split(r"^interp (\d+), thread .*\n", text, flags=re.M)
        return dict(zip(map(int, parts[1::2]), parts[2::2]))

    def check(self, output):
        self.assert_clean(output)
        sleeps = line(session.LEDGER, "ledger_wait: sleeps")
        variables, backtraces = self.applied(output, "frame variable"), self.applied(output, "gorgon bt")
        self.assertEqual(sorted(variables), list(range(self.COUNT)))
        for i, (ready,) in sorted(self.ready.items()):
            mine = ready["ledger_total"] + i
            self.assertEqual(variables[i], f"(int) owner = {i}\n(int) seconds = 600\n(int) mine = {mine}\n")
            for name, command in zip(GLOBALS + TLS, VALUES):
                self.assertEqual(number(self.applied(output, command)[i]), ready[name], command)
            self.assertRegex(backtraces[i], rf"in ledger_wait.*libledger\.so \[interp {i}\]  ledger\.c:{sleeps}\n")
            self.assertEqual(re.findall(r"^      py (\S+)  ", backtraces[i], re.M), ["<module>", "<module>"])
            whole = self.applied(output, "bt")[i]
            self.assertRegex(whole, r"clock_nanosleep")
            self.assertEqual([m for m, f in session.frames(whole) if f in ("ledger_wait", "Py_RunMain")],
                             [f"libledger.so [interp {i}]", f"{session.PYTHON} [interp {i}]"])
        self.check_packs(packs(output))

    def check_packs(self, found):
        self.assertEqual(found, set())

    def test_attached(self):
        self.check(self.attached)

    def test_core(self):
        self.check(self.core)


@harness.needs_lldb
class PackedAfterwards(Afterwards):
    options, variables = ["-l"], {"spares": session.SPARES}

    def check_packs(self, found):
        # Objects of the interpreter that has loaded a library last are not in a pack yet.
        self.assertGreaterEqual(len(found), self.COUNT - 1)


if __name__ == "__main__":
    unittest.main()
