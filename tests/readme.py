# SPDX-License-Identifier: MIT
"""The README's sessions with debuggers, line by line: each command says what it says there, but for addresses and who comes first."""

import re
import unittest

import harness

STEPS_MIN = 5
PROGRAM = re.compile(r"(?:gorgon|\$\(command -v gorgon\)) run -n 3 -c ")


def pattern(line):
    """The words of a line in their order, without addresses, threads, interpreters and versions of the debug
    information."""
    words = re.findall(r"[A-Za-z_]+", re.sub(r"0x[0-9A-Fa-f]+|\[interp \d\]|\+\d+>|<module[^>]*>", " ", line))
    return "(?m)^.*" + ".*?".join(rf"(?<![A-Za-z_]){word}(?![A-Za-z_])" for word in words)


@unittest.skipUnless(harness.VERSION == "3.11", "the README's sessions are with CPython 3.11")
class Session(unittest.TestCase):
    document = "README.md"

    def steps(self, debugger):
        """What is behind the debugger's name in the shell, and each command with its answer."""
        with open(f"{harness.ROOT}/{self.document}") as file:
            blocks = re.findall(rf"^```\n\$ {debugger} (.*?)^```", file.read(), re.M | re.S)
        block, = (text for text in blocks if PROGRAM.search(text))
        return block.split(f"\n({debugger}) ")

    def check(self, debugger, before_host, answers):
        """@before_host: between the debugger's name and the program's. answers(commands, the program's arguments): {command: answer}."""
        first, *steps = self.steps(debugger)
        self.assertGreaterEqual(len(steps), STEPS_MIN)
        code = re.search(rf"{before_host} {PROGRAM.pattern}'(.*)'", first)[1]
        lines = {command: answer for command, *answer in (step.strip("\n").split("\n") for step in steps)}
        found = answers(list(lines), [harness.GORGON, "run", "-n", "3", "-c", code])
        for command, answer in lines.items():
            for line in answer:
                self.assertRegex(found[command], pattern(line), command)
