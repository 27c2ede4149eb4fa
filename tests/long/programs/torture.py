# SPDX-License-Identifier: MIT
"""What the interpreters of tests/hosts/torture.c do: deed(N) does something that N decides, and says wrong results by AssertionError.

As a program, `torture.py N` does the same. Many deeds do not end by themselves."""

import atexit
import ctypes
import importlib.machinery
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

MODULES = ["json", "decimal", "fractions", "csv", "xml.dom.minidom", "email.message", "unittest", "logging.config", "asyncio",
           "multiprocessing.pool", "http.client", "ssl", "zoneinfo", "lzma", "numpy", "numpy.random", "numpy.linalg"]
LIBRARIES = ["libz.so.1", "libsqlite3.so.0", "libstdc++.so.6", "libm.so.6"]


def import_numpy(name="numpy"):
    """Once only, if an interrupt, or a lack of memory or descriptors, has ended the import: numpy crashes in its own import_ufunc()
    when it is imported again after that, in a python3, too."""
    if not numpy_imported:
        if numpy_tried:
            raise ImportError("numpy was imported in part")
        numpy_tried.append(1)
        importlib.import_module("numpy")
        importlib.import_module("numpy.random")
        numpy_imported.append(1)
    return importlib.import_module(name)


def create_module(loader, spec, create=importlib.machinery.ExtensionFileLoader.create_module):
    """numpy.linalg._umath_linalg calls import_ufunc(), which goes on without numpy's functions when an interrupt has met it, and
    crashes; a python3 does, too, when SIGINT comes there. It runs Python code, and so is met, only while numpy is being imported:
    so numpy says that it is not."""
    if spec.name != "numpy.linalg._umath_linalg":
        return create(loader, spec)
    numpy = sys.modules["numpy"].__spec__
    numpy._initializing = False
    try:
        return create(loader, spec)
    finally:
        numpy._initializing = True


importlib.machinery.ExtensionFileLoader.create_module = create_module
numpy_tried, numpy_imported, numpy_lock = [], [], threading.Lock()
os.register_at_fork(after_in_child=numpy_lock._at_fork_reinit)


def imports(rng):
    for name in rng.sample(MODULES, 3):
        if name.startswith("numpy"):
            with numpy_lock:
                import_numpy(name)
        else:
            importlib.import_module(name)


def numbers(rng):
    with numpy_lock:
        numpy = import_numpy()
    n = rng.randrange(1, 40)
    a = numpy.arange(n * n).reshape(n, n)
    assert ((a @ a).trace()) == sum(int(a[i] @ a[:, i]) for i in range(n))
    assert numpy.allclose(numpy.linalg.solve(numpy.eye(n) * 2, numpy.ones(n)), 0.5)


def fork(rng):
    status = rng.randrange(1, 100)
    pid = os.fork()
    if not pid:
        try:
            if status % 2:
                imports(rng)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status


def child(rng):
    status = rng.randrange(100)
    assert subprocess.run(["sh", "-c", f"exit {status}"], check=False).returncode == status


def timer(rng):
    calls = []
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, lambda *arguments: calls.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(calls) < 5:
            time.sleep(0.001)
        if rng.random() < 0.7:  # otherwise the end of the interpreter meets it
            signal.setitimer(signal.ITIMER_REAL, 0)


def at_exit(rng):
    atexit.register(rng.choice([int, spin, lambda: time.sleep(0.05), lambda: imports(rng)]))


def threads(rng):
    started = []
    for _ in range(rng.randrange(1, 6)):
        work = rng.choice([int, spin, nap, lambda: numbers(rng), lambda: imports(rng)])
        started.append(threading.Thread(target=work, daemon=rng.random() < 0.8))
        started[-1].start()
    if rng.random() < 0.5:
        for thread in started:
            thread.join()


def exceptions(rng):
    lib = ctypes.CDLL(os.path.join(os.environ["MODULES"], "libthrow.so"))
    for _ in range(20):
        value = rng.randrange(1000)
        assert lib.throw_inside(value) == value + 1, lib.throw_inside(value)


def libraries(rng):
    for name in rng.sample(LIBRARIES, 2):
        assert ctypes.CDLL(name)


def database(rng):
    rows = rng.randrange(1, 500)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t (x integer)")
        connection.executemany("insert into t values (?)", ((i,) for i in range(rows)))
        assert connection.execute("select sum(x) from t").fetchone() == (rows * (rows - 1) // 2,)


def descriptors(_):
    kept = []
    try:
        while len(kept) < 1000:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    finally:
        for descriptor in kept:
            os.close(descriptor)


def memory(_):
    kept = []
    try:
        while len(kept) < 100:
            kept.append(bytes(1 << 20))
    except MemoryError:
        pass


def swallow(rng):
    for _ in range(rng.randrange(1, 4)):
        try:
            spin()
        except KeyboardInterrupt:
            pass


def spin():
    while True:
        pass


def nap():
    time.sleep(1000)


DEEDS = [imports, numbers, fork, child, timer, at_exit, threads, exceptions, libraries, database, descriptors, memory, swallow,
         lambda rng: spin(), lambda rng: nap()]


def deed(n):
    rng = random.Random(n)
    for _ in range(rng.randrange(1, 4)):
        rng.choice(DEEDS)(rng)
    return 2 * n


if __name__ == "__main__" and len(sys.argv) > 1:
    assert deed(int(sys.argv[1]))
