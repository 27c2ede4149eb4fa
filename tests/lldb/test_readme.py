# SPDX-License-Identifier: MIT
"""The README's session with lldb."""

import unittest

import harness
import readme


@harness.needs_lldb
class Readme(readme.Session):
    def test_session(self):
        def answers(commands, program):
            output = harness.lldb(commands, *program, script=True)
            return {command: output.split(f"(lldb) {command}\n")[1].split("\n(lldb) ")[0] for command in commands}

        self.check("lldb", "--", answers)


if __name__ == "__main__":
    unittest.main()
