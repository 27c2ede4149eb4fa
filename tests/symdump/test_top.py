# SPDX-License-Identifier: MIT
"""gorgon-symdump --top: once for programs and files, again and again on a terminal."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

# Interpreter 1 computes on a thread of Python's and holds 40 MiB.
PROGRAM = """
import gorgon, threading, time
def compute():
    while True: sum(range(1000))
if gorgon.interpreter == 1:
    held = bytearray(40 << 20)
    threading.Thread(target=compute, daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""
HEADING = r"  Num  Python  State      Threads    CPU%   Wait%      Calls    Memory     Limit      Time  Job"
ROW = re.compile(r"^ +(\d)  3\.\d+ +(\w+|-) +(\d+) +([\d.]+|-) +([\d.]+|-) +(\d+|-) +(\d+[KM]|-) +(\d+[KM]|-)  +([\d:]+|-)(?:  (.*))?$", re.M)


def rows(text):
    return {int(row[0]): row[1:] for row in ROW.findall(text)}


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.host = session.start_host(folder.name, PROGRAM, 2, asleep=1)
        cls.addClassCleanup(cls.host.__exit__, None, None, None)

    def check_rows(self, table, live=True):
        self.assertEqual(set(table), {0, 1})
        self.assertEqual([table[i][0] for i in (0, 1)], ["running", "running"])
        self.assertEqual([table[i][1] for i in (0, 1)], ["1", "2"] if live else ["0", "0"])
        self.assertRegex(table[1][5], r"^4\dM$")
        self.assertEqual(table[0][6], "-")
        if live:
            self.assertEqual(table[0][2], "0.0")
            self.assertGreater(float(table[1][2]), 0)

    def test_json_has_counters(self):
        first = second = session.dump(self.host.pid, "--top")
        end = time.monotonic() + 30
        # On a busy machine the thread may have had no processor in between.
        while second["interpreters"][1]["thread_cpu_ns"] == first["interpreters"][1]["thread_cpu_ns"] and time.monotonic() < end:
            second = session.dump(self.host.pid, "--top")
        self.assertEqual((first["schema"], first["pid"]), ("gorgon-symdump-top", self.host.pid))
        idle, busy = first["interpreters"]
        self.assertEqual([(i["interpreter"], i["state"], i["threads"]) for i in (idle, busy)],
                         [(0, "running", 1), (1, "running", 2)])
        self.assertGreater(busy["heap"], 40 << 20)
        self.assertEqual(busy["memory"], sum(busy[part] for part in ("heap", "mapped", "extensions", "blocks")))
        self.assertIsNone(busy["memory_limit"])
        self.assertGreater(second["interpreters"][1]["thread_cpu_ns"], busy["thread_cpu_ns"])
        self.assertGreater(second["interpreters"][0]["time_ns"], idle["time_ns"])

    def test_file_gets_one_table_the_busiest_first(self):
        text = session.output(self.host.pid, "--top")
        self.assertTrue(text.startswith(f"{self.host.pid}: interpreters: 2\n\n{HEADING}\n    1  "), text)
        self.check_rows(rows(text))

    def test_core_has_what_is_in_memory(self):
        made = harness.run("gcore", "-o", f"{self.folder}/core", self.host.pid)
        self.assertEqual(made.returncode, 0, made.stderr)
        core = f"{self.folder}/core.{self.host.pid}"
        self.check_rows(rows(session.output(core, "--top")), live=False)
        busy = session.dump(core, "--top")["interpreters"][1]
        self.assertGreater(busy["heap"], 40 << 20)
        self.assertEqual((busy["threads"], busy["thread_cpu_ns"]), (None, None))

    def watch(self, pid, act):
        """What --top writes to a terminal until it ends; act(process, leader) after the second table."""
        leader, terminal = pty.openpty()
        process = subprocess.Popen([harness.SYMDUMP, str(pid), "--top"], stdin=terminal, stdout=terminal, stderr=terminal,
                                   env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"})
        os.close(terminal)
        output, tables = b"", 0
        with contextlib.suppress(OSError):  # so ends a terminal that nobody has open any more
            while part := os.read(leader, 65536):
                output += part
                if tables < 2 <= output.count(b"\x1b[H"):
                    tables = 2
                    act(process, leader)
        os.close(leader)
        return process.wait(), output.decode().replace("\r\n", "\n")

    def test_terminal_is_refreshed_until_q(self):
        status, text = self.watch(self.host.pid, lambda process, leader: os.write(leader, b"xq"))
        self.assertEqual(status, 0)
        screens = text.split("\x1b[?1049l")
        self.assertEqual(len(screens), 2)
        again = screens[0].split("\x1b[H")[2].replace("\x1b[K", "")
        self.check_rows(rows(again))
        self.assertEqual(set(rows(screens[1])), {0, 1})  # the last one stays

    def test_terminal_is_left_as_it_was_after_ctrl_c(self):
        status, text = self.watch(self.host.pid, lambda process, leader: process.send_signal(signal.SIGINT))
        self.assertEqual((status, text.count("\x1b[?1049l")), (0, 1))

    def test_process_that_ends_is_said_to_have_ended(self):
        host = session.start_host(self.folder, "import time; print('ready', flush=True); time.sleep(600)", 1, asleep=1)
        with host:
            status, text = self.watch(host.pid, lambda process, leader: os.kill(host.pid, signal.SIGKILL))
        self.assertEqual(status, 0)
        self.assertTrue(text.endswith(f"{host.pid} has ended\n"), text[-300:])

    def test_other_options_are_refused(self):
        result = session.symdump(self.host.pid, "--top", "--stacks")
        self.assertEqual((result.returncode, result.stderr), (2, "gorgon-symdump: --stacks: one of these at a time "
                                                                 "(gorgon-symdump --help)\n"))
