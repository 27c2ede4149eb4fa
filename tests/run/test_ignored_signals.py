# SPDX-License-Identifier: MIT
"""What a program that an interpreter starts finds ignored: what the interpreter ignores, and its process did from the start,
whatever an interpreter beside it ignores meanwhile. As in a python3 of its own."""

import itertools
import os
import signal
import subprocess
import tempfile
import textwrap
import unittest

import harness

PROGRAM = textwrap.dedent('''
    import os, signal, subprocess, sys
    try:
        from gorgon import interpreter
    except ImportError:
        interpreter = None
    NUMBERS = signal.SIGQUIT, signal.SIGWINCH, signal.SIGUSR1, signal.SIGHUP, signal.SIGPIPE
    done = os.path.join(sys.argv[1], "done")

    def ignored(start):
        reader, writer = os.pipe()
        os.set_inheritable(writer, True)
        start(["/bin/sh", "-c", f"grep SigIgn /proc/$$/status >&{writer}"], writer)
        os.close(writer)
        mask = int(os.read(reader, 100).split()[1], 16)
        os.close(reader)
        return [signal.Signals(number).name for number in NUMBERS if mask >> (number - 1) & 1]

    def fork(words, writer):
        pid = os.fork()
        if not pid:
            os.execv(words[0], words)
        os.waitpid(pid, 0)

    WAYS = {"vfork": lambda words, writer: subprocess.run(words, pass_fds=[writer]),
            "vfork, nothing restored": lambda words, writer: subprocess.run(words, pass_fds=[writer], restore_signals=False),
            "posix_spawn in subprocess": lambda words, writer: subprocess.run(words, close_fds=False),
            "posix_spawn": lambda words, writer: os.waitpid(os.posix_spawn(words[0], words, os.environ), 0),
            "posix_spawn with a set": lambda words, writer: os.waitpid(
                os.posix_spawn(words[0], words, os.environ, setsigdef=[signal.SIGPIPE]), 0),
            "fork": fork, "system": lambda words, writer: os.system(words[2]),
            "function before": lambda words, writer: subprocess.run(words, close_fds=False, preexec_fn=int)}

    def tell():
        for name, start in WAYS.items():
            print(name, *sorted({repr(ignored(start)) for _ in range(40 if interpreter else 1)}), flush=True)

    if interpreter == 0 and os.environ.get("BESIDE"):
        while not os.path.exists(done):
            for action in signal.SIG_IGN, signal.SIG_DFL:
                for number in NUMBERS:
                    signal.signal(number, action)
    else:
        tell()
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)
        tell()
        open(done, "w").close()
    ''')


class Ignored(unittest.TestCase):
    def test_as_in_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(PROGRAM)
            for from_the_start, beside in itertools.product(((), (signal.SIGHUP, signal.SIGWINCH)), (False, True)):
                def run(*command):
                    with tempfile.TemporaryDirectory() as done:
                        return subprocess.run([*command, path, done], capture_output=True, text=True, check=True, timeout=harness.TIMEOUT,
                                              preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in from_the_start],
                                              env=dict(os.environ, BESIDE="yes" if beside else "")).stdout.splitlines()
                with self.subTest(from_the_start=from_the_start, beside=beside):
                    expected = run(harness.PYTHON)
                    self.assertEqual(len(expected), 16)
                    self.assertEqual(run(harness.GORGON, "run", "-n", "2" if beside else "1"), expected)


if __name__ == "__main__":
    unittest.main()
