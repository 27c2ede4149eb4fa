# SPDX-License-Identifier: MIT
"""gdb of another user than the process, or with another HOME: the process says where its companion files are."""

import tempfile
import unittest

import harness

COUNT = 9
CODE = "import sys, time; sys.stdout.write('ready\\n'); sys.stdout.flush(); time.sleep(600)"


@harness.needs_gdb
class OtherCache(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.output = {}
        with tempfile.TemporaryDirectory() as cache:
            command = ["env", f"XDG_CACHE_HOME={cache}", harness.HOST, "-n", COUNT, CODE]
            with harness.Background(*command, until=rf"(?s)(ready.*){{{COUNT}}}", asleep=COUNT) as host:
                attach, ask = f"attach {host.pid}", ["thread 3", "gorgon symbols all libpython", "bt"]
                cls.output["before"] = harness.gdb([attach, *ask], script=True)
                cls.output["later"] = harness.gdb([attach, f"source {harness.GDB_SCRIPT}", *ask])
            cls.output["started"] = harness.gdb([f"set environment XDG_CACHE_HOME {cache}", "break time_sleep if $gorgon_interp() == 3",
                                                 "run", "bt"], harness.HOST, "-n", COUNT, "import time; time.sleep(0.5)", script=True)

    def test_frames_have_arguments(self):
        for when, text in self.output.items():
            with self.subTest(when):
                self.assertRegex(text, r"time_sleep from libpython\S+ \[interp \d\] \(self=", text)
                self.assertRegex(text, r"_PyEval_EvalFrameDefault from libpython\S+ \[interp \d\] \(tstate=", text)

    def test_nothing_is_complained_of(self):
        for when, text in self.output.items():
            with self.subTest(when):
                self.assertNotRegex(text, "Traceback|Python Exception|gorgon:")


if __name__ == "__main__":
    unittest.main()
