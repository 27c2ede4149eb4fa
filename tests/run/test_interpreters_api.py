# SPDX-License-Identifier: MIT
"""gorgon.interpreters: what concurrent.interpreters of CPython 3.14 does, with any extension, and what is ours alone."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, os.path.dirname(__file__))
from harness import PYTHON3, ROOT, VENV_PYTHON, run  # noqa: E402
from test_executor import PRELUDE, Package  # noqa: E402

BEGIN = "from gorgon import interpreters\nimport threading\n"
BAD = "invalid literal for int() with base 10: 'x'"
REFUSED = f"object could not be unpickled: {BAD}"
END = "\nfor each in interpreters.list_all()[1:]: each.close()\n"


class Interpreters(Package):
    def check(self, code, *lines, **kwargs):
        super().check(BEGIN + textwrap.dedent(code) + END, *lines, **kwargs)

    def test_readme_program_runs_and_has_the_types_that_it_says(self):
        with open(f"{ROOT}/python/README.md") as file:
            program = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)[1]
        super().check(program, "[22, 71]")
        wrong = program + 'interp.call(norms, table, 1)\ntext: str = interp.call(norms, table)\nqueue.put()\n'
        with tempfile.TemporaryDirectory() as folder:
            for name, code in ("right.py", program), ("wrong.py", wrong):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(code)
                result = run(VENV_PYTHON, "-m", "mypy", "--strict", "--cache-dir", folder, name, cwd=folder,
                             env={"MYPYPATH": None, "PYTHONPATH": self.site})
                codes = re.findall(r"error: .*\[([\w-]+)\]$", result.stdout, re.M)
                self.assertEqual([each for each in codes if each != "type-arg"],
                                 ["call-arg", "assignment", "call-arg"] if code is wrong else [], result.stdout)

    def test_interpreters_run_code_and_calls(self):
        self.check("""
            interp = interpreters.create()
            print(interp, interp.whence, interpreters.get_main().whence, interpreters.get_current() is interpreters.get_main())
            print(interpreters.list_all(), interpreters.Interpreter(1) is interp, interp.is_running(), hash(interp))
            interp.prepare_main({"x": 5}, name="t", both=(1, ("a", None)))
            interp.exec("assert (x, name, both) == (5, 't', (1, ('a', None))); x += 1")
            def body():
                global y
                y = x * 2
            interp.exec(body)
            print(interp.call(eval, "x, y, __name__"), interp.call(lambda a, *, b: [globals()["__name__"], a, b], 1, b=2))
            print(interp.call(int.__add__, 1, 2), interp.call("{}-{}".format, 3, 4), interp.call(sorted, {3, 1}))
            thread = interp.call_in_thread(exec, "z = 1")
            thread.join()
            print(interp.call(eval, "z"))
            interp.close()
            print(fails(interp.exec, "1"), fails(interp.close), interpreters.list_all())
            """, "Interpreter(1) _interpreters module runtime init True", "[Interpreter(0), Interpreter(1)] True False 1",
            "(6, 12, '__main__') ['__main__', 1, 2]", "3 3-4 [1, 3]", "1",
            "InterpreterNotFoundError: unrecognized interpreter ID 1 InterpreterNotFoundError: unrecognized interpreter ID 1 "
            "[Interpreter(0)]")

    def test_arrays_cross_without_copies(self):
        self.check_both("""
            import numpy
            interp = interpreters.create()
            def look(array):
                return array.ctypes.data, array.flags.writeable, float(array.sum())
            def add(array):
                array += 1
            def make(n):
                import numpy
                array = numpy.full(n, 2.0)
                return array, array.ctypes.data
            interp.exec("import numpy")
            array = numpy.arange(1e6)
            print(interp.call(look, array) == (array.ctypes.data, False, array.sum()))
            print(fails(interp.call, add, array).splitlines()[0])
            interp.call(add, gorgon.writable(array))
            print(array[:3])
            made, there = interp.call(make, 100000)
            print(made.ctypes.data == there, made.flags.writeable, made.flags.owndata)
            interp.prepare_main(shared=array, view=memoryview(block := bytearray(3)))
            array[0] = 7
            interp.exec("view[1] = int(shared[0])")
            interp.prepare_main(nothing=memoryview(b""), none=memoryview(numpy.zeros(0, "i")))
            print(interp.call(eval, "[(v.format, v.nbytes, v.readonly) for v in (nothing, none)]"))
            print(block, interpreters.is_shareable(array), interpreters.is_shareable(numpy.array([[]], object)))
            queue = interpreters.create_queue()
            queue.put(array)
            print(interp.call(interpreters.Queue.get, queue)[0], queue.qsize())
            interp.call(lambda queue: queue.put(__import__("numpy").ones(5)), queue)
            print(queue.get())
            """, "True", "ExecutionFailed: ValueError: output array is read-only", "[1. 2. 3.]", "True True True",
            "[('B', 0, True), ('i', 0, False)]", "bytearray(b'\\x00\\x07\\x00') True False", "7.0 0", "[1. 1. 1. 1. 1.]")

    def test_memory_that_is_not_in_the_order_of_c_crosses_as_a_copy_or_not_at_all(self):
        self.check("""
            import array
            import numpy
            interp, queue = interpreters.create(), interpreters.create_queue()
            block = bytearray(b"0123456789")
            views = [memoryview(block)[::2], memoryview(block)[::-3], memoryview(array.array("d", [1, 2, 3]))[::2],
                     memoryview(numpy.arange(12).reshape(3, 4).T), memoryview(numpy.asfortranarray(numpy.arange(6.).reshape(2, 3)))]
            for view in views:
                expected = view.tolist(), view.shape, view.format
                def look(view):
                    return view.tolist(), view.shape, view.format
                still = view.toreadonly()
                interp.prepare_main(view=still)
                queue.put(still)
                print([found == expected for found in (interp.call(look, still), look(queue.get()),
                                                       interp.call(eval, "(view.tolist(), view.shape, view.format)"))],
                      interpreters.is_shareable(still), interpreters.is_shareable(view),
                      "does not support" in fails(lambda: interp.prepare_main(view=view)),
                      *{fails(refused) for refused in (lambda: interp.call(look, view), lambda: queue.put(view))})
                print(fails(gorgon.writable, view))
            """, *["[True, True, True] True False True NotShareableError: a writable memoryview whose memory is not contiguous, in C's order",
                   "TypeError: writable: expected a memoryview whose memory is contiguous, in C's order, found another one"] * 5)

    def test_what_does_not_cross_is_refused_as_there(self):
        self.check("""
            interp = interpreters.create()
            class Local: pass
            def outer(n):
                def inner(): return n
                class Inner: pass
                return inner, Inner()
            inner, instance = outer(3)
            for value in inner, lambda: fails, lambda n=1: n, instance, threading.Lock(), open("/dev/null"):
                error = fails(interp.call, type, value).partition(":")
                print(error[0], end=" ")
            print(fails(interp.call, inner).partition(";")[0])
            print(fails(interp.call, interpreters.by_value(inner)), interp.call(interpreters.by_value(lambda: fails(inner))))
            print(fails(interp.call, globals).partition(":")[0], fails(interp.prepare_main), fails(interp.prepare_main, x=[1]))
            print(fails(interp.exec, 10), fails(interp.exec, inner), fails(interp.call, "abs"), sep="\\n")
            async def coroutine(): pass
            for function in lambda a=1: None, lambda *a: None, lambda **k: None, lambda: 1, lambda: (yield), coroutine, lambda: None:
                print(fails(interp.exec, function))
            print(fails(interp.exec, compile("1", "", "eval")), fails(interp.exec, b"y = 1"), interp.call(eval, "y"))
            print(fails(interp.exec, "1 +"), fails(interp.exec, "    x = 1\\n  y = 2"), sep="\\n")
            print([interpreters.is_shareable(x) for x in (None, 1, 1.5, "a", b"", (), (1, ("a",)), memoryview(b""),
                                                          interpreters.create_queue())])
            print([interpreters.is_shareable(x) for x in ([], {}, ..., type, interp, (1, []), type("B", (bytes,), {})(b"x"))])
            print(issubclass(interpreters.NotShareableError, TypeError), fails(interpreters.Interpreter, 99), fails(
                interpreters.Interpreter, "1"), fails(interpreters.Interpreter, -1), sep="\\n")
            """, "NotShareableError " * 6 + "NotShareableError: outer.<locals>.inner: a lambda, or a function within another one, "
            "with globals, defaults or variables of an outer one", "3 3", "NotShareableError ValueError: arg 2 must be a non-empty "
            "dict NotShareableError: [1] does not support cross-interpreter data",
            "TypeError: unsupported script 10", "ValueError: closures not supported", "TypeError: expected a callable, got 'abs'",
            *["ValueError: code with args not supported"] * 3, *["ValueError: code that returns a value is not a script"] * 3, "None",
            "ValueError: code that returns a value is not a script None 1",
            "SyntaxError: invalid syntax (<script>, line 1)", "IndentationError: unexpected indent (<script>, line 1)",
            str([True] * 9), str([False] * 7), "True", "InterpreterNotFoundError: unrecognized interpreter ID 99",
            "TypeError: id must be an int, got '1'", "ValueError: interpreter ID must be a non-negative int, got -1")

    def test_what_cannot_be_unpickled_is_not_shareable_either(self):
        self.check("""
            class Bad:
                def __reduce__(self): return int, ("x",)
            queue, interp = interpreters.create_queue(), interpreters.create()
            interp.prepare_main(queue=queue)
            queue.put(Bad())
            try: queue.get()
            except interpreters.NotShareableError as error: print(error, repr(error.__cause__))
            queue.put([Bad()])
            interp.exec("try: queue.get()\\nexcept TypeError as error: queue.put([type(error).__name__, str(error)])")
            print(*queue.get())
            print(fails(interp.call, len, [Bad()]))
            """, f"{REFUSED} ValueError({BAD!r})", f"NotShareableError {REFUSED}", f"NotShareableError: {REFUSED}")

    def test_errors_describe_what_was_raised(self):
        self.check("""
            interp = interpreters.create()
            try:
                interp.exec("import json\\njson.loads('[')")
            except interpreters.ExecutionFailed as error:
                text, info = str(error), error.excinfo
                print(info.type.__name__, info.type.__module__, info.msg, info.formatted, sep="|")
                print(text.startswith(info.formatted + "\\n\\nUncaught in the interpreter:\\n\\nTraceback"), info.errdisplay in text)
                print([line.strip() for line in text.splitlines() if "File" in line][0])
            for code in "1/0", "import sys; sys.exit(3)", "raise KeyboardInterrupt", "class E(Exception): pass\\nraise E", (
                    "class F(Exception):\\n    def __str__(self): return self.nothing\\nraise F"), "1 +":
                print(fails(interp.exec, code).splitlines()[0])
            print(fails(interp.call, int, "x").splitlines()[0], interp.call(int, "7"))
            """, "JSONDecodeError|json.decoder|Expecting value: line 1 column 2 (char 1)|json.decoder.JSONDecodeError: Expecting "
            "value: line 1 column 2 (char 1)", "True True", 'File "<script>", line 2, in <module>',
            "ExecutionFailed: ZeroDivisionError: division by zero", "ExecutionFailed: SystemExit: 3",
            "ExecutionFailed: KeyboardInterrupt: ", "ExecutionFailed: E: ", "ExecutionFailed: F: <exception str() failed>",
            "SyntaxError: invalid syntax (<script>, line 1)",
            "ExecutionFailed: ValueError: invalid literal for int() with base 10: 'x' 7")

    def test_functions_and_classes_of_the_program_run_its_file_in_a_module_of_its_own(self):
        self.assertEqual(self.run_file(BEGIN + textwrap.dedent("""
            count = 0
            class Item:
                def __init__(self, n): self.n = n
                def twice(self): return Item(self.n * 2)
            def add(n):
                global count
                count += n
                return count, __name__
            def hidden():
                import __main__
                return sorted({"count", "Item"} & set(vars(__main__)))
            if __name__ == "__main__":
                interp, other, queue = interpreters.create(), interpreters.create(), interpreters.create_queue()
                print(interp.call(add, 1), interp.call(add, 2), other.call(add, 5), count, interp.call(hidden))
                print(type(interp.call(Item(4).twice)) is Item, interp.call(Item(4).twice).n)
                interp.call(queue.put, Item(8))
                print(other.call(lambda queue: queue.get().n, queue))
            """)).stdout.splitlines(), ["(1, '<fake __main__>') (3, '<fake __main__>') (5, '<fake __main__>') 0 []", "True 8", "8"])

    def test_queues_carry_objects_between_interpreters(self):
        self.check("""
            one, two = interpreters.create(), interpreters.create()
            there, back = interpreters.create_queue(), interpreters.create_queue(2)
            for interp in one, two:
                interp.prepare_main(there=there, back=back)
            threads = [interp.call_in_thread(exec, "while (v := there.get()) is not None: back.put(v * 2)") for interp in (one, two)]
            def feed():
                for i in range(20):
                    there.put([i])
                there.put(None), there.put(None)
            feeder = threading.Thread(target=feed)
            feeder.start()
            print(sorted(back.get(timeout=60)[0] for _ in range(20)) == list(range(20)))
            for thread in *threads, feeder:
                thread.join()
            print(there, back.maxsize, back.empty(), interpreters.create_queue(-3).maxsize, interpreters.create_queue(-3).full())
            print(fails(back.get_nowait), fails(back.get, timeout=0.01), fails(back.get, timeout=-1))
            back.put(1), back.put(there)
            print(back.full(), fails(back.put_nowait, 3), fails(back.put, 3, timeout=0.01), back.get(), back.get() is there)
            print(issubclass(interpreters.QueueEmpty, __import__("queue").Empty), fails(interpreters.Queue, 99))
            one.exec("from gorgon import interpreters; inner = interpreters.create_queue(); inner.put('kept'); there.put(inner); del inner")
            print(there.get().get())
            """, "True", "Queue(0) 2 True -3 False", "QueueEmpty: queue 1 is empty QueueEmpty: queue 1 is empty ValueError: "
            "timeout value must be non-negative", "True QueueFull: queue 1 is full QueueFull: queue 1 is full 1 True",
            "True QueueNotFoundError: queue 99 not found", "kept")

    def test_items_of_an_interpreter_that_has_ended_are_unbound(self):
        self.check("""
            queue = interpreters.create_queue()
            interp = interpreters.create()
            interp.prepare_main(q=queue)
            interp.exec('''if True:
                from gorgon.interpreters import UNBOUND, UNBOUND_ERROR, UNBOUND_REMOVE
                q.put(1), q.put(2, unbounditems=UNBOUND_ERROR), q.put(3, unbounditems=UNBOUND_REMOVE), q.put(4)''')
            queue.put(5)
            print(queue.get(), queue.qsize())
            del interp
            print(queue.qsize(), fails(queue.get), queue.get() is interpreters.UNBOUND, queue.get(), queue.unbounditems)
            print(fails(queue.put, 1, unbounditems=3))
            """, "1 4", "3 ItemInterpreterDestroyed: item's original interpreter destroyed True 5 gorgon.interpreters.UNBOUND",
            "NotImplementedError: unsupported unbound replacement op 3")

    def test_one_that_runs_is_not_called_nor_closed(self):
        self.check("""
            interp, queue = interpreters.create(), interpreters.create_queue()
            thread = interp.call_in_thread(interpreters.Queue.get, queue)
            while not interp.is_running():
                time.sleep(0.001)
            print(fails(interp.exec, "1"), fails(interp.prepare_main, x=1), fails(interp.close), sep="; ")
            queue.put(None)
            thread.join()
            print(interp.is_running(), fails(interpreters.get_main().close), fails(interpreters.get_main().exec, "1"))
            interp.exec('''if True:
                from gorgon import interpreters
                me = interpreters.get_current()
                print(me.is_running(), me.whence)
                try: me.close()
                except interpreters.InterpreterError as error: print(error, flush=True)''')
            """, "InterpreterError: interpreter already running; InterpreterError: interpreter already running; InterpreterError: "
            "interpreter running", "False InterpreterError: cannot destroy unrecognized interpreter 0 InterpreterError: cannot exec "
            "code for unrecognized interpreter 0", "True _interpreters module", "cannot destroy the current interpreter")

    def test_interpreters_end_with_their_last_reference(self):
        self.check("""
            before = gorgon.count()
            interp, other = interpreters.create(), interpreters.create()
            interp.exec("import atexit; atexit.register(print, 'ended', flush=True)")
            other.exec("from gorgon import interpreters; held = interpreters.Interpreter(1); mine = interpreters.create()")
            print(gorgon.count() - before)
            del interp
            print(interpreters.list_all())
            other.exec("del held")
            print(interpreters.list_all(), gorgon.count() - before)
            del other  # and what it has made
            print(interpreters.list_all(), gorgon.count() - before)
            queue = interpreters.create_queue()
            number = queue.id
            del queue
            print(fails(interpreters.Queue, number))
            """, "3", "[Interpreter(0), Interpreter(1), Interpreter(2), Interpreter(3)]", "ended",
            "[Interpreter(0), Interpreter(2), Interpreter(3)] 2", "[Interpreter(0)] 0", "QueueNotFoundError: queue 0 not found")

    def test_what_a_queue_or_a_result_carries_ends_with_its_last_reference_there(self):
        """Also where a thread of an interpreter gets it, and where it does not load."""
        self.check("""
            class Broken:
                def __reduce__(self): return int, ("x",)
            interp, queue = interpreters.create(), interpreters.create_queue()
            queue.put((interpreters.create(), interpreters.create_queue(), bytes(300000)))
            print(interpreters.list_all(), *queue.get()[:2])
            print(interpreters.list_all(), fails(interpreters.Queue, 1))
            interp.exec("from gorgon import interpreters")
            print(interp.call(eval, "interpreters.create()").call(abs, -1), interpreters.list_all())
            interp.prepare_main(queue=queue)
            for _ in range(2):
                queue.put(interpreters.create())
            interp.exec("import threading; thread = threading.Thread(target=lambda: print(queue.get().call(abs, -2), flush=True))")
            interp.exec("thread.start(); thread.join(); print(queue.get().call(abs, -3), flush=True)")
            queue.put((interpreters.create(), Broken()))
            print(fails(queue.get), interpreters.list_all())
            """, "[Interpreter(0), Interpreter(1), Interpreter(2)] Interpreter(2) Queue(1)",
            "[Interpreter(0), Interpreter(1)] QueueNotFoundError: queue 1 not found", "1 [Interpreter(0), Interpreter(1)]", "2", "3",
            f"NotShareableError: {REFUSED} [Interpreter(0), Interpreter(1)]")

    def test_programs_inside_make_and_call_interpreters(self):
        """Also in a worker of an executor, whose interpreter is none of create()'s."""
        self.check("""
            interp = interpreters.create()
            def nested(depth):
                from gorgon import interpreters
                inner = interpreters.create()
                return [inner.id, *(inner.call(interpreters.by_value(nested), depth - 1) if depth else [inner.call(eval, "7 * 6")])]
            interp.exec("import numpy")
            def work():
                from gorgon import interpreters
                inner = interpreters.create()
                me = interpreters.get_current()
                return inner.call(eval, "__import__('numpy').arange(3).sum()"), me.whence, me in interpreters.list_all()
            print(interp.call(interpreters.by_value(nested), 1))
            with Pool(1) as pool:
                queue = interpreters.create_queue()
                print(*pool.submit(work).result())
                pool.submit(queue.put, "from a worker").result()
                print(queue.get())
            """, "[2, 3, 42]", "3 C-API True", "from a worker")

    def test_one_that_calls_exit_has_ended(self):
        self.check("""
            interp = interpreters.create()
            print(fails(interp.exec, "import ctypes; ctypes.CDLL(None).exit(3)"), interpreters.list_all())
            print(fails(interp.exec, "1"))
            """, "InterpreterError: interpreter 0: its code has called exit(3) [Interpreter(0)]",
            "InterpreterNotFoundError: unrecognized interpreter ID 1")

    def test_the_end_of_the_program_ends_them_and_says_so(self):
        result = self.run_file(BEGIN + textwrap.dedent("""
            interp, spinning = interpreters.create(), interpreters.create()
            interp.exec("import atexit; atexit.register(print, 'ended'); from gorgon import interpreters; inner = interpreters.create()")
            threading.Thread(target=fails, args=(spinning.exec, "while True: pass"), daemon=True).start()
            while not spinning.is_running():
                time.sleep(0.001)
            print("last line", flush=True)
            """))
        self.assertEqual(result.stdout.splitlines(), ["last line", "ended"])
        self.assertIn("RuntimeWarning: remaining subinterpreters; close them with Interpreter.close()", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_ctrl_c_interrupts_what_the_main_thread_waits_for(self):
        program = PRELUDE + BEGIN + textwrap.dedent("""
            interp, queue = interpreters.create(), interpreters.create_queue()
            for code in "while True: pass", "import time; time.sleep(60)", "q.get()":
                interp.prepare_main(q=queue)
                threading.Thread(target=lambda: print("begun", flush=True) if not queue.get() else 0).start()
                try:
                    interp.exec("q.put(None)\\n" + "import time\\nwhile q.qsize(): time.sleep(0.01)\\n" + code)
                except KeyboardInterrupt:
                    print("interrupted", interp.is_running(), interp.call(eval, "1 + 1"), flush=True)
            interp.close()
            """)
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            with subprocess.Popen([PYTHON3, file.name], stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, PYTHONPATH=self.site)) as process:
                for _ in range(3):
                    self.assertEqual(process.stdout.readline(), "begun\n")
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(process.stdout.readline(), "interrupted False 2\n")
                self.assertEqual(process.wait(), 0)

    def test_a_forked_child_has_none_of_them(self):
        self.check("""
            interp = interpreters.create()
            reader, writer = os.pipe()
            pid = os.fork()
            if not pid:
                own = interpreters.create()
                print(interpreters.list_all() == [interpreters.get_main(), own], fails(interp.exec, "1"), own.call(abs, -2), flush=True)
                own.close()
                os._exit(0)
            print(os.waitpid(pid, 0)[1], interp.call(abs, -1))
            interp.prepare_main(w=writer)
            interp.exec("import os; pid = os.fork(); os.write(w, b'x')\\nif pid: print(os.waitpid(pid, 0)[1], flush=True)")
            print(os.read(reader, 5), interp.call(abs, -1))
            """, "True InterpreterNotFoundError: unrecognized interpreter ID 1 2", "0 1", "0", "b'xx' 1")
