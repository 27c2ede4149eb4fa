# SPDX-License-Identifier: MIT
"""The library's own signals are nothing for lldb's user, who has set nothing: lldb stops at SIGURG, by which blocking calls
end elsewhere."""

import os
import tempfile
import unittest

import harness

SLEEPER = "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()"
PROGRAMS = {
    "a daemon thread at the end": ["program", f"import threading, time; {SLEEPER}; time.sleep(0.1); print('end')"],
    "many": ["program", f"import threading, time; [{SLEEPER} for _ in range(20)]; time.sleep(0.1); print('end')"],
    "a daemon thread of a host's interpreter": ["host", f"import threading, time; {SLEEPER}; time.sleep(0.1); print('end')"],
    "a call that has a limit of time": ["executor", """
from gorgon import InterpreterPoolExecutor
import time
with InterpreterPoolExecutor(2, time_limit=0.5) as pool:
    try:
        pool.submit(time.sleep, 100).result()
    except Exception:
        print('end')
"""],
    "a shutdown that interrupts": ["executor", """
from gorgon import InterpreterPoolExecutor
import time
pool = InterpreterPoolExecutor(2)
call = pool.submit(time.sleep, 100)
time.sleep(0.5)
pool.shutdown(cancel_futures=True, interrupt=True)
print('end')
"""],
}


@harness.needs_lldb
class Signals(unittest.TestCase):
    def test_none_stops_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            harness.install_package(folder)
            path = os.path.join(folder, "program.py")
            commands = {"program": [harness.GORGON, "run", path], "executor": [harness.PYTHON3, path],
                        "host": [harness.HOST, "-n", "3", f"import sys; sys.path[:0] = [{folder!r}]; import program"]}
            for name, (kind, text) in PROGRAMS.items():
                with self.subTest(name), harness.environment({"PYTHONPATH": folder}):
                    with open(path, "w") as file:
                        file.write(text)
                    output = harness.lldb(["run"], *commands[kind])
                    self.assertNotIn("stop reason", output)
                    self.assertRegex(output, "(?s)end.*exited with status = 0")


if __name__ == "__main__":
    unittest.main()
