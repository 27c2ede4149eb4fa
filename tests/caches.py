# SPDX-License-Identifier: MIT
"""States of the folder in which libjitreg keeps files for debuggers, and sessions of debuggers in each of them: names must not
depend on the folder. gdb/test_names.py and lldb/test_names.py say how a debugger is asked."""

import contextlib
import os
import subprocess
import tempfile
import unittest
import zlib

import harness

MANY = 9  # more than have symfiles of their own
FEW = 3
NOBODY = 65534
SOUND = 0x2144DF1C  # the checksum of each whole file

# Each interpreter passes the breakpoint several times. An attached session lets them end by making a file.
SLEEP = "import time; [time.sleep(0.1) for _ in range(2)]"
WAIT = ("import os, sys, time; sys.stdout.write('ready\\n'); sys.stdout.flush(); "
        "[time.sleep(0.1) for _ in iter(lambda: os.path.exists({!r}), True)]; {}")


def files(folder):
    return [os.path.join(folder, "gorgon", name) for name in sorted(os.listdir(os.path.join(folder, "gorgon")))
            if name.endswith((".debug", ".lines"))]


def sound(path):
    with open(path, "rb") as file:
        return zlib.crc32(file.read()) == SOUND


def damage(path):
    """Flip a bit in the middle of a file, where the names of a companion are."""
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 8]))


@contextlib.contextmanager
def kept(folder):
    yield {"XDG_CACHE_HOME": folder}


@contextlib.contextmanager
def unset(_folder):
    yield {"XDG_CACHE_HOME": None, "HOME": None}


@contextlib.contextmanager
def read_only(_folder):
    yield {"XDG_CACHE_HOME": "/proc"}  # root may write to every other folder


@contextlib.contextmanager
def full(folder):
    if os.geteuid():
        raise unittest.SkipTest("only root may mount file systems")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, text=True, check=False)
    if made.returncode:
        raise unittest.SkipTest(f"no file system may be mounted here: {made.stderr}")
    try:
        yield {"XDG_CACHE_HOME": folder}
    finally:
        subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def foreign(folder):
    """What lies in a folder of somebody else may be made up, so nothing is read or written there."""
    if os.geteuid():
        raise unittest.SkipTest("only root may give a folder away")
    theirs = os.path.join(folder, "gorgon")
    os.mkdir(theirs)
    os.chmod(theirs, 0o777)
    os.chown(theirs, NOBODY, NOBODY)
    yield {"XDG_CACHE_HOME": folder}
    assert not files(folder), files(folder)


@contextlib.contextmanager
def damaged(folder):
    harness.run(harness.HOST, "-n", MANY, SLEEP, env={"XDG_CACHE_HOME": folder})
    before = files(folder)
    assert before and all(map(sound, before)), before
    for path in before:
        damage(path)
        assert not sound(path)
    yield {"XDG_CACHE_HOME": folder}
    used = [path for path in files(folder) if sound(path)]
    assert any(path.endswith(".debug") for path in used), files(folder)
    assert {path for path in before if path.endswith(".debug")} <= set(used), (before, used)


class Names:
    """What gdb and lldb have in common. `live(count)` and `attached(pid, end, count)` return the addresses at which interpreters
    have stopped, and what the debugger has printed."""

    def sessions(self, state, count=MANY):
        with tempfile.TemporaryDirectory() as folder, state(folder) as env, harness.environment(env):
            with self.subTest("live"):
                self.check(self.live(count), count)
            end = os.path.join(folder, "end") if state is not full else tempfile.mktemp()
            command = [harness.HOST, "-n", count, WAIT.format(end, SLEEP)]
            with harness.Background(*command, until=rf"(?s)(ready.*){{{count}}}") as host, self.subTest("attached"):
                self.check(self.attached(host.pid, end, count), count)
            if state is full:
                os.unlink(end)

    def check(self, answer, count):
        stops, output = answer
        self.assertEqual(len(set(stops)), count, output)
        self.check_output(output)

    def test_three(self):
        self.sessions(unset, FEW)

    def test_kept(self):
        self.sessions(kept)

    def test_no_home(self):
        self.sessions(unset)

    def test_read_only(self):
        self.sessions(read_only)

    def test_full(self):
        self.sessions(full)

    def test_foreign(self):
        self.sessions(foreign)

    def test_damaged(self):
        self.sessions(damaged)
