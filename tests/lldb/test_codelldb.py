# SPDX-License-Identifier: MIT
"""What VS Code does with the extension CodeLLDB and docs/launch.json: nobody types a command. The adapter is codelldb.py, which
makes the calls of liblldb that CodeLLDB makes, in its order."""

import collections
import os
import re
import shutil
import sys
import tempfile
import unittest

import dap_client
import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "codelldb.py")
# Interpreters take turns, as in test_dap.py.
PROGRAM = """import sys; sys.path.insert(0, {folder!r})
import gorgon, os, select, time
me = gorgon.interpreter
while me and not os.path.exists(f"{folder}/{{me - 1}}.done"):
    select.select([], [], [], 0.01)
import work, thrown
work.count(10 * me + 2, 'of %d' % me); time.sleep(0.01); thrown.refuse(me + 6)
open(f"{folder}/{{me}}.done", "w").close()
"""


@harness.needs_lldb
class Editor(unittest.TestCase):
    count = 3

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session.build_extensions(cls.folder.name)
        cls.adapter = shutil.copy(harness.PYTHON, f"{cls.folder.name}/codelldb")
        # lldb's module for Python is liblldb itself, which distributions have under a name that Python does not know.
        program = os.path.realpath(shutil.which(harness.LLDB))
        library = re.search(r"=> (\S+/liblldb\S+) ", harness.run("ldd", program).stdout)[1]
        os.symlink(os.path.realpath(library), f"{cls.folder.name}/_lldb.so")
        cls.environment = {"PYTHONPATH": f"{cls.folder.name}:{harness.run(harness.LLDB, '-P').stdout.strip()}",
                           "LLDB_DEBUGSERVER_PATH": os.path.join(os.path.dirname(program), "lldb-server")}
        cls.call, cls.end, cls.total = (harness.source_line(session.WORK, text)
                                        for text in ("count: call", "count: end", "helper: total"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def client(self):
        client = dap_client.Client([self.adapter, CALLS], "codelldb", env=self.environment)
        self.addCleanup(client.__exit__)
        return client

    def launch(self, client, **breakpoints):
        for me in range(self.count):  # of the last session, one line for each interpreter
            if os.path.exists(f"{self.folder.name}/{me}.done"):
                os.unlink(f"{self.folder.name}/{me}.done")
        client.launch(dap_client.launch_json("CodeLLDB: launch", program=harness.HOST, cwd=self.folder.name,
                                             args=["-n", str(self.count), PROGRAM.format(folder=self.folder.name)]),
                      **breakpoints)

    def interp(self, client, frame):
        """To which interpreter a frame belongs: CodeLLDB shows the folder of the frame's module."""
        module = next(m for m in client.request("modules")["modules"] if m["id"] == frame["moduleId"])
        found = re.search(r"/interp (\d+)/", module["path"])
        return int(found[1]) if found else None

    def everybody(self, client):
        """[(function, interpreter, line, locals)] of all stops, to the end of the program."""
        found = []
        while stop := client.stopped():
            frame = client.frames(stop, 1)[0]
            found.append((frame["name"], self.interp(client, frame), frame["line"], client.variables(frame, "Local")))
            client.resume(stop)
        return found


class Lines(Editor):
    """Breakpoints that are set before the program begins, in an extension that is not loaded yet and in CPython."""

    def test_lines_log_points_conditions_and_functions(self):
        client = self.client()
        self.launch(client, lines={session.WORK: [
            self.end, {"line": self.total, "logMessage": "doubled {doubled} of {n}"},
            {"line": self.call, "condition": "n % 10 == 2 && i == 1"}]}, functions=["time_sleep", "/re ^PyInit_wor"])
        stops = self.everybody(client)
        counts = collections.Counter((name, interp) for name, interp, *_ in stops)
        self.assertEqual(counts, {(name, me): times for me in range(self.count) for name, times in (
            ("work_count", 2), ("time_sleep", 1), ("PyInit_work", 1))})
        for name, me, line, values in stops:
            if name == "work_count":
                self.assertEqual((values["n"], values["name"]), (str(10 * me + 2), f"'of {me}'"))
                self.assertEqual(values["result"], str(10 * me + (8 if line == self.end else 4)))
            elif name == "time_sleep":
                self.assertEqual(values["timeout_obj"], "0.01")
        self.assertEqual(sorted(re.findall(r"^doubled \d+ of \d+$", client.output, re.M)),
                         sorted(["doubled 2 of 1", "doubled 4 of 2"] * self.count))
        self.assertEqual([place["seen"] for place in client.places.values()], [True] * 5)
        self.assertEqual(client.exit_code, 0)
        self.assertNotRegex(client.output, session.TRACEBACK)


class LinesOfMany(Lines):
    count = 9


class LinesOfOne(Lines):
    count = 1


class Session(Editor):
    """Sessions with three interpreters."""

    def at_call(self, client, condition="n == 12 && i == 1"):
        self.launch(client, lines={session.WORK: [{"line": self.call, "condition": condition}]})
        stop = client.stopped()
        return stop, client.frames(stop)

    def test_steps_and_threads(self):
        client = self.client()
        stop, frames = self.at_call(client)
        self.assertEqual((frames[0]["name"], frames[0]["line"], frames[0]["source"]["path"]), ("work_count", self.call, session.WORK))
        self.assertEqual({self.interp(client, frame) for frame in frames} - {None}, {1})  # None: the host's, from lldb 21 on
        self.assertIn('"host"', client.threads()[stop.thread])
        places = []
        for how in ("stepIn", "next", "stepOut", "next"):
            stop = client.step(stop, how)
            self.assertEqual(stop, dap_client.Stop("step", stop.thread), how)
            frame = client.frames(stop, 1)[0]
            places.append((frame["name"], self.interp(client, frame)))
        self.assertEqual(places, [("helper", 1), ("helper", 1), ("work_count", 1), ("work_count", 1)])
        client.disconnect()

    def test_values_are_the_frames(self):
        client = self.client()
        _, frames = self.at_call(client)
        frame = frames[0]
        answers = {text: client.evaluate(text, frame) for text in (
            "n + 1", "name", "work_calls", "doubled_total", "/nat work_calls + n", "/nat helper(0, 2)", "/nat PyTuple_Size(args)",
            "/py n * 2", "methods[0].ml_name", "module->m_name", "work_calls == 101")}
        self.assertEqual(answers, {
            "n + 1": "13", "name": "'of 1'", "work_calls": "101", "doubled_total": "2", "/nat work_calls + n": "113",
            "/nat helper(0, 2)": "0", "/nat PyTuple_Size(args)": "2", "/py n * 2": "24", "methods[0].ml_name": '"count"',
            "module->m_name": '"work"', "work_calls == 101": "True"})
        self.assertEqual(client.variables(frame, "Global")["work_calls"], "101")
        self.assertEqual(client.variables(frame, "Static")["doubled_total"], "6")
        local = next(s for s in client.request("scopes", frameId=frame["id"])["scopes"] if s["name"] == "Local")["variablesReference"]
        self.assertEqual(client.request("setVariable", variablesReference=local, name="n", value="15")["value"], "15")
        self.assertEqual(client.evaluate("n", frame), "15")
        self.assertIn("interpreter 1, work.so, work_count", client.evaluate("gorgon whose $pc", frame, "repl"))
        client.disconnect()

    def test_python_objects_have_their_values_and_their_members(self):
        client = self.client()
        _, frames = self.at_call(client)
        scope = client.request("scopes", frameId=frames[0]["id"])["scopes"][0]["variablesReference"]
        shown = {v["name"]: v for v in client.request("variables", variablesReference=scope)["variables"]}
        self.assertEqual((shown["name"]["value"], shown["args"]["value"], shown["self"]["value"]), ("'of 1'", "tuple of 2", "<module>"))
        members = {v["name"]: v["value"] for v in client.request("variables", variablesReference=shown["name"]["variablesReference"])["variables"]}
        self.assertEqual(members["ob_type"], "<class 'str'>")
        self.assertRegex(str(members), r"\bob_refcnt")
        client.disconnect()

    def test_disassembly_names_functions_of_the_copy(self):
        client = self.client()
        _, frames = self.at_call(client)
        found = client.request("disassemble", memoryReference=frames[0]["instructionPointerReference"], instructionOffset=-4, instructionCount=40)
        code = found["instructions"]
        self.assertEqual(code[4]["address"], frames[0]["instructionPointerReference"])
        self.assertEqual({line["symbol"] for line in code[:10]}, {"work_count"})
        self.assertTrue(any(line["instruction"].startswith("call") and "helper" in line["instruction"] for line in code), code)
        client.disconnect()

    def test_data_breakpoint_on_the_frames_global(self):
        client = self.client()
        stop, frames = self.at_call(client)
        info = client.request("dataBreakpointInfo", name="doubled_total", frameId=frames[0]["id"])
        self.assertTrue(client.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])["breakpoints"][0]["verified"])
        client.set_lines(session.WORK, [])
        client.resume(stop)
        stop = client.stopped()
        self.assertEqual(stop.reason, "data breakpoint")
        frame = client.frames(stop, 1)[0]
        self.assertEqual((frame["name"], self.interp(client, frame), client.evaluate("doubled_total", frame)), ("helper", 1, "6"))
        client.request("setDataBreakpoints", breakpoints=[])
        client.disconnect()

    def test_exception_of_cplusplus(self):
        client = self.client()
        self.launch(client, exceptions=["cpp_throw"])
        seen = []
        while stop := client.stopped():
            self.assertEqual(client.frames(stop, 1)[0]["name"], "__cxa_throw")
            frame = client.frames(stop, 2)[1]
            self.assertIn("shop::check", frame["name"])
            self.assertEqual(frame["line"], harness.source_line(session.THROWN, "check: throw"))
            seen.append(self.interp(client, frame))
            client.resume(stop)
        self.assertEqual(seen, list(range(self.count)))

    def test_functions_are_those_of_the_frames_copy(self):
        client = self.client()
        self.launch(client, lines={session.WORK: [{"line": self.call, "condition": "i == 1"}]})
        seen = {}
        while stop := client.stopped():
            frame = client.frames(stop, 1)[0]
            before = int(client.evaluate("doubled_total", frame))
            answers = [client.evaluate(text, frame) for text in ("/nat helper(self, 50)", "/nat PyLong_AsLong(PyLong_FromLong(n))")]
            seen[self.interp(client, frame)] = [*answers, int(client.evaluate("doubled_total", frame)) - before]
            client.resume(stop)
        self.assertEqual(seen, {me: ["100", str(10 * me + 2), 100] for me in range(self.count)})

    def test_function_of_cplusplus_in_another_library(self):
        client = self.client()
        _, frames = self.at_call(client)
        self.assertEqual(client.evaluate("/nat PyInit_thrown()", frames[0]), "<module>")
        client.disconnect()


class Attached(Editor):
    """Attach to a process that runs."""

    def test_attach_and_detach(self):
        last = self.count - 1
        code = f"import sys; sys.path.insert(0, {self.folder.name!r})\n" \
            "import gorgon, time, work; me = gorgon.interpreter\nprint('ready', flush=True)\n" \
            f"while True:\n time.sleep(0.05)\n if me == {last}: work.count(10 * me + 1, 'again')"
        with harness.Background(harness.HOST, "-n", str(self.count), code,
                                until=rf"(?s)(ready.*){{{self.count}}}") as host:
            client = self.client()
            client.attach(dap_client.launch_json("CodeLLDB: attach", pid=host.pid),
                          lines={session.WORK: [{"line": self.end, "condition": "n % 10 == 1"}]})
            for times in range(2):
                if times:
                    client.resume(stop)
                stop = client.stopped()
                frame = client.frames(stop, 1)[0]
                self.assertEqual((frame["name"], self.interp(client, frame), frame["line"]), ("work_count", last, self.end))
                values = client.variables(frame, "Local")
                self.assertEqual((values["n"], values["name"]), (str(10 * last + 1), "'again'"))
            self.assertEqual([place["seen"] for place in client.places.values()], [True])
            # Where a process comes to a breakpoint while it is detached, lldb 19 may crash, or the process end by SIGTRAP.
            client.set_lines(session.WORK, [])
            client.request("disconnect", terminateDebuggee=False)
            self.assertIsNone(host.process.poll())


class AttachedToMany(Attached):
    count = 9


class AttachedToOne(Attached):
    count = 1


if __name__ == "__main__":
    unittest.main()
