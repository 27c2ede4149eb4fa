# SPDX-License-Identifier: MIT
"""gdb attaches again and again, or interpreters come and go while it looks: breakpoints stay, and stop.
Other processes use the files that copies have in common meanwhile, which must not make gdb read them anew: gdb 13 then loses
what it knows of the copies, or ends in an internal error."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal  # noqa: E402

COUNT = 9
WRONG = re.compile(r"has changed; re-reading|internal[- ](error|problem)|Error in re-setting|Cannot (insert|remove)|Traceback|exited normally")


class Attaches:
    """`begin` are the commands up to the first `continue`."""

    host, until, attaches = (), "", 3

    @classmethod
    def setUpClass(cls):
        cls.process = harness.Background(*cls.host, until=cls.until)
        cls.addClassCleanup(cls.process.stop)

    def commands(self):
        attach = f"attach {self.process.pid}"
        again = ["continue", "detach", f"shell {harness.GORGON} run -n {COUNT} -c 0", attach]
        return [*self.begin(attach), *again * (self.attaches - 1), "continue", "info breakpoints", "detach"]

    def check(self, output):
        self.assertNotRegex(output, WRONG)
        self.assertEqual(len(re.findall(r"hit Breakpoint 1\.?\d*, time_sleep ", output)), self.attaches, output)
        self.assertRegex(output, r"(?m)^1 +breakpoint +keep y ")
        self.assertEqual(len(re.findall(r"\[Inferior 1 .*detached\]", output)), self.attaches, output)

    def test_batch(self):
        self.check(harness.gdb(self.commands()))

    def test_typed(self):
        with Terminal(harness.GORGON) as gdb:
            output = "".join(gdb.ask(command) for command in self.commands())
        self.check(output)
        self.assertNotIn("location number not found", output)


@harness.needs_gdb
class Plain(Attaches, unittest.TestCase):
    """Interpreters come and go, and there are moments without any."""

    host = (harness.GORGON, "run", "-n", COUNT, "--repeat", 100000, "-c",
            "import sys, time; time.sleep(0.1); sys.stdout.write('slept\\n'); sys.stdout.flush(); time.sleep(0.2)")
    until = "slept"

    @staticmethod
    def begin(attach):
        return ["break time_sleep", attach]


@harness.needs_gdb
class Scripts(Attaches, unittest.TestCase):
    """The breakpoint is set when its places are there."""

    host = (harness.HOST, "-n", COUNT, "import time; print('ready', flush=True); [time.sleep(0.2) for _ in range(10000)]")
    until = rf"(?s)(ready.*){{{COUNT}}}"

    @staticmethod
    def begin(attach):
        return [f"source {harness.GDB_SCRIPT}", attach, "break time_sleep"]


@harness.needs_gdb
class Rounds(unittest.TestCase):
    """Interpreters come where others have been, and gdb has not stopped meanwhile: it must not believe that the breakpoint of the
    others is still there."""

    def test_a_breakpoint_stops_in_the_third_round(self):
        count = 9  # more than get all of their debug information at once
        output = harness.gdb(["break time_sleep", "run"], harness.GORGON, "run", "-n", count, "--repeat", 3, "-c",
                             f"import gorgon, time; time.sleep(0.01) if gorgon.interpreter == {2 * count} else 0", script=True)
        self.assertRegex(output, rf'"interp {2 * count}" hit Breakpoint 1\.?\d*, time_sleep ')
        self.assertNotRegex(output, WRONG)


if __name__ == "__main__":
    unittest.main()
