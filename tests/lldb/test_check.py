# SPDX-License-Identifier: MIT
"""lldb: "gorgon check" on healthy processes and cores, and on damaged ones."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lldb_session as session  # noqa: E402

COUNT = 2
START = ["breakpoint set -n host_created", "run"]
CHECK = r"(?m)^(\d+) interpreters?, (\d+) objects?: (.*)\.$"


def answer(output):
    """The lines of the last "gorgon check", without the command."""
    lines = output.split("(lldb) gorgon check\n")[-1].splitlines()
    return lines[:next(i for i, line in enumerate(lines) if re.match(CHECK, line)) + 1]



@harness.needs_lldb
class Check(session.Case):
    def check(self, *commands):
        output = harness.lldb([*START, *commands, "gorgon check"], harness.HOST, "-n", str(COUNT), "pass", script=True)
        self.assertNotRegex(output, session.TRACEBACK)
        return answer(output), output

    def test_a_healthy_process(self):
        lines, output = self.check("gorgon modules")
        rows = re.findall(r"^\d +\S+ +0x\w+-0x\w+", output, re.M)
        self.assertEqual(lines, [f"{COUNT} interpreters, {len(rows)} objects: no problems."])
        self.assertGreaterEqual(len(rows), COUNT)

    def test_with_symbols_and_without_again(self):
        lines, _ = self.check("gorgon symbols all")
        self.assertRegex(lines[-1], "no problems")
        lines, _ = self.check("gorgon symbols all", "gorgon symbols off")
        self.assertRegex(lines[-1], "no problems")

    def test_a_core(self):
        with tempfile.TemporaryDirectory() as folder:
            core = os.path.join(folder, "core")
            with harness.Background(harness.HOST, "-n", COUNT, session.code(wait=600),
                                    until=r"(?s)(ready.*){%d}" % COUNT, asleep=COUNT) as host:
                harness.run("gcore", "-o", core, host.pid).check_returncode()
            output = harness.lldb([f"target create {harness.HOST} --core {core}.{host.pid}", "gorgon check"],
                                  script=True)
        self.assertRegex(answer(output)[-1], rf"^{COUNT} interpreters, \d+ objects: no problems\.$")

    def test_lldb_does_not_look(self):
        output = harness.lldb(["settings set plugin.jit-loader.gdb.enable off", *START, "gorgon check"],
                              harness.HOST, "-n", "1", "pass", script=True)
        *problems, last = answer(output)
        self.assertRegex(last, rf"^1 interpreter, {len(problems)} objects: {len(problems)} problems\.$")
        self.assertIn(f'{session.PYTHON} [interp 0]: lldb knows no module for it; "settings show '
                      'plugin.jit-loader.gdb.enable" must not say off', problems)

    def test_a_file_that_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            session.build_fixture(folder)
            code = (f"import ctypes, os; l = ctypes.CDLL('{folder}/libplain.so'); os.remove('{folder}/libplain.so'); "
                    "os.kill(os.getpid(), 10)")
            output = harness.lldb(["process handle SIGUSR1 --stop true --pass false", "run", "gorgon check"],
                                  harness.HOST, "-n", "1", code, script=True)
        self.assertEqual(answer(output)[:-1], [f"libplain.so [interp 0]: {folder}/libplain.so is not there"])
        self.assertRegex(answer(output)[-1], r"objects: 1 problem\.$")

    def test_registrations_that_are_lost(self):
        # The list of the JIT interface breaks off at its first entry.
        lines, output = self.check("memory write -s 8 `(char *)&__jit_debug_descriptor + 16` 0")
        count = int(re.search(CHECK, lines[-1])[2])
        self.assertRegex(lines[-1], rf"{count} objects: {count} problems")
        for i in range(COUNT):
            self.assertTrue(any(re.match(rf"{re.escape(session.PYTHON)} \[interp {i}\]: its symfile at 0x\w+ is not "
                                         "registered with debuggers$", line) for line in lines), output[-3000:])
        lines, _ = self.check("memory write -s 8 `(char *)&__jit_debug_descriptor + 16` 8")
        self.assertEqual(lines[0], "the list at __jit_debug_descriptor breaks off: cannot read 32 bytes at 0x8")

    def test_mistakes_get_one_clear_line(self):
        for before, program, text in (([], harness.HOST, "the program is not running, and there is no core file"),
                                      (["process launch --stop-at-entry"], "/bin/true",
                                       "this process does not use Gorgon: there is no gorgon_debug_root")):
            output = harness.lldb([*before, "gorgon check"], program, script=True)
            self.assertEqual(session.complaints(output), [f"error: gorgon check: {text}"])


if __name__ == "__main__":
    unittest.main()
