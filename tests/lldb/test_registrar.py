# SPDX-License-Identifier: MIT
"""lldb without scripts sees what private compilers have made (tests/modules/jit.c), however they call
their registrar. lldb reads one descriptor of a process: ours."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 3
LIBRARIES = ("libjit_direct.so", "libjit_exported.so", "libjit_late.so", "libjit_symbolic.so")


@harness.needs_lldb
class Live(unittest.TestCase):
    def session(self, library):
        """Breakpoints are on compiled_0 to _2 and gone_0 to _2, all pending at first."""
        names = [f"{name}_{i}" for name in ("compiled", "gone") for i in range(COUNT)]
        return harness.lldb(
            [f"breakpoint set -n {name}" for name in names] +
            [session.DRIVER, "run", session.drive({0: ["bt", "image lookup -n gone_0"]})],
            harness.HOST, "-n", str(COUNT), harness.compiled_code(library))

    def test_functions_have_names_breakpoints_and_backtraces(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                output = self.session(library)
                for name in ("compiled", "gone"):
                    found = harness.compiled_addresses(output, name)
                    self.assertEqual(sorted(found), list(range(COUNT)), output)
                    for i in range(COUNT):
                        (stop,) = session.stops(output, f"{name}_{i}")
                        self.assertEqual(stop.pc, found[i])
                        functions = session.functions(stop.output["bt"])
                        self.assertEqual(functions[:2], [f"{name}_{i}", "jit_call"], stop.output["bt"])
                        self.assertEqual(functions[-3:], ["run_interpreter", "start_thread", "__clone3"])
                self.assertEqual(len(re.findall(r"compiled_\d returns 4\d\b", output)), COUNT, output)
                self.assertTrue(session.ended(output), output[-500:])
                self.assertEqual(session.complaints(output), [])

    def test_removed_function_is_gone(self):
        output = self.session("libjit_direct.so")
        (there,), (removed,) = session.stops(output, "gone_0"), session.stops(output, "compiled_0")
        self.assertIn("gone_0", there.output["image lookup -n gone_0"])
        self.assertNotIn("gone_0", removed.output.get("image lookup -n gone_0", ""))


@harness.needs_lldb
class Detached(unittest.TestCase):
    """The debug information of such a library is in a file of its own: so are Debian's libpythons from CPython 3.15.2 on."""

    def test_functions_have_lines_in_each_copy(self):
        with tempfile.TemporaryDirectory() as folder:
            library, line = harness.detached_compiler(folder)
            output = harness.lldb([f"breakpoint set -f jit.c -l {line}", session.DRIVER, "run", session.drive({0: ["bt"]})],
                                  harness.HOST, "-n", str(COUNT), harness.compiled_code(library))
        places = re.findall(rf"`jit_bottom(?:\(.*\))? at jit\.c:{line}\b", output)
        self.assertGreaterEqual(len(places), 2 * COUNT, output)
        self.assertTrue(session.ended(output), output[-500:])


@harness.needs_lldb
class Attached(unittest.TestCase):
    def test_functions_that_are_there_have_names(self):
        with harness.Background(harness.HOST, "-n", str(COUNT), harness.compiled_code("libjit_direct.so", wait=600),
                                until=r"(?s)(ready.*){3}", asleep=3) as host:
            output = harness.lldb(["bt all", "image lookup -n again_1", "image lookup -n gone_1"],
                                  options=["-p", str(host.pid)])
        inside = [session.functions(text) for text in session.threads(output) if "`compiled_" in text]
        self.assertEqual(len(inside), COUNT, output)
        seen = []
        for functions in inside:
            place = next(i for i, name in enumerate(functions) if name.startswith("compiled_"))
            self.assertEqual([functions[place - 1], functions[place + 1]], ["wait_for", "jit_wait"], functions)
            seen.append(functions[place])
        self.assertEqual(sorted(seen), [f"compiled_{i}" for i in range(COUNT)])
        self.assertIn("`again_1", output)
        self.assertNotIn("`gone_1", output)


if __name__ == "__main__":
    unittest.main()
