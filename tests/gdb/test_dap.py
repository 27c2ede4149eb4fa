# SPDX-License-Identifier: MIT
"""What editors show: gdb as a debug adapter (gdb 14 and newer), with our scripts."""

import unittest

import dap_client
import harness
import mixed_session


COUNT = 2
WATCHES = ("&_PyRuntime", "PyObject_Repr", "&PyLong_Type")
SLEEP = "import time\ndef outer():\n    time.sleep(0.1)\nouter()\n"


def has_dap():
    return "unrecognized" not in harness.run(harness.GDB, "-nx", "-q", "-batch", "-i", "dap").stderr


COMMAND = [harness.GDB, "-nx", "-q", "-i", "dap", "-iex", "set debuginfod enabled off"]


@harness.needs_gdb
class Dap(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not has_dap():
            raise unittest.SkipTest("this gdb is no debug adapter: it is older than 14")
        # (frames of the stopped thread, what the scripts and an expression say in its innermost one)
        cls.stops, cls.watches, cls.names = [], [], []
        arguments = dap_client.launch_json("gdb: launch", program=harness.HOST, type=None, cwd=None,
                                           args=["-n", str(COUNT), "-p", harness.PYTHON3, SLEEP])
        with dap_client.Client([*COMMAND, *arguments.pop("debuggerArgs")], "gdb") as client:
            client.launch(arguments, functions=["time_sleep"])
            while stop := client.stopped():
                frames = client.frames(stop)
                interp = client.evaluate("$gorgon_interp($pc)", frames[0])
                cls.names.append(client.threads()[stop.thread])
                cls.watches.append([client.evaluate(f"$gorgon_interp({what})", frames[0]) for what in WATCHES])
                cls.stops.append((stop.reason, int(interp), frames, list(client.variables(frames[0], "Arguments"))))
                client.resume(stop)
            cls.exit = client.exit_code

    def test_each_interpreter_stops_at_the_function(self):
        self.assertEqual(sorted(interp for _, interp, _, _ in self.stops), list(range(COUNT)))
        for reason, _, _, _ in self.stops:
            self.assertIn("breakpoint", reason)
        self.assertEqual(self.exit, 0)

    def test_frames_of_private_code_are_labelled_as_in_bt(self):
        for _, interp, frames, _ in self.stops:
            names = [frame["name"] for frame in frames]
            label = f" from {harness.SONAME} [interp {interp}]"
            self.assertEqual(names[0], "time_sleep" + label)
            self.assertIn("_PyEval_EvalFrameDefault" + label, names)
            # The host's own are as ever, and no frame belongs to somebody else.
            self.assertIn("run", "\n".join(name for name in names if "[interp" not in name))
            self.assertEqual([name for name in names if "[interp" in name and not name.endswith(label)], [])

    @unittest.skipIf(harness.GDB and harness.gdb_version() < 16, "the adapters of gdb 14 and 15 offer no place for it")
    def test_a_watch_means_the_copy_of_the_frame(self):
        for (_, interp, _, _), found in zip(self.stops, self.watches):
            self.assertEqual(found, [str(interp)] * len(WATCHES))

    def test_threads_are_called_after_their_interpreters(self):
        self.assertEqual(self.names, [f"host [interp {interp}]" for _, interp, _, _ in self.stops])

    def test_source_and_arguments_are_those_of_the_copy(self):
        for _, _, frames, names in self.stops:
            self.assertEqual(frames[0]["source"]["name"], "timemodule.c")
            self.assertGreater(frames[0]["line"], 0)
            self.assertIn("timeout_obj", names)


@harness.needs_python_lines
@harness.needs_gdb
class PythonLines(mixed_session.Adapter, unittest.TestCase):
    adapter = "gdb"

    def setUp(self):
        if not has_dap():
            self.skipTest("this gdb is no debug adapter: it is older than 14")
        super().setUp()

    def client(self):
        client = dap_client.Client([*COMMAND, *dap_client.launch_json("gdb: Python lines")["debuggerArgs"]], "gdb")
        self.addCleanup(client.__exit__)
        return client


if __name__ == "__main__":
    unittest.main()
