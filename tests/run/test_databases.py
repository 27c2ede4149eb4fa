# SPDX-License-Identifier: MIT
"""The C library's databases from four interpreters at once: each gets what python3 gets alone."""

import os
import tempfile
import textwrap
import unittest

from harness import GORGON, PYTHON3, run

# Without an argument: say what there is. With one, the file of what python3 has said: how much of it is wrong.
PROGRAM = textwrap.dedent("""
    import ast, grp, os, pwd, socket, sys, warnings
    warnings.simplefilter("ignore")
    try:
        import spwd
    except ImportError:                 # gone in Python 3.13
        spwd = None

    with open("/etc/services") as file:
        SERVICES = [line.split()[:2] for line in file if line.strip() and line[0] != "#"][:100]

    def answer(function, *args):
        try:
            return repr(function(*args))
        except (OSError, KeyError) as error:
            return repr(error)

    def terminal():
        master, slave = os.openpty()
        try:
            return os.ttyname(slave) == os.readlink(f"/proc/self/fd/{slave}")
        finally:
            os.close(master)
            os.close(slave)

    def services():
        for name, port in SERVICES:
            number, protocol = port.split("/")
            yield socket.getservbyname(name, protocol), answer(socket.getservbyport, int(number), protocol)

    def everything():
        yield answer(pwd.getpwall)
        yield answer(grp.getgrall)
        yield answer(spwd.getspall) if spwd else ""
        yield repr(list(services()))
        yield repr([socket.getprotobyname(name) for name in ("tcp", "udp", "icmp", "igmp", "ipv6", "sctp")])
        yield answer(socket.gethostbyname_ex, "localhost")
        yield answer(os.getlogin)
        yield answer(pwd.getpwnam, "daemon")
        yield answer(grp.getgrgid, 0)
        yield repr(terminal())

    if len(sys.argv) == 1:
        print(list(everything()))
    else:
        with open(sys.argv[1]) as file:
            expected = ast.literal_eval(file.read())
        wrong = [0] * len(expected)
        for _ in range(60):
            wrong = [count + (one != other) for count, one, other in zip(wrong, everything(), expected)]
        print(wrong)
""")


class Databases(unittest.TestCase):
    def check(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            program, expected = os.path.join(folder, "program.py"), os.path.join(folder, "expected")
            with open(program, "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            alone = run(PYTHON3, program)
            self.assertEqual((alone.returncode, alone.stderr), (0, ""))
            with open(expected, "w", encoding="utf-8") as file:
                file.write(alone.stdout)
            result = run(GORGON, "run", "-n", "4", *options, program, expected)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.splitlines(), [str([0] * 10)] * 4)

    def test_four_interpreters_at_once_get_what_python_gets_alone(self):
        self.check()

    def test_copies_get_what_python_gets_alone(self):
        self.check("--isolate", "copy")


if __name__ == "__main__":
    unittest.main()
