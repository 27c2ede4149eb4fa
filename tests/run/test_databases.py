# SPDX-License-Identifier: MIT
"""The C library's databases from four interpreters at once: each gets what python3 gets alone."""

import os
import struct
import tempfile
import textwrap
import unittest

from harness import GORGON, PYTHON3, run

# Without an argument the program prints what it has found. With the name of a file that has python3's output it
# prints how much differs.
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


# Who is logged in, in a mount namespace of the test's own: a machine without logins has no such file.
MOUNTED = ["unshare", "--map-root-user", "--mount", "sh", "-ec",
           'mount -t tmpfs none /run && cp "$0" /run/utmp && exec "$@"']

LOGINS = textwrap.dedent("""
    import ctypes, time
    libc = ctypes.CDLL(None)
    libc.getutxent.restype = ctypes.c_void_p

    def walk():
        found = []
        libc.setutxent()
        while entry := libc.getutxent():
            found.append(ctypes.string_at(entry + 44, 32).rstrip(b"\\0").decode())  # ut_user
            time.sleep(0)
        libc.endutxent()
        return found

    first = walk()
    print(all(walk() == first for _ in range(500)), len(first), *first[:3])
""")
USERS = ["ann", "bob", "cid"] * 20


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

    def test_each_program_has_its_own_place_among_the_logins(self):
        if run("unshare", "--map-root-user", "--mount", "true").returncode:
            self.skipTest("no mount namespaces")
        with tempfile.TemporaryDirectory() as folder:
            utmp, program = os.path.join(folder, "utmp"), os.path.join(folder, "program.py")
            with open(utmp, "wb") as file:
                file.write(b"".join(struct.pack("hi32s4s32s", 7, 1, b"tty1", b"1", user.encode()).ljust(384, b"\0") for user in USERS))
            with open(program, "w", encoding="utf-8") as file:
                file.write(LOGINS)
            alone = run(*MOUNTED, utmp, PYTHON3, program)
            result = run(*MOUNTED, utmp, GORGON, "run", "-n", "4", program)
        self.assertEqual((alone.stdout, alone.stderr), ("True 60 ann bob cid\n", ""))
        self.assertEqual((result.stdout, result.stderr), (4 * alone.stdout, ""))


if __name__ == "__main__":
    unittest.main()
