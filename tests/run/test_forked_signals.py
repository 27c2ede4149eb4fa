# SPDX-License-Identifier: MIT
"""Signals of a child that a program forks, on its main thread and on another one: in each mode in which programs run the child
does with them what the child of python3 does, whatever handlers the host has."""

import os
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import BUILD, GORGON, PYTHON3, run  # noqa: E402
from test_executor import Package  # noqa: E402

# main(WHO, FOLDER) writes what the children say into a file of the folder.
CHILDREN = textwrap.dedent('''
    import os, signal, subprocess, threading, time

    def send(number):
        subprocess.run(["kill", f"-{number}", str(os.getpid())], check=True)  # from outside
        time.sleep(0.05)

    def handled():
        got = []
        for number in signal.SIGUSR1, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD:
            signal.signal(number, lambda number, frame: got.append(signal.Signals(number).name))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.1)
        send(signal.SIGTERM)
        return sorted(got)

    def interrupted():
        if signal.getsignal(signal.SIGINT) is None:  # a host that handles it keeps it, as with any embedded CPython
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            send(signal.SIGINT)
        except KeyboardInterrupt:
            return "KeyboardInterrupt"

    def ignored():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        send(signal.SIGTERM)
        return "alive"

    def by_default():
        send(signal.SIGTERM)
        return "alive"

    def by_default_of_a_timer():
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.1)
        return "alive"

    def fork(function, said):
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.write(writer, str(function()).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader) as file:
            said.append(f"{function.__name__}: {file.read()} {os.waitpid(pid, 0)[1]}")

    def main(who, folder):
        said = []
        for function in handled, interrupted, ignored, by_default, by_default_of_a_timer:
            fork(function, said)
            thread = threading.Thread(target=fork, args=(function, said))
            thread.start()
            thread.join()
        with open(os.path.join(folder, who), "w") as file:
            file.write("\\n".join(said))
    ''')
# A host has handlers of its own, of which a worker knows nothing.
HOST = textwrap.dedent('''
    import signal, sys
    import children

    if __name__ == "__main__":
        for number in signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM:
            signal.signal(number, lambda *args: print("the host has got", *args))
        if sys.argv[1] == "interpreters":
            from gorgon import interpreters
            interp = interpreters.create()
            interp.call(children.main, "first", sys.argv[2])
            interp.close()
        else:
            from gorgon import InterpreterPoolExecutor
            with InterpreterPoolExecutor(1) as pool:
                pool.submit(children.main, "first", sys.argv[2]).result()
    ''')
RUN = "import children, gorgon, sys; children.main(['first', 'second'][gorgon.interpreter], sys.argv[1])"
PLAIN = "import children, sys; children.main('first', sys.argv[1])"


class Forked(Package):
    maxDiff = None

    def test_each_mode_does_what_python3_does(self):
        expected = None
        with tempfile.TemporaryDirectory() as code:
            for name, text in ("children.py", CHILDREN), ("host.py", HOST):
                with open(os.path.join(code, name), "w") as file:
                    file.write(text)
            for mode, *words in (
                    ("python3", PYTHON3, "-c", PLAIN),
                    ("a program", GORGON, "run", "-n", "2", "-c", RUN),
                    ("a host's call", f"{BUILD}/two", "call", PYTHON3, f"{code}/children.py"),
                    ("a call in a host's child", f"{BUILD}/two", "fork", PYTHON3, f"{code}/children.py"),
                    ("a pool's job", f"{BUILD}/two", "pool", PYTHON3, f"{code}/children.py"),
                    ("the executor", PYTHON3, f"{code}/host.py", "executor"),
                    ("interpreters", PYTHON3, f"{code}/host.py", "interpreters")):
                with self.subTest(mode=mode), tempfile.TemporaryDirectory() as folder:
                    result = run(*words, folder, env={"PYTHONPATH": f"{code}:{self.site}"})
                    self.assertEqual((result.stdout, result.stderr, result.returncode), ("", "", 0))
                    for name in os.listdir(folder):
                        with open(os.path.join(folder, name)) as file:
                            said = file.read().splitlines()
                        expected = expected or said
                        self.assertEqual(said, expected)
        self.assertEqual(len(expected), 10)


if __name__ == "__main__":
    unittest.main()
