# SPDX-License-Identifier: MIT
"""The library's own signals are nothing for lldb's user, who has set nothing: lldb stops at SIGURG, by which blocking calls
end elsewhere. Only `gorgon exec` asks by SIGURG there, too."""

import os
import subprocess
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

    def test_code_for_a_running_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path, ready = (os.path.join(folder, name) for name in ("program.py", "ready"))
            with open(path, "w") as file:
                file.write(f"import os, time\nopen({ready!r}, 'w').write(str(os.getpid()))\nasked = []\n"
                           "while not asked: time.sleep(0.05)\nprint('asked', asked)\n")
            command = ["sh", "-c", f"until [ -s {ready} ]; do sleep 0.1; done; "
                       f"exec {harness.GORGON} exec -c 'import __main__; __main__.asked.append(7); print(8)' $(cat {ready})"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as asker:
                try:
                    output = harness.lldb(["process launch -s", "process handle -s false SIGURG", "continue"],
                                          harness.GORGON, "run", path)
                    self.assertEqual(asker.communicate(timeout=60)[0], "8\n")
                finally:
                    asker.kill()
            self.assertNotIn("stop reason = signal SIGURG", output)
            self.assertRegex(output, r"(?s)asked \[7\].*exited with status = 0")


if __name__ == "__main__":
    unittest.main()
