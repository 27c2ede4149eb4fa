# SPDX-License-Identifier: MIT
"""The session with lldb of docs/debugging.md."""

import unittest

import harness
import readme


@harness.needs_lldb
class Page(readme.Session):
    document = "docs/debugging.md"

    def test_session(self):
        def answers(commands, program):
            output = harness.lldb(commands, *program, script=True)
            return {command: output.split(f"(lldb) {command}\n")[1].split("\n(lldb) ")[0] for command in commands}

        self.check("lldb", "--", answers)


if __name__ == "__main__":
    unittest.main()
