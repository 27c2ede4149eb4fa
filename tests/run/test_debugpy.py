# SPDX-License-Identifier: MIT
"""Python code of several interpreters in an editor: debugpy in each of them, as docs/editors.md says."""

import re
import tempfile
import unittest

import dap_client
from harness import GORGON, PYTHON3, SANITIZED, TIMEOUT, VENV_PYTHON, Background

INTERPRETERS = 2
PROGRAM = """\
import debugpy, gorgon
import numpy as np

_, port = debugpy.listen(("127.0.0.1", 0))
print(f"interpreter {gorgon.interpreter} listens on {port}", flush=True)
debugpy.wait_for_client()

def work(count):
    total = 0
    for i in range(count):
        total += i * gorgon.interpreter
    return total

print(f"interpreter {gorgon.interpreter} has {work(4)}", flush=True)
"""
LINE = PROGRAM.splitlines().index("        total += i * gorgon.interpreter") + 1


@unittest.skipIf(SANITIZED, "debugpy starts other programs, which a sanitizer's environment would reach")
class Debugpy(unittest.TestCase):
    def test_each_interpreter_has_a_session(self):
        with tempfile.NamedTemporaryFile("w", prefix="gorgon-debugpy-", suffix=".py") as file:
            file.write(PROGRAM)
            file.flush()
            with Background("env", "PYDEVD_DISABLE_FILE_VALIDATION=1", GORGON, "run", "-n", str(INTERPRETERS), "--python", VENV_PYTHON, file.name,
                            until=rf"(?s)(?:listens.*){{{INTERPRETERS}}}\n") as program:
                ports = dict(re.findall(r"interpreter (\d) listens on (\d+)", program.output))
                self.assertEqual(sorted(ports), ["0", "1"])
                for interpreter in (1, 0):  # the other interpreter waits for its editor, or has ended
                    self.session(interpreter, ports[str(interpreter)], file.name)
                self.assertEqual(program.process.wait(TIMEOUT), 0, program.output)
                self.assertEqual(re.findall(r"interpreter \d has \d+", program.output), ["interpreter 1 has 6", "interpreter 0 has 0"])

    def session(self, interpreter, port, path):
        with dap_client.Client([PYTHON3, "-c", dap_client.RELAY, port], "debugpy") as client:
            client.attach(dap_client.launch_json(f"Python: interpreter {interpreter}"), lines={path: [{"line": LINE, "condition": "i == 2"}]})
            stop = client.stopped()
            self.assertEqual(stop.reason, "breakpoint")
            frame = client.frames(stop)[0]
            self.assertEqual((frame["name"], frame["line"]), ("work", LINE))
            shown = {name: value for name, value in client.variables(frame, "Locals").items() if name in ("i", "total", "count")}
            self.assertEqual(shown, {"i": "2", "total": str(interpreter), "count": "4"})
            self.assertEqual(client.evaluate("total + gorgon.interpreter + int(np.arange(3).sum())", frame), str(2 * interpreter + 3))
            client.resume(stop)
            client.event("terminated")


if __name__ == "__main__":
    unittest.main()
