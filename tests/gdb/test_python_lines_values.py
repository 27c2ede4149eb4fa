# SPDX-License-Identifier: MIT
"""Plain gdb and `gorgon run --python-lines=on`: values of Python's variables, and exceptions."""

import os
import re
import signal
import sys
import tempfile
import unittest
import unittest.mock

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_lines import CHEAP, PYTHONS, run  # noqa: E402


TOLD = """def told(value):
    kept = value
    return kept

def closed(value):
    return lambda: value

for value in (0, -7, True, 2.5, 2**62, 10**30, -10**30, "7", None, [1]):
    told(value)
closed(8)()
"""


@harness.needs_python_lines
@harness.needs_gdb
class Numbers(unittest.TestCase):
    def test_of_each_type(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "numbers.py")
            with open(path, "w") as file:
                file.write(TOLD)
            say = ["commands", "silent", 'printf "%s is %g\\n", value, number.value', "continue", "end"]
            below = ["commands", "silent", 'printf "below: %s\\n", value', "continue", "end"]
            output = harness.gdb(["break numbers.py:2", *say, "tbreak numbers.py:6", *say[:-2], "print number.value + 1", *say[-2:],
                                  "break numbers.py:3 if number.kept + 1 < 0", *below, "run"], *run(1)[:-1], path)
        self.assertEqual(re.findall(r"^(.*) is (.*)$", output, re.M),
                         [("0", "0"), ("-7", "-7"), ("True", "1"), ("2.5", "2.5"), (str(2**62), "4.61169e+18"), (unittest.mock.ANY, "inf"),
                          (unittest.mock.ANY, "-inf"), ("'7'", "nan"), ("None", "nan"), ("[1]", "nan"), ("8", "8")], output)
        self.assertRegex(output, r"\$1 = 9\n")
        self.assertRegex(output, r"(?m)^below: -7\n(?:.*\n)+?below: <int at 0x\w+>$")
        self.assertEqual(output.count("below: "), 2, output)


VALUES = """import sys

class Plain:
    kind = "class"
    def __init__(self):
        self.name, self.price, self.tags = "a", 10, ["x"]

class Silent:
    \"\"\"Nobody may run its code.\"\"\"
    def __init__(self):
        object.__setattr__(self, "inner", 1)
    def __getattribute__(self, name):
        sys.exit("an attribute was asked for")
    def __repr__(self):
        sys.exit("its text was asked for")
    __len__ = __iter__ = __str__ = __hash__ = __repr__

class Slots:
    __slots__ = ("x",)

class Failure(ValueError):
    args = property(lambda self: sys.exit("an attribute was asked for"))

failure = Failure(Silent(), "text")
failure.number = 3

def look(value):
    return None  # look

for each in [[], (), {}, set(), frozenset(), (1,), [1, "a", None, 2.5, b"x"], {"k": [1], 2: ()}, {3}, frozenset({4}), list(range(30)),
             "x" * 600, b"y" * 600, "\u00fc" * 600, ["\u00fc" * 90] * 9, Plain(), [Plain()], Silent(), {"s": Silent()}, Slots(), Plain, len,
             look, 1j, range(3), bytearray(b"a" * 600), KeyError("name"), OSError(2, "no"), failure, [look, failure]]:
    look(each)
print("through")
"""


ASKED = """TOTAL = 3

def outer(n):
    extra = n + 1
    def inner(m):
        nonlocal extra
        extra += m
        return extra  # inner
    class Local:
        base = n
        kind = [base, extra]  # class
    def gen():
        for i in range(2):
            yield i  # generator
    return inner(4), Local.kind, list(gen())  # outer

print(outer(5))
print(repr("after"))  # module
"""


WAITS = """import time

def work(n):
    return n

print("ready", flush=True)
while True:
    work(1)
    time.sleep(0.001)
"""


HOST = """#include <stdio.h>
#include <unistd.h>
int work(void)
{
	return usleep(1000);
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


SNAPSHOT = """def main():
    n = m = 1
    other = 4
    del m
    kept, n = locals(), 2
    if n != 2: m = n  # the variable m has no value
    return n, m, other, kept["n"]

print(main())
"""


ASSIGNED = """def inner(n, text, nothing):
    real = 1.5
    function = lambda: text
    print("inner", n, text, nothing, real, function())
    return n

def outer(n):
    kept = [n]
    inner(1, "t", None)
    print("outer", n, kept)

outer(3)
outer(4)
"""


YIELDED = """def numbers():
    yield 1
    yield 2

def outer():
    yield from numbers()

def main():
    each = outer()
    first = next(each)
    return first, list(each)

print(main())
"""


@harness.needs_python_lines
@harness.needs_gdb
class Values(unittest.TestCase):
    def session(self, source, commands, python=harness.PYTHON):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "values.py")
            with open(path, "w") as file:
                file.write(source)
            return harness.gdb([*CHEAP, *commands(path)], *run(1, python=python)[:-1], path)

    def test_texts(self):
        def commands(path):
            return [f"break values.py:{harness.source_line(path, '# look')}", "commands", "silent", 'printf "> %s\\n", value', "continue", "end", "run"]
        output = self.session(VALUES, commands)
        texts = [re.sub(r"0x\w+", "@", text) for text in re.findall("^> (.*)$", output, re.M)]
        first = ", ".join(map(str, range(20)))
        self.assertEqual(texts, ["[]", "()", "{}", "set()", "frozenset()", "(1,)", "[1, 'a', None, 2.5, b'x']",
                                 "{'k': <list at @>, 2: <tuple at @>}", "{3}", "frozenset({4})", f"[{first}, ...]",
                                 "'" + "x" * 395 + "...", "b'" + "y" * 394 + "...", "'" + "\u00fc" * 197 + "...",
                                 "['" + "\u00fc" * 90 + "', '" + "\u00fc" * 90 + "', '" + "\u00fc" * 13 + "...",
                                 "<Plain at @ name='a', price=10, tags=<list at @>>", "[<Plain at @>]", "<Silent at @ inner=1>",
                                 "{'s': <Silent at @>}", "<Slots at @>", "<class '__main__.Plain'>", "<built-in function len>",
                                 "<function look at @>", "1j", "range(0, 3)", "bytearray(b'" + "a" * 384 + "...", "<KeyError at @ args=('name',)>",
                                 "<FileNotFoundError at @ args=(2, 'no')>", "<Failure at @ args=(<Silent at @>, 'text') number=3>",
                                 "[<function look at @>, <Failure at @>]"], output)
        self.assertIn("\nthrough\n", output)

    def asks(self, python):
        def commands(path):
            def at(mark):
                return [f"tbreak values.py:{harness.source_line(path, '# ' + mark)}", "continue"]

            def ask(*texts):
                return [f'printf "> %s\\n", py("{text}")' for text in texts]
            return ["tbreak values.outer", "run", *ask("n", "n = 20", "[n for x in range(2) if n]", "extra"),
                    *at("class"), *ask("base + extra", "base = 3; extra = 1000; other = base", "other"), "frame function values.outer",
                    *ask("extra, n, TOTAL", "locals().keys() == globals().keys()"),
                    *at("inner"), *ask("  (lambda: extra + m)()", "TOTAL"), "frame function values.outer", *ask("inner.__name__"),
                    f"break values.py:{harness.source_line(path, '# inner')}", *ask("inner(0)"), "delete",
                    *at("generator"), *ask("i", "import os; i = os.getpid() and 77", "raise KeyError(1)", "n +", "\u00fc"),
                    *at("module"), *ask("TOTAL", "TOTAL = 4", "TOTAL"), "print $_streq(py(\"TOTAL + 1\"), \"5\")",
                    "set $kept = py", "tbreak PyObject_Repr", "continue", 'printf "> %s\\n", $kept("TOTAL")',
                    "frame function values.<module>", *ask("TOTAL + 2", "len", "outer = None"), "continue"]
        output = self.session(ASKED, commands, python)
        self.assertEqual(re.findall("^> (.*)$", output, re.M),
                         ["5", "None", "[20, 20]", "NameError: name 'extra' is not defined", "41", "None", "3", "(1000, 20, 3)", "False",
                          "1008", "3", "'inner'", "1004", "0", "None", "KeyError: 1", "SyntaxError: invalid syntax (<py>, line 1)",
                          "NameError: name '\u00fc' is not defined", "3", "None", "4",
                          "4", "6", "<built-in function len>", "None"], output)
        self.assertRegex(output, r"(?m)^\(1004, \[3, 1000\], \[77, 1\]\)$")
        self.assertRegex(output, r"(?m)^\$1 = 1$")

    def test_python_code_at_a_generator_that_has_yielded(self):
        """CPython 3.15 keeps in the thread's state whether it has, until C code asks."""
        for python in PYTHONS:
            with self.subTest(python):
                output = self.session(YIELDED, lambda path: [
                    "break values.py:2", "run", "delete", "finish", "finish", "frame function values.main",
                    'printf "> %s\\n", py("sum(n for n in range(4))")', "continue"], python)
                self.assertRegex(output, r"(?m)^> 6$")
                self.assertRegex(output, r"(?m)^\(1, \[2\]\)$")

    def test_function_that_has_called_locals(self):
        """Before CPython 3.13 its frame keeps the dict, which is as old as that call."""
        for python in PYTHONS:
            with self.subTest(python):
                output = self.session(SNAPSHOT, lambda path: [
                    "break values.py:6", "run", 'printf "> %s\\n", py("n, other, sorted(locals())")', 'printf "> %s\\n", py("m = n + 1; del other")',
                    'printf "> %s\\n", py("n, m")', "continue"], python)
                self.assertEqual(re.findall("^> (.*)$", output, re.M), ["(2, 4, ['kept', 'n', 'other'])", "None", "(2, 3)"], output)
                self.assertRegex(output, r"(?m)^\(2, 3, 4, 1\)$")

    def test_assigned(self):
        """What is written into a variable becomes the frame's, also before the stop ends, for py()."""
        first = ["set var n = 5", "set var text = \"'new' * n\"", "set var nothing = -7", "set var number.real = 2", "up",
                 "set var number.kept = 0.5", "set var n = kept", "down", 'printf "> %s\\n", py("n, text, nothing, real")',
                 'printf "> %s %g\\n", nothing, number.real', 'print py("real = 9")', 'printf "> %s\\n", real', "continue"]
        second = ['set var n = "nobody"', "set var number.nothing = 2.5", "continue"]
        for python in PYTHONS:
            with self.subTest(python):
                output = self.session(ASSIGNED, lambda path: ["break values.py:4", "run", *first, *second], python)
                self.assertEqual(re.findall("^> (.*)$", output, re.M), ["(5, 'newnewnewnewnew', -7, 2.0)", "-7 2", "9"], output)
                self.assertEqual(re.findall("^((?:inner|outer) .*)$", output, re.M),
                                 [f"inner 5 {5 * 'new'} -7 9 {5 * 'new'}", "outer [3] 0.5", "inner 1 t 2.5 1.5 t", "outer 4 [4]"], output)
                self.assertIn("n keeps its value: NameError: name 'nobody' is not defined\n", output)

    def test_detached_before_the_call_has_ended(self):
        """Only gdb knows where a function that it has called returns to."""
        ours = ["break values.py:4", "continue", "break time_sleep", 'print py("time.sleep(0.1)")', "delete", "detach"]
        with tempfile.TemporaryDirectory() as folder:
            host, path = os.path.join(folder, "host"), os.path.join(folder, "values.py")
            harness.run("gcc", "-g", "-x", "c", "-o", host, "-", input=HOST)
            with open(path, "w") as file:
                file.write(WAITS)
            for name, commands, command in (("host", ["break usleep", "print work()", "delete", "detach"], [host]),
                                            ("ours", ours, [*run(1)[:-1], path])):
                with self.subTest(name), harness.Background(*map(str, command), until="ready\n") as program:
                    output = harness.gdb(commands, options=["-p", str(program.pid)])
                    self.assertIn("stopped while in a function called from GDB", output)
                    self.assertEqual(program.process.wait(60), -signal.SIGSEGV, output)

    def test_python_code_runs_in_the_selected_frame(self):
        for python in PYTHONS:
            with self.subTest(python):
                self.asks(python)


RAISES = """import contextlib

def inner(n):
    return int(n)

def outer(n):
    for each in range(3):  # ends without an exception that anybody sees
        pass
    try:
        return inner(n)
    finally:
        each = 0

def generator():
    yield 1
    raise KeyError("generator")

class Own(Exception):
    def __getattribute__(self, name):
        raise SystemError(name)

print("begin", flush=True)
with contextlib.suppress(ValueError):
    outer("x")
with contextlib.suppress(KeyError):
    list(generator())
with contextlib.suppress(Own):
    raise Own
print("end", flush=True)
"""

HANDLED = """def down(n):
    if n > 0:
        return down(n - 1)
    raise KeyError(n) if n else ValueError(n)

def handle(n):
    try:
        down(n)
    except ValueError:
        n = 0

handle(2)
try: handle(-1)
except KeyError: print("end")
"""

UNCAUGHT = """import sys, threading
def wrong(n):
    return {}[n]

def caught():
    try: wrong(1)
    except KeyError:
        if len(sys.argv) < 2 or not sys.argv[1]: raise ValueError(2)

def thread():
    try: wrong(3)
    finally: None

def main():
    try: caught()
    except ValueError: None
    each = threading.Thread(target=thread)
    each.start()
    each.join()
    caught()
    sys.exit(3)

main()
"""


@harness.needs_gdb
@harness.needs_python_lines
class Exceptions(unittest.TestCase):
    def test_where_they_are_raised(self):
        raised = [("ValueError", "inner:4"), ("KeyError", "generator:16"), ("Own", "<module>:28")]
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "raises.py")
                with open(path, "w") as file:
                    file.write(RAISES)
                output = harness.gdb([*CHEAP, "break raises.py:22", "run", "break python_exception_raised", "commands", "silent",
                                      'printf "raised %s\\n", exception', "up", "continue", "end", "continue"], *run(1, python=python)[:-1], path)
                self.assertEqual(re.findall(r"^raised (\w+)\n#1 .* in raises\.(\S+) \(.*\) at \S+/raises\.py:(\d+)$", output, re.M),
                                 [(name, *place.split(":")) for name, place in raised], output)
                self.assertRegex(output, r"end\n(?s:.*)exited normally")

    def test_from_the_programs_first_line_on(self):
        """Python's own start raises about a hundred, and each import some; what an importer raises is the importing line's."""
        importing = "try: import missing\nexcept ImportError: None\ntry: import broken\nexcept SyntaxError: print('end')\n"
        stop = ["break python_exception_raised", "commands", "silent", 'printf "raised %s\\n", exception', "up", "continue", "end", "run"]
        for python in PYTHONS:
            with tempfile.TemporaryDirectory() as folder:
                for name, text in ("importing.py", importing), ("broken.py", "x = (\n"):
                    with open(os.path.join(folder, name), "w") as file:
                        file.write(text)
                gorgon = [harness.GORGON, "run", f"--python={python}"]
                host = [harness.HOST, "-n", 1, f"import sys; sys.path[:0] = [{folder!r}]; import importing"]
                for command in [gorgon + [os.path.join(folder, "importing.py")], gorgon + ["-m", "importing"],
                                gorgon + ["-c", importing], *[host] * (python == PYTHONS[0])]:
                    with self.subTest(command=command), harness.environment({"PYTHONPATH": folder}):
                        output = harness.gdb(stop, *map(str, command))
                        self.assertEqual(re.findall(r"^raised (\w+)$", output, re.M), ["ModuleNotFoundError", "SyntaxError"], output)
                        self.assertEqual(re.findall(r"^#1 .* in importing\.<module> \(\) at \S+/importing\.py:(\d+)$", output, re.M),
                                         [] if "-c" in command else ["1", "3"], output)
                        self.assertRegex(output, r"end\n(?s:.*)exited normally")

    def test_what_the_standard_library_raises(self):
        """Where it reaches the program's own line, once; what the library catches itself stops nobody. In each mode."""
        module = """import ast, enum, json, re, threading

def load(text):
    try:
        return json.loads(text)
    except ValueError:
        return re.sub("(a)|b", "x", text)

def work(n):
    thread = threading.Thread(target=load, args=("{",))
    thread.start()
    thread.join()
    return load("]")
"""
        executor = """from gorgon import InterpreterPoolExecutor
import reached
if __name__ == "__main__":
    with InterpreterPoolExecutor(1) as pool:
        print(list(pool.map(reached.work, range(2))))
"""
        interpreters = "from gorgon import interpreters\nmade = interpreters.create()\nmade.exec('import reached; reached.work(1), reached.work(2)')\n"
        program = "import reached; reached.work(1); reached.work(2)"
        stop = ["set breakpoint pending on", "break python_exception_raised", "commands", "silent", 'printf "raised %s\\n", exception', "up", "continue", "end", "run"]
        with tempfile.TemporaryDirectory() as folder:
            harness.install_package(folder)
            for name, text in ("reached.py", module), ("executor.py", executor), ("interpreters.py", interpreters), ("program.py", program + "\n"):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            hosted = f"import sys; sys.path[:0] = [{folder!r}]; {program}"
            commands = {"executor": [harness.PYTHON3, os.path.join(folder, "executor.py")],
                        "interpreters": [harness.PYTHON3, os.path.join(folder, "interpreters.py")],
                        "host": [harness.HOST, "-n", 1, hosted],
                        **{f"file {python}": [harness.GORGON, "run", f"--python={python}", os.path.join(folder, "program.py")] for python in PYTHONS},
                        "-m": [harness.GORGON, "run", "-m", "program"], "-c": [harness.GORGON, "run", "-c", program]}
            for name, command in commands.items():
                with self.subTest(mode=name), harness.environment({"PYTHONPATH": folder}):
                    output = harness.gdb([*CHEAP, *stop], *map(str, command))
                    self.assertEqual(re.findall(r"^raised (\w+)\n#1 .* in reached\.(\w+) \(.*\) at \S+/reached\.py:(\d+)$", output, re.M),
                                     4 * [("JSONDecodeError", "load", "5")], output)
                    self.assertEqual(len(re.findall(r"^raised .*\n#1 (?!.* in _crossing\.)", output, re.M)), 4, output)  # that file is the package's
            command = [harness.GORGON, "run", "--python-lines=all", "-c", "import reached; reached.load(']')"]
            with harness.environment({"PYTHONPATH": folder}):
                output = harness.gdb([*CHEAP, 'tbreak python_exception_raised if $_streq(exception, "JSONDecodeError")', "run", "up"], *command)
            self.assertRegex(output, r"(?m)^#1 .* in decoder\.JSONDecoder\.raw_decode \(")

    def test_steps_from_it(self):
        """As from a function that the frame has called: to where the exception is handled, and to the frame itself."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "handled.py")
                with open(path, "w") as file:
                    file.write(HANDLED)
                output = harness.gdb(["break handled.py:7", "run", "break python_exception_raised", "delete 1", "continue", "next", "next",
                                      "continue", "finish", "next", "continue"], *run(1, python=python)[:-1], path)
                self.assertRegex(output, r'python_exception_raised \(exception=0x\w+ "ValueError"\)\n(?s:.*)\n9\t    except ValueError:\n10\t')
                self.assertRegex(output, r'(?s)\(exception=0x\w+ "KeyError"\)\n.* in handled\.down \(n=0x\w+ "-1"\) at \S+:4\n4\t.*\n9\t    except ValueError')
                self.assertNotIn("gorgon_lines", output)
                self.assertRegex(output, r"end\n(?s:.*)exited normally")

    def test_uncaught(self):
        """In the main program and in a thread; not what a function catches, and not sys.exit()."""
        for python in PYTHONS:
            with self.subTest(python=python), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "uncaught.py")
                with open(path, "w") as file:
                    file.write(UNCAUGHT)
                for word, expected in ("", [("KeyError", "uncaught.py:3"), ("ValueError", "uncaught.py:8")]), ("exits", [("KeyError", "uncaught.py:3")]):
                    stop = ['printf "left %s %s\\n", exception, where', "up", "continue"]
                    output = harness.gdb(["break python_exception_uncaught", "run", *stop, *stop], *run(1, python=python)[:-1], path, word)
                    found = re.findall(r"^left (\w+) (\S+)$", output, re.M)
                    self.assertEqual([(name, os.path.basename(place)) for name, place in found], expected, output)
                    self.assertEqual(re.findall(r"^#1 .* in (uncaught\S+) \(\) at \S+/uncaught\.py:(\d+)$", output, re.M),
                                     [] if word else [("uncaught.<module>", "23")], output)

    def test_of_one_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "raises.py")
            with open(path, "w") as file:
                file.write(RAISES)
            output = harness.gdb(["break raises.py:22", "run", 'break python_exception_raised if $_streq(exception, "KeyError")', "continue",
                                  "bt 2", "continue"], *run(1)[:-1], path)
        self.assertRegex(output, r'hit Breakpoint 2, 0x\w+ in python_exception_raised \(exception=0x\w+ "KeyError"\)\n')
        self.assertRegex(output, r"(?m)^#1 +0x\w+ in raises\.generator \(\) at \S+:16$")
        self.assertEqual(output.count("hit Breakpoint 2"), 1, output)
