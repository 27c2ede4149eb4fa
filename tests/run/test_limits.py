# SPDX-License-Identifier: MIT
"""`gorgon run --memory-limit`, --cpu-limit and --thread-limit: programs that pass a limit, and those beside them."""

import unittest

from harness import GORGON, SANITIZED, run


@unittest.skipIf(SANITIZED, "a sanitizer's malloc() ends the process where there is no memory")
class Limits(unittest.TestCase):
    def run_limited(self, code, *options):
        return run(GORGON, "run", *options, "-c", code)

    def test_a_program_that_wants_too_much_gets_memory_error(self):
        ended = self.run_limited("x = []\nwhile True: x.append(bytes(100000))", "--memory-limit", "100M")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stderr.splitlines()[-1], "MemoryError")
        ended = self.run_limited("try: bytes(1 << 30)\nexcept MemoryError: print('none')\nprint(len(bytes(10 << 20)))",
                                 "--memory-limit", "100M")
        self.assertEqual((ended.returncode, ended.stdout), (0, "none\n10485760\n"))

    def test_a_program_that_wants_too_much_in_its_last_line_ends_as_others(self):
        ended = self.run_limited("import threading, time\n"
                                 "def late():\n    while threading.main_thread().is_alive(): time.sleep(0.01)\n    print('thread')\n"
                                 "import atexit; atexit.register(print, 'end')\n"
                                 "threading.Thread(target=late).start()\nx = b'x' * (110 << 20)", "--memory-limit", "100M")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "thread\nend\n", ""))
        ended = self.run_limited("import sys; sys.modules.pop('threading', None)\nx = b'x' * (110 << 20)", "--memory-limit", "100M")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def test_each_has_its_own_limit(self):
        ended = self.run_limited("import gorgon\nx = bytes(60 << 20)\n"
                                 "if gorgon.interpreter: x += bytes(60 << 20)\nprint('whole')",
                                 "--memory-limit", "100M", "-n", "2")
        self.assertEqual((ended.returncode, ended.stdout), (1, "whole\n"))

    def test_a_limit_does_not_change_how_programs_end(self):
        for code, status in (("import atexit; atexit.register(print, 'end')", 0), ("import sys; sys.exit(7)", 7), ("1 / 0", 1)):
            with self.subTest(code):
                limited, free = (run(GORGON, "run", *options, "-c", code) for options in (["--memory-limit", "1G"], []))
                self.assertEqual((limited.returncode, limited.stdout, limited.stderr), (status, free.stdout, free.stderr))

    def test_threads(self):
        ended = self.run_limited("import threading\ngo = threading.Event()\n"
                                 "threads = [threading.Thread(target=go.wait) for i in range(2)]\nthreads[0].start()\n"
                                 "try: threads[1].start()\nexcept RuntimeError as error: print(error)\n"
                                 "go.set(); threads[0].join()", "--thread-limit", "1")
        self.assertEqual((ended.returncode, ended.stdout), (0, "can't start new thread\n"))

    def test_processor_time_of_a_loop(self):
        ended = self.run_limited("import itertools\ntry:\n    for i in itertools.count(): pass\nfinally: print('cleaned up')", "--cpu-limit", "0.2")
        self.assertEqual((ended.returncode, ended.stdout), (130, "cleaned up\n"))
        self.assertRegex(ended.stderr, r"^gorgon: interpreter 0: has used 0\.[2-9] s of processor time, its limit is 0\.2 s\n"
                                       r"(?s:.*)\nKeyboardInterrupt\n$")

    def test_processor_time_of_a_program_that_catches_interrupts(self):
        ended = self.run_limited("import itertools\n"
                                 "caught = 0\n"
                                 "while caught < 4:\n"
                                 "    try:\n"
                                 "        for i in itertools.count(): pass\n"
                                 "    except KeyboardInterrupt: caught += 1\n"
                                 "print('caught', caught)", "--cpu-limit", "0.2")
        self.assertEqual((ended.returncode, ended.stdout), (0, "caught 4\n"))
        self.assertEqual(ended.stderr.count("has used"), 1)

    def test_processor_time_of_a_program_that_does_not_end(self):
        catching = "while True:\n    try: {}\n    except BaseException: pass\n"
        inner = catching.format("sum(range(1000))").replace("\n", "\n    ")
        for what, code in (("catches everything", f"def forever():\n    {inner}\n" + catching.format("forever()")),
                           ("stays in C code", "import itertools\nsum(itertools.repeat(0))")):
            with self.subTest(what):
                ended = self.run_limited(code, "--cpu-limit", "0.2")
                self.assertEqual(ended.returncode, 137, ended.stderr)
                self.assertRegex(ended.stderr, r"(?m)^gorgon: interpreter 0: was abandoned: it has used [\d.]+ s of processor time, its hard "
                                               r"limit is 0\.2 s, and it did not end within 1000 ms: thread \d+ ")

    def test_processor_time_of_threads_counts_and_that_of_others_does_not(self):
        ended = self.run_limited("import gorgon, threading, time\n"
                                 "def compute():\n"
                                 "    end = time.thread_time() + 0.4\n"
                                 "    while time.thread_time() < end: pass\n"
                                 "if gorgon.interpreter:\n"
                                 "    thread = threading.Thread(target=compute); thread.start()\n"
                                 "    try: time.sleep(60)\n"
                                 "    except KeyboardInterrupt: print('interrupted')\n"
                                 "else: time.sleep(1); print('not')", "-n", "2", "--cpu-limit", "0.3")
        self.assertEqual((ended.returncode, sorted(ended.stdout.split())), (0, ["interrupted", "not"]), ended.stderr)

    def test_what_cannot_be(self):
        for options, status, text in (
                (["--memory-limit", "2X"], 2, "--memory-limit 2X: expected a size such as 500M"),
                (["--memory-limit", "99999999999G"], 2, "expected a size such as 500M"),
                (["--cpu-limit", "0"], 2, "--cpu-limit 0: expected seconds such as 2.5"),
                (["--cpu-limit", "inf"], 2, "--cpu-limit inf: expected seconds"),
                (["--cpu-limit", "-1"], 2, "--cpu-limit -1: expected seconds"),
                (["--thread-limit", "0"], 2, "--thread-limit 0: expected a number"),
                (["--memory-limit", "1G", "--isolate", "copy"], 3, "does not know what it allocates"),
                (["--thread-limit", "1", "--isolate", "copy"], 3, "its threads are not counted")):
            with self.subTest(options):
                ended = self.run_limited("pass", *options)
                self.assertEqual(ended.returncode, status)
                self.assertIn(text, ended.stderr)


if __name__ == "__main__":
    unittest.main()
