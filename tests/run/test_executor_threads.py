# SPDX-License-Identifier: MIT
"""Programs for pools of threads: locks, events and queues that calls share with the program, and calls that take too long."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from test_executor import Package  # noqa: E402


class Objects(Package):
    """What these print ThreadPoolExecutor prints, too, but for what its name says stays."""

    def test_events_stop_calls_that_run(self):
        self.check("""
            import threading
            stop, begun = threading.Event(), threading.Semaphore(0)
            def spin(name, begun):
                begun.release()
                count = 0
                while not stop.wait(0.001):
                    count += 1
                return name, stop.is_set(), count > 0
            with Pool(2) as pool:
                futures = [pool.submit(spin, name, begun) for name in "ab"]
                print([begun.acquire(timeout=60) for _ in futures])
                time.sleep(0.1)
                stop.set()
                print([future.result() for future in futures])
                print(pool.submit(lambda event: event, stop).result() is stop)
            """, "[True, True]", "[('a', True, True), ('b', True, True)]", "True")

    def test_lists_and_sets_of_an_outer_function_get_what_calls_add(self):
        self.check("""
            import threading
            def main():
                done, seen, loop, started = [], set(), [], []
                class Item:
                    def __init__(self, n): self.n = n
                def work(n):
                    done.append(Item(n))
                    seen.add(n % 3)
                    if n == 5:
                        raise ValueError(n)
                    return len(loop)
                loop.append(work)
                def recursive(n):
                    loop.append(n)
                    return loop[0] is not recursive
                with Pool(2, initializer=lambda: started.append("started")) as pool:
                    pool.submit(work, 0).result()
                    print([item.n for item in done], type(done[0]) is Item, started[0])
                    futures = [pool.submit(work, n) for n in range(1, 6)]
                    print(fails(futures.pop().result), [future.result() for future in futures])
                    print(sorted(item.n for item in done), seen)
                    print(fails(lambda: list(pool.map(work, range(3, 6), chunksize=3))), len(done))
                    print(pool.submit(recursive, 7).result(), pool.submit(lambda call, n: call(n), recursive, 8).result(), loop[1:])
                    print(fails(pool.submit(lambda: done.append(threading.Lock())).result), len(done))
            main()
            """, "[0] True started", "ValueError: 5 [1, 1, 1, 1]", "[0, 1, 2, 3, 4, 5] {0, 1, 2}", "ValueError: 5 9",
                   "True True [7, 8]", "TypeError: cannot pickle '_thread.lock' object 9")

    def test_what_else_calls_do_to_lists_of_an_outer_function_stays_there(self):
        self.check("""
            def main():
                first, fewer, sorted_there, entries, count = [1, 2], [1, 2], [2, 1], {}, 0
                def work():
                    nonlocal count
                    count += 1
                    first.insert(0, 0)
                    fewer.pop()
                    sorted_there.append(3)
                    sorted_there.sort()
                    entries["key"] = 1
                    return count, first, fewer, sorted_there, entries
                with Pool(1) as pool:
                    print(pool.submit(work).result())
                print(count, first, fewer, sorted_there, entries)
            main()
            """, "(1, [0, 1, 2], [1], [1, 2, 3], {'key': 1})", "0 [1, 2] [1, 2] [2, 1] {}")

    def test_locks_keep_calls_apart(self):
        for kind in "Lock", "RLock", "Semaphore", "Condition":
            with self.subTest(kind):
                self.check(f"""
                    import tempfile, threading
                    lock = threading.{kind}()
                    def add(path):
                        with open(path) as file:
                            number = int(file.read())
                        time.sleep(0.001)
                        with open(path, "w") as file:
                            file.write(str(number + 1))
                    def given(path, lock):
                        with lock:
                            add(path)
                    def known(path):
                        with lock:
                            add(path)
                    with tempfile.NamedTemporaryFile("w") as file, Pool(2) as pool:
                        file.write("0")
                        file.flush()
                        names = [file.name] * 20
                        list(pool.map(given, names, [lock] * 20))
                        list(pool.map(given, names, [lock] * 20, chunksize=5))
                        list(pool.map(known, names))
                        with lock:
                            future = pool.submit(known, file.name)
                            print(fails(future.result, 0.2))
                        future.result()
                        print(open(file.name).read())
                    """, "TimeoutError: ", "61")

    def test_what_locks_return(self):
        self.check("""
            import threading
            def use(lock, condition):
                yield lock.acquire(), lock.acquire(False), lock.acquire(timeout=0.01), lock.locked(), lock.release()
                yield fails(lock.release), fails(lock.acquire, False, 1)
                with condition:
                    yield condition.wait(0.01), condition.wait_for(lambda: False, 0.01), condition.wait_for(lambda: 3)
                yield fails(condition.notify)
            def wait(condition, ready):
                with condition:
                    ready.set()
                    return condition.wait(60)
            def run(*args):
                return list(use(*args))
            with Pool(1) as pool:
                print(*pool.submit(run, threading.Lock(), threading.Condition()).result(), sep="\\n")
                condition, ready = threading.Condition(), threading.Event()
                future = pool.submit(wait, condition, ready)
                ready.wait()
                with condition:
                    condition.notify_all()
                print(future.result())
            """, "(True, False, False, True, None)",
                   "('RuntimeError: release unlocked lock', \"ValueError: can't specify a timeout for a non-blocking call\")",
                   "(False, False, 3)", "RuntimeError: cannot notify on un-acquired lock", "True")

    def test_queues_of_threads(self):
        self.check("""
            import queue
            class Task:
                def __init__(self, n, reply): self.n, self.reply = n, reply
            def serve(tasks):
                while task := tasks.get():
                    task.reply.put((task.n, [task.n] * 2))
                    tasks.task_done()
                tasks.task_done()
                return fails(tasks.get_nowait), fails(tasks.get, timeout=0.01), fails(tasks.get, timeout=-1), tasks.empty()
            def fill(tasks):
                tasks.put(1)
                return fails(tasks.put_nowait, 2), fails(tasks.put, 2, timeout=0.01), tasks.qsize(), tasks.full()
            def wait(tasks):
                tasks.join()
                return tasks.get()
            with Pool(2) as pool:
                tasks, reply = queue.PriorityQueue(), queue.SimpleQueue()
                tasks = queue.Queue()
                future = pool.submit(serve, tasks)
                for n in range(3):
                    tasks.put(Task(n, reply))
                print([reply.get() for n in range(3)])
                tasks.put(None)
                print(future.result())
                tasks.join()
                print(pool.submit(fill, queue.Queue(1)).result())
                done = queue.Queue()
                done.put("a")
                future = pool.submit(wait, done)
                print(fails(future.result, 0.2))
                done.task_done()
                print(future.result())
            """, "[(0, [0, 0]), (1, [1, 1]), (2, [2, 2])]",
                   "('Empty: ', 'Empty: ', \"ValueError: 'timeout' must be a non-negative number\", True)",
                   "('Full: ', 'Full: ', 1, True)", "TimeoutError: ", "a")

    def test_waiting_is_interrupted(self):
        self.check("""
            import queue, threading
            begun = threading.Event()
            def get(tasks):
                begun.set()
                return tasks.get()
            with Pool(1) as pool:
                future = pool.submit(get, queue.Queue())
                begun.wait()
                pool.interrupt()
                print(fails(future.result))
                print(pool.submit(abs, -1).result())
            """, "KeyboardInterrupt: ", "1")

    def test_interrupts_meet_the_unwinder(self):
        """Where private frames are registered with libgcc, its unwinder has a lock, which no handler of a signal may take."""
        self.check("""
            import ctypes, threading
            begun = threading.Event()
            def unwind():
                frames, backtrace = (ctypes.c_void_p * 60)(), ctypes.CDLL("libc.so.6").backtrace
                begun.set()
                while True:
                    backtrace(frames, 60)
            with Pool(1) as pool:
                ends = set()
                for i in range(100):
                    begun.clear()
                    future = pool.submit(unwind)
                    begun.wait()
                    pool.interrupt()
                    ends.add(fails(future.result, 60))
                print(ends, pool.submit(abs, -1).result())
            """, "{'KeyboardInterrupt: '} 1")

    def test_objects_live_as_long_as_the_programs(self):
        self.check("""
            import gc, threading, weakref
            def keep(event):
                global kept
                kept = event
                return event.is_set()
            def look():
                return fails(kept.is_set)
            def number():
                from gorgon import _threads
                return len(_threads.here)
            with Pool(1) as pool:
                event = threading.Event()
                watch = weakref.ref(event)
                print(pool.submit(keep, event).result(), pool.submit(look).result())
                del event
                print(pool.submit(look).result(), watch())
                print([pool.submit(keep, threading.Event()).result() for i in range(3)], pool.submit(number).result())
            """, "False False", "Lost: the program has let go of this object since the call got it None", "[False, False, False] 1")

    def test_lock_of_an_object_that_is_copied_is_refused(self):
        self.check("""
            import threading
            from concurrent.futures import Future
            class Counter:
                def __init__(self): self.lock, self.n = threading.Lock(), 0
                def add(self): self.n += 1
            with Pool(1) as pool:
                for value in Counter().add, Future().done, threading.Thread().is_alive:
                    print(type(pool.submit(value).exception()).__name__)
            """, "TypeError", "TypeError", "TypeError")


class Forks(Package):
    def test_program_forks_while_interpreters_come_and_go(self):
        """fork() and the end of an interpreter take the same locks."""
        self.check("""
            import threading

            with Pool(2, max_tasks_per_child=1) as pool:
                def churn():
                    return [pool.submit(int).result() for _ in range(60)]
                threads = [threading.Thread(target=churn) for _ in range(2)]
                [thread.start() for thread in threads]
                failed = 0
                while any(thread.is_alive() for thread in threads):
                    if not (pid := os.fork()):
                        os._exit(0)
                    failed += os.waitpid(pid, 0)[1] != 0
            print(failed)
            """, "0")


class Limits(Package):
    def test_call_that_takes_too_long_is_stopped(self):
        self.check("""
            import threading
            def spin():
                while True:
                    pass
            def nap(seconds):
                time.sleep(seconds)
                return seconds
            def stubborn():
                try:
                    spin()
                except KeyboardInterrupt:
                    return "late"
            with Pool(2, "pool", time_limit=1) as pool:
                print(pool.submit(nap, 0.01).result())
                for future in [pool.submit(spin), pool.submit(nap, 60), pool.submit(stubborn)]:
                    error = future.exception()
                    print(type(error) is gorgon.TimeLimitExceeded, isinstance(error, TimeoutError), error)
                    print("in spin" in str(error.__cause__) or "in nap" in str(error.__cause__))
                print(list(pool.map(nap, [0.01] * 4, chunksize=2)), fails(list, pool.map(nap, [0.4] * 4, chunksize=4)))
            print(gorgon.count(), [thread.name for thread in threading.enumerate()])
            """, "0.01", "True True spin: did not end within 1 s", "True", "True True nap: did not end within 1 s", "True",
                   "True True stubborn: did not end within 1 s", "False",
                   "[0.01, 0.01, 0.01, 0.01] TimeLimitExceeded: nap: did not end within 1 s", "0 ['MainThread']")

    def test_interpreter_that_does_not_end_is_replaced(self):
        self.check("""
            import re, threading
            end = threading.Event()
            def stubborn():
                while not end.is_set():
                    try:
                        while not end.wait(1):
                            pass
                    except KeyboardInterrupt:
                        pass
            def number():
                return gorgon.interpreter
            with Pool(1, "pool", initializer=len, initargs=("",), time_limit=4) as pool:
                first = pool.submit(number).result()
                text = str(pool.submit(stubborn).exception())
                print(re.match(r"stubborn: did not end within 4 s, its interpreter was abandoned: interpreter \\d+: was abandoned: it did "
                               r"not end within 100 ms: thread \\d+ .*line \\d+ in ", text) and "named" or text)
                print(pool.submit(number).result() - first, gorgon.count())
            # Its thread has left its code; the end of the next interpreter finds that.
            end.set()
            left = time.monotonic() + 60
            while any(thread.name == "pool_0" for thread in threading.enumerate()) and time.monotonic() < left:
                time.sleep(0.01)
            with Pool(1) as pool:
                pool.submit(number).result()
            print(gorgon.count(), [thread.name for thread in threading.enumerate()])
            """, "named", "1 2", "0 ['MainThread']")

    def test_call_beyond_the_memory_limit_has_a_memory_error(self):
        self.check("""
            import gc, threading
            kept = []
            def fill():
                while True:
                    kept.append(bytes(1000))
            def fill_then_number():
                # What it has caught does not use up the memory: it may go on.
                try:
                    fill()
                except MemoryError:
                    kept.clear()
                return gorgon.interpreter
            def array():
                import numpy
                return numpy.ones(40 << 20)
            def cycles():
                gc.disable()
                for _ in range(300):
                    cycle = [bytes(1 << 20)]
                    cycle.append(cycle)
                return gorgon.interpreter
            def number():
                return gorgon.interpreter
            with Pool(1, memory_limit=96 << 20) as pool:
                first = pool.submit(number).result()
                for call in fill, array:
                    error = pool.submit(call).exception()
                    print(isinstance(error, MemoryError), f"in {call.__name__}" in str(error.__cause__))
                second = pool.submit(number).result()
                print(second > first, pool.submit(cycles).result() == second, pool.submit(fill_then_number).result() == second)
                print(fails(list, pool.map(lambda n: fill(), [1, 2], chunksize=2)), pool.submit(number).result() > second)
                print(len(pool.submit(bytes, 30 << 20).result()) >> 20, fails(pool.submit(len, b"1" * (200 << 20)).result))
                print(pool.submit(number).result() > second)
            print(gorgon.count(), [thread.name for thread in threading.enumerate()])
            """, "True True", "True True", "True True True", "MemoryError:  True", "30 MemoryError: ", "True", "0 ['MainThread']")

    def test_memory_limit_that_leaves_no_room_to_start(self):
        self.check("""
            with Pool(1, memory_limit=1 << 20) as pool:
                print(fails(pool.submit(int).result))
            with Pool(1, memory_limit=1 << 200) as pool:
                print(pool.submit(int).result())
            for limit in 0, -1, "1", 1.5:
                print(fails(Pool, 1, memory_limit=limit))
            """, "BrokenInterpreterPool: no interpreter starts with a memory_limit of 1048576 bytes", "0",
                   *(f"ValueError: memory_limit must be greater than 0, found {limit}" for limit in ("0", "-1")),
                   *(f"TypeError: memory_limit must be an integer, found {limit}" for limit in ("'1'", "1.5")))

    def test_limits_that_are_none(self):
        self.check("""
            for limit in 0, -1, "1", float("nan"):
                print(fails(Pool, 1, time_limit=limit))
            """, *(f"ValueError: time_limit must be a number of seconds greater than 0, found {limit}" for limit in ("0", "-1", "'1'", "nan")))
