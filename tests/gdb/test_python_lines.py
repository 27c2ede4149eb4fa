# SPDX-License-Identifier: MIT
"""Plain gdb and `gorgon run --python-lines=on`: Python frames in backtraces, breakpoints at Python lines, and what lines do to a program."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_lines import CALLS, CHEAP, PRICE, PROGRAM, PYTHONS, TOTAL, frames, later, run  # noqa: E402
from terminal import Terminal  # noqa: E402


@harness.needs_python_lines
@harness.needs_gdb
class Started(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        commands = [f"break lines.py:{TOTAL}", "run", "echo === args\\n", "info args", "echo === stack\\n", "bt", "echo === next\\n",
                    "next", "next", "next", "echo === finish\\n", f"tbreak lines.py:{TOTAL}", "continue", "finish",
                    "echo === rest\\n", "delete", "break lines.told", "continue", "delete", "continue"]
        cls.output = harness.gdb(commands, *run(1))
        cls.parts = dict(zip(["start", *re.findall(r"^=== (\w+)$", cls.output, re.M)],
                             re.split(r"^=== \w+\n", cls.output, flags=re.M)))

    def test_pending_breakpoint_is_hit_at_its_line(self):
        self.assertRegex(self.parts["start"], rf"hit Breakpoint 1, lines\.price \(.*\) at \S+/lines\.py:{TOTAL}\n", self.output)

    def test_arguments_are_texts(self):
        self.assertRegex(self.parts["args"], r'^n = 0x\w+ "2"\nrate = 0x\w+ "2"\n$')

    def test_stack_has_both_languages(self):
        stack = self.parts["stack"]
        self.assertEqual([name.partition(":")[0] for name in frames(stack)][:3], ["price", "each", "recursive"], stack)
        self.assertEqual(frames(stack)[-2:], [f"main:{harness.source_line(PROGRAM, 'in generator(Basket')}",
                                             f"<module>:{harness.source_line(PROGRAM, '    main()')}"], stack)
        self.assertRegex(stack, r"(?s)lines\.price .*functools_reduce .*lines\.recursive .*\n#\d+ .*clone3 ", stack)

    def test_next_goes_over_lines_and_back_to_the_caller(self):
        found = re.findall(r"^(\d+)\t", self.parts["next"], re.M)
        self.assertEqual(found, [str(TOTAL + 1), str(TOTAL + 2), str(CALLS + 1)], self.output)
        self.assertRegex(self.parts["next"], rf"(?m)^lines\.each \(.*\) at \S+/lines\.py:{CALLS + 1}$")

    def test_finish_ends_in_the_caller(self):
        self.assertRegex(self.parts["finish"], r"(?m)^0x\w+ in lines\.each \(.*\) at ")

    def test_function_and_end(self):
        self.assertRegex(self.parts["rest"], r"Breakpoint \d+, lines\.told \(\)")
        self.assertRegex(self.parts["rest"], r"done\n(?s:.*)exited normally")


@harness.needs_python_lines
@harness.needs_gdb
class Stacks(unittest.TestCase):
    """At each call of time.sleep() gdb's stack has the Python frames that the program has just printed."""

    def check(self, output, count):
        line = harness.source_line(PROGRAM, 'print("stack"')
        told = [[f"told:{line}", *words.split()[1:]] for words in re.findall(r"^stack (told.*)$", output, re.M)]
        seen = [frames(part) for part in output.split("=== stack\n")[1:]]
        self.assertEqual(len(told), 6 * count, output)
        self.assertEqual(sorted(seen), sorted(told), output)

    def test_started(self):
        for count in (1, 3):
            with self.subTest(count=count):
                stop = ["bt" if count == 1 else "bt -frame-arguments none", "continue"]
                output = harness.gdb([*CHEAP, "break time_sleep", "commands", "silent", "echo === stack\\n", *stop, "end", "run", *later(6 * count)],
                                     *run(count))
                self.check(output, count)

    def test_stepped_to_from_the_line(self):
        """The frame of a line that is stopped at is the one that is found by unwinding."""
        line = harness.source_line(PROGRAM, 'print("stack"')
        output = harness.gdb([*CHEAP, f"break lines.py:{line}", "commands", "silent", "echo === stack\\n", "bt", "continue", "end", "run"],
                             *run(1))
        self.check(output, 1)


@harness.needs_python_lines
@harness.needs_gdb
class Packages(unittest.TestCase):
    """Debuggers are told of an installed package's modules together, when its import has ended."""

    MODULES = 30

    def setUp(self):
        above = tempfile.TemporaryDirectory()
        self.addCleanup(above.cleanup)
        self.site = os.path.join(above.name, "site-packages")
        os.makedirs(f"{self.site}/pack")
        for i in range(self.MODULES):
            with open(f"{self.site}/pack/part{i}.py", "w") as file:
                file.write(f"def work(n):\n    made = n + {i}\n    return made\n")
        with open(f"{self.site}/pack/__init__.py", "w") as file:
            file.write("".join(f"from . import part{i}\n" for i in range(self.MODULES)) + "part3.work(1)\nimport own\n")
        with open(f"{above.name}/own.py", "w") as file:
            file.write("from pack import part5\n\npart5.work(1)\n")
        with open(f"{above.name}/late.py", "w") as file:
            file.write("value = 1\n")
        self.program = f"{above.name}/program.py"
        with open(self.program, "w") as file:
            file.write("import sys\nsys.path += [SITE]\nimport pack\nprint(pack.part7.work(1))\nimport late\n".replace("SITE", repr(self.site)))

    def stops(self, *commands, python=harness.PYTHON):
        command = [harness.GORGON, "run", "--python-lines=on", f"--python={python}", self.program]
        output = harness.gdb([*CHEAP, *commands, "run", *["continue"] * 6], *command)
        return re.findall(r"^Thread \d+ \"interp 0\" hit (?:Temporary b|B)reakpoint \d+(?:\.\d+)?, (\S+) \(.*\) at \S+/(\S+)$", output, re.M), output

    def test_functions_are_hit_once_their_import_has_ended(self):
        """Or, before, once the package has imported a module that is the program's own."""
        for python in PYTHONS:
            with self.subTest(python=python):
                found, output = self.stops("break part3.work", "break part5.py:2", "break part7.py:3", "break own.py:3", "break late.py:1",
                                           python=python)
                self.assertEqual(found, [("own.<module>", "own.py:3"), ("part5.work", "part5.py:2"), ("part7.work", "part7.py:3"),
                                         ("late.<module>", "late.py:1")], output)

    def test_they_are_one_symfile(self):
        counts = []
        for line in ("import pack", "pass"):
            with open(self.program, "w") as file:
                file.write(f"import sys\nsys.path += [{self.site!r}]\n{line}\nimport late\n")
            with open(f"{self.site}/pack/__init__.py", "w") as file:
                file.write("".join(f"from . import part{i}\n" for i in range(self.MODULES)))
            command = [harness.GORGON, "run", "--python-lines=on", self.program]
            output = harness.gdb(["break late.py:1", "run", "echo === objects\\n", "maint info jit"], *command)
            self.assertIn("Breakpoint 1, late.<module>", output)
            counts.append(len(re.findall(r"^0x\w+ ", output.split("=== objects")[1], re.M)))
        self.assertEqual(counts[0], counts[1] + 1, output)
        self.assertGreater(counts[1], 3, output)


@harness.needs_python_lines
@harness.needs_gdb
class Many(unittest.TestCase):
    def test_each_interpreter_hits_it(self):
        for count in (3, 20):
            with self.subTest(count=count):
                output = harness.gdb([*CHEAP, f"break lines.py:{TOTAL}", "commands", "silent", 'printf "hit %d\\n", $_thread', "continue",
                                      "end", "run", *later(4 * count)], *run(count))
                hits = re.findall(r"^hit (\d+)$", output, re.M)
                self.assertEqual(len(set(hits)), count, output)
                self.assertEqual({hits.count(thread) for thread in hits}, {4}, output)
                self.assertEqual(output.count("done\n"), count, output)


@harness.needs_python_lines
@harness.needs_gdb
class Attached(unittest.TestCase):
    def test_breakpoints_in_loops_that_run(self):
        with harness.Background(*run(2), "100000", until=r"(?s)(stack .*){20}") as program:
            output = harness.gdb([*CHEAP, f"break lines.py:{TOTAL}", "continue", "delete", "next", "break time_sleep", "continue", "bt",
                                  "detach"], options=["-p", str(program.pid)])
        self.assertIn("(2 locations)", output)
        self.assertRegex(output, rf"hit Breakpoint 1\S*, lines\.price \(.*\) at \S+/lines\.py:{TOTAL}\n")
        self.assertRegex(output, rf"(?m)^{TOTAL + 1}\t")
        self.assertRegex(output, r"(?s)hit Breakpoint 2\S*, time_sleep .*lines\.<module> \(\) at ", output)


COUNTED = """def cold(n):
    return n

def hot(n):
    total = 0
    for i in range(10):
        total += i
    try:
        return {}[total]
    except KeyError:
        return total

cold(1)
print("hot", len([hot(i) for i in range(1000)]), flush=True)
cold(2)
"""


SUB = '''try:
    import _interpreters as interpreters
except ImportError:  # before CPython 3.13
    import _xxsubinterpreters as interpreters

def cold(n):
    return n

cold(1)
interpreters.run_string(interpreters.create(), """
def same(n):
    return n

print("largest", max(map(same, range(1000))), flush=True)
""")
cold(2)
'''


AGAIN = """import sys

def cold(n):
    return n

def call(n):
    return cold(n)

cold(1)
sys.setrecursionlimit(sys.getrecursionlimit())
while True:
    call(2)
"""


LIMITS = """import sys, threading

def cold(n):
    return n

def down(n):
    try:
        return down(n + 1)
    except RecursionError as error:
        return n, str(error)

def through_c(n):
    try:
        return max(map(through_c, (n + 1,)))
    except RecursionError as error:
        return n, str(error)

def nested():
    value = []
    for _ in range(sys.getrecursionlimit()):
        value = [value]
    try:
        return repr(value)
    except RecursionError as error:
        return str(error)

def tell():
    print("told", down(0), through_c(0), nested(), sys.getrecursionlimit(), flush=True)

cold(1)
tell()
for limit in (300, 2000, 2000):
    sys.setrecursionlimit(limit)
    tell()
cold(2)
tell()
thread = threading.Thread(target=lambda: (cold(3), tell()))
thread.start()
thread.join()
cold(4)
"""


CHILD = """import os, time

def work(n):
    return n + 1

child = os.fork()
if child:
    print("child", child, flush=True)
while True:
    work(child)
    time.sleep(0.001)
"""


WAITING = """import time

def work(n):
    return n + 1

def main():
    while True:
        work(3)
        time.sleep(0.001)

print("ready", flush=True)
main()
"""


@harness.needs_python_lines
@harness.needs_gdb
class Auto(unittest.TestCase):
    """With auto a debugger that attaches gets lines of what is called from then on, and of what was called before."""

    def test_attached(self):
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "waiting.py")
                with open(path, "w") as file:
                    file.write(WAITING)
                with harness.Background(*run(2, "--python-lines=auto", python=python)[:-1], path, until=r"(?s)(ready.*){2}") as program:
                    output = harness.gdb(["break waiting.py:4", "continue", "bt", "next", "detach"], options=["-p", str(program.pid)], timeout=60)
                self.assertRegex(output, r'hit Breakpoint 1\S*, waiting\.work \(n=0x\w+ "3"\) at \S+/waiting\.py:4\n')
                self.assertRegex(output, r"#0 +waiting\.work (?s:.*)clone3")
                self.assertIn("waiting.main", output)  # it was called before

    def test_attached_to_a_forked_child(self):
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "child.py")
                with open(path, "w") as file:
                    file.write(CHILD)
                with harness.Background(*run(1, "--python-lines=auto", python=python)[:-1], path, until=r"child \d+\n") as program:
                    child = re.search(r"child (\d+)\n", program.output)[1]
                    output = harness.gdb(["break child.py:4", "continue", "kill"], options=["-p", child], timeout=60)
                self.assertRegex(output, r"hit Breakpoint 1\S*, child\.work \(.*\) at \S+/child\.py:4\n")

    def test_started(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                output = harness.gdb([f"break lines.py:{TOTAL}", "run", "bt"], *run(1, "--python-lines=auto", python=python))
                self.assertEqual([name.partition(":")[0] for name in frames(output)][:3], ["price", "each", "recursive"], output)
                self.assertIn("<module>", frames(output)[-1])


LOOPING = """import threading, time

def work():
    n = 0
    while True:
        n += 1
        time.sleep(0.001)

threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
for _ in range(500):
    time.sleep(0.01)
"""


@harness.needs_python_lines
@harness.needs_gdb
class OtherThreads(unittest.TestCase):
    def check(self, python, program):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "looping.py")
            with open(path, "w") as file:
                file.write(program)
            with harness.Background(*run(1, python=python)[:-1], path, until="ready") as program:
                output = harness.gdb(["break looping.py:6", "continue", "next", "next"], options=["-p", str(program.pid)], timeout=60)
        self.assertRegex(output, r"hit Breakpoint 1\S*, looping\.work \(\) at ")
        self.assertEqual(re.findall(r"^([567])\t", output, re.M)[:3], ["6", "7", "5"], output)

    def test_in_a_loop_that_calls_only_c(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                self.check(python, LOOPING)

    def test_while_the_main_thread_is_in_c(self):
        """In CPython 3.11 the main thread alone could be asked."""
        for python in PYTHONS[1:]:
            with self.subTest(python=python):
                self.check(python, LOOPING.partition("for _")[0] + "threading.Event().wait()\n")


CALLED = """import time

def work(n):
    return n + 1

for i in range(1000000):
    time.sleep(0)
    work(i)
"""


UNTIL_ATTACHED = """    print("waits", flush=True)
    while "TracerPid:\\t0\\n" in open("/proc/self/status").read():
        time.sleep(0.1)
    time.sleep(2)
    work(i)
"""


@harness.needs_python_lines
@harness.needs_gdb
class AtOnce(unittest.TestCase):
    """A breakpoint that is set at a stop in C code counts in the function that is called next if the stop takes 20
    milliseconds."""

    def test_while_there_is_no_other_breakpoint(self):
        for python in PYTHONS:
            turns = 8 * ["tbreak called.work", "shell sleep 0.2", "continue", 'printf "called %g\\n", number.n', "tbreak time_sleep", "continue"]
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "called.py")
                with open(path, "w") as file:
                    file.write(CALLED)
                output = harness.gdb(["tbreak time_sleep", "run", *turns], *run(1, python=python)[:-1], path)
                self.assertEqual(re.findall(r"^called (\d+)$", output, re.M), [str(i) for i in range(8)], output)

    def test_while_a_thread_has_the_environment(self):
        """A debug build of CPython reads a variable at each call of a function."""
        with unittest.mock.patch.dict(os.environ, {"WANTED": "found"}):
            output = harness.gdb(["break variables_find", "run", 'print (char *) gorgon_getenv("WANTED", (void *) 0)', "kill"], *run(1), timeout=100)
        self.assertRegex(output, r'\$1 = 0x\w+ "found"')

    def test_in_a_program_that_was_attached_to(self):
        """There it counts milliseconds after the program goes on."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "called.py")
            with open(path, "w") as file:
                file.write(CALLED.replace("    work(i)\n", UNTIL_ATTACHED))
            with harness.Background(*run(1)[:-1], path, until="waits", asleep=1) as program:
                output = harness.gdb(["tbreak called.work", "continue", "printf \"called %g\\n\", number.n"], options=["-p", str(program.pid)])
            self.assertIn("called 0\n", output)


@harness.needs_python_lines
@harness.needs_gdb
class Page(unittest.TestCase):
    """The session of docs/mixed.md, typed. That of README.md is a part of it."""

    @staticmethod
    def session(document, number):
        """[(command, answer)]"""
        with open(os.path.join(harness.ROOT, document)) as file:
            block = re.findall(r"```\w*\n(.*?)```", file.read(), re.S)[number]
        return re.findall(r"^\(gdb\) (.*)\n((?:(?!\(gdb\)).*\n)*)", block, re.M)

    def test_part(self):
        whole, part = dict(self.session("docs/mixed.md", 1)), self.session("README.md", 0)
        self.assertEqual([command for command, _ in part], list(whole)[:5])
        for command, answer in part:
            self.assertEqual([line for line in answer.splitlines() if line not in whole[command].splitlines()], [], command)

    def test_session(self):
        with open(os.path.join(harness.ROOT, "docs", "mixed.md")) as file:
            program = re.search(r"```python\n(.*?)```", file.read(), re.S)[1]
        asked = self.session("docs/mixed.md", 1)
        self.assertEqual(len(asked), 6)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "shop.py"), "w") as file:
                file.write(program)
            with Terminal(*run(1)[:-1], os.path.join(folder, "shop.py")) as gdb:
                for command, answer in asked:
                    said = self.bare(gdb.ask(command))
                    for line in self.bare(answer).splitlines():
                        if line != "..." and "_Py" not in line and "PyObject" not in line:
                            self.assertIn(line, said)

    @staticmethod
    def bare(text):
        """Without what differs from run to run, and between builds of CPython: addresses, folders, frames' numbers."""
        text = re.sub(r"(?<=functools_reduce) \(.*", "", text)  # CPython 3.14 has other arguments
        return re.sub(r"at /\S*/|#\d+ +|0x\w+( in )?|[\t ]+", "", text)


@harness.needs_python_lines
@harness.needs_gdb
class Core(unittest.TestCase):
    def test_core(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "core")
            output = harness.gdb(["break time_sleep", "run", f"generate-core-file {path}", "kill", "file", f"core-file {path}", f"file {harness.GORGON}",
                                  f"core-file {path}", "echo === core\\n", "bt -frame-arguments none"], *run(1))
            told = re.search(r"^stack told:\d+ (.*)$", output, re.M)[1].split()
            self.assertEqual(frames(output.partition("=== core\n")[2])[1:], told, output)


@harness.needs_python_lines
@harness.needs_gdb
class TypedSession(unittest.TestCase):
    def test_typed(self):
        with Terminal(*run(1)) as gdb:
            gdb.ask(f"break lines.py:{CALLS}")
            self.assertRegex(gdb.ask("run"), rf"Breakpoint 1, lines\.each \(a=0x\w+ \"1\", b=0x\w+ \"2\"\) at \S+:{CALLS}\n")
            self.assertRegex(gdb.ask("step"), rf"^lines\.price \(n=0x\w+ \"2\", rate=0x\w+ \"2\"\) at \S+:{PRICE}\n")
            for line in range(TOTAL, TOTAL + 3):
                self.assertRegex(gdb.ask("step"), rf"^{line}\t")
            self.assertRegex(gdb.ask("step"), rf"(?m)^{CALLS + 1}\t")
            self.assertRegex(gdb.ask("up 20"), r"^#20 ")
            self.assertRegex(gdb.ask("print $_strlen(\"abc\")"), "= 3")
            gdb.ask("delete")
            self.assertRegex(gdb.ask("continue"), "exited normally")


@harness.needs_python_lines
@harness.needs_gdb
class Others(unittest.TestCase):
    COMMANDS = ["break time_sleep", "run", "info functions python_frame", "bt -frame-arguments none"]

    def test_with_off_there_is_nothing(self):
        output = harness.gdb(self.COMMANDS, *("--python-lines=off" if part == "--python-lines=on" else part for part in run(1)))
        self.assertNotRegex(output, r"python_frame \(|0x\w+  python_frame")
        self.assertEqual(frames(output), [])

    def test_what_a_debugger_starts_has_lines(self):
        for count, last in ((1, ["<module>"]), (2, ["<module>"]), (65, [])):
            with self.subTest(count=count):
                output = harness.gdb(self.COMMANDS, *(part for part in run(count) if part != "--python-lines=on"))
                self.assertEqual(bool(re.search(r"python_frame \(", output)), bool(last), output)
                self.assertEqual([name.partition(":")[0] for name in frames(output)][-1:], last, output)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "priced.py"), "w") as file:
                file.write("def price(n):\n    return n * 2\n")
            code = f"import sys; sys.path.append({folder!r}); import priced; priced.price(3)"
            of_template = [(["-t", "import json"], 1)] if harness.TEMPLATES else []  # copies have no lines
            for options, hits in [([], 2), *of_template]:
                with self.subTest(host=options):
                    output = harness.gdb(["break priced.py:2", "commands", "continue", "end", "run", *later(2)], harness.HOST, "-n", 2, *options, code)
                    self.assertEqual(len(re.findall(r'hit Breakpoint 1(?:\.\d)?, priced\.price \(n=0x\w+ "3"\) at ', output)), hits, output)
                    self.assertIn("exited normally", output)

    def test_events_are_of_functions_with_breakpoints(self):
        """Where there is a breakpoint in one function, Python does not tell of another one's lines, which would take long."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "counted.py")
                with open(path, "w") as file:
                    file.write(COUNTED)
                event = "trace_event" if python.endswith("3.11") else "monitor_event"
                output = harness.gdb(["break counted.py:2", f"break {event}", "ignore 2 100000", "break python_frame", "ignore 3 100000",
                                      "run", "info breakpoints 3", "continue", "info breakpoints 2", "info breakpoints 3", "continue"],
                                     *run(1, python=python)[:-1], path)
                self.assertRegex(output, r"(?s)hit Breakpoint 1, counted\.cold .*hot 1000\n.*hit Breakpoint 1, counted\.cold ")
                before, events, after = map(int, re.findall(r"already hit (\d+) time", output))
                self.assertGreater(events, 2, output)
                self.assertLess(events, 30, output)
                self.assertLess(after - before, 100, output)  # functions that call each other need no code of ours

    def test_subinterpreters_have_no_lines_and_no_part_in_them(self):
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "sub.py")
                with open(path, "w") as file:
                    file.write(SUB)
                output = harness.gdb(["break sub.cold", "break gorgon_lines_update", "ignore 2 100000", "run", "continue", "info breakpoints 2", "continue"],
                                     *run(1, python=python)[:-1], path)
                self.assertRegex(output, r"(?s)hit Breakpoint 1, sub\.cold .*\nlargest 999\n.*hit Breakpoint 1, sub\.cold ", output)
                self.assertLess(int(re.search(r"already hit (\d+) time", output)[1]), 100, output)

    def test_a_limit_of_recursion_that_is_set_again(self):
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "again.py")
                with open(path, "w") as file:
                    file.write(AGAIN)
                output = harness.gdb(["break again.cold", "run", "continue", "continue", "kill"], *run(1, python=python)[:-1], path)
                self.assertEqual(output.count("hit Breakpoint 1, again.cold"), 3, output)

    def test_limits_of_recursion_are_those_of_python3(self):
        """In CPython 3.11 calls are counted by what tells of the limit."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "limits.py")
                with open(path, "w") as file:
                    file.write(LIMITS)
                expected = subprocess.run([harness.GORGON, "run", f"--python={python}", path], capture_output=True, text=True, check=True).stdout
                self.assertGreaterEqual(expected.count("maximum recursion depth exceeded"), 12, expected)
                output = harness.gdb(["break limits.cold", "run", *4 * ["continue"]], *run(1, python=python)[:-1], path)
                self.assertEqual(re.findall(r"^told .*\n", output, re.M), expected.splitlines(True), output)
                self.assertEqual(output.count("hit Breakpoint 1, limits.cold"), 4, output)

    @unittest.skipUnless(harness.VERSION == "3.11", "later ones have sys.monitoring")
    def test_a_program_with_a_trace_function(self):
        code = (f"import sys; seen = []; sys.settrace(lambda *a: seen.append(a)); sys.argv = ['']; "
                f"exec(compile(open({PROGRAM!r}).read(), {PROGRAM!r}, 'exec')); sys.settrace(None); print('traced', len(seen) > 3)")
        output = harness.gdb([f"break lines.py:{TOTAL}", "run"], *run(1)[:-1], "-c", code)
        self.assertIn("gorgon: interpreter 0: a thread has a trace function (sys.settrace()): debuggers do not stop at its Python lines\n",
                      output)
        self.assertRegex(output, "traced True\n(?s:.*)exited normally")


TRACED = f"""import sys
seen = []
sys.settrace(lambda *event: seen.append(event))
exec(compile(open({PROGRAM!r}).read(), {PROGRAM!r}, "exec"))
sys.settrace(None)
print("traced", len(seen) > 3, sys.monitoring.get_tool(4), flush=True)
"""


@harness.needs_gdb
@unittest.skipUnless(PYTHONS[1:], "a CPython that has sys.monitoring")
class Monitoring(unittest.TestCase):
    def test_a_program_with_a_trace_function(self):
        for tools, hit in (("", True), ("sys.monitoring.use_tool_id(3, 'a'); sys.monitoring.use_tool_id(4, 'b'); ", False)):
            for python in PYTHONS[1:]:
                with self.subTest(python=python, tools=tools):
                    output = harness.gdb([f"break lines.py:{TOTAL}", "run", "delete", "continue"], *run(1, python=python)[:-1], "-c",
                                         f"import sys; sys.argv = ['']; {tools}exec({TRACED!r})")
                    self.assertEqual("hit Breakpoint 1, lines.price" in output, hit, output)
                    self.assertIn(f"traced True {'gorgon' if hit else 'b'}\n", output)
                    self.assertEqual(output.count("gorgon: interpreter 0: tools 3 and 4 of sys.monitoring are taken: debuggers do not stop at "
                                                  "its Python lines\n"), not hit, output)
