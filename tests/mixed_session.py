# SPDX-License-Identifier: MIT
"""A program of Python and C, and what an editor does with it through a debug adapter, lldb's or gdb's: breakpoints in files of
both languages, one stack, steps from a function of Python into another, variables of both."""

import os
import sys
import tempfile

import dap_client
import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lldb"))
from lldb_session import WORK, build_extension  # noqa: E402

SHOP = """import sys, time; sys.path.insert(0, {folder!r})
import work

def price(n, name):
    extra = n + 1
    result = work.count(extra, name)  # calls C
    return result

def main():
    total = 0
    for n in (1, 2):
        total += price(n, "item")  # calls Python
    return total

print("total", main(), flush=True)
while sys.argv[1:]:
    time.sleep(0.01)
    main()
"""


def function(frame):
    """Its name, without what the scripts add."""
    return frame["name"].partition(" from ")[0]


class Program:
    """The program, with its extension, and where an editor has breakpoints. Tests have .adapter, with which the configurations
    in docs/launch.json begin that they use."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "shop.py")
        build_extension(WORK, folder.name, "gcc", "-g", "-O0")
        with open(self.path, "w") as file:
            file.write(SHOP.format(folder=folder.name))
        self.called, self.extra, self.begin, self.returned = (harness.source_line(self.path, text)
                                                              for text in ("# calls Python", "extra = ", "def price", "return total"))
        self.end = harness.source_line(WORK, "count: end")
        self.breakpoints = {self.path: [self.called, self.extra], WORK: [self.end]}
        command, *words = dap_client.launch_json(f"{self.adapter}: Python lines")["args"]
        self.arguments = [command, f"--python={harness.PYTHON}", *(word.replace("${file}", self.path) for word in words)]


class Adapter(Program):
    """Sessions by the Debug Adapter Protocol. Tests that derive from this have .client(), too."""

    def launch(self, client, **changes):
        client.launch(dap_client.launch_json(f"{self.adapter}: Python lines", program=harness.GORGON, cwd=os.path.dirname(self.path),
                                             args=self.arguments, **changes), lines=self.breakpoints)

    def attach(self, client, program, **changes):
        """Returns the stop in main()."""
        client.attach(dap_client.launch_json(f"{self.adapter}: attach", pid=program.pid, **changes), lines={self.path: [self.called]})
        return client.stopped()

    def check(self, client, extensions=True):
        """From a stop in main()."""
        stop = client.stopped()
        self.assertEqual(self.place(client, stop), ("shop.main", self.called))
        self.assertRegex(client.variables(client.frames(stop, 1)[0], "Locals")["total"], r'"\d+"$')
        stop = client.step(stop, "stepIn")
        self.assertEqual(self.place(client, stop), ("shop.price", self.begin))
        stop = client.step(stop)
        self.assertEqual(self.place(client, stop), ("shop.price", self.extra))
        frame = client.frames(stop, 1)[0]
        self.assertRegex(client.variables(frame, "Arguments", "Locals")["name"], "\"'item'\"$")
        self.assertEqual(frame["source"]["path"], self.path)
        n = int(float(client.evaluate("number.n", frame)))
        self.assertRegex(client.evaluate(f'py("n - {n}, name")', frame), r"\(0, .item.\)")
        n += 10
        client.set_variable(frame, "n", str(n))
        client.resume(stop)
        stop = client.stopped()
        if self.adapter == "lldb-dap" and harness.lldb_version() > 20 and self.place(client, stop) == ("shop.price", self.extra):
            # A breakpoint at the instruction where a step has ended stops lldb 21 once more when it goes on, in any program ("stepi").
            client.resume(stop)
            stop = client.stopped()
        self.assertEqual(self.place(client, stop), ("work_count", self.end))
        frames = client.frames(stop)
        self.assertEqual([function(frame) for frame in frames if function(frame).startswith("shop.")],
                         ["shop.price", "shop.main", "shop.<module>"])
        self.assertIn("_PyEval_EvalFrameDefault", [function(frame) for frame in frames])
        if extensions:
            self.assertEqual(client.variables(frames[0], "Locals")["n"], str(n + 1))
        price = next(frame for frame in frames if function(frame) == "shop.price")
        self.assertRegex(client.evaluate(f'py("extra - {n}, name")', price), r"\(1, .item.\)")
        return stop

    @staticmethod
    def place(client, stop):
        frame = client.frames(stop, 1)[0]
        return function(frame), frame["line"]

    def test_launch(self):
        client = self.client()
        self.launch(client)
        for _ in (1, 2):
            stop = self.check(client)
            client.resume(stop)
        self.assertIsNone(client.stopped())
        self.assertEqual(client.exit_code, 0)
        self.assertNotRegex(client.output, r"Traceback \(most recent call last\)|gorgon_\w+/\w+\.py")

    def test_attach(self):
        with harness.Background(harness.GORGON, *self.arguments, "again", until="total") as program:
            client = self.client()
            stop = self.attach(client, program)
            client.set_lines(WORK, [self.end])
            client.set_lines(self.path, [self.called, self.extra])
            while self.place(client, stop)[0] != "work_count":
                client.resume(stop)
                stop = client.stopped()
            client.resume(stop)
            stop = self.check(client)
            client.set_lines(WORK, [])
            client.set_lines(self.path, [self.returned])  # at a stop in C
            client.resume(stop)
            self.assertEqual(self.place(client, client.stopped()), ("shop.main", self.returned))
            client.disconnect()
