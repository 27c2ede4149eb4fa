# SPDX-License-Identifier: MIT
"""What `gorgon run` says before a fault ends the process, and what it leaves to others."""

import glob
import os
import re
import resource
import signal
import sys
import tempfile
import unittest

import harness
from harness import GORGON, MODULES, SYMDUMP, run

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "symdump"))
from symdump_session import kernel_writes_cores_into_files  # pylint: disable=wrong-import-position

LIB = f"import ctypes; lib = ctypes.CDLL({os.path.join(MODULES, 'libfaults.so')!r})\n"
# A sanitizer has its own handlers of faults and its own signal stacks.
SANITIZED = harness.SANITIZED


def fault(code, *options, count=1, **kwargs):
    return run(GORGON, "run", "-n", count, *options, "-c", LIB + code, **kwargs)


def frames(text):
    """Object and function of each native frame, without offsets."""
    return [(name, function) for name, function in re.findall(r"^  (\S+?)(?:!(\w+))?\+0x[0-9a-f]+", text, re.M)]


@unittest.skipIf(SANITIZED, "the sanitizer's handlers come first")
class Reports(unittest.TestCase):
    def check(self, ended, number, *words):
        self.assertEqual(ended.returncode, -number, ended.stderr)
        head = ended.stderr[ended.stderr.index("gorgon: "):].splitlines()[0]
        name = signal.Signals(number).name
        self.assertRegex(head, rf"^gorgon: {name} in interpreter \d+, thread \d+ \(.+\): ")
        for word in words:
            self.assertIn(word, head)
        return frames(ended.stderr)

    def test_each_kind_says_signal_reason_and_functions(self):
        for code, number, words, functions in (
                ("lib.fault_write()", signal.SIGSEGV, ["nothing is mapped at address 0x0"],
                 ["fault_write_here", "fault_write"]),
                ("lib.fault_divide(0)", signal.SIGFPE, ["an integer was divided by zero"], ["fault_divide"]),
                ("lib.fault_instruction()", signal.SIGILL, ["no valid instruction is at 0x"], ["fault_instruction"]),
                ("lib.fault_bus()", signal.SIGBUS, ["no memory is behind address 0x"], ["fault_bus"]),
                ("lib.fault_call_nothing()", signal.SIGSEGV, ["nothing is mapped at address 0x10"],
                 ["fault_call_nothing"]),
                ("lib.fault_abort()", signal.SIGABRT, ["the thread has sent it to itself"], ["abort", "fault_abort"]),
                ("lib.fault_raise(11)", signal.SIGSEGV, ["the thread has sent it to itself"], ["fault_raise"])):
            with self.subTest(code):
                found = [function for _, function in self.check(fault(code), number, *words)]
                for function in functions:
                    self.assertIn(function, found)
                self.assertEqual([function for function in found if function in functions], functions)

    def test_frames_go_on_to_the_threads_start_and_say_whose_they_are(self):
        ended = fault("lib.fault_write()")
        found = self.check(ended, signal.SIGSEGV)
        self.assertEqual(found[0], ("libfaults.so", "fault_write_here"))
        self.assertIn((harness.SONAME, "Py_RunMain"), found)
        self.assertIn(("libgorgon.so.0", "gorgon_interp_main"), found)
        self.assertEqual(found[-1][0], "libc.so.6")
        self.assertRegex(ended.stderr, r"libfaults\.so!fault_write_here\+0x[0-9a-f]+  \[interp 0\]\n")

    def test_python_lines(self):
        ended = fault("def inner():\n lib.fault_write()\ndef outer():\n inner()\nouter()")
        lines = re.findall(r'^  File "<string>", line (\d+) in (\S+)$', ended.stderr, re.M)
        self.assertEqual(lines, [("3", "inner"), ("5", "outer"), ("6", "<module>")])

    def test_a_stack_without_room(self):
        for start in ("lib.fault_recurse(0)", "import threading; threading.Thread(target=lib.fault_recurse, args=[0]).start()"):
            with self.subTest(start):
                ended = fault(start)
                found = self.check(ended, signal.SIGSEGV, "the stack has no more room")
                self.assertEqual(found[:40], [("libfaults.so", "fault_recurse")] * 40)
                self.assertIn("(there are more frames)", ended.stderr)

    def test_a_lost_stack_does_not_keep_the_report_from_the_rest(self):
        ended = fault("lib.fault_lose_stack()")
        self.check(ended, signal.SIGSEGV)
        self.assertEqual(frames(ended.stderr)[0], ("libfaults.so", "fault_lose_stack"))
        self.assertIn('File "<string>", line 2 in <module>', ended.stderr)

    def test_threads_of_programs_are_theirs(self):
        ended = fault("import threading\nt = threading.Thread(target=lib.fault_write); t.start(); t.join()")
        found = self.check(ended, signal.SIGSEGV, "in interpreter 0")
        self.assertEqual(found[0], ("libfaults.so", "fault_write_here"))

    def test_others_are_listed(self):
        ended = fault("import gorgon, time\n"
                      "while gorgon.count() < 3: pass\n"
                      "time.sleep(0.5)\n"
                      "if gorgon.interpreter == 1: lib.fault_write()\n"
                      "time.sleep(600)", count=3)
        self.check(ended, signal.SIGSEGV, "in interpreter 1,")
        self.assertRegex(ended.stderr, r"\ngorgon: other interpreters: 0 \(thread \d+\), 2 \(thread \d+\)\n$")

    def test_two_faults_at_once_are_two_whole_reports_at_most(self):
        ended = fault("import gorgon, time\ntime.sleep(0.2)\nlib.fault_write()", count=4)
        self.assertEqual(ended.returncode, -signal.SIGSEGV)
        heads = [line for line in ended.stderr.splitlines() if line.startswith("gorgon: SIG")]
        self.assertGreaterEqual(len(heads), 1)
        for head in heads:
            self.assertRegex(head, r"^gorgon: SIGSEGV in interpreter \d, thread \d+ \(.+\): nothing is mapped at address 0x0$")

    def test_fatal_errors_of_cpython_and_exceptions_that_nobody_catches(self):
        ended = fault("ctypes.pythonapi.Py_FatalError(b'that is all')")
        found = self.check(ended, signal.SIGABRT)
        self.assertIn("that is all", ended.stderr)
        self.assertIn(("libc.so.6", "abort"), found)
        ended = fault("ctypes.CDLL('libstdc++.so.6')._ZSt17__throw_bad_allocv()")
        self.assertIn("std::bad_alloc", ended.stderr)
        self.assertIn("_ZSt17__throw_bad_allocv", [function for _, function in self.check(ended, signal.SIGABRT)])

    def test_isolation_by_copy(self):
        ended = fault("lib.fault_write()", "--isolate", "copy")
        self.assertEqual(ended.returncode, -signal.SIGSEGV)
        self.assertIn("gorgon: SIGSEGV", ended.stderr)
        self.assertIn("!fault_write_here+0x", ended.stderr)

    def test_core_has_the_frames_of_the_fault(self):
        if not kernel_writes_cores_into_files():
            self.skipTest("the kernel gives cores to a program")
        with tempfile.TemporaryDirectory() as folder:
            ended = fault("lib.fault_write()", cwd=folder, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
            self.check(ended, signal.SIGSEGV)
            (core,) = glob.glob(os.path.join(folder, "core*"))
            stacks = run(SYMDUMP, core, "--stacks").stdout
        at = stacks.index("fault_write_here")
        self.assertLess(at, stacks.index("fault_write+", at))
        self.assertNotIn("gorgon_fault_report", stacks)


@unittest.skipIf(SANITIZED, "the sanitizer's handlers come first")
class Others(unittest.TestCase):
    def test_option_switches_reports_off(self):
        ended = fault("lib.fault_write()", "--no-fault-reports")
        self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGSEGV, ""))

    def test_faulthandler_comes_first(self):
        ended = fault("lib.fault_write()", "-X", "faulthandler")
        self.assertEqual(ended.returncode, -signal.SIGSEGV)
        self.assertLess(ended.stderr.index("Fatal Python error: Segmentation fault"), ended.stderr.index("gorgon: SIGSEGV"))
        self.assertEqual(ended.stderr.count("gorgon: SIGSEGV"), 1)
        self.assertIn("(handler of a signal)", ended.stderr)

    def test_a_program_that_deals_with_a_signal_keeps_it(self):
        ended = fault("assert lib.fault_handled() == 1\nprint('goes on')")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "goes on\n", ""))
        ended = fault("import os, signal\n"
                      "signal.signal(signal.SIGABRT, lambda *args: print('handled'))\n"
                      "os.kill(os.getpid(), signal.SIGABRT)\nprint('goes on')")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "handled\ngoes on\n", ""))

    def test_signals_from_outside_are_not_faults(self):
        ended = fault("import os, signal, subprocess, time\n"
                      "subprocess.run(['sh', '-c', f'kill -ABRT {os.getpid()}'])\ntime.sleep(60)")
        self.assertEqual((ended.returncode, ended.stderr), (-signal.SIGABRT, ""))


if __name__ == "__main__":
    unittest.main()
