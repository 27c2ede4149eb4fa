# SPDX-License-Identifier: MIT
"""What editors do with lldb-dap and docs/launch.json: nobody types a command."""

import os
import re
import sys
import tempfile
import unittest

import dap_client
import harness
import mixed_session
from mixed_session import function

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

ADAPTER = dap_client.find_lldb_dap()
# Interpreters take turns and do not sleep: lldb-server 19 gets lost, with or without scripts, when dozens of threads
# stop at the same time.
PROGRAM = """import sys; sys.path.insert(0, {folder!r})
import gorgon, os, select, time
me = gorgon.interpreter
while me and not os.path.exists(f"{folder}/{{me - 1}}.done"):
    select.select([], [], [], 0.01)
import work, thrown
work.count(10 * me + 2, 'of %d' % me); time.sleep(0.01); thrown.refuse(me + 6)
open(f"{folder}/{{me}}.done", "w").close()
"""


def interp(frame):
    """To which interpreter a frame belongs, by its name."""
    found = re.search(r" \[interp (\d+)\]$", frame["name"])
    return int(found[1]) if found else None


@unittest.skipUnless(ADAPTER, "lldb-dap is not installed")
class Dap(unittest.TestCase):
    count = 3

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_extensions(cls.folder.name)
        cls.call, cls.end, cls.total = (harness.source_line(session.WORK, text)
                                        for text in ("count: call", "count: end", "helper: total"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def client(self):
        client = dap_client.Client([ADAPTER], "lldb-dap")
        self.addCleanup(client.__exit__)
        return client

    def launch(self, client, **breakpoints):
        for me in range(self.count):  # of the last session
            if os.path.exists(f"{self.folder.name}/{me}.done"):
                os.unlink(f"{self.folder.name}/{me}.done")
        client.launch(dap_client.launch_json("lldb-dap: launch", program=harness.HOST, cwd=self.folder.name,
                                             args=["-n", str(self.count), PROGRAM.format(folder=self.folder.name)]),
                      **breakpoints)

    def everybody_at(self, client, *places):
        """[{interpreter: its variables}] of all threads that come to each place (function, line), to the end of the
        program."""
        found = [{} for _ in places]
        while stop := client.stopped():
            frame = client.frames(stop, 1)[0]
            if (function(frame), frame["line"]) in places:
                here = found[places.index((function(frame), frame["line"]))]
                here[interp(frame)] = client.variables(frame, "Locals")
            client.resume(stop)
        return found


class Lines(Dap):
    """Breakpoints by file and line, set before the program begins."""

    def test_in_an_extension_that_is_not_loaded_yet_and_in_cpython(self):
        client = self.client()
        sleep = session.libpython_symbol("time_sleep")[1]
        self.launch(client, lines={"timemodule.c": [sleep], session.WORK: [
            self.end, {"line": self.total, "logMessage": "doubled {doubled}"}]})
        work, cpython = self.everybody_at(client, ("work_count", self.end), ("time_sleep", sleep))
        everybody = list(range(self.count))
        self.assertEqual((sorted(work), sorted(cpython)), (everybody, everybody))
        for me, values in work.items():
            self.assertEqual((values["n"], values["result"]), (str(10 * me + 2), str(10 * me + 8)))
            self.assertIn(f"'of {me}'", values["name"])
        for values in cpython.values():
            self.assertRegex(values["timeout_obj"], r"0x\w+ 0\.01$")
        self.assertEqual([place["seen"] for place in client.places.values()], [True] * 3)
        # A log point stops no thread, and counts each call.
        self.assertEqual(sorted(re.findall(r"^doubled \d+$", client.output, re.M)),
                         sorted(["doubled 2", "doubled 4"] * self.count))
        self.assertNotRegex(client.output, session.TRACEBACK)


class LinesOfMany(Lines):
    """So many interpreters that each has a pack."""

    count = 9


class LinesOfOne(Lines):
    count = 1


class Session(Dap):
    """Conditions, steps, values, threads, exceptions, attaching."""

    def test_condition_steps_and_values(self):
        client = self.client()
        self.launch(client, lines={session.WORK: [{"line": self.call, "condition": "n == 12 && i == 1"}]})
        stop = client.stopped()
        frames = client.frames(stop)
        self.assertEqual((function(frames[0]), interp(frames[0]), frames[0]["line"]), ("work_count", 1, self.call))
        self.assertEqual(frames[0]["source"]["path"], session.WORK)
        # Up to lldb 19 the stack ends at the evaluation function, later it goes on to the host's.
        self.assertEqual({interp(frame) for frame in frames} - {None}, {1})
        self.assertEqual(client.evaluate("result", frames[0]), "14")
        self.assertEqual(client.evaluate("work_calls", frames[0]), "101")
        self.assertEqual(client.evaluate("helper(self, 2)", frames[0]), "4")
        self.assertIn("'of 1'", client.evaluate("name", frames[0], "hover"))
        names = client.threads()
        self.assertEqual(names[stop.thread], "host [interp 1]")
        self.assertLessEqual({name for name in names.values() if "[" in name},
                             {f"host [interp {i}]" for i in range(self.count)})
        self.assertIn("host", names.values())  # the thread that waits for them
        places, thread = [], stop.thread
        for how in ("stepIn", "next", "stepOut", "next"):
            stop = client.step(stop, how)
            self.assertEqual(stop, dap_client.Stop("step", thread), (how, client.frames(stop)))
            frame = client.frames(stop, 1)[0]
            places.append((function(frame), interp(frame)))
        self.assertEqual(places, [("helper", 1), ("helper", 1), ("work_count", 1), ("work_count", 1)])
        client.disconnect()

    def test_names_of_cpython_are_the_frames(self):
        client = self.client()
        line = self.call
        self.launch(client, lines={session.WORK: [{"line": line, "condition": "i == 0 && PyTuple_Size(args) == 2"}]})
        seen = {}
        while stop := client.stopped():
            frame = client.frames(stop, 1)[0]
            if (function(frame), frame["line"]) == ("work_count", line):
                seen[interp(frame)] = [client.evaluate(text, frame) for text in (
                    "PyTuple_Size(args)", "(char *)PyUnicode_AsUTF8(name)", "_PyRuntime.initialized", "(long)&_PyRuntime",
                    "(long)PyTuple_Size")]
                self.assertIn(" work.so ", client.evaluate("gorgon modules", frame, "repl"))
                self.assertIn("there is no command nonsense", client.evaluate("gorgon nonsense", frame, "repl"))
                answer = client.evaluate(f"gorgon whose {seen[interp(frame)][3]}", frame, "repl")
                self.assertIn(f"interpreter {interp(frame)}, {harness.SONAME}, _PyRuntime+0", answer)
            client.resume(stop)
        self.assertEqual(sorted(seen), list(range(self.count)))
        for me, (size, text, initialized, *_) in seen.items():
            self.assertEqual((size, initialized), ("2", "1"))
            self.assertIn(f'"of {me}"', text)
        self.assertEqual([len({values[i] for values in seen.values()}) for i in (3, 4)], [self.count] * 2)

    def test_thread_local_variables_are_the_frames(self):
        client = self.client()
        self.launch(client, lines={session.WORK: [{"line": self.call, "condition": "i == 0"}]})
        seen = {}
        while stop := client.stopped():
            frame, *callers = client.frames(stop, 2)
            if (function(frame), frame["line"]) == ("work_count", self.call):
                self.assertEqual(client.evaluate("work_depth", callers[0]), "42")
                seen[interp(frame)] = [client.evaluate(text, frame) for text in (
                    "work_depth", "work_depth = work_depth + i + 100", "work_depth * 2", "(long)&work_depth",
                    "sizeof(work_depth)")]
            client.resume(stop)
        self.assertEqual(sorted(seen), list(range(self.count)))
        self.assertEqual([values[:3] + values[4:] for values in seen.values()], [["42", "142", "284", "8"]] * self.count)
        self.assertEqual(len({values[3] for values in seen.values()}), self.count)

    def test_a_thread_without_thread_local_variables_has_none(self):
        client = self.client()
        self.launch(client, lines={session.WORK: [harness.source_line(session.WORK, "// init")]})
        frame = client.frames(client.stopped(), 1)[0]
        self.assertEqual(function(frame), "PyInit_work")
        with self.assertRaisesRegex(dap_client.Refused, "work_depth|read|address"):
            client.evaluate("work_depth", frame)
        client.disconnect()

    def test_function_breakpoint_behind_the_prologue(self):
        client = self.client()
        self.launch(client, functions=[{"name": "helper", "condition": "n == 2"}])
        place = ("helper", harness.source_line(session.WORK, "int doubled = n * 2;"))
        found, = self.everybody_at(client, place)
        self.assertEqual({me: values["n"] for me, values in found.items()}, {me: "2" for me in range(self.count)})

    def test_exception_of_cplusplus(self):
        client = self.client()
        self.launch(client, exceptions=["cpp_throw"])
        seen = set()
        while stop := client.stopped():
            frames = client.frames(stop, 2)
            if stop.reason == "exception":
                self.assertIn("shop::check", function(frames[1]))
                self.assertEqual(frames[1]["line"], harness.source_line(session.THROWN, "check: throw"))
                seen.add(interp(frames[1]))
            client.resume(stop)
        self.assertTrue(seen <= set(range(self.count)) and seen, seen)

    def test_attach(self):
        code = PROGRAM.format(folder=self.folder.name) + \
            "print('ready', flush=True)\nwhile True: time.sleep(0.05); work.count(10 * me + 1, 'again')"
        with harness.Background(harness.HOST, "-n", str(self.count), code,
                                until=rf"(?s)(ready.*){{{self.count}}}") as host:
            client = self.client()
            client.attach(dap_client.launch_json("lldb-dap: attach", pid=host.pid),
                          lines={session.WORK: [{"line": self.end, "condition": "n == 21"}]})
            stop = client.stopped()
            frame = client.frames(stop, 1)[0]
            self.assertEqual((function(frame), interp(frame), frame["line"]), ("work_count", 2, self.end))
            self.assertIn("'again'", client.variables(frame, "Locals")["name"])
            self.assertEqual([place["seen"] for place in client.places.values()], [True])
            client.disconnect()


@harness.needs_python_lines
class PythonLines(mixed_session.Adapter, Dap):
    adapter = "lldb-dap"

    def test_without_scripts(self):
        client = self.client()
        self.launch(client, initCommands=None, customFrameFormat=None, customThreadFormat=None)
        self.check(client, extensions=False)
        client.disconnect()

    def test_symbols_are_asked_for_after_attaching(self):
        """In the debug console, when lldb's list of modules is about to move (test_auto.Typed)."""
        arguments = [*self.arguments[:1], "-n", str(self.count), *self.arguments[1:], "again"]
        with harness.Background(harness.GORGON, *arguments, until=rf"(?s)(total.*){{{self.count}}}") as program, \
                harness.environment({"MALLOC_PERTURB_": "165"}):
            client = self.client()
            imports = dap_client.launch_json("lldb-dap: attach")["initCommands"][:1]
            frame = client.frames(stop := self.attach(client, program, initCommands=imports), 1)[0]
            for command in session.fill_modules(self.folder.name):
                self.assertIn("the list is full", client.evaluate(command, frame, "repl"))
            client.evaluate("gorgon symbols auto", frame, "repl")
            client.set_lines(session.WORK, [self.end])
            found = set()
            while len(found) < self.count:  # lldb-dap 19 may crash where a thread stops while it kills the program
                client.resume(stop)
                stop = client.stopped()
                frame = client.frames(stop, 1)[0]
                if function(frame) == "work_count":
                    found.add(interp(frame))
            client.disconnect()


if __name__ == "__main__":
    unittest.main()
