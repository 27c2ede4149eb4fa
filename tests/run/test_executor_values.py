# SPDX-License-Identifier: MIT
"""Values of calls beside those of a process pool: what comes back belongs to the caller alone."""

import os
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(__file__))
from harness import PYTHON3, VENV_PYTHON, run  # noqa: E402
from test_executor import Package  # noqa: E402


class Beside(Package):
    def run_beside(self, code, kinds, *options, python=PYTHON3):
        """What a program prints whose Pool() is ours or a process pool."""
        prelude = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
def Pool(count, **options):
    if sys.argv[1] == "gorgon":
        from gorgon import InterpreterPoolExecutor
        return InterpreterPoolExecutor(count, **options)
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context(sys.argv[1]), **options)
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(prelude + textwrap.dedent(code))
            results = {kind: run(python, path, kind, *options, env={"PYTHONPATH": self.site}) for kind in kinds}
        for kind, result in results.items():
            self.assertEqual((kind, result.stderr, result.returncode), (kind, "", 0))
        return {kind: result.stdout for kind, result in results.items()}

    def check_beside(self, code, *options, python=PYTHON3, peers=("fork", "spawn")):
        """The program prints the same with each. Its lines."""
        outputs = self.run_beside(code, ("gorgon", *peers), *options, python=python)
        for kind, output in outputs.items():
            self.assertEqual((kind, outputs["gorgon"]), (kind, output))
        return outputs["gorgon"].splitlines()


# Expressions and functions of a worker that return an array, and what else of the worker refers to it.
HOLDERS = """
import functools, numpy, threading, weakref
N = int(sys.argv[2])
kept = {}
def new(i):
    return numpy.full(N, float(i))
def buffer(i):
    if "buffer" not in kept:
        kept["buffer"] = numpy.zeros(N)
    kept["buffer"][:] = i
    return kept["buffer"]
def view(i):
    return buffer(i)[:]
def reshaped(i):
    return buffer(i).reshape(2, -1)
def transposed(i):
    return buffer(i).reshape(2, -1).T
def viewed(i):
    made = new(i)
    kept["view"] = made[1:]
    return made
@functools.lru_cache
def cached(i=0):
    return numpy.arange(float(N))
def closure():
    held = numpy.zeros(N)
    def fill(i):
        held[:] = i
        return held
    return fill
def filled(i):
    if "closure" not in kept:
        kept["closure"] = closure()
    return kept["closure"](i)
def cycle(i):
    made = [new(i)]
    made.append(made)
    kept.setdefault("cycles", []).append(made)
    return made[0]
def lone_cycle(i):
    made = [new(i)]
    made.append(made)
    return made[0]
def memory(i):
    made = new(i)
    kept["memory"] = memoryview(made)
    return made
def through_memory(i):
    return numpy.frombuffer(memoryview(buffer(i)))
def weak(i):
    made = new(i)
    kept["weak"] = weakref.ref(made)
    return made
class Box:
    def __init__(self, data):
        self.data = data
def boxed(i):
    kept["box"] = Box(new(i))
    return kept["box"]
def two_views(i):
    made = new(i)
    return [made[:4], made[2:]]
def twice(i):
    made = new(i)
    return [made, made]
def threaded(i):
    got = []
    thread = threading.Thread(target=lambda: got.append(new(i)))
    thread.start()
    thread.join()
    return got[0]
def failing(i):
    raise ValueError(buffer(i))
def readonly(i):
    made = new(i)
    made.flags.writeable = False
    return made
def structured(i):
    return numpy.full(N, i, dtype=[("a", "i4"), ("b", "f8")])
def fortran(i):
    return numpy.asfortranarray(new(i).reshape(2, -1))
def part(i):
    return new(i)[: N // 2]
def dates(i):
    return numpy.arange(N).astype("M8[s]")
def strange(i):
    return numpy.arange(24.).reshape(2, 3, 4).transpose(1, 0, 2)
def empty(i):
    return numpy.empty((0, 3))
def scalar(i):
    return numpy.array(float(i))
def change():
    for each in kept.values():
        if isinstance(each, numpy.ndarray) and each.flags.writeable:
            each[...] = -1
    for each in kept.get("cycles", ()):
        each[0][...] = -1
    if "closure" in kept:
        kept["closure"](-1)
    if "box" in kept:
        kept["box"].data[...] = -1
    if "memory" in kept:
        kept["memory"][0] = -1.0
    cached()[...] = -1
    return [float(cached().sum())]
def forget():
    kept.clear()
    cached.cache_clear()
FUNCTIONS = [new, buffer, view, reshaped, transposed, viewed, cached, filled, cycle, lone_cycle, memory, through_memory,
             weak, boxed, two_views, twice, threaded, failing, readonly, structured, fortran, part, dates, strange, empty, scalar]
def arrays_of(value):
    if isinstance(value, Box):
        return [value.data]
    return value if isinstance(value, list) else [value]
def outcome(future):
    return future.result() if not future.exception() else future.exception().args[0]
def show(name, results):
    for arrays in map(arrays_of, results):
        for a in arrays:
            print(name, a.dtype, a.shape, a.ravel()[:2].tolist(), a.ravel()[-2:].tolist(), a.flags.writeable, end=" ")
            print(sum(a is b for b in arrays))
if __name__ == "__main__":
    with Pool(1) as pool:
        for function in FUNCTIONS:
            results = [outcome(pool.submit(function, i)) for i in range(3)]
            print(pool.submit(change).result())
            show(function.__name__, results)
            for each in results:
                for a in arrays_of(each):
                    if a.dtype == float and a.flags.writeable:
                        a += 1000
            print(pool.submit(change).result())
            show(function.__name__, results)
            pool.submit(forget).result()
"""


class Results(Beside):
    def test_they_are_the_callers_alone(self):
        """Whatever of the worker holds the array: a few items, and as many as cross beside the pickle."""
        for python in (PYTHON3, VENV_PYTHON):
            for count in "6", "60000":
                with self.subTest(python=python, count=count):
                    lines = self.check_beside(HOLDERS, count, python=python, peers=("fork",))
                    self.assertGreater(len(lines), 200)

    def test_orders_of_bytes_and_axes(self):
        """Of arguments and results: code that hands an array's memory on relies on them."""
        lines = self.check_beside("""
            import numpy
            KINDS = ["f8", ">f8", ">i4", ">c16", ">f2", "?", "U3", ">U3", "S3", ">M8[D]", ">m8[s]", "O",
                     [("a", ">i4"), ("b", "f8")]]
            VIEWS = [lambda a: a, lambda a: a[::-1], lambda a: a[::2], lambda a: a.reshape(4, 6).T,
                     lambda a: a.reshape(2, 3, 4).transpose(1, 0, 2), lambda a: a.reshape(2, 3, 4).transpose(2, 0, 1),
                     lambda a: a.reshape(4, 6)[:, 1:3].T, lambda a: numpy.broadcast_to(a[:3], (2, 3)),
                     lambda a: a[:1].reshape(()), lambda a: a[:1].reshape(1, 1).T]
            def describe(a):
                return str(a.dtype), a.strides, a.tolist(), a.dtype.hasobject or a.tobytes("K")
            def look(a): return describe(a), a
            if __name__ == "__main__":
                options = [{"copy_arguments": each} for each in (False, True)] if sys.argv[1] == "gorgon" else [{}] * 2
                for each in options:
                    with Pool(1, **each) as pool:
                        for kind in KINDS:
                            values = numpy.arange(24) if "S" not in kind and "U" not in kind else numpy.array(["abc"] * 24)
                            array = numpy.zeros(24, kind) if isinstance(kind, list) else values.astype(kind)
                            for view in VIEWS:
                                there, back = pool.submit(look, view(array)).result()
                                print(kind, there, describe(back), back.flags.writeable)
            """, python=VENV_PYTHON, peers=("fork",))
        self.assertEqual(len(lines), 2 * 13 * 10)

    def test_copies_of_what_a_function_holds(self):
        """With copy_arguments=True whatever brings an array brings a copy, one for each call."""
        self.check_beside("""
            import functools, numpy
            KEPT = []
            class Adder:
                def __init__(self, array): self.array = array
                def add(self, by):
                    self.array += by
                    return self.array
                __call__ = add
            def change(array, by):
                array += by
                return array
            def begin(array):
                array += 1
                KEPT.append(array)
            def kept(by): return KEPT[0] + by
            if __name__ == "__main__":
                array = numpy.zeros(3)
                options = {"copy_arguments": True} if sys.argv[1] == "gorgon" else {}
                for initializer, more in (begin, (array,)), (functools.partial(begin, array), ()):
                    with Pool(1, initializer=initializer, initargs=more, **options) as pool:
                        adder = Adder(array)
                        for function in functools.partial(change, array), adder.add, adder, kept:
                            for result in [pool.submit(function, 1).result(), *pool.map(function, [2, 3]),
                                           *pool.map(function, [4, 5], chunksize=2)]:
                                result[0] = -1
                                print(result.tolist(), result.flags.writeable, array.tolist())
            """, python=VENV_PYTHON)

    def test_views_are_each_calls_own(self):
        """With copy_arguments=True, also where calls share a pickle."""
        self.check_both("""
import functools
VIEW = memoryview(bytearray(3))
def change(view, by):
    view[0] += by
    VIEW[1] += by
    return view[0], VIEW[1]
with Pool(1, copy_arguments=True) as pool:
    print(list(pool.map(functools.partial(change, memoryview(bytearray(3))), [1, 2, 3])), VIEW.tolist())
""", "[(1, 1), (2, 3), (3, 6)] [0, 0, 0]")

    def test_views_have_their_items_in_any_order(self):
        """Processes refuse memoryviews, so nothing is beside it."""
        self.check("""
import array
import numpy
from gorgon import InterpreterPoolExecutor
def look(view):
    return view.tolist(), view.shape, view.format
def make(i):
    return VIEWS[i]
VIEWS = [memoryview(bytearray(b"0123456789"))[::2], memoryview(b"0123456789")[::-3], memoryview(array.array("d", [1, 2, 3]))[::2],
         memoryview(numpy.arange(12).reshape(3, 4).T), memoryview(numpy.asfortranarray(numpy.arange(6.).reshape(2, 3)))]
for options in {}, {"copy_arguments": True}:
    with InterpreterPoolExecutor(1, **options) as pool:
        for i, view in enumerate(VIEWS):
            found = look(view), pool.submit(look, view).result(), look(pool.submit(make, i).result()), *pool.map(look, [view])
            print(found.count(look(view)), end=" ")
""", "4 4 4 4 4 4 4 4 4 4 ")

    def test_they_can_be_resized(self):
        """Also where processes have memory that an array does not own."""
        self.check_both("""
import numpy
HELD = {}
def make(n):
    return numpy.ones(n)
def held(n):
    HELD[n] = numpy.ones(n)
    return HELD[n]
def same(a):
    return a
with Pool(1) as pool:
    for n in 5, 100000:
        for result in pool.submit(make, n).result(), pool.submit(held, n).result(), pool.submit(same, numpy.ones(n)).result():
            result.resize(2 * n, refcheck=False)
            print(result.sum() == n, result.shape == (2 * n,), end=" ")
            result.resize(3, refcheck=False)
            print(result.tolist())
""", *["True True [1.0, 1.0, 1.0]"] * 6)

    def test_what_nothing_holds_is_not_copied(self):
        self.check_both("""
import numpy
def where(array):
    return array.ctypes.data
def make(kind):
    made = numpy.ones((1000, 100))
    kept[:] = [where(made)]
    if kind == "frame":
        return {"a": made.T, "b": numpy.zeros(5)}
    return made.reshape(-1) if kind == "view" else numpy.asfortranarray(made) if kind == "fortran" else made
def last():
    return kept[0]
kept = []
with Pool(1) as pool:
    for kind in "array", "view", "frame":
        made = pool.submit(make, kind).result()
        array = made["a"] if kind == "frame" else made
        print(where(array) == pool.submit(last).result(), array.flags.owndata, array.flags.writeable, array.sum())
""", "True True True 100000.0", "True True True 100000.0", "True True True 100000.0")

    def test_a_kept_frame_holds_no_result(self):
        """Packages keep frames, in the traceback of an import that failed for one."""
        code = """
            import gc, numpy, weakref
            frames, made = [], []
            def new(a):
                made.append(weakref.ref(a))
                return a
            def work(n):
                frames.append(sys._getframe())
                return new(numpy.zeros(n))
            def left():
                gc.collect()
                return [ref() is None for ref in made]
            if __name__ == "__main__":
                with Pool(1) as pool:
                    print(len(pool.submit(work, 1 << 20).result()), pool.submit(left).result())
        """
        self.assertEqual(self.check_beside(code), ["1048576 [True]"])

    def test_shared_names_hold_their_memory(self):
        self.check_both("""
import numpy
def make():
    import gorgon
    made = numpy.arange(5.)
    gorgon.share(made, "made", writable=True)
    return made
def named():
    import gorgon
    return gorgon.receive("made", writable=True)
with Pool(1) as pool:
    mine, other = pool.submit(make).result(), pool.submit(named).result()
    there = gorgon.receive("made", writable=True)
    there += 10
    print(mine.tolist(), other.tolist(), there.tolist())
""", "[0.0, 1.0, 2.0, 3.0, 4.0] [0.0, 1.0, 2.0, 3.0, 4.0] [10.0, 11.0, 12.0, 13.0, 14.0]")

    def test_arguments_that_come_back_are_copies(self):
        lines = self.check_beside("""
            import numpy
            def same(*values): return values
            def keep(a):
                sys.kept = a
            def kept():
                return sys.kept
            GLOBAL = numpy.arange(3.)
            def from_global():
                return GLOBAL
            if __name__ == "__main__":
                mine, view, text = numpy.arange(6.), numpy.arange(8.)[2:], bytearray(b"abcdef")
                with Pool(1) as pool:
                    back = [*pool.submit(same, mine, view, text, mine).result(), pool.submit(from_global).result()]
                    pool.submit(keep, mine).result()
                    back.append(pool.submit(kept).result())
                    for each in mine, view, text, GLOBAL:
                        each[0] = 99
                    print([list(each) for each in back], [each.flags.writeable for each in back if not isinstance(each, bytearray)])
                    for each in back:
                        each[1] = 77
                    print([list(each) for each in (mine, view, text, GLOBAL)], back[0] is back[3])
            """, peers=("fork", "spawn"))
        self.assertEqual(len(lines), 2)

    def test_what_goes_through_queues_and_progress_is_a_copy(self):
        self.check_both("""
import numpy, queue
def fill(out, back):
    import gorgon
    buffer, view = numpy.zeros(3), bytearray(3)
    for i in range(3):
        buffer[:] = view[:] = [i] * 3
        out.put((buffer, memoryview(view)))
        gorgon.progress(buffer)
    got = back.get()
    got += 1
    return got.tolist()
told = []
with Pool(1, progress=lambda future, value: told.append(value)) as pool:
    out, back, mine = queue.Queue(), queue.Queue(), numpy.arange(3.)
    back.put(mine)
    print(pool.submit(fill, out, back).result(), mine.tolist())
    got = [out.get() for _ in range(3)]
    print([(a.tolist(), b.tolist(), a.flags.writeable) for a, b in got], [a.tolist() for a in told])
""", "[1.0, 2.0, 3.0] [0.0, 1.0, 2.0]",
                        "[([0.0, 0.0, 0.0], [0, 0, 0], True), ([1.0, 1.0, 1.0], [1, 1, 1], True), "
                        "([2.0, 2.0, 2.0], [2, 2, 2], True)] [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]")


class Others(Package):
    def test_classes_of_another_programs_main(self):
        """They are named as this one's, and see their own globals."""
        self.assertEqual(self.run_file("""
            SCALE = 1
            class Point:
                pass
            def scale():
                return SCALE
            def other(code):
                space = {"__name__": "__main__"}
                exec(code, space)
                return space
            one = other("SCALE = 10\\nclass Point:\\n  def __init__(self, x): self.x = x\\n  def scaled(self): return self.x * SCALE")
            two = other("SCALE = 100\\nclass Point:\\n  def scaled(self): return SCALE\\ndef scale(): return SCALE")
            if __name__ == "__main__":
                with Pool(1) as pool:
                    call = lambda function, *args: pool.submit(function, *args).result()
                    print(call(one["Point"], 5).x, call(one["Point"](3).scaled), call(two["Point"]().scaled), call(two["scale"]), call(scale))
                    print([type(call(each)) is each for each in (Point, two["Point"])], type(call(one["Point"], 1)) is one["Point"])
            """).stdout.splitlines(), ["5 30 100 100 1", "[True, True] True"])

    def test_functions_of_another_programs_main(self):
        """As cloudpickle makes them. C code that imports looks for builtins in their globals."""
        code = """
            from gorgon import InterpreterPoolExecutor
            space = {"__name__": "__main__", "__builtins__": __builtins__, "FORMAT": "%Y"}
            exec("def year(text):\\n    import time\\n    return time.strptime(text, FORMAT)[0]", space)
            with InterpreterPoolExecutor(1) as pool:
                print(pool.submit(space["year"], "2026").result())
            """
        self.check(code, "2026")

    def test_pool_at_module_level(self):
        """A worker that imports the module has it, too, which does no work there."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "service.py"), "w") as file:
                file.write(textwrap.dedent("""
                    import gorgon
                    POOL = gorgon.InterpreterPoolExecutor(1)
                    class Counting(gorgon.InterpreterPoolExecutor):
                        pass
                    def task(x):
                        return 2 * x
                    def nested():
                        with POOL as pool:
                            return pool.submit(task, 1).result()
                    """))
            self.check(f"""
                sys.path.insert(0, {folder!r})
                import service
                print(service.POOL.submit(service.task, 4).result(), list(service.POOL.map(service.task, range(3))))
                print(fails(service.POOL.submit(service.nested).result))
                """, "8 [0, 2, 4]", "RuntimeError: InterpreterPoolExecutor: this is interpreter 0, pools are made in the host "
                                    "(in a program: under if __name__ == '__main__')")

    def test_locks_that_are_made_of_locks(self):
        self.check("""
            import multiprocessing, threading
            class Both:  # as tqdm's
                def __init__(self):
                    self.locks = [multiprocessing.RLock(), threading.RLock()]
                def acquire(self):
                    for each in self.locks: each.acquire()
                def release(self):
                    for each in self.locks[::-1]: each.release()
            def init(given):
                global lock
                lock = given
            def count():
                lock.acquire()
                lock.release()
                return len(lock.locks)
            both = Both()
            with Pool(1, initializer=init, initargs=(both,)) as pool:
                print(pool.submit(count).result())
                both.acquire()
                future = pool.submit(count)
                time.sleep(0.2)
                print(future.done())
                both.release()
                print(future.result())
            """, "2", "False", "2")

    def test_processes_that_workers_start(self):
        """By every way of multiprocessing's, with functions of the program, and whether or not its file has run in the worker."""
        self.assertEqual(self.run_file("""
            import multiprocessing, concurrent.futures
            class P: pass
            def square(x):
                return x * x
            def work(method, *args):
                context = multiprocessing.get_context(method)
                with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                    return list(pool.map(square, range(3)))
            if __name__ == "__main__":
                for args in (), (P(),):
                    with Pool(1) as pool:
                        print([pool.submit(work, method, *args).result() for method in ("fork", "spawn", "forkserver")])
            """).stdout, "[[0, 1, 4], [0, 1, 4], [0, 1, 4]]\n" * 2)
