# SPDX-License-Identifier: MIT
"""The session with lldb of docs/debugging.md."""

import os
import tempfile
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

    def test_beside_a_clone(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "gorgon"))
            path = os.path.dirname(harness.GORGON) + ":" + os.environ["PATH"]
            result = harness.run("bash", "-c", f"{harness.LLDB} --no-lldbinit --batch -o quit {self.steps('lldb')[0]}", cwd=folder,
                                 env={**os.environ, "PATH": path})
        self.assertIn(f"Current executable set to '{harness.GORGON}'", result.stdout, result.stderr)


if __name__ == "__main__":
    unittest.main()
