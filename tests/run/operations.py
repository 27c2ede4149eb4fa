# SPDX-License-Identifier: MIT
"""Operations on what a process has (descriptors, locks, children, signals, timers, zones, stores), drawn by a seed.

main(WHO, FOLDER) does those of the plan in FOLDER/plan.json, and writes what each came to into FOLDER/WHO: in a python3 and in an
interpreter it must be the same (test_operations.py). What a mode shares with others (modes.py) is left out by the plan."""

import array
import contextlib
import dbm.dumb
import errno
import fcntl
import json
import locale
import mmap
import os
import random
import select
import shelve
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

OPERATIONS = {}  # by name: the row of modes.TABLE on which it rests, whether it needs the main thread, what it does


def operation(row=None, main_thread=False):
    def note(function):
        OPERATIONS[function.__name__] = row, main_thread, function
        return function
    return note


def forked(function):
    """What it returns in a forked child, or the child's status."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, json.dumps(attempt(function)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    return [json.loads(text) if text else None, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


def attempt(function):
    try:
        return function()
    except OSError as error:
        return [type(error).__name__, errno.errorcode.get(error.errno)]
    except (ValueError, sqlite3.Error, locale.Error, KeyError) as error:
        return [type(error).__name__, str(error)]


@contextlib.contextmanager
def opened(path, flags=os.O_RDWR | os.O_CREAT):
    descriptor = os.open(path, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# --- descriptors --------------------------------------------------------------------------------

# Where programs share descriptors, another program may have got the number that this one has closed. A read of it would
# wait for the other's bytes.
@operation("descriptors")
def pipe(rng, own):
    data = rng.randbytes(rng.randrange(1, 2000))
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    got = os.read(reader, 5000)
    ends = os.read(reader, 1)
    os.close(reader)
    return [got == data, ends == b"", attempt(lambda: os.read(reader, 1) and 0)]


@operation()
def copies_share_a_position(rng, own):
    with opened(f"{own}/position") as one, opened(f"{own}/position") as other:
        copy = os.dup(one)
        os.write(one, b"x" * rng.randrange(1, 100))
        with open(f"/proc/self/fdinfo/{copy}") as file:
            info = file.readline()
        places = [os.lseek(n, 0, os.SEEK_CUR) for n in (one, copy, other)]
        os.close(copy)
        return places, info


@operation()
def flags(rng, own):
    with opened(f"{own}/flags") as one:
        os.set_inheritable(one, rng.random() < 0.5)
        fcntl.fcntl(one, fcntl.F_SETFL, os.O_APPEND | (os.O_NONBLOCK if rng.random() < 0.5 else 0))
        copy = fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 100)
        try:
            return [copy >= 100, *(fcntl.fcntl(n, what) for n in (one, copy) for what in (fcntl.F_GETFD, fcntl.F_GETFL))]
        finally:
            os.close(copy)


@operation()
def inherited(rng, own):
    with opened(f"{own}/inherited") as one:
        passed = [one] if rng.random() < 0.5 else []
        return subprocess.run(["sh", "-c", f"echo hi > /dev/fd/{one}"], pass_fds=passed, check=False,
                              stderr=subprocess.DEVNULL).returncode


@operation("descriptors")
def closed_range(rng, own):
    ends = [n for _ in range(rng.randrange(1, 5)) for n in os.pipe()]
    copies = [fcntl.fcntl(n, fcntl.F_DUPFD, 300) for n in ends]
    os.closerange(min(copies), max(copies) + 1)
    left = [attempt(lambda n=n: os.fstat(n) and "open") for n in copies]
    for n in ends:
        os.close(n)
    return left


@operation()
def passed_by_a_socket(rng, own):
    one, other = socket.socketpair()
    with one, other, opened(f"{own}/passed") as descriptor:
        socket.send_fds(one, [b"x"], [descriptor])
        _, got, _, _ = socket.recv_fds(other, 1, 1)
        same = os.path.samestat(os.fstat(got[0]), os.fstat(descriptor))
        os.close(got[0])
        return same


@operation()
def polled(rng, own):
    reader, writer = os.pipe()
    poll, before = select.epoll(), rng.random() < 0.5
    poll.register(reader, select.EPOLLIN)
    if before:
        os.write(writer, b"1")
    seen = [[what for _, what in poll.poll(0)], len(select.select([reader], [], [], 0)[0])]
    poll.close()
    os.close(reader)
    os.close(writer)
    return seen


@operation()
def names_in_proc(rng, own):
    with opened(f"{own}/named") as one:
        means = os.readlink(f"/proc/self/fd/{one}")
        with open(f"/dev/fd/{one}", "w") as file:
            file.write("1" * rng.randrange(1, 9))
        return means, os.fstat(one).st_size, str(one) in os.listdir("/proc/self/fd")


@operation()
def memory_file(rng, own):
    descriptor = os.memfd_create("x")
    size = rng.randrange(1, 3) * mmap.PAGESIZE
    os.ftruncate(descriptor, size)
    with mmap.mmap(descriptor, size) as memory:
        memory[-1] = 7
        return os.pread(descriptor, 1, size - 1)[0], attempt(lambda: os.close(descriptor))


@operation("current directory")
def folder(rng, own):
    name = f"{own}/folder{rng.randrange(3)}"
    os.makedirs(name, exist_ok=True)
    os.chdir(name)
    with open("relative", "w"):
        pass
    return [os.getcwd(), os.readlink("/proc/self/cwd"), os.path.exists(f"{name}/relative"),
            subprocess.run(["pwd"], capture_output=True, text=True, check=True).stdout, forked(os.getcwd)]


@operation("umask")
def mask(rng, own):
    before, name = os.umask(rng.choice([0, 0o22, 0o77, 0o27])), f"{own}/masked"
    with contextlib.suppress(OSError):
        os.remove(name)
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o666))
    return before, os.stat(name).st_mode, subprocess.run("umask", shell=True, capture_output=True, text=True, check=True).stdout


# --- locks --------------------------------------------------------------------------------------

@operation()
def record_lock(rng, own):
    start, kind = rng.randrange(100), rng.choice([fcntl.LOCK_EX, fcntl.LOCK_SH])
    with opened(f"{own}/locked") as one:
        fcntl.lockf(one, kind, 10, start)

        def other():
            with opened(f"{own}/locked") as mine:
                return [attempt(lambda k=k, s=s: fcntl.lockf(mine, k | fcntl.LOCK_NB, 1, s))
                        for k in (fcntl.LOCK_EX, fcntl.LOCK_SH) for s in (start, start + 10)]

        held = forked(other)
        if rng.random() < 0.5:  # any close of the file gives it up
            with opened(f"{own}/locked"):
                pass
        return held, forked(other)


@operation()
def whole_lock(rng, own):
    with opened(f"{own}/whole") as one, opened(f"{own}/whole") as other:
        fcntl.flock(one, rng.choice([fcntl.LOCK_EX, fcntl.LOCK_SH]))
        seen = [attempt(lambda k=k: fcntl.flock(other, k | fcntl.LOCK_NB)) for k in (fcntl.LOCK_EX, fcntl.LOCK_SH)]
        return seen, forked(lambda: fcntl.flock(one, fcntl.LOCK_UN)), attempt(lambda: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB))


# --- children -----------------------------------------------------------------------------------

@operation()
def statuses(rng, own):
    status = rng.randrange(256)
    child = os.fork()
    if not child:
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), attempt(lambda: os.waitpid(child, 0))


@operation()
def killed(rng, own):
    number = rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
    child = subprocess.Popen(["sleep", "100"])
    child.send_signal(number)
    return child.wait()


@operation()
def no_child(rng, own):
    return attempt(lambda: os.wait()), attempt(lambda: os.waitpid(-1, os.WNOHANG))


@operation()
def waited_for(rng, own):
    count = rng.randrange(1, 4)
    children = [os.fork() or os._exit(n) for n in range(count)]
    found = [os.wait() for _ in children]
    return sorted(found)[0][0] == min(children), sorted(os.waitstatus_to_exitcode(status) for _, status in found), no_child(rng, own)


@operation()
def waitid(rng, own):
    child = os.fork() or os._exit(5)
    kept = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    return kept.si_status, kept.si_pid == child, os.waitid(os.P_PID, child, os.WEXITED).si_code, no_child(rng, own)


@operation()
def grandchild(rng, own):
    return forked(lambda: [forked(lambda: 7), os.getppid() != os.getpid(), attempt(os.wait)])


@operation()
def output(rng, own):
    text = "x" * rng.randrange(100000)
    done = subprocess.run(["cat"], input=text, capture_output=True, text=True, check=True, cwd="/")
    return done.stdout == text, done.returncode


@operation()
def process_numbers(rng, own):
    with open("/proc/self/stat") as file:
        number = int(file.read().split()[0])
    parent = subprocess.run("echo $PPID", shell=True, capture_output=True, text=True, check=True).stdout
    return number == os.getpid(), int(parent) == os.getpid(), forked(lambda: os.getpid() == int(os.readlink("/proc/self")))


# --- signals and timers -------------------------------------------------------------------------

@operation(main_thread=True)
def handled(rng, own):
    number, got = rng.choice([signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP]), []
    before = signal.signal(number, lambda n, frame: got.append(n))
    try:
        signal.raise_signal(number)
        return got == [number], str(signal.getsignal(number))[:9], forked(lambda: signal.raise_signal(number) or len(got))
    finally:
        signal.signal(number, before)


@operation(main_thread=True)
def blocked(rng, own):
    number, got = rng.choice([signal.SIGUSR1, signal.SIGUSR2]), []
    before = signal.signal(number, lambda n, frame: got.append(n))
    mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        signal.raise_signal(number)
        pending = number in signal.sigpending()
        if rng.random() < 0.5:
            return pending, signal.sigwait([number]) == number, got
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)
        return pending, got == [number]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask_before)
        signal.signal(number, before)


@operation(main_thread=True)
def ignored(rng, own):
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        signal.raise_signal(signal.SIGUSR1)
        return subprocess.run(["sh", "-c", "kill -USR1 $$; echo on"], capture_output=True, restore_signals=False,
                              text=True, check=False).stdout
    finally:
        signal.signal(signal.SIGUSR1, before)


@operation(main_thread=True)
def timed(rng, own):
    got = []
    before = signal.signal(signal.SIGALRM, lambda n, frame: got.append(n))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002, rng.choice([0, 0.002]))
        while not got:
            time.sleep(0.001)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return signal.getitimer(signal.ITIMER_REAL), forked(lambda: signal.getitimer(signal.ITIMER_REAL))
    finally:
        signal.signal(signal.SIGALRM, before)


@operation("timers")
def alarm(rng, own):
    seconds = rng.randrange(100, 200)
    return signal.alarm(seconds), signal.alarm(0) in (seconds, seconds - 1), forked(lambda: signal.alarm(0)), signal.alarm(0)


@operation(main_thread=True)
def raises(rng, own):
    class Late(Exception):
        pass

    def handler(number, frame):
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise Late

    before = signal.signal(signal.SIGALRM, handler)
    try:
        try:
            # Again and again: a signal that comes before the call has begun does not end it, in python3, either.
            signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
            os.read(os.pipe()[0], 1) if rng.random() < 0.5 else time.sleep(100)
        except Late:
            return "late"
    finally:
        signal.signal(signal.SIGALRM, before)


# --- environment, zones, locale -----------------------------------------------------------------

@operation("environment")
def variable(rng, own):
    name = f"OPERATION_{rng.randrange(3)}"
    before = os.environ.get(name)
    if rng.random() < 0.7:
        os.environ[name] = str(rng.random())
    else:
        os.environ.pop(name, None)
    return before, subprocess.run(f"echo ${name}", shell=True, capture_output=True, text=True, check=True).stdout


@operation("time zone")
def zone(rng, own):
    os.environ["TZ"] = rng.choice(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "EST5EDT,M3.2.0,M11.1.0"])
    time.tzset()
    at = rng.randrange(2**31)
    return time.tzname, time.timezone, time.strftime("%c %z", time.localtime(at)), time.mktime(time.gmtime(at)), forked(lambda: time.tzname)


@operation("locale")
def language(rng, own):
    name = rng.choice(["C", "C.UTF-8", "POSIX", "nowhere"])
    return attempt(lambda: locale.setlocale(locale.LC_ALL, name)), locale.setlocale(locale.LC_ALL), locale.localeconv()["decimal_point"]


@operation()
def limits(rng, own):
    import resource
    return [resource.getrlimit(what) for what in (resource.RLIMIT_CORE, resource.RLIMIT_STACK)]


# --- stores -------------------------------------------------------------------------------------

@operation()
def shelf(rng, own):
    with shelve.open(f"{own}/shelf") as store:
        store[str(rng.randrange(20))] = rng.random()
    with shelve.open(f"{own}/shelf", "r") as store:
        return sorted(store.items())


@operation()
def dumb_store(rng, own):
    with dbm.dumb.open(f"{own}/dumb", "c") as store:
        store[str(rng.randrange(20))] = rng.randbytes(3).hex()
        return sorted((key.decode(), store[key].decode()) for key in store.keys())


@operation()
def database(rng, own):
    path = f"{own}/database"
    one, other = sqlite3.connect(path, timeout=0), sqlite3.connect(path, timeout=0)
    with contextlib.closing(one), contextlib.closing(other):
        one.execute("create table if not exists t (x)")
        one.execute("begin immediate")
        one.execute("insert into t values (?)", (rng.randrange(1000),))
        refused = attempt(lambda: other.execute("begin immediate"))
        child = forked(lambda: attempt(lambda: sqlite3.connect(path, timeout=0).execute("begin immediate") and 0))
        one.commit() if rng.random() < 0.7 else one.rollback()
        return refused, child, other.execute("select count(*), sum(x) from t").fetchall()


@operation()
def temporary(rng, own):
    with tempfile.TemporaryFile(dir=own) as file:
        array.array("d", [rng.random()]).tofile(file)
        file.seek(0)
        return array.array("d", file.read())[0]


# ------------------------------------------------------------------------------------------------

def main(who, folder):
    with open(f"{folder}/plan.json") as file:
        plan = json.load(file)
    main_thread = plan.get("main_thread", threading.current_thread() is threading.main_thread())
    names = sorted(name for name, (row, needs_main, _) in OPERATIONS.items()
                   if row not in plan["shared"] and (main_thread or not needs_main))
    rng, own, done = random.Random(f"{plan['seed']} {who}"), f"{folder}/of_{who}", []
    os.makedirs(own)
    for _ in range(plan["count"]):
        name = rng.choice(names)
        inner = random.Random(rng.random())
        done.append([name, attempt(lambda n=name, r=inner: OPERATIONS[n][2](r, own))])
    with open(f"{folder}/{who}.new", "w") as file:
        json.dump({"main_thread": main_thread, "done": done}, file)
    os.rename(f"{folder}/{who}.new", f"{folder}/{who}")


def main_of_interpreter(folder):
    import gorgon
    main(["first", "second"][gorgon.interpreter], folder)


def main_of_fork(folder):
    child = os.fork()
    if not child:
        status = 1
        try:
            main("first", folder)
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the child has failed")
    main("second", folder)
