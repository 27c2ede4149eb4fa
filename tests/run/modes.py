# SPDX-License-Identifier: MIT
"""What of the process's state is an interpreter's own in each mode, and what it shares with other interpreters.

TABLE is the one place where this is said: test_modes.py tries each cell, and compares documents with it. The rest of this file
is the program that tries them. It runs in two interpreters at once, or in a program and its forked child: main("first", FOLDER)
changes everything, main("second", FOLDER) looks whether it sees that. It must run with the standard library alone."""

import ctypes
import json
import os
import time

MODES = ["a program", "with `--shared-files`", "with `--shared-environment`", "a host's call", "a call in a host's child",
         "a pool's job", "the executor", "executor with `share_files`", "executor with `share_environment`", "joblib", "a forked child"]
OWN, SHARED = "own", "shared"
FILES = [OWN, SHARED, OWN, SHARED, SHARED, OWN, OWN, SHARED, OWN, OWN, OWN]
VARIABLES = [OWN, OWN, SHARED, OWN, OWN, OWN, OWN, OWN, SHARED, OWN, OWN]
ALWAYS_OWN = [OWN] * len(MODES)
PROCESS = [SHARED] * (len(MODES) - 1) + [OWN]
TABLE = {
    "current directory": FILES,
    "umask": FILES,
    "descriptors": FILES,
    "record locks": ALWAYS_OWN,
    "environment": VARIABLES,
    "time zone": VARIABLES,
    "locale": ALWAYS_OWN,
    "handlers of signals": ALWAYS_OWN,
    "timers": ALWAYS_OWN,
    "children that `wait()` finds": ALWAYS_OWN,
    "children that `/proc` lists": ALWAYS_OWN,
    "resource limits": PROCESS,
    "process number": PROCESS,
}
# Sentences of documents, with the mode and the rows of which they say that they are an interpreter's own.
SENTENCES = [
    ("python/README.md", "**Descriptors, current directory and umask** are each interpreter's own", "the executor",
     ["descriptors", "current directory", "umask"]),
    ("python/README.md", "**The environment** is each interpreter's own", "the executor", ["environment"]),
    ("docs/command.md", "Each program has descriptors, a current directory and a umask of its own", "a program",
     ["descriptors", "current directory", "umask"]),
    ("docs/command.md", "The environment is each program's own", "a program", ["environment"]),
    ("docs/command.md", "Timers, children, record locks, time zone, `syslog()` and the user database\nare each program's own",
     "a program", ["timers", "children that `wait()` finds", "record locks", "time zone"]),
    ("docs/embedding.md", "An interpreter's environment variables are its own", "a host's call", ["environment"]),
    ("python/README.md", "A worker's descriptors, current directory, umask, environment, time zone, locale, timers and children are its own",
     "the executor", ["descriptors", "current directory", "umask", "environment", "time zone", "locale", "timers",
                      "children that `wait()` finds"]),
    ("docs/isolation.md", "| descriptors, current directory, umask | each program's own | each program's own |",
     "a program", ["descriptors", "current directory", "umask"]),
    ("docs/isolation.md", "| environment | each interpreter's own | ", "a program", ["environment"]),
    ("docs/isolation.md", "| locale | each interpreter's own | ", "a program", ["locale"]),
    ("docs/isolation.md", "| timers, children | each interpreter's own | ", "a program", ["timers", "children that `wait()` finds", "children that `/proc` lists"]),
    ("docs/limits.md", "All interpreters of a process share its limits (`setrlimit`)", "a program", []),
]


def render():
    """The table as loader/process/NAMES.md has it."""
    lines = ["| | " + " | ".join(MODES) + " |", "|---" * (len(MODES) + 1) + "|"]
    return "\n".join(lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in TABLE.items()])


# --- the program ------------------------------------------------------------------------------------

FD, SECONDS = 777, 1000


def change(folder):
    """Change what the table is about; what the other one needs to look."""
    import fcntl, locale, resource, signal, subprocess
    os.chdir(os.path.join(folder, "other"))
    os.umask(0o077)
    os.dup2(os.open(os.path.join(folder, "lock"), os.O_RDWR), FD)
    fcntl.lockf(FD, fcntl.LOCK_EX)
    os.environ.update(CHANGED="1", TZ="XYZ-7")
    time.tzset()
    locale.setlocale(locale.LC_ALL, "C" if locale.setlocale(locale.LC_ALL) != "C" else "C.UTF-8")
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    resource.setrlimit(resource.RLIMIT_CORE, (4096, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return subprocess.Popen(["sleep", "100"], stdin=subprocess.DEVNULL)


def is_there(function, *args):
    try:
        function(*args)
    except OSError:
        return False
    return True


def lock(folder):
    import fcntl
    with open(os.path.join(folder, "lock"), "r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def variable(name):
    """As C code reads it: os.environ is a copy that Python makes when it starts."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    return str(getenv(name.encode()))


def look(folder, child):
    """What of each row this interpreter sees. The row's state is shared where both see the same."""
    import locale, resource, signal
    time.tzset()
    seen = {
        "current directory": os.getcwd(),
        "umask": umask(),
        "descriptors": is_there(os.fstat, FD),
        "environment": variable("CHANGED"),
        "time zone": time.tzname,
        "locale": locale.setlocale(locale.LC_ALL),
        "handlers of signals": callable(signal.getsignal(signal.SIGUSR1)),
        "timers": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "children that `wait()` finds": is_there(os.waitid, os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT),
        "children that `/proc` lists": parent_of(child) == os.getpid(),
        "resource limits": resource.getrlimit(resource.RLIMIT_CORE),
        "process number": os.getpid(),
    }
    # Last, because to close any descriptor of the file drops the locks of a process.
    return {**seen, "record locks": is_there(lock, folder)}


def write(folder, name, value):
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as file:
        json.dump(value, file)
    os.rename(path + ".new", path)


def read(folder, name):
    """What the other one writes, when it does."""
    until = time.monotonic() + 120
    while not os.path.exists(os.path.join(folder, name)):
        if time.monotonic() > until:
            raise TimeoutError(name)
        time.sleep(0.01)
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def main(who, folder):
    if who == "second":
        write(folder, "second", look(folder, read(folder, "changed")))
        return
    child = change(folder)
    # The other one looks first: what this one sees of the lock ends it.
    write(folder, "changed", child.pid)
    read(folder, "second")
    write(folder, "first", look(folder, child.pid))
    child.kill()
    child.wait()


def main_of_interpreter(folder):
    import gorgon
    main(["first", "second"][gorgon.interpreter], folder)


def main_of_fork(folder):
    """The child changes things, and its parent looks."""
    child = os.fork()
    if not child:
        status = 1
        try:
            main("first", folder)
            status = 0
        finally:
            os._exit(status)
    main("second", folder)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the child has failed")
