# SPDX-License-Identifier: MIT
"""gdb's machine interface, which cpptools of VS Code drives: the commands that it sends, with the set-up of docs/launch.json."""

import os
import queue
import re
import subprocess
import threading
import unittest

import dap_client
import harness

PROGRAM = "import gorgon, time; time.sleep(gorgon.interpreter / 8 + 0.125)"
LINE = re.compile(r"line=\"(\d+)\"")


def first_line(function):
    """Where a breakpoint on a function of libpython is, behind its prologue."""
    output = harness.run(harness.GDB, "-nx", "-batch", "-ex", f"break {function}", "-ex", "info breakpoints", harness.LIBPYTHON).stdout
    return re.search(rf" in {function} at \S+:(\d+)", output)[1]


class Session:
    """One gdb."""

    def __init__(self):
        environment = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        self.process = subprocess.Popen([harness.GDB, "-nx", "-q", "--interpreter=mi"], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        self.lines, self.number, self.seen = queue.Queue(), 0, []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def until(self, pattern):
        """The first line from here on that begins with it."""
        while True:
            line = self.lines.get(timeout=harness.TIMEOUT)
            self.seen.append(line)
            if line is None:
                raise AssertionError("gdb has ended:\n" + "\n".join(map(str, self.seen[-20:])))
            if re.match(pattern, line):
                return line

    def ask(self, command):
        self.number += 1
        self.process.stdin.write(f"{self.number}{command}\n")
        self.process.stdin.flush()
        return self.until(rf"{self.number}\^").partition("^")[2]

    def stop(self):
        return self.until(r"\*stopped,reason=")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@harness.needs_gdb
class MachineInterface(unittest.TestCase):
    count = 3

    def begin(self):
        session = Session()
        self.addCleanup(session.close)
        setup = dap_client.launch_json("cpptools: launch", program=harness.HOST)["setupCommands"]
        for text in (command["text"] for command in setup):
            answer = session.ask(text if text.startswith("-") else f'-interpreter-exec console "{text}"')
            self.assertTrue(answer.startswith("done"), answer)
        session.ask(f"-file-exec-and-symbols {harness.HOST}")
        session.ask(f'-exec-arguments -n {self.count} "{PROGRAM}"')
        return session

    def test_a_line_of_code_that_is_not_loaded_yet_stops_in_each(self):
        session = self.begin()
        line = first_line("time_sleep")
        self.assertIn('addr="<PENDING>"', session.ask(f"-break-insert -f timemodule.c:{line}"))
        session.ask("-exec-run")
        values = []
        while "exited" not in (stop := session.stop()):
            self.assertIn('func="time_sleep"', stop)
            self.assertEqual(LINE.search(stop)[1], line)
            thread = re.search(r'thread-id="(\d+)"', stop)[1]
            frames = session.ask(f"-stack-list-frames --thread {thread} 0 1")
            self.assertEqual(re.findall(r'func="(\w+)"', frames)[0], "time_sleep")
            self.assertIn('name="timeout_obj",arg="1",type="PyObject *"',
                          session.ask(f"-stack-list-variables --thread {thread} --frame 0 --simple-values"))
            created = session.ask(f'-var-create --thread {thread} --frame 0 - * "((PyFloatObject *)timeout_obj)->ob_fval"')
            values.append(re.search(r'value="([\d.]+)"', created)[1])
            if len(values) == self.count:  # nobody else comes to a breakpoint meanwhile
                session.ask(f"-exec-next --thread {thread}")
                self.assertIn("end-stepping-range", session.stop())
            session.ask("-exec-continue")
        self.assertEqual(sorted(map(float, values)), [me / 8 + 0.125 for me in range(self.count)])


class Many(MachineInterface):
    """More of them than gdb is told everything about."""

    count = 10


if __name__ == "__main__":
    unittest.main()
