# SPDX-License-Identifier: MIT
"""Programs that change one import and expect of gorgon's executor what they had of the standard library's."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(__file__))
import harness  # noqa: E402
from harness import PYTHON3, find_python, run  # noqa: E402
from test_executor import Package  # noqa: E402


class End(Package):
    def test_work_is_done_before_the_program_ends(self):
        for last in "", "pool.shutdown(wait=False)", "del pool":
            with self.subTest(last):
                self.assertEqual(self.run_file(f"""
                    import atexit

                    def late():
                        time.sleep(0.2)
                        print("late", flush=True)

                    def main():
                        atexit.register(print, "atexit")
                        pool = Pool(1)
                        pool.submit(late)
                        pool.submit(late)
                        {last}

                    if __name__ == "__main__":
                        main()
                    """).stdout.splitlines(), ["late", "late", "atexit"])

    def test_nothing_is_submitted_after_the_end(self):
        result = self.run_file("""
            import atexit
            pool = Pool(1)
            atexit.register(lambda: print(fails(pool.submit, len, ""), fails(Pool(1).submit, len, "")))
            """)
        self.assertEqual(result.stdout, "RuntimeError: cannot schedule new futures after interpreter shutdown "
                         "RuntimeError: cannot schedule new futures after interpreter shutdown\n")

    def test_cancelled_work_starts_no_interpreter(self):
        self.check("""
            import threading
            def number():
                return gorgon.interpreter
            start, late = threading.Thread.start, []
            pool = Pool(1)
            threading.Thread.start = lambda thread: late.append(thread)
            print(pool.submit(number).cancel())
            threading.Thread.start = start
            for thread in late:
                thread.start()
            print(pool.submit(number).result())
            pool.shutdown()
            pool = Pool(1)
            threading.Thread.start = lambda thread: late.append(thread)
            print(pool.submit(number).cancel())
            threading.Thread.start = start
            for thread in late[2:]:
                thread.start()
            pool.shutdown()
            with Pool(1) as pool:
                print(pool.submit(number).result())
            """, "True", "0", "True", "1")

    def test_thread_that_cannot_start_is_said(self):
        self.check("""
            import threading
            start = threading.Thread.start
            def refuse(thread):
                if refused in thread.name:
                    raise RuntimeError("can't start new thread")
                start(thread)
            threading.Thread.start = refuse
            for refused in "_0-desk", "_0":
                with Pool(2) as pool:
                    print(fails(pool.submit, len, ""), len(pool._threads))
                    refused = "none"
                    print(pool.submit(len, "ab").result())
            print(threading.active_count())
            """, *2 * ["RuntimeError: can't start new thread 0", "2"], "1")


    def test_ctrl_c_ends_a_program_that_waits_for_its_work(self):
        code = textwrap.dedent("""
            import atexit, threading, time
            from gorgon import InterpreterPoolExecutor as Pool
            def main():
                pool = Pool(1)
                pool.submit(print, "runs", flush=True).result()
                future = pool.submit(time.sleep, 1000)
                pool.submit(print, "never", flush=True)
                while not future.running(): time.sleep(0.01)
                threading.Timer(0.3, print, ["waits"], {"flush": True}).start()
            atexit.register(print, "atexit")
            main()
            """)
        process = subprocess.Popen([PYTHON3, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, PYTHONPATH=self.site))
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((lines, output), (["runs\n", "waits\n"], "atexit\n"))
        self.assertRegex(errors, r"KeyboardInterrupt: ?\n$")


class Main(Package):
    def test_classes_when_multiprocessing_is_imported(self):
        for where in "here", "there", "both":
            with self.subTest(where):
                self.assertEqual(self.run_file(f"""
                    if {where!r} != "there" or __name__ != "__main__":
                        import multiprocessing.pool

                    class E(Exception):
                        pass

                    class P:
                        def __init__(self, x):
                            self.x = x

                        def double(self):
                            import multiprocessing
                            return P(2 * self.x)

                    def fail():
                        import multiprocessing, pickle
                        raise E(type(pickle.loads(pickle.dumps(P(1)))).__qualname__)

                    if __name__ == "__main__":
                        with Pool(1) as pool:
                            results = [pool.submit(P(i).double).result() for i in range(3)]
                            print([p.x for p in results], {{type(p) is P for p in results}})
                            print(repr(pool.submit(fail).exception()), pool.submit(isinstance, P(1), P).result())
                    """).stdout.splitlines(), ["[0, 2, 4] {True}", "E('P') True"])

    def test_package_run_by_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/pkg")
            for name, code in {"__init__": "", "other": "def twice(x): return 2 * x", "__main__": """
                    from gorgon import InterpreterPoolExecutor
                    from .other import twice
                    class Point:
                        def __init__(self, x):
                            self.x = x
                        def doubled(self):
                            from . import other
                            return Point(twice(self.x) + other.twice(1))
                    def main():
                        with InterpreterPoolExecutor(1) as pool:
                            print(pool.submit(Point(1).doubled).result().x)
                    if __name__ == "__main__":
                        main()
                    """}.items():
                with open(f"{folder}/pkg/{name}.py", "w") as file:
                    file.write(textwrap.dedent(code))
            for command in ("-m", "pkg"), ("-m", "pkg.__main__"):
                result = run(PYTHON3, *command, cwd=folder, env={"PYTHONPATH": self.site})
                self.assertEqual((result.stderr, result.stdout), ("", "4\n"))

    def test_program_keeps_what_workers_have(self):
        """The file runs when the first class comes; globals of an initializer stay."""
        self.assertEqual(self.run_file("""
            model = None

            class P:
                pass

            def load():
                global model
                model = "loaded"

            def see(*args):
                return model, K

            K = 1
            if __name__ == "__main__":
                with Pool(1, initializer=load) as pool:
                    print(pool.submit(see).result())
                    K = 2
                    print(pool.submit(see).result(), pool.submit(see, P()).result())
            """).stdout.splitlines(), ["('loaded', 1)", "('loaded', 2) ('loaded', 2)"])

    def test_program_without_an_ending(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program")
            with open(path, "w") as file:
                file.write("from gorgon import InterpreterPoolExecutor as Pool\nclass P: x = 5\n"
                           "def get(p): return p.x\n"
                           "if __name__ == '__main__':\n"
                           "    with Pool(1) as pool: print(pool.submit(get, P()).result())\n")
            result = run(PYTHON3, path, env={"PYTHONPATH": self.site})
        self.assertEqual((result.stderr, result.stdout), ("", "5\n"))

    def test_cached_functions(self):
        self.check("""
            import functools
            @functools.lru_cache(maxsize=None)
            def fib(n):
                return n if n < 2 else fib(n - 1) + fib(n - 2)
            def wrap(function):
                @functools.wraps(function)
                def inner(*args):
                    return function(*args) + 1
                return inner
            @wrap
            def length(x):
                return len(x)
            def hits():
                return fib.cache_info().misses
            with Pool(1) as pool:
                print(pool.submit(fib, 50).result(), pool.submit(hits).result(), pool.submit(length, "ab").result())
                print(list(pool.map(fib, range(5))), fib.cache_info().misses)
            """, "12586269025 51 3", "[0, 1, 1, 2, 3] 0")


CLASSES = """
import abc, collections, contextlib, dataclasses, enum, functools, typing
from gorgon import InterpreterPoolExecutor as Pool

class Base(abc.ABC):
    @abc.abstractmethod
    def area(self): ...
    @property
    def twice(self): return 2 * self.area()

class Square(Base):
    __slots__ = ("a",)
    def __init__(self, a):
        super().__init__()
        self.a = a
    def area(self): return self.a ** 2
    @classmethod
    def make(cls, a): return cls(a)

@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
    tags: list = dataclasses.field(default_factory=list)
    def moved(self, by): return dataclasses.replace(self, x=self.x + by)

@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Frozen:
    x: int

class Colour(enum.Enum):
    RED = 1
    BLUE = "b"
    def low(self): return self.name.lower()

class Bits(enum.IntFlag):
    A = 1
    B = 2

class Pair(typing.NamedTuple):
    a: int
    b: str = "b"
    def both(self): return self.a, self.b

class Sub(collections.namedtuple("Sub", "x y", defaults=(3,))):
    def sum(self): return self.x + self.y

class Wrong(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code

class Cached:
    @functools.cached_property
    def value(self): return 7

class Node:
    def __init__(self, next=None): self.next = next

T = typing.TypeVar("T")
class Box(typing.Generic[T]):
    pass

def local():
    class Local:
        pass
    return Local()

def same(thing): return thing
def build(): return [Square.make(3), Point(5), Frozen(1), Colour.RED, Bits.A | Bits.B, Pair(1), Sub(1)]
def fail(): raise Wrong(3)
def caught(function):
    try:
        return function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

with Pool(2) as pool:
    call = lambda *work: pool.submit(*work).result()
    things = [*build(), Cached(), Node(Node()), Box(), local()]
    print([type(call(same, thing)) is type(thing) for thing in things], call(same, Point) is Point, call(same, Box[int]) == Box[int])
    print([type(thing) is type(mine) for thing, mine in zip(call(build), build())], *call(build)[1:])
    print(call(Point(1).moved, 2), call(lambda: Square(2).twice), call(Colour.low, Colour.BLUE), call(Pair(3).both), call(Sub(1).sum))
    print(call(lambda c: c().value, Cached), call(lambda: Frozen(1) < Frozen(2)), call(lambda: [f.name for f in dataclasses.fields(Point)]))
    print(caught(lambda: call(fail)), type(pool.submit(fail).exception()) is Wrong, caught(lambda: call(local)))
    Point.moved = lambda self, by: "changed"
    print(call(lambda: Point(1).moved(1)))
    old = Point(1)
    class Point:
        pass
    print(type(call(lambda: Point())) is Point, type(call(same, old)) is type(old), type(old) is Point)
"""


class Classes(Package):
    def test_those_of_no_file_go_as_what_they_are_made_of(self):
        """As in a notebook."""
        expected = ["[" + ", ".join(["True"] * 11) + "] True True",
                    "[" + ", ".join(["True"] * 7) + "] Point(x=5, y=2, tags=[]) Frozen(x=1) Colour.RED 3 Pair(a=1, b='b') Sub(x=1, y=3)",
                    "Point(x=3, y=2, tags=[]) 8 blue (3, 'b') 4", "7 True ['x', 'y', 'tags']",
                    "Wrong: 3 True PicklingError: local.<locals>.Local: a class that the host cannot import, put it into a module",
                    "changed", "True True False"]
        pythons = [PYTHON3, *filter(None, map(find_python, ("3.12", "3.13")))]
        for python, command in ([python, "-c"] for python in pythons):
            with self.subTest(python):
                result = run(python, command, CLASSES, env={"PYTHONPATH": self.site})
                self.assertEqual((result.stderr, result.stdout.splitlines()), ("", expected))
        result = run(PYTHON3, "-", env={"PYTHONPATH": self.site}, input=CLASSES)
        self.assertEqual((result.stderr, result.stdout.splitlines()), ("", expected))

    def test_class_that_is_gone_is_said(self):
        self.check("""
            import gc
            def make():
                class Local:
                    pass
                return Local()
            def late(thing):
                time.sleep(0.5)
                return thing
            with Pool(1) as pool:
                future = pool.submit(late, make())
                gc.collect()
                print(fails(future.result))
            """, "Lost: make.<locals>.Local: the program has replaced this class since its instance was sent")


class Globals(Package):
    def test_changes_are_seen(self):
        self.check_both("""
            import array, numpy
            K, D, N, A = 3, {"a": [1]}, numpy.zeros(2), array.array("i", [1])
            def see(x):
                return K, D, float(N.sum()), A.tolist(), len(LATE) if "LATE" in globals() else None
            def helper():
                return 1
            def uses(x=0):
                return helper() + K
            with Pool(1) as pool:
                def show():
                    print(list(pool.map(see, [0]))[0], pool.submit(uses).result())
                show()
                K = 4
                show()
                D["a"].append(2)
                show()
                N[0] = 7
                show()
                A.append(2)
                show()
                LATE = "xyz"
                def helper():
                    return 100
                show()
                D["a"][0] = True
                show()
                uses.__defaults__ = (1,)
                del D
                show()
            """, "(3, {'a': [1]}, 0.0, [1], None) 4", "(4, {'a': [1]}, 0.0, [1], None) 5",
                        "(4, {'a': [1, 2]}, 0.0, [1], None) 5", "(4, {'a': [1, 2]}, 7.0, [1], None) 5",
                        "(4, {'a': [1, 2]}, 7.0, [1, 2], None) 5", "(4, {'a': [1, 2]}, 7.0, [1, 2], 3) 104",
                        "(4, {'a': [True, 2]}, 7.0, [1, 2], 3) 104", "(4, {'a': [True, 2]}, 7.0, [1, 2], 3) 104")

    def test_what_has_no_name_of_its_own(self):
        self.check("""
            import functools, typing
            from sys import stdout
            LIMIT = 2
            UserId = typing.NewType("UserId", int)
            @functools.singledispatch
            def kind(value): return "something"
            @kind.register
            def _(value: int): return "number", kind([])
            @kind.register(list)
            def _(value): return "list"
            def use(value):
                text = "n > @LIMIT"
                return kind(value), UserId(3), stdout is sys.stdout, eval(text.replace("@", ""), globals(), {"n": 3})
            def refused():
                return opened
            opened = open(os.devnull)
            with Pool(1) as pool:
                print(pool.submit(use, 1).result())
                print(pool.submit(kind, "x").result(), pool.submit(lambda stream: stream is sys.stdout, sys.stdout).result())
                why = fails(pool.submit(refused).result)
                print("cannot pickle" in why and "TextIOWrapper" in why)  # in the words of each version
            """, "(('number', 'list'), 3, True, True)", "something True", "True")

    def test_submodules_of_packages_are_imported(self):
        self.check("""
            import logging.handlers, urllib.request, xml.dom, xml.etree.ElementTree
            def host(url): return urllib.request.Request(url).host, xml.etree.ElementTree.fromstring("<a><b/></a>").find("b").tag
            def tag(): return xml.dom.minidom.parseString("<a/>").documentElement.tagName
            def set_up():
                global port
                port = logging.handlers.DEFAULT_TCP_LOGGING_PORT
            port = None
            def main():
                import email.mime.text
                def kind(): return email.mime.text.MIMEText("x").get_content_type()
                with Pool(1) as pool:
                    print(pool.submit(kind).result(), pool.submit(lambda: email.mime.text.__name__).result())
            main()
            with Pool(1, initializer=set_up) as pool:
                print(pool.submit(host, "http://example.org/").result(), pool.submit(lambda: port).result())
                print(fails(pool.submit(tag).result))
                import xml.dom.minidom
                print(pool.submit(tag).result())
            """, "text/plain email.mime.text", "('example.org', 'b') 9020",
                   "AttributeError: module 'xml.dom' has no attribute 'minidom'", "a")

    def test_each_call_has_those_of_its_time(self):
        self.check("""
            K = 0
            def see():
                return K
            with Pool(2) as pool:
                futures = []
                for K in range(20):
                    futures.append(pool.submit(see))
                print([future.result() for future in futures] == list(range(20)))
            """, "True")

    def test_large_ones_are_shipped_once(self):
        """Once to each worker, that is; and changes of them in an interpreter stay there."""
        self.check("""
            from gorgon import _globals
            made = []
            class Shipment(_globals.Shipment):
                def __init__(self, name, *rest):
                    made.append(name)
                    super().__init__(name, *rest)
            _globals.Shipment = Shipment
            TABLE = {str(i): [i] for i in range(50000)}
            def look(i):
                TABLE["seen"] = TABLE.get("seen", 0) + 1
                return len(TABLE), TABLE["seen"]
            with Pool(1) as pool:
                print(list(pool.map(look, range(3))), [pool.submit(look, i).result()[1] for i in range(3)])
                print(sorted(made))
            """, "[(50001, 1), (50001, 2), (50001, 3)] [4, 5, 6]", "['TABLE', 'look', 'sys.paths']")

    def test_memory_is_let_go_of_with_the_pool(self):
        self.check_both("""
            import gc, numpy, weakref
            A = numpy.zeros(1000)
            def total():
                return float(A.sum())
            pool = Pool(1)
            print(pool.submit(total).result())
            gone = weakref.ref(A)
            del A
            pool.shutdown()
            for i in range(1000):
                if not gone():
                    break
                time.sleep(0.01)
            print(gone() is None)
            """, "0.0", "True")

    def test_one_that_cannot_go_is_named(self):
        self.check("""
            import traceback, types
            NUMBERS = (n for n in range(3))
            def use():
                return next(NUMBERS)
            def data(x):
                return x.NUMBERS is None
            with Pool(1) as pool:
                error = pool.submit(use).exception()
                print("".join(traceback.format_exception_only(error)))
                print(pool.submit(data, types.SimpleNamespace(NUMBERS=None)).result())
            """, "TypeError: cannot pickle 'generator' object",
                   "(global 'NUMBERS' of __main__, which the call uses)", "", "True")

    def test_one_that_does_not_load_is_said_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/only_here.py", "w") as file:
                file.write("import gorgon\nif gorgon.interpreter is not None: raise ImportError('not there')\n")
            self.check(f"""
                sys.path.insert(0, {folder!r})
                import only_here
                def use():
                    return only_here
                def other():
                    return 5
                with Pool(1) as pool:
                    print(*[fails(pool.submit(use).result) for i in range(2)], pool.submit(other).result())
                """, "ImportError: not there ImportError: not there 5")

    def test_path_and_arguments_are_the_hosts(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/found_late.py", "w") as file:
                file.write("value = 5\n")
            self.check(f"""
                sys.argv[1:] = ["word"]
                def find():
                    import found_late
                    return found_late.value, sys.argv[1:]
                with Pool(1) as pool:
                    print(fails(pool.submit(find).result))
                    sys.path.append({folder!r})
                    sys.argv.append("other")
                    print(pool.submit(find).result())
                """, "ModuleNotFoundError: No module named 'found_late'", "(5, ['word', 'other'])")


class Processes(Package):
    """What multiprocessing's own pools do for their workers."""

    def test_proxies_of_managers(self):
        self.assertEqual(self.run_file("""
            import multiprocessing

            def fill(d, queue):
                d["a"] = 1
                queue.put("b")
                return d

            if __name__ == "__main__":
                with multiprocessing.Manager() as manager, Pool(1) as pool:
                    d, queue = manager.dict(), manager.Queue()
                    back = pool.submit(fill, d, queue).result()
                    print(dict(d), dict(back), queue.get())
            """).stdout, "{'a': 1} {'a': 1} b\n")

    def test_shared_memory_outlives_the_pool(self):
        self.assertEqual(self.run_file("""
            from multiprocessing import shared_memory

            def write(name):
                block = shared_memory.SharedMemory(name)
                block.buf[0] = 7
                block.close()

            def make():
                block = shared_memory.SharedMemory(create=True, size=10)
                block.buf[0] = 8
                block.close()
                return block.name

            if __name__ == "__main__":
                mine = shared_memory.SharedMemory(create=True, size=10)
                with Pool(1) as pool:
                    pool.submit(write, mine.name).result()
                    name = pool.submit(make).result()
                time.sleep(0.3)
                again, other = shared_memory.SharedMemory(mine.name), shared_memory.SharedMemory(name)
                print(again.buf[0], other.buf[0])
                for block in mine, again, other:
                    block.close()
                mine.unlink()
                other.unlink()
            """).stdout, "7 8\n")

    def test_locks_values_and_queues_are_the_programs(self):
        for method, before in ("fork", ()), ("spawn", ()), ("fork", harness.WITHOUT_UNSHARE):
            with self.subTest(method, before=before):
                self.assertEqual(self.run_file(f"""
                    import multiprocessing

                    def init(*things):
                        global lock, value, array, queue, event
                        lock, value, array, queue, event = things

                    def add(count):
                        for _ in range(count):
                            with lock:
                                value.value += 1
                            with array.get_lock():
                                array[1] += 1
                        queue.put(count)
                        return event.wait()

                    def double(end, condition):
                        end.send(end.recv() * 2)
                        end.close()
                        with condition:
                            condition.notify()

                    if __name__ == "__main__":
                        context = multiprocessing.get_context({method!r})
                        lock, value, array, queue = context.RLock(), context.Value("i"), context.Array("d", 2), context.Queue()
                        event, condition = context.Event(), context.Condition()
                        with Pool(2, initializer=init, initargs=(lock, value, array, queue, event)) as pool:
                            results = pool.map(add, [1000, 1001])
                            print(sorted(queue.get() for _ in range(2)))
                            event.set()
                            print(list(results), value.value, array[:])
                        # The interpreters are gone: the lock is not.
                        with lock, Pool(1) as pool, condition:
                            mine, other = context.Pipe()
                            pool.submit(double, other, condition)
                            other.close()
                            mine.send("ab")
                            print(mine.recv(), condition.wait(60))
                            print(fails(mine.recv))
                        print(gorgon.count())
                    """, before=before).stdout.splitlines(),
                    ["[1000, 1001]", "[True, True] 2001 [0.0, 2001.0]", "abab True", "EOFError: ", "0"])

    def test_default_executor_of_asyncio(self):
        self.check("""
            import asyncio, concurrent.futures
            async def main():
                loop = asyncio.get_running_loop()
                loop.set_default_executor(Pool(1))
                return await asyncio.gather(*(loop.run_in_executor(None, getattr, gorgon, "interpreter") for _ in range(2)))
            print(asyncio.run(main()), gorgon.count())
            """, "[0, 0] 0")

    def test_memory_is_given_back(self):
        """So is memory of the last interpreter's thread that the C library keeps for a later thread."""
        self.check("""
            import ctypes
            class Figures(ctypes.Structure):
                _fields_ = [(name, ctypes.c_size_t) for name in "arena blocks small maps mapped a b used free top".split()]
            ctypes.CDLL(None).mallinfo2.restype = Figures
            def resident():
                with open("/proc/self/statm") as file:
                    return int(file.read().split()[1]) >> 8
            def work():
                global large
                large = [ctypes.create_string_buffer(1000) for _ in range(60000)]
                return 1
            before = resident()
            with Pool(1) as pool:
                print(pool.submit(work).result(), resident() - before > 50)
            print(resident() - before < 20 or resident() - before)
            """, "1 True", "True")

    def test_options_are_those_of_the_others(self):
        self.check_both("""
            import multiprocessing, numpy, threading
            def number(x=0):
                return gorgon.interpreter
            with Pool(numpy.int64(1), "prefix") as pool:
                print(pool.submit(number).result(), sorted(thread.name for thread in threading.enumerate())[1:])
            with Pool(1, max_tasks_per_child=2) as pool:
                print([pool.submit(number).result() for i in range(5)])
            with Pool(1, "", len, ("",)) as pool:
                print(pool.submit(number).result())
            print(fails(Pool, 1, mp_context=multiprocessing.get_context("spawn")))
            print(fails(Pool, 1, multiprocessing.get_context("spawn")) == fails(Pool, 1, mp_context=1))
            print(fails(Pool, 1.5), "; ", fails(Pool, 1, max_tasks_per_child=0))
            """, "0 ['prefix_0', 'prefix_0-desk']", "[1, 1, 2, 2, 3]", "4",
                        "TypeError: mp_context: workers are interpreters of this process, which multiprocessing does not start",
                        "True", "TypeError: max_workers must be an integer, found 1.5 ;  "
                        "ValueError: max_tasks_per_child must be greater than 0, found 0")

    def test_chunks(self):
        self.check("""
            from gorgon import _crossing
            def work(a, b):
                if a == 7:
                    raise ValueError(a)
                return a + b
            submitted = []
            class Counting(Pool):
                def submit(self, *args):
                    submitted.append(super().submit(*args))
                    return submitted[-1]
            with Counting(2) as pool:
                print(list(pool.map(work, range(5), range(5), chunksize=2)), len(submitted))
                results = pool.map(work, range(10), range(10), chunksize=3)
                print(fails(list, results), fails(pool.map, work, [], chunksize=0))
                print(list(pool.map(work, [], chunksize=5)))
            """, "[0, 2, 4, 6, 8] 3",
                   "ValueError: 7 ValueError: chunksize must be greater than 0, found 0", "[]")


class Memory(Package):
    def test_bytes_and_views(self):
        """A view of memory is not copied, and numpy is not imported for it."""
        self.check("""
            import zlib
            def look(data):
                return type(data).__name__, len(data), zlib.crc32(data), "numpy" in sys.modules
            def first(data):
                time.sleep(0.5)
                return data[0], data.readonly, data.shape, data.format
            def back(data):
                return data
            big = os.urandom(3 << 20)
            with Pool(1) as pool:
                for each in big, bytearray(big), memoryview(big):
                    print(*pool.submit(look, each).result()[::3], pool.submit(look, each).result()[:3] == look(each)[:3])
                print(pool.submit(back, big).result() == big, pool.submit(back, [big, 1, big]).result() == [big, 1, big])
                own = bytearray(big)
                future = pool.submit(first, memoryview(own))
                own[0] = (own[0] + 1) % 256
                print(future.result() == (own[0], True, (3 << 20,), "B"))
                own[0] = 5
                future = pool.submit(look, own)
                own[0] = 6
                print(future.result()[2] != zlib.crc32(own))
                import array
                view = memoryview(array.array("d", [1, 2, 3]))
                print(pool.submit(back, view).result().tolist())
            """, "bytes False True", "bytearray False True", "memoryview False True", "True True",
                   "True", "True", "[1.0, 2.0, 3.0]")


    def test_arguments_are_written_to(self):
        """Copies, with copy_arguments, or the caller's own, with writable()."""
        expected = "TypeError: writable: expected a memoryview or a numpy array whose memory is contiguous"
        self.check_both("""
            import numpy
            def change(a, b=None):
                a.sort()
                a += 1
                return a, b is a
            def fill(view):
                view[1] = 7
            a = numpy.array([3., 1., 2.])
            with Pool(1, copy_arguments=True) as pool:
                for i in range(2):  # the first call has brought numpy
                    print(pool.submit(change, a).result()[0].tolist(), a.tolist(), end=" ")
                print(pool.submit(change, numpy.empty(0), b=1).result()[0].tolist(), pool.submit(fill, memoryview(bytearray(3))).exception())
            with Pool(1) as pool:
                print(fails(pool.submit(change, a).result))
                again, same = pool.submit(change, gorgon.writable(a), gorgon.writable(a)).result()
                print(a.tolist(), again.tolist(), pool.submit(change, a).exception() is not None)
                view = memoryview(bytearray(3))
                pool.submit(fill, gorgon.writable(view)).result()
                print(bytes(view))
            for other in a[::2], numpy.broadcast_to(a, (3,)), [1], b"a", bytearray(1), memoryview(b"a"), numpy.array([None]):
                print(fails(gorgon.writable, other))
            """, "[2.0, 3.0, 4.0] [3.0, 1.0, 2.0] [2.0, 3.0, 4.0] [3.0, 1.0, 2.0] [] None",
                        "ValueError: sort array is read-only", "[2.0, 3.0, 4.0] [2.0, 3.0, 4.0] True", r"b'\x00\x07\x00'",
                        *[f"{expected}, found {name}" if name else "ValueError: writable: this ndarray is read-only"
                          for name in ("ndarray", None, "list", "bytes", "bytearray")],
                        "ValueError: writable: this memoryview is read-only", f"{expected}, found ndarray")

    def test_buffersize(self):
        self.check("""
            taken = []
            def items():
                for i in range(10):
                    taken.append(i)
                    yield i
            def double(i):
                return 2 * i
            def slow(i):
                time.sleep(i)
            with Pool(2) as pool:
                results = pool.map(double, items(), buffersize=3)
                print(len(taken), next(results), len(taken), list(results))
                taken.clear()
                results = pool.map(double, items(), buffersize=2, chunksize=3)
                print(len(taken), next(results), len(taken), list(results))
                print(fails(pool.map, double, [], buffersize=0), list(pool.map(double, [], buffersize=1)))
                print(fails(list, pool.map(slow, [1, 0], buffersize=2, timeout=0.1)))
                print(fails(list, pool.map(double, [1, None, 2], buffersize=2)))
            """, "3 0 4 [2, 4, 6, 8, 10, 12, 14, 16, 18]", "6 0 9 [2, 4, 6, 8, 10, 12, 14, 16, 18]",
                   "ValueError: buffersize must be greater than 0, found 0 []", "TimeoutError: ",
                   "TypeError: unsupported operand type(s) for *: 'int' and 'NoneType'")

    def test_masked_arrays_keep_their_mask(self):
        self.check_both("""
            import numpy
            def see(name):
                a = gorgon.receive(name, writable=True)
                total, kind = a.sum(), type(a).__name__
                a[1] = numpy.ma.masked
                return total, kind
            def make(name):
                a = numpy.ma.masked_greater(numpy.arange(5), 3)
                gorgon.share(a, name)
            masked = numpy.ma.MaskedArray([1, 2, 3], mask=[False, False, True])
            gorgon.share(masked, "a", writable=True)
            gorgon.share(numpy.ma.MaskedArray([1, 2]), "none")
            with Pool(1) as pool:
                print(*pool.submit(see, "a").result(), masked.data.tolist(), masked.mask.tolist())
                pool.submit(make, "made").result()
                print(*pool.submit(lambda a: (a.sum(), a), masked).result())
            print(gorgon.receive("made"), gorgon.receive("none"))
            """, "3 MaskedArray [1, 2, 3] [False, True, True]", "1 [1 -- --]", "[0 1 2 3 --] [1 2]")
