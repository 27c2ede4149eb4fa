# SPDX-License-Identifier: MIT
"""gdb's own recording ("record full") of steps in private libraries, forth and back."""

import os
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

COUNT = 2
TURNS = os.path.join(session.HERE, "turns.py")
CALL = harness.source_line(session.WALK, "// the line of the call")
COUNTS = harness.source_line(os.path.join(harness.ROOT, "tests", "modules", "walk_dep.c"), "walk_dep_calls++")
FORTH = ["gorgon print walk_dep_calls", "record full", "step", "next", "next", "gorgon print walk_dep_calls + 0",
         "gorgon whose $pc"]
BACK = ["reverse-next", "gorgon print 0 + walk_dep_calls", "reverse-finish", "gorgon bt 1", "info record"]


@harness.needs_gdb
class Record(unittest.TestCase):
    """One step of an interpreter. Without the lock gdb's recorder waits for ever in any program with threads."""

    def record(self, interp):
        with tempfile.TemporaryDirectory() as folder:
            output = harness.gdb(
                [f"break walk.cc:{CALL} if number == {interp + 1}", "run", "set scheduler-locking on",
                 *session.commands(FORTH + BACK), "kill"],
                harness.HOST, "-n", COUNT, session.walk(TURNS, folder=folder, count=COUNT), script=True)
        self.assertEqual(session.complaints(output), [])
        return session.answers(output)

    def test_steps_forth_and_back_in_each_copy(self):
        for interp in range(COUNT):
            with self.subTest(interp=interp):
                found = self.record(interp)
                self.assertEqual(found["gorgon print walk_dep_calls"], "$ = 1")
                self.assertEqual(found["gorgon print walk_dep_calls + 0"], "$ = 2")
                self.assertRegex(found["gorgon whose $pc"], rf": interpreter {interp}, libwalk_dep\.so, "
                                 rf"walk_dep_twice\+\d+, walk_dep\.c:{COUNTS + 1}$")
                self.assertEqual(found["reverse-next"], f"{COUNTS}\t\twalk_dep_calls++;")
                self.assertEqual(found["gorgon print 0 + walk_dep_calls"], "$ = 1", "the memory is as it was")
                self.assertRegex(found["gorgon bt 1"], rf"^#0  .*walk_step from walk\.so \[interp {interp}\] "
                                 rf".* at tests/modules/walk\.cc:{CALL}$")
                self.assertRegex(found["info record"], r"Replay mode:\nLowest recorded instruction number is 1\.")


if __name__ == "__main__":
    unittest.main()
