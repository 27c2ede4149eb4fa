# SPDX-License-Identifier: MIT
"""The README's session with lldb, line by line: each command says what it says there, but for addresses and who comes first."""

import re
import unittest

import harness


def session():
    """(the command line after the debugger's name, [(command, [lines of its answer])])"""
    with open(f"{harness.ROOT}/README.md") as file:
        block = re.search(r"^```\n\$ lldb (.*?)^```", file.read(), re.M | re.S)[1]
    first, *steps = block.split("\n(lldb) ")
    answers = [step.strip("\n").split("\n") for step in steps]
    return first, [(command, lines) for command, *lines in answers]


def pattern(line):
    """A line's words in their order, for any addresses, threads, interpreters and versions of the debug information."""
    words = re.findall(r"[A-Za-z_]+", re.sub(r"0x[0-9a-f]+|\[interp \d\]|\+\d+>|<module[^>]*>", " ", line))
    return "(?m)^.*" + ".*?".join(rf"(?<![A-Za-z_]){word}(?![A-Za-z_])" for word in words)


@harness.needs_lldb
@unittest.skipUnless(harness.VERSION == "3.11", "the README's session is with CPython 3.11")
class Readme(unittest.TestCase):
    def test_session(self):
        first, steps = session()
        self.assertGreaterEqual(len(steps), 6)
        code = re.search(r"-- gorgon run -n 3 -c '(.*)'", first)[1]
        output = harness.lldb([command for command, _ in steps], harness.GORGON, "run", "-n", "3", "-c", code, script=True)
        for command, lines in steps:
            answer = output.split(f"(lldb) {command}\n")[1].split("\n(lldb) ")[0]
            for line in lines:
                self.assertRegex(answer, pattern(line), command)


if __name__ == "__main__":
    unittest.main()
