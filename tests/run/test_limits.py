# SPDX-License-Identifier: MIT
"""`gorgon run --memory-limit` and --thread-limit: programs that pass a limit, and those beside them."""

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

    def test_what_cannot_be(self):
        for options, status, text in (
                (["--memory-limit", "2X"], 2, "--memory-limit 2X: expected a size such as 500M"),
                (["--memory-limit", "99999999999G"], 2, "expected a size such as 500M"),
                (["--thread-limit", "0"], 2, "--thread-limit 0: expected a number"),
                (["--memory-limit", "1G", "--isolate", "copy"], 3, "does not know what it allocates"),
                (["--thread-limit", "1", "--isolate", "copy"], 3, "its threads are not counted")):
            with self.subTest(options):
                ended = self.run_limited("pass", *options)
                self.assertEqual(ended.returncode, status)
                self.assertIn(text, ended.stderr)


if __name__ == "__main__":
    unittest.main()
