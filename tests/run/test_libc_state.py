# SPDX-License-Identifier: MIT
"""State of the C library that programs believe is theirs: several interpreters at once say what processes say."""

import os
import re
import shutil
import struct
import tempfile
import unittest

from harness import GORGON, PYTHON3, run

COUNT = 4

# WHO tells interpreters apart by their numbers, and processes by an argument.
WHO = r"""
import sys
try:
    import gorgon
    who = gorgon.interpreter
except ImportError:
    who = int(sys.argv[1])
"""

# C: whether ctypes looks functions up. With --isolate copy it finds those of the C library.
ZONE = WHO + r"""
import ctypes, hashlib, os, random, time
c = ctypes.CDLL(None)
c.ctime.restype = ctypes.c_char_p
c.localtime.restype = c.gmtime.restype = ctypes.c_void_p
c.mktime.restype = ctypes.c_long
zones = [["Europe/Berlin", "Pacific/Apia", ""], ["America/New_York", "EST5EDT,M3.2.0,M11.1.0", "Asia/Gaza"],
         [":Australia/Lord_Howe", "Foo/Bar", "UTC"], ["<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "Africa/Cairo", None]][who]

class Tm(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int) for n in "sec min hour mday mon year wday yday isdst".split()] + [
        ("gmtoff", ctypes.c_long), ("zone", ctypes.c_char_p)]
    def tuple(self):
        return tuple(getattr(self, n) for n, _ in self._fields_)

digest = hashlib.sha256()
numbers = random.Random(who)
for turn in range(60):
    zone = zones[turn % len(zones)]
    if zone is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = zone
    time.tzset()
    said = [zone, time.tzname, time.timezone, time.altzone, time.daylight]
    for _ in range(40):
        at = numbers.randrange(-3000000000, 6000000000)
        local = time.localtime(at)
        moment = ctypes.c_long(at)
        said += [local, local.tm_zone, local.tm_gmtoff, time.strftime("%c %Z %z %s", local), time.ctime(at),
                 time.mktime(local[:8] + (numbers.choice([-1, 0, 1]),))]
        if not C:
            continue
        said += [c.ctime(ctypes.byref(moment)), Tm.from_address(c.localtime(ctypes.byref(moment))).tuple(),
                 Tm.from_address(c.gmtime(ctypes.byref(moment))).tuple()]
    if turn < 3:
        print(said[:6], said[-3:])
    digest.update(repr(said).encode())
print(who, digest.hexdigest(), os.environ.get("TZ"), os.popen("echo $TZ").read(), end="", flush=True)
if C:
    # Whoever passes the C library's list on means what the program has put there.
    given, pid = ctypes.c_void_p.in_dll(c, "environ"), ctypes.c_int()
    words = [f"printf 'spawn {who} %s\\n' \"$TZ\"", f"printf 'execve {who} %s\\n' \"$TZ\""]
    spawn, execve = [(ctypes.c_char_p * 4)(b"sh", b"-c", text.encode(), None) for text in words]
    assert c.posix_spawn(ctypes.byref(pid), b"/bin/sh", None, None, spawn, given) == 0
    os.waitpid(pid.value, 0)
    pid = os.fork()
    if not pid:
        c.execve(b"/bin/sh", execve, given)
        os._exit(1)
    os.waitpid(pid, 0)
"""

SMALL = WHO + r"""
import ctypes, hashlib, locale
c = ctypes.CDLL(None)
c.strtok.restype = ctypes.c_char_p
c.random.restype = ctypes.c_long
locale.setlocale(locale.LC_ALL, "C.UTF-8")
said = [c.random() for _ in range(20)]   # the first of a process
c.srandom(who)
print(said[:3])
for turn in range(3000):
    text = ctypes.create_string_buffer(b"%d-of-%d and %d,more" % (turn, who, turn * who))
    said.append(c.strtok(text, b"- ,"))
    said += [c.random(), c.rand()]
    said += [c.strtok(None, b"- ,"), c.strtok(None, b"- ,")]
    said.append(c.mblen(b"\xc3\xa9", 2))
print(locale.localeconv())
print(who, hashlib.sha256(repr(said).encode()).hexdigest())
"""

TEXT = WHO + r"""
import hashlib, locale
locale.setlocale(locale.LC_ALL, "C.UTF-8")
said = [locale.textdomain(None), locale.gettext("hello")]
for turn in range(2000):
    locale.bindtextdomain("words", "FOLDER/%d" % ((who + turn // 500) % 4))
    locale.textdomain("words" if turn % 3 else "others")
    said += [locale.textdomain(None), locale.gettext("hello"), locale.dgettext("words", "hello"),
             locale.dcgettext("words", "nothing", locale.LC_MESSAGES), locale.bindtextdomain("words", None)]
print(locale.bindtextdomain("never", None), locale.gettext("hello"), locale.dgettext("words", "hello"))
print(who, hashlib.sha256(repr(said).encode()).hexdigest())
"""

# Threads that were there before a change follow it, and so does what C code sees on them.
LOCALE = WHO + r"""
import ctypes, locale, threading
turns = [threading.Semaphore(0) for _ in range(4)]
done = threading.Semaphore(0)
c = ctypes.CDLL(None)
def follow(turn):
    for _ in range(20):
        turn.acquire()
        print(who, locale.setlocale(locale.LC_ALL), locale.nl_langinfo(locale.CODESET), C and c.mblen("\u00e4".encode(), 2))
        done.release()
threads = [threading.Thread(target=follow, args=(turn,)) for turn in turns]
[thread.start() for thread in threads]
def change(number):
    locale.setlocale(locale.LC_ALL, "C.UTF-8" if (number + who) % 3 else "C")
for number in range(20):
    changer = threading.Thread(target=change, args=(number,)) if number % 2 else None
    changer.start() if changer else change(number)
    changer and changer.join()
    for turn in turns:
        turn.release()
        done.acquire()
print(who, locale.setlocale(locale.LC_ALL))
[thread.join() for thread in threads]
"""


def mo_file(path, messages):
    """A catalogue as msgfmt writes it."""
    ids = b"".join(key.encode() + b"\0" for key in messages)
    texts = b"".join(value.encode() + b"\0" for value in messages.values())
    count, start = len(messages), 28
    tables, offset = [], start + 16 * count
    for strings in (messages, messages.values()):
        for string in strings:
            tables += [len(string.encode()), offset]
            offset += len(string.encode()) + 1
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<7I", 0x950412DE, 0, count, start, start + 8 * count, 0, start + 16 * count))
        file.write(struct.pack(f"<{4 * count}I", *tables) + ids + texts)


class AtOnce(unittest.TestCase):
    """Programs that run at the same time in one process, and each in a process of its own."""

    maxDiff = None

    def outputs(self, *command, env=None):
        result = run(*command, env=env)
        self.assertEqual((result.returncode, result.stderr), (0, ""), command)
        return result.stdout

    def compare(self, program, env=None):
        for isolate in ("loader", "copy") if program != SMALL else ("loader",):
            text = f"C = {isolate == 'loader'}\n{program}"
            processes = [self.outputs(PYTHON3, "-c", text, number, env=env) for number in range(COUNT)]
            output = self.outputs(GORGON, "run", "-n", COUNT, "--isolate", isolate, "-c", text, env=env)
            # Lines of several programs may alternate.
            self.assertEqual(sorted(output.splitlines()), sorted("".join(processes).splitlines()), isolate)

    def test_each_has_its_locale_on_all_of_its_threads(self):
        self.compare(LOCALE)

    def test_each_has_its_time_zone(self):
        self.compare(ZONE, env={"TZ": "Asia/Tokyo"})

    def test_each_has_its_time_zone_and_the_process_none(self):
        self.compare(ZONE, env={"TZ": None})

    def test_each_has_what_functions_keep(self):
        self.compare(SMALL)

    def test_each_has_its_text_domains(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(4):
                for domain in "words", "others":
                    mo_file(f"{folder}/{number}/xx/LC_MESSAGES/{domain}.mo",
                            {"": "Content-Type: text/plain; charset=UTF-8\n", "hello": f"{domain} {number}"})
            self.compare(TEXT.replace("FOLDER", folder), env={"LANGUAGE": "xx"})


# What arrives, and what the program says.
DAEMON = r"""
import os, socket, subprocess, sys, threading, time
kind = getattr(socket, sys.argv[1])
listener = socket.socket(socket.AF_UNIX, kind)
listener.bind("/dev/log")
arrived = []
def read(connection):
    while data := connection.recv(70000):
        arrived.append(data)
def accept():
    while True:
        threading.Thread(target=read, args=[listener.accept()[0]], daemon=True).start()
if kind == socket.SOCK_STREAM:
    listener.listen(10)
threading.Thread(target=accept if kind == socket.SOCK_STREAM else read, args=[listener][:kind == socket.SOCK_DGRAM],
                 daemon=True).start()
result = subprocess.run(sys.argv[2:], capture_output=True, text=True)
seen = -1
while len(arrived) != seen:
    seen = len(arrived)
    time.sleep(0.3)
sys.stdout.buffer.write(result.stdout.encode() + result.stderr.encode())
sys.stdout.buffer.write(b"".join(d if kind == socket.SOCK_STREAM else d + b"\0\n" for d in arrived).replace(b"\0", b"\n"))
os.unlink("/dev/log")
sys.exit(result.returncode)
"""

LOGGER = r"""
import ctypes, os, syslog as log
c = ctypes.CDLL(None)
log.openlog("one", log.LOG_PID, log.LOG_LOCAL3)
log.syslog(log.LOG_ERR, "with pid")
log.setlogmask(log.LOG_UPTO(log.LOG_ERR))
log.syslog(log.LOG_INFO, "left out")
log.syslog(log.LOG_ERR, "seen")
log.setlogmask(0xff)
log.openlog("two", log.LOG_PERROR, log.LOG_MAIL)
log.syslog(log.LOG_NOTICE, "to stderr")
log.syslog(log.LOG_NOTICE, "with an end of line\n")
if not C:
    c = type("None", (), {"syslog": lambda *args: 0, "__syslog_chk": lambda *args: 0})
many = [b"a", 1, b"b", 2, b"c", 3, ctypes.c_double(1.5)]
c.syslog(5, b"%s %d %s %d %s %d %g", *many)
c.__syslog_chk(5, 1, b"%s %d %s %d %s %d %g %.3Lf", *many, ctypes.c_longdouble(2.5))
c.syslog(0x10005, b"strange")
c.syslog(3, b"%s", b"x" * 5000)
log.closelog()
log.openlog("three", log.LOG_NDELAY)
c.syslog(6, b"%m")
os.closerange(3, 50)
with open("OTHER", "w") as other:
    others = [os.dup(other.fileno()) for _ in range(20)]
    log.syslog("after its descriptor was closed")
print(open("OTHER").read(), end="")
try:
    import gorgon
    for descriptor in others:   # a process loses one of them here
        os.fstat(descriptor)
except ImportError:
    pass
log.openlog("four")
log.syslog("the end")
"""

# Each program logs its own messages, under its own name.
LOGGERS = WHO + r"""
import syslog as log
log.openlog(f"name{who}", 0, [log.LOG_LOCAL0, log.LOG_LOCAL1, log.LOG_LOCAL2, log.LOG_LOCAL3][who])
log.setlogmask(log.LOG_UPTO(log.LOG_ERR) if who % 2 else log.LOG_UPTO(log.LOG_DEBUG))
for _ in range(300):
    log.syslog(log.LOG_ERR, f"from {who}")
    log.syslog(log.LOG_DEBUG, f"more from {who}")
    if who == 3:
        log.closelog()
        log.openlog(f"name{who}", 0, log.LOG_LOCAL3)
log.syslog(log.LOG_ERR, "the end")
"""


class Log(unittest.TestCase):
    """What the system's log gets, in a /dev that belongs to the test."""

    def heard(self, kind, *command):
        devices = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, devices)
        nodes = "".join(f"touch {devices}/{node}; mount --bind /dev/{node} {devices}/{node}; "
                        for node in ("null", "zero", "urandom", "random"))
        result = run("unshare", "--mount", "sh", "-ec",
                     f'mount -t tmpfs tmpfs {devices}; {nodes} mount --rbind {devices} /dev; exec "$@"', "sh",
                     PYTHON3, "-c", DAEMON, kind, *command, env={"TZ": "Asia/Tokyo"})
        self.assertEqual(result.returncode, 0, result.stderr)
        said = re.sub(r"\w{3} [ \d]\d \d\d:\d\d:\d\d", "TIME", re.sub(r"\[\d+\]", "[PID]", result.stdout))
        # Messages on two connections may overtake each other.
        return sorted(line for line in said.splitlines() if line)

    def setUp(self):
        if run("unshare", "--mount", "true").returncode:
            self.skipTest("no right to a /dev of its own")
        other = tempfile.NamedTemporaryFile("r")
        self.addCleanup(other.close)
        self.program = LOGGER.replace("OTHER", other.name)

    def test_each_has_its_name_and_mask(self):
        expected = []
        for who in range(COUNT):
            expected += 300 * [f"<{(16 + who) * 8 + 3}>TIME name{who}: from {who}"]
            expected += 300 * [f"<{(16 + who) * 8 + 7}>TIME name{who}: more from {who}"] * (who % 2 == 0)
            expected += [f"<{(16 + who) * 8 + 3}>TIME name{who}: the end"]
        for isolate in "loader", "copy":
            said = self.heard("SOCK_DGRAM", GORGON, "run", "-n", COUNT, "--isolate", isolate, "-c", LOGGERS)
            self.assertEqual(said, sorted(expected), isolate)

    def test_messages_are_those_of_a_process(self):
        for kind in "SOCK_DGRAM", "SOCK_STREAM":
            for isolate in "loader", "copy":
                program = f"C = {isolate == 'loader'}\n{self.program}"
                expected = self.heard(kind, PYTHON3, "-c", program)
                self.assertIn("<155>TIME one[PID]: with pid", expected)
                self.assertIn("<14>TIME three: after its descriptor was closed", expected)
                self.assertEqual(self.heard(kind, GORGON, "run", "--isolate", isolate, "-c", program), expected)


if __name__ == "__main__":
    unittest.main()
