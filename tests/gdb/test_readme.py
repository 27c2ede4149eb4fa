# SPDX-License-Identifier: MIT
"""The README's session with gdb."""

import unittest

import harness
import readme


@harness.needs_gdb
class Readme(readme.Session):
    def test_session(self):
        def answers(commands, program):
            output = harness.gdb([text for command in commands for text in (f"echo === {command}\\n", command)], *program, script=True)
            return {command: output.split(f"=== {command}\n")[1].split("\n=== ")[0] for command in commands}

        self.check("gdb", "--args", answers)


if __name__ == "__main__":
    unittest.main()
