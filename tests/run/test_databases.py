# SPDX-License-Identifier: MIT
"""The C library's databases from four interpreters at once: each gets what python3 gets alone."""

import os
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


# What other machines have in /etc, in a mount namespace of the test's own.
FILES = {
    "netgroup": "inner (h1,u1,d1) (h2,,)\nouter inner (,u3,d3)\n",
    "aliases": "postmaster: root\nstaff: ann, bob, \"cid x\"\n",
    "ttys": "console none unknown off secure # comment\ntty1 \"/sbin/getty 9600\" vt100 on window=\"/bin/w\"\n",
    "fstab": "# x\nUUID=1 / ext4 rw,noatime 0 1\ntmpfs /tmp tmpfs ro,nosuid 0 0\nnone swap swap sw 0 0\n",
    "nsswitch.conf": "passwd: files\nnetgroup: files\naliases: files\n",
}
MOUNTED = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"']

FROM_C = textwrap.dedent("""
    import ctypes
    from ctypes import byref, c_char_p, c_int, c_size_t
    libc = ctypes.CDLL(None)

    def structure(*names, numbers=()):
        fields = [(name, c_int if name in numbers else c_char_p) for name in names]
        return type("Structure", (ctypes.Structure,), {"_fields_": fields})

    Tty = structure("name", "getty", "type", "status", "window", "comment", numbers=("status",))
    FileSystem = structure("spec", "file", "vfs", "options", "type", "freq", "passno", numbers=("freq", "passno"))
    Alias = type("Alias", (ctypes.Structure,), {"_fields_": [
        ("name", c_char_p), ("count", c_size_t), ("members", ctypes.POINTER(c_char_p)), ("local", c_int)]})
    for function, kind in ((libc.getttyent, Tty), (libc.getttynam, Tty), (libc.getfsent, FileSystem),
                           (libc.getfsspec, FileSystem), (libc.getfsfile, FileSystem), (libc.getaliasent, Alias)):
        function.restype = ctypes.POINTER(kind)

    def values(pointer):
        return tuple(getattr(pointer.contents, name) for name, _ in pointer.contents._fields_)

    def walk(started, step, end, describe=values):
        found = [started]
        while entry := step():
            found.append(describe(entry))
        end()
        return found

    def group(name):
        host, user, domain = (c_char_p() for _ in range(3))
        def step():
            if libc.getnetgrent(byref(host), byref(user), byref(domain)):
                return host.value, user.value, domain.value
        return walk(libc.setnetgrent(name), step, libc.endnetgrent, tuple)

    def group_into_a_small_buffer():
        host, user, domain = (c_char_p() for _ in range(3))
        libc.setnetgrent(b"inner")
        for size in 3, 300:
            buffer = ctypes.create_string_buffer(size)
            yield libc.getnetgrent_r(byref(host), byref(user), byref(domain), buffer, c_size_t(size))
        yield host.value, user.value, domain.value

    def alias(entry):
        return entry.contents.name, entry.contents.members[:entry.contents.count], entry.contents.local

    def everything():
        return [group(b"outer"), group(b"nothing"), list(group_into_a_small_buffer()),
                walk(libc.setttyent(), libc.getttyent, libc.endttyent), values(libc.getttynam(b"tty1")),
                walk(libc.setfsent(), libc.getfsent, libc.endfsent), values(libc.getfsspec(b"none")),
                values(libc.getfsfile(b"/")), values(libc.getfsent()), bool(libc.getfsfile(b"/nothing")),
                walk(None, libc.getaliasent, libc.endaliasent, alias)]

    first = everything()
    assert all(everything() == first for _ in range(60))
    print(first)
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

    def test_databases_that_are_rare(self):
        if run("unshare", "--map-root-user", "--mount", "true").returncode:
            self.skipTest("no mount namespaces")
        with tempfile.TemporaryDirectory() as folder:
            etc, program = os.path.join(folder, "etc"), os.path.join(folder, "program.py")
            run("cp", "-a", "/etc", etc)        # as far as this user may read it
            for name, text in {**{f"etc/{name}": text for name, text in FILES.items()}, "program.py": FROM_C}.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            alone = run(*MOUNTED, etc, PYTHON3, program)
            result = run(*MOUNTED, etc, GORGON, "run", "-n", "4", program)
        self.assertEqual((alone.returncode, alone.stderr), (0, ""))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for part in ("(b'h2', None, None)", "b'/sbin/getty 9600'", "b'rw,noatime'", "b'ann', b'bob', "):
            self.assertIn(part, alone.stdout)
        self.assertEqual(result.stdout, 4 * alone.stdout)


if __name__ == "__main__":
    unittest.main()
