# SPDX-License-Identifier: MIT
"""The package for an ordinary python3, installed with pip: its executor, and the module's one surface."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

import pythons
import harness
from harness import GORGON, PYTHON3, ROOT, SANITIZED, VENV_PYTHON, VERSION, find_python, install_package, run

PRELUDE = """
import gorgon, os, sys, time
from gorgon import InterpreterPoolExecutor as Pool

def fails(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
"""


@unittest.skipIf(SANITIZED, "installs what users get")
class Package(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.site = tempfile.mkdtemp(prefix="gorgon-site-")
        install_package(cls.site)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.site)

    def check(self, code, *lines, python=PYTHON3):
        """What python3 -c prints."""
        result = run(python, "-c", PRELUDE + textwrap.dedent(code), env={"PYTHONPATH": self.site})
        self.assertEqual((result.stderr, result.stdout.splitlines(), result.returncode), ("", list(lines), 0))

    def check_both(self, code, *lines):
        """With numpy 1 and numpy 2."""
        for python in (PYTHON3, VENV_PYTHON):
            with self.subTest(python):
                self.check(code, *lines, python=python)

    def run_file(self, code, status=0, before=(), arguments=()):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(PRELUDE + textwrap.dedent(code))
            result = run(*before, PYTHON3, path, *arguments, env={"PYTHONPATH": self.site})
        self.assertEqual(result.returncode, status, result.stderr)
        return result


class Calls(Package):
    @unittest.skipUnless(harness.may_unshare(), "unshare(2) is refused: there is one directory and one umask")
    def test_interpreters_have_descriptors_and_a_directory_of_their_own(self):
        """Functions of the host, such as callbacks, use the host's descriptors and directory."""
        self.assertEqual(self.run_file("""
            import tempfile

            def leave():
                os.closerange(3, 300)
                os.chdir("/usr")
                return os.getcwd()

            def see(fd):
                try:
                    return os.fstat(fd).st_ino
                except OSError:
                    return None

            def report():
                import gorgon
                return gorgon.progress("from inside")

            if __name__ == "__main__":
                here = os.getcwd()
                with Pool(1, progress=lambda future, value: os.write(writer, value.encode())) as pool:
                    pool.submit(int).result()
                    reader, writer = os.pipe()  # later than the interpreter
                    print(pool.submit(leave).result(), os.getcwd() == here)
                    print(pool.submit(see, reader).result(), pool.submit(report).result(), os.read(reader, 99))
                with Pool(1, share_files=True) as pool:
                    pool.submit(int).result()
                    with open("/etc/passwd") as file:
                        print(pool.submit(see, file.fileno()).result() == os.fstat(file.fileno()).st_ino)
            """).stdout.splitlines(), ["/usr True", "None True b'from inside'", "True"])

    def test_each_worker_has_an_environment_of_its_own(self):
        self.assertEqual(self.run_file("""
            import subprocess, threading

            def device(number, arrived, go):
                before = os.environ.get("DEVICE")
                os.environ["DEVICE"] = str(number)
                arrived.release()
                go.wait(60)
                child = subprocess.check_output("echo $DEVICE", shell=True, text=True).strip()
                pid = os.fork()
                if not pid:
                    os._exit(int(os.environ["DEVICE"]))
                return before, os.environ["DEVICE"], child, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

            def see(name):
                return os.environ.get(name)

            if __name__ == "__main__":
                os.environ["DEVICE"] = "host"
                with Pool(3) as pool:
                    arrived, go = threading.Semaphore(0), threading.Event()
                    futures = [pool.submit(device, number, arrived, go) for number in range(3)]
                    for _ in futures:
                        arrived.acquire()
                    go.set()
                    print(*(future.result() for future in futures))
                    print(os.environ["DEVICE"], sorted(pool.map(see, ["DEVICE"] * 3))[0] in "012")
                    os.environ["LATER"] = "1"
                    print(pool.submit(see, "LATER").result())
                with Pool(1, max_tasks_per_child=1) as pool:
                    print(pool.submit(see, "LATER").result(), pool.submit(os.putenv, "LATER", "2").result())
                    os.environ["LATER"] = "3"
                    print(pool.submit(see, "LATER").result())
                with Pool(1, share_environment=True) as pool:
                    pool.submit(os.putenv, "SHARED", "1").result()
                    print(subprocess.check_output("echo $SHARED", shell=True, text=True).strip())
            """).stdout.splitlines(), ["('host', '0', '0', 0) ('host', '1', '1', 1) ('host', '2', '2', 2)", "host True", "None",
                                       "1 None", "3", "1"])

    def test_interpreters_and_host_insert_into_one_sqlite_file(self):
        for options in "", "share_files=True":
            with self.subTest(options=options):
                self.assertEqual(self.run_file(f"""
                    import sqlite3, tempfile

                    def insert(path, who):
                        database = sqlite3.connect(path, timeout=120)
                        database.execute("pragma synchronous = off")
                        for i in range(100):
                            with database:
                                database.execute("insert into t values (?, ?)", (who, i))
                        database.close()

                    if __name__ == "__main__":
                        with tempfile.TemporaryDirectory() as folder, Pool(3, {options}) as pool:
                            path = folder + "/database"
                            database = sqlite3.connect(path, timeout=120)
                            database.execute("create table t (a, b)")
                            database.commit()
                            futures = [pool.submit(insert, path, i) for i in range(3)]
                            insert(path, 3)
                            for future in futures:
                                future.result()
                            print(database.execute("pragma integrity_check").fetchone(),
                                  database.execute("select count(*) from t").fetchone())
                    """).stdout, "('ok',) (400,)\n")

    def test_work_is_done_in_interpreters_in_order(self):
        self.check("""
def work(x):
    import gorgon
    return x * x, gorgon.interpreter, gorgon.count()
with Pool(2) as pool:
    answers = list(pool.map(work, range(20)))
    print([square for square, _, _ in answers] == [x * x for x in range(20)])
    print({number for _, number, _ in answers} <= {0, 1}, max(count for _, _, count in answers) <= 2)
    print(pool.submit(int, "101", base=2).result())
print(gorgon.count(), gorgon.interpreter)
""", "True", "True True", "5", "0 None")

    def test_workers_run_at_the_same_time(self):
        """Each worker waits for the others' results."""
        self.check("""
def meet(i):
    import gorgon, time
    gorgon.share(bytes([i]), f"here {i}", copy=True)
    others = set(range(3))
    while others:
        for other in list(others):
            try:
                others -= set(bytes(gorgon.receive(f"here {other}")))
            except KeyError:
                time.sleep(0.001)
    return i
with Pool(3) as pool:
    print(list(pool.map(meet, range(3))))
for i in range(3):
    gorgon.withdraw(f"here {i}")
""", "[0, 1, 2]")

    def test_functions_go_as_names_or_as_code(self):
        self.check("""
import functools, json, math
BASE = 10
def plain(x, y=1, *, z=2):
    return BASE + x + y + z
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)
def even(n):
    return n == 0 or odd(n - 1)
def odd(n):
    return n != 0 and even(n - 1)
def within(k):
    def inner(x):
        return [inner.__qualname__, k * x] + [math.floor(y) for y in [2.5]]
    return inner
def tagged():
    return tagged.tag
tagged.tag = "tag"
def count_up():
    global BASE
    BASE += 1
    return BASE
with Pool(1) as pool:
    call = lambda f, *args, **kwargs: pool.submit(f, *args, **kwargs).result()
    print(call(plain, 1), call(plain, 1, 2, z=3), call(functools.partial(plain, z=100), 0))
    print(call(factorial, 20), call(even, 10), call(within(3), 2), call(lambda: BASE), call(tagged))
    print(call(count_up), call(count_up), BASE, call(plain, 0))
    print(call(math.sqrt, 4), call(json.dumps, {"a": (1, None)}), call("a b".split), call(str.upper, "x"))
    BASE = 20
    def odd(n):
        return "replaced"
    print(call(plain, 1), call(even, 1))
    def odd(n):
        raise LookupError
    print(call(within, 2)(1), even.__globals__["odd"] is odd)
""", "14 16 111", "2432902008176640000 True ['within.<locals>.inner', 6, 2] 10 tag", "11 12 10 15",
                   "2.0 {\"a\": [1, null]} ['a', 'b'] X", "24 replaced",
                   "['within.<locals>.inner', 2, 2] True")

    def test_what_cannot_be_pickled_is_said(self):
        self.check("""
def lock():
    import threading
    return threading.Lock()
def bad():
    class Odd(Exception):
        pass
    raise Odd("out")
with Pool(1) as pool:
    print(fails(pool.submit(len, (n for n in range(3))).result))
    print(fails(pool.submit(lock).result))
    print(fails(pool.submit(bad).result))
    print(fails(pool.submit(str, gorgon.count()).result))
""", "TypeError: cannot pickle 'generator' object", "TypeError: cannot pickle '_thread.lock' object",
                   "RemoteError: bad.<locals>.Odd: out", "1")

    def test_classes_of_a_program_are_its_own(self):
        result = self.run_file("""
import dataclasses
@dataclasses.dataclass
class Point:
    x: int
    def doubled(self):
        return Point(2 * self.x)
class Wrong(Exception):
    pass
def fail():
    raise Wrong(7)
if __name__ == "__main__":
    with Pool(2) as pool:
        points = list(pool.map(Point.doubled, [Point(1), Point(2)])) + [pool.submit(Point(3).doubled).result()]
        print(points, all(type(point) is Point for point in points))
        try:
            pool.submit(fail).result()
        except Wrong as error:
            print("wrong", error.args)
""")
        self.assertEqual(result.stdout.splitlines(), ["[Point(x=2), Point(x=4), Point(x=6)] True", "wrong (7,)"])

    def test_program_without_a_guard_is_told_so(self):
        result = self.run_file("""
class Point:
    pass
with Pool(1) as pool:
    pool.submit(type, Point()).result()
""", status=1)
        self.assertRegex(result.stderr, r"RuntimeError: InterpreterPoolExecutor: this is interpreter 0, pools are made "
                         r"in the host \(in a program: under if __name__ == '__main__'\)")

    def test_exceptions_arrive_with_type_and_traceback(self):
        if sys.version_info < (3, 14):
            cause, before, after = "RemoteTraceback", ["", '"""'], ['"""']
        else:  # the standard library's own
            cause, before, after = "ExecutionFailed", ["KeyError: (5, 'text')", "", "Uncaught in the interpreter:", ""], []
        self.check("""
import traceback
def outer(x):
    inner(x)
def inner(x):
    raise KeyError(x, "text")
def leave():
    raise SystemExit(3)
with Pool(1) as pool:
    future = pool.submit(outer, 5)
    error = future.exception()
    print(type(error).__name__, error.args, type(error.__cause__).__name__)
    text = "".join(traceback.format_exception(error))
    for line in str(error.__cause__).splitlines():
        print(line)
    print(text.count("in inner"), fails(pool.submit(leave).result), fails(pool.submit(int, "x").result))
""", f"KeyError (5, 'text') {cause}", *before, "Traceback (most recent call last):",
                   '  File "<string>", line 13, in outer', '  File "<string>", line 15, in inner',
                   "KeyError: (5, 'text')", *after,
                   "1 SystemExit: 3 ValueError: invalid literal for int() with base 10: 'x'")

    def test_initializer_runs_in_each_and_its_failure_breaks_the_pool(self):
        self.check("""
import builtins
def prepare(value):
    import builtins
    builtins.prepared = value
def read():
    import builtins, gorgon
    return builtins.prepared
def broken():
    raise ValueError("no model")
model = None
def load():
    global model
    model = [1, 2]
def predict(x):
    return model[x]
with Pool(2, initializer=prepare, initargs=("ready",)) as pool:
    print({pool.submit(read).result() for i in range(6)})
with Pool(2, initializer=load) as pool:
    print(list(pool.map(predict, [0, 1, 0])), model)
import logging
logging.getLogger("concurrent.futures").addHandler(logging.StreamHandler(log := __import__("io").StringIO()))
with Pool(2, initializer=broken) as pool:
    futures = [pool.submit(read) for i in range(4)]
    print({fails(future.result) for future in futures})
    print(fails(pool.submit, read), type(futures[0].exception().__cause__).__name__)
print(fails(Pool, 0), fails(Pool, 1, initializer=3), sep="; ")
print(gorgon.count(), hasattr(builtins, "prepared"))
print(log.getvalue().splitlines()[0], log.getvalue().splitlines()[-1])
""", "{'ready'}", "[1, 2, 1] None", "{'BrokenInterpreterPool: no model'}", "BrokenInterpreterPool: no model ValueError",
                   "ValueError: max_workers must be greater than 0, found 0; "
                   "TypeError: initializer must be a callable", "0 False",
                   "Exception in initializer: ValueError: no model")

    def test_worker_that_exits_is_replaced(self):
        self.check("""
def leave():
    import ctypes
    ctypes.CDLL(None).exit(4)
def number():
    import gorgon
    return gorgon.interpreter
for limit in None, 60:
    with Pool(1, time_limit=limit) as pool:
        print(pool.submit(number).result(), fails(pool.submit(leave).result), pool.submit(number).result())
""", *[f"{n} BrokenInterpreterPool: interpreter {n}: its code has called exit(4) {n + 1}" for n in (0, 2)])

    def test_progress_comes_with_its_future(self):
        self.check("""
def work(n):
    import gorgon
    return [gorgon.progress([i, n]) for i in range(n)]
def forever():
    import gorgon
    while True:
        gorgon.progress("again")
def refused():
    import gorgon
    gorgon.progress({1})
def in_thread():
    from concurrent.futures import ThreadPoolExecutor
    import gorgon
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(gorgon.progress, "\\udcff").result()
seen = []
def listen(future, value):
    if value == "again":
        raise LookupError("enough")
    seen.append((future, value))
with Pool(1, progress=listen) as pool:
    future = pool.submit(work, 3)
    print(future.result(), [(f is future, value) for f, value in seen])
    print(fails(pool.submit(forever).result), pool.submit(len, "ab").result())
    print(fails(pool.submit(refused).result))
    print(fails(pool.submit(in_thread).result))
with Pool(1) as pool:
    print(pool.submit(work, 2).result(), work(2))
""", "[True, True, True] [(True, [0, 3]), (True, [1, 3]), (True, [2, 3])]", "LookupError: enough 2",
                   "ValueError: interpreter 0: progress: a value of type set, expected None, bool, int, float, str, "
                   "bytes, bytearray, list, tuple, dict or an array",
                   "ValueError: interpreter 0: UnicodeEncodeError: 'utf-8' codec can't encode character '\\udcff' in "
                   "position 0: surrogates not allowed", "[True, True] [False, False]")


class Arrays(Package):
    def test_arguments_and_results_stay_where_they_are(self):
        self.check_both("""
import numpy
def look(a):
    return a.ctypes.data, a.sum(), a.flags.writeable, a.dtype.str, a.shape
def make(n):
    made = numpy.arange(n)
    return made, made.ctypes.data
a = numpy.arange(1000000.).reshape(1000, 1000)
with Pool(1) as pool:
    where, total, writable, dtype, shape = pool.submit(look, a).result()
    print(where == a.ctypes.data, total == a.sum(), writable, dtype, shape)
    b, where = pool.submit(make, 5).result()
    print(where == b.ctypes.data, b.tolist(), b.flags.writeable)
    b[0] = 100
    print(pool.submit(look, b).result()[0] == where)
    transposed, gaps = a.T, a[:, ::2]
    print(pool.submit(look, transposed).result()[0] == where, pool.submit(look, gaps).result()[1] == gaps.sum())
print(b.tolist())
""", "True True False <f8 (1000, 1000)", "True [0, 1, 2, 3, 4] True", "True", "False True", "[100, 1, 2, 3, 4]")

    def test_memory_of_the_host_is_shared_without_a_copy(self):
        self.check_both("""
import array, gc, numpy, weakref
def write(name, value):
    import gorgon
    gorgon.receive(name, writable=True)[0] = value
def read(name):
    import gorgon
    return gorgon.receive(name).tolist()
things = {"ndarray": numpy.arange(3), "backwards": numpy.arange(6)[::-2], "bytearray": bytearray(b"abc"),
          "memoryview": memoryview(bytearray(b"abc")), "array": array.array("d", [1, 2]),
          "dates": numpy.array(["2020-02-29", "2021-01-01"], "M8[D]").view("i8")}
with Pool(1) as pool:
    for name, thing in things.items():
        gorgon.share(thing, name, writable=True)
        pool.submit(write, name, 7).result()
        print(name, thing[0], pool.submit(read, name).result() == list(thing))
    gorgon.share(b"bytes", "bytes")
    print(pool.submit(read, "bytes").result(), fails(pool.submit(write, "bytes", 1).result))
    print(fails(gorgon.share, b"bytes", "b", writable=True), fails(things["bytearray"].append, 1), sep="; ")
    gorgon.share(numpy.zeros(0), "empty")
    print(pool.submit(read, "empty").result(), fails(gorgon.share, numpy.array([None]), "o"))
    a = numpy.ones(1000)
    gone = weakref.ref(a)
    gorgon.share(a, "ones")
    del a
    gc.collect()
    print(gone() is not None, sum(pool.submit(read, "ones").result()))
    gorgon.withdraw("ones")
    gorgon.withdraw("bytearray")
    for i in range(100): pass    # pending calls
    print(gone() is None, fails(things["bytearray"].append, 1), things["bytearray"])
""", "ndarray 7 True", "backwards 7 True", "bytearray 7 True", "memoryview 7 True", "array 7.0 True", "dates 7 True",
                        "[98, 121, 116, 101, 115] PermissionError: array \"bytes\": was not shared with writable=True",
                        "ValueError: the array is read-only and cannot be shared with writable=True; "
                        "BufferError: Existing exports of data: object cannot be re-sized",
                        "[] TypeError: an array of Python objects cannot be shared: objects belong to one interpreter",
                        "True 1000.0", "True None bytearray(b'\\x07bc\\x01')")

    def test_tensors_of_the_host_are_shared_without_a_copy(self):
        self.check_both("""
import numpy
class Tensor:
    def __init__(self, a):
        self.a = a
    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__(**kwargs)
def write(name):
    import gorgon
    gorgon.receive(name, writable=True)[0] = 7
a = numpy.arange(6.)
gorgon.share(Tensor(a[::-1]), "tensor", writable=True)
del Tensor
with Pool(1) as pool:
    pool.submit(write, "tensor").result()
print(a.tolist())
before = sys.getrefcount(a)
gorgon.withdraw("tensor")
for i in range(100): pass    # pending calls
print(before - sys.getrefcount(a) > 0)
""", "[0.0, 1.0, 2.0, 3.0, 4.0, 7.0]", "True")

    def test_arguments_are_let_go_of(self):
        self.check_both("""
import gc, numpy, weakref
def total(a):
    return float(a.sum())
with Pool(2) as pool:
    for i in range(50):
        a = numpy.full(10000, float(i))
        gone = weakref.ref(a)
        future = pool.submit(total, a)
        del a
        assert future.result() == 10000. * i
        del future
    for i in range(1000):
        if not gone():
            break
        time.sleep(0.01)
    print(gone() is None)
""", "True")

    def test_numpy_of_the_host_may_use_the_handler(self):
        self.check_both("""
import numpy
default = gorgon.use_data_handler()
a = numpy.arange(10)
gorgon.share(a[2:5], "part", writable=True)
b = gorgon.receive("part", writable=True)
b[0] = 50
gorgon.withdraw("part")
gorgon.use_data_handler(default)
print(type(b).__name__, b.tolist(), a.tolist())
""", "ndarray [50, 3, 4] [0, 1, 50, 3, 4, 5, 6, 7, 8, 9]")


class Ends(Package):
    def test_nothing_is_left_behind(self):
        """A second pool leaves nothing behind; the first leaves what the system's libraries keep for good."""
        self.check("""
import numpy, threading
a = numpy.arange(100000.)
def work(i, a):
    return numpy.sqrt(a) + i, (a.reshape(100, 1000) @ a.reshape(1000, 100)).sum()
def state():
    with open("/proc/self/maps") as file:
        files = sorted(line.split()[5] for line in file if "/" in line)
    for i in range(100):    # the system sees the end of a thread a little later
        if len(os.listdir("/proc/self/task")) == threads: break
        time.sleep(0.01)
    return files, sorted(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
def use():
    with Pool(2) as pool:
        results = list(pool.map(work, range(8), [a] * 8))
    del results
threads = len(os.listdir("/proc/self/task"))
def pages():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Private_Dirty:"))
use()
before = state()
use()
after = state()
def runs(name): # what is kept for the next interpreter is only read
    with open("/proc/self/maps") as file:
        return any(name in line and "x" in line.split()[1] for line in file)
print([a == b for a, b in zip(before, after)], after[2] == threads, runs("libpython"), runs("libc.so"),
      threading.active_count(), gorgon.count())
use()
size = pages()
# Each of the C library's two arenas grows once by 16 MB, when it is first that of both interpreters' threads.
for i in range(8):
    use()
print((pages() - size) / 8 < 8000)
""", "[True, True, True] True False True 1 0", "True")

    def test_threads_of_libraries_end_with_their_interpreter(self):
        """As with a process: in a pool's condition, a system call of their own, and while they compute."""
        self.run_file(f"""
            import concurrent.futures, multiprocessing, threading, warnings

            def use(name):  # a library that starts a thread, which nothing ends
                import ctypes, hashlib, threading, time
                ctypes.CDLL({os.path.join(harness.MODULES, "libidle.so")!r}).idle_start(name)
                for target in (lambda: time.sleep(1000), lambda: hashlib.pbkdf2_hmac("sha1", b"", b"", 1 << 31)):
                    threading.Thread(target=target, daemon=True).start()
                return name

            def threads():
                return len(os.listdir("/proc/self/task"))

            if __name__ == "__main__":
                warnings.simplefilter("error")
                names = [b"cond", b"epoll", b"sem", b"inline futex", b"compute"]
                results = []
                for i in range(20):
                    with Pool(1) as pool:
                        results.append(pool.submit(use, names[i % 5]).result())
                with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                    assert results == list(pool.map(use, names)) * 4, results
                assert gorgon.count() == 0, gorgon.count()
                while threads() > 1:  # the last are still ending
                    time.sleep(0.01)
            """)

    def test_interpreter_with_a_thread_stays_until_it_can_go(self):
        self.check("""
import warnings
def stay():  # by a thread that nothing wakes up
    import signal, threading, time
    def block(begun):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
        begun.set()
        time.sleep(3)
    begun = threading.Event()
    threading.Thread(target=block, args=(begun,), daemon=True).start()
    begun.wait()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with Pool(1) as pool:
        pool.submit(stay).result()
print(gorgon.count(), [f"{warning.category.__name__}: {warning.message}" for warning in caught])
time.sleep(3)
with Pool(1) as pool:
    pool.submit(len, "").result()
print(gorgon.count())
""", "1 ['RuntimeWarning: an interpreter cannot end, and stays with its memory: 1 threads that its libraries started still run']", "0")

    def test_interpreters_that_stay_are_bounded(self):
        self.check("""
import warnings
from gorgon import _executor
warnings.simplefilter("ignore")
_executor.MOST_STAYING = 2
def stay():  # by a thread that nothing wakes up
    import signal, threading, time
    def block(begun):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
        begun.set()
        time.sleep(30)
    begun = threading.Event()
    threading.Thread(target=block, args=(begun,), daemon=True).start()
    begun.wait()
for i in range(3):
    with Pool(1) as pool:
        print(fails(pool.submit(stay).result), gorgon.count())
sys.stdout.flush()
os._exit(0)
""", "None 1", "None 2", "BrokenInterpreterPool: no further interpreter is made: 2 have ended and stay with their memory, the first "
                   "of them because of 1 threads that its libraries started still run; use one executor for all work 2")

    def test_python_that_is_not_there_breaks_the_pool(self):
        self.check("""
with Pool(1, python="/nonexistent/python") as pool:
    print(fails(pool.submit(len, "").result))
""", "BrokenInterpreterPool: /nonexistent/python: No such file or directory")

    @unittest.skipUnless(pythons.can_hide(), "unshare is not installed, or not allowed")
    def test_libpython_that_is_not_installed_is_named(self):
        code = PRELUDE + textwrap.dedent("""
            with Pool(1) as pool:
                print(fails(pool.submit(abs, -1).result))
            """)
        with tempfile.TemporaryDirectory() as folder:
            result = pythons.without_libpython(folder, PYTHON3, "-c", code, env={"PYTHONPATH": self.site})
        self.assertRegex(result.stdout, rf"^BrokenInterpreterPool: {PYTHON3}: "
                         rf".* install the distribution's libpython{VERSION}$")
        self.assertEqual(result.returncode, 0)

    def test_ctrl_c_stops_calls_that_run(self):
        code = textwrap.dedent("""
def spin():
    while True: pass
def sleep():
    import time
    time.sleep(1000)
def never():
    print("never", flush=True)
try:
    with Pool(2) as pool:
        futures = [pool.submit(spin), pool.submit(sleep), pool.submit(never)]
        while not all(future.running() for future in futures[:2]): time.sleep(0.01)
        time.sleep(0.3)
        print("runs", flush=True)
        futures[0].result()
finally:
    print([str(future.cancelled() or type(future.exception()).__name__) for future in futures], gorgon.count(),
          flush=True)
""")
        env = dict(os.environ, PYTHONPATH=self.site)
        process = subprocess.Popen([PYTHON3, "-c", PRELUDE + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=env)
        self.assertEqual(process.stdout.readline(), "runs\n")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(output, "['KeyboardInterrupt', 'KeyboardInterrupt', 'True'] 0\n")
        self.assertRegex(errors, r"KeyboardInterrupt\n$")
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_calls_are_interrupted_under_a_handler_that_came_later(self):
        self.check("""
import signal
def spin():
    while True: pass
pool = Pool(1)
pool.submit(len, "").result()
signal.signal(signal.SIGINT, lambda *_: None)
future = pool.submit(spin)
time.sleep(0.3)
pool.shutdown(interrupt=True)
print(type(future.exception()).__name__)
""", "KeyboardInterrupt")

    def test_shutdown_is_that_of_executors(self):
        self.check("""
import concurrent.futures as cf, gc, threading
def wait(s):
    import time
    time.sleep(s)
    return s
pool = Pool(1)
futures = [pool.submit(wait, 0.3), pool.submit(wait, 0.1), pool.submit(wait, 0)]
while not futures[0].running(): time.sleep(0.01)
pool.shutdown(wait=False, cancel_futures=True)
print(fails(pool.submit, wait, 0))
print(futures[0].result(), [future.cancelled() for future in futures])
pool = Pool(1)
future = pool.submit(wait, 0)
print([f.result() for f in cf.as_completed([future])], issubclass(gorgon.BrokenInterpreterPool, cf.BrokenExecutor))
del pool
gc.collect()
for i in range(500):
    if threading.active_count() == 1: break
    time.sleep(0.01)
print(threading.active_count(), gorgon.count())
pool = Pool(1)
late = pool.submit(wait, 0.2)
late.add_done_callback(lambda future: print("done", future.result()))
""", "RuntimeError: cannot schedule new futures after shutdown", "0.3 [False, True, True]", "[0] True", "1 0",
                   "done 0.2")

    def test_forked_child_makes_its_own(self):
        self.check("""
pool = Pool(1)
pool.submit(len, "").result()
pid = os.fork()
if not pid:
    print(fails(pool.submit, len, ""), flush=True)
    with Pool(1) as own:
        print(own.submit(len, "abc").result(), flush=True)
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), pool.submit(len, "ab").result())
pool.shutdown()
""", "RuntimeError: this process was forked: it has none of the executor's interpreters", "3", "5 2")


class Surface(Package):
    def test_module_has_one_surface(self):
        """Of a program that is run again for its classes, too."""
        self.assertEqual(self.run_file("""
            from gorgon import *
            from gorgon import BrokenInterpreterPool, Error, RemoteError, writable
            class P:
                pass
            def names(_):
                import gorgon
                return sorted(set(gorgon.__all__) if gorgon.interpreter is None else
                              [name for name in ALL if hasattr(gorgon, name)]), hasattr(gorgon, "nothing"), issubclass(Error, RuntimeError)
            ALL = getattr(gorgon, "__all__", None)
            if __name__ == "__main__":
                with Pool(1) as pool:
                    there = pool.submit(names, P()).result()
                print(there[0] == names(P())[0], *there[1:])
            """).stdout, "True False True\n")

    def test_pools_inside_are_refused(self):
        code = "from gorgon import InterpreterPoolExecutor\nInterpreterPoolExecutor(3)"
        result = run(GORGON, "run", "-c", code)
        self.assertRegex(result.stderr, "RuntimeError: InterpreterPoolExecutor: this is interpreter 0, pools are made")

    def test_one_build_serves_other_versions(self):
        for version in ("3.12", "3.13"):
            with self.subTest(version):
                python = find_python(version)
                if not python:
                    self.skipTest(f"no CPython {version} with a libpython")
                self.check("""
def work(a, x):
    import gorgon, sys
    gorgon.progress(x)
    return gorgon.interpreter, sys.version_info[:2] == VERSION, a[0] + x
VERSION = sys.version_info[:2]
def fail():
    raise KeyError(1)
seen = []
with Pool(1, progress=lambda future, value: seen.append(value)) as pool:
    print([pool.submit(work, bytes([5]), i).result() for i in range(3)], seen, fails(pool.submit(fail).result))
a = bytearray(3)
gorgon.share(a, "a", writable=True)
memoryview(gorgon.receive("a", writable=True))[1] = 7
print(list(a), gorgon.count())
""", "[(0, True, 5), (0, True, 6), (0, True, 7)] [0, 1, 2] KeyError: 1", "[0, 7, 0] 0", python=python)

    def test_readme_program_runs(self):
        with open(f"{ROOT}/python/README.md") as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        code = blocks[0].replace("1e8", "1e5")
        result = run(PYTHON3, "-c", code, env={"PYTHONPATH": self.site})
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.assertAlmostEqual(float(result.stdout), sum(i ** 0.5 for i in range(100000)), places=3)

    def test_doctests(self):
        self.check("""
            import doctest
            from gorgon import _broken, _crossing
            print(*(doctest.testmod(module) for module in (gorgon, _broken, _crossing)), sep="\\n")
            """, *(f"TestResults(failed=0, attempted={count})" for count in (2, 2, 4)))

    def test_options_of_python_reach_the_interpreters(self):
        code = ("import sys; from gorgon import InterpreterPoolExecutor as Pool\n"
                "def flags(): import sys; return sys.flags.utf8_mode, sys.warnoptions, sys.path, sys.executable\n"
                "with Pool(1) as pool: there = pool.submit(flags).result()\n"
                "print(there == flags(), there[:2])")
        result = run(PYTHON3, "-X", "utf8", "-W", "error::UserWarning", "-c", code,
                     env={"PYTHONPATH": self.site, "PYTHONWARNINGS": None})
        self.assertEqual((result.stderr, result.stdout), ("", "True (1, ['error::UserWarning'])\n"))
