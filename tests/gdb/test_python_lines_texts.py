# SPDX-License-Identifier: MIT
"""Plain gdb and code that is in no file: -c, exec(), cells of a notebook, modules in a zip file. And the standard library."""

import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_lines import CHEAP, PYTHONS, later  # noqa: E402
from python_texts import KINDS, LEFT_OUT, text_of, write_program  # noqa: E402


@harness.needs_python_lines
@harness.needs_gdb
class Texts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def gdb(self, commands, *options, python, count=1):
        return harness.gdb([*CHEAP, *commands], harness.GORGON, "run", "-n", count, "--python-lines=on", f"--python={python}", *options)

    def check_stops(self, output, count=1):
        """Each text was stopped at its second line, which was shown, and stepped over."""
        for kind, (_, name) in KINDS.items():
            place = rf"hit Breakpoint [\d.]+, (?:\S+|made by hand)\.{kind} \(n=\.\.\.\) at \S*/{re.escape(name)}:2\n2\t    made = n \+ 1\n"
            self.assertEqual(len(re.findall(place, output)), count, f"{kind}\n{output}")

    def test_each_kind_in_each_version(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                names = sorted({name for _, name in KINDS.values()})
                output = self.gdb([*(f"break {name}:2" for name in names), "run", *len(KINDS) * ["next", "info locals", "continue"]],
                                  write_program(self.folder), python=python)
                self.check_stops(output)
                self.assertEqual(len(re.findall(r'^3\t    return made\nmade = 0x\w+ "5"$', output, re.M)), len(KINDS), output)
                self.assertRegex(output, r"(?s)Point\(x=1, y=2\) Pair\(a=1, b=2\) 3\n.*\bend\n.*exited normally")

    def test_several_interpreters(self):
        count = 3
        output = self.gdb([*(f"break {name}:2" for name in sorted({name for _, name in KINDS.values()})), "run",
                           *count * len(KINDS) * ["continue"], *later(count)], write_program(self.folder), python=harness.PYTHON, count=count)
        self.check_stops(output, count)

    def test_program_of_the_command_line(self):
        for python in PYTHONS:
            for exec_of_library in ("", LEFT_OUT):
                with self.subTest(python=python, exec_of_library=exec_of_library):
                    output = self.gdb(["break <string>.work", "run", "bt", "finish"], "-c", exec_of_library + text_of("work"), python=python)
                    first = exec_of_library.count("\n") + 1
                    self.assertRegex(output, rf"(?m)^#0 +<string>\.work \(n=\.\.\.\) at \S+/gorgon/sources/\w+/<string>:{first}$")
                    self.assertRegex(output, rf"(?m)^#1 +0x\w+ in <string>\.<module> \(\) at \S+/<string>:{first + 4}$")

    def test_program_of_one_line(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                output = self.gdb(["break python_exception_raised", "run", "bt 2"], "-c", "import json; json.loads('{')", python=python)
                self.assertRegex(output, r"(?m)^#1 +0x\w+ in <string>\.<module> \(\) at \S+/<string>:1$")

    def test_bytecode_without_its_source(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                with open("bytecode.py", "w") as file:
                    file.write(text_of("work"))
                harness.run(python, "-c", "import os, py_compile; py_compile.compile(os.path.abspath('bytecode.py'), 'bytecode.pyc')")
                os.remove("bytecode.py")
                output = self.gdb(["break bytecode.py:2", "run", "next", "info locals", "bt 2"], "-c", "import bytecode", python=python)
                self.assertRegex(output, r"(?m)hit Breakpoint 1, bytecode\.work \(n=\.\.\.\) at /\S+/bytecode\.py:2$")
                self.assertRegex(output, r'(?m)^made = 0x\w+ "5"$')
                self.assertRegex(output, r"(?m)^#1 +0x\w+ in bytecode\.<module> \(\) at /\S+/bytecode\.py:5$")

    def test_each_mode(self):
        """A host's interpreters, a call of the executor, gorgon.interpreters, a child that a program forks."""
        harness.install_package(self.folder)
        run = f"exec({text_of('work')!r}, {{}})"
        programs = {"executor.py": "from gorgon import InterpreterPoolExecutor\nwith InterpreterPoolExecutor(1) as pool:\n    pool.submit(work).result()\n",
                    "interpreters.py": f"from gorgon import interpreters\nmade = interpreters.create()\nmade.exec({text_of('work')!r})\nmade.close()\n",
                    "forks.py": f"import os\nif not os.fork():\n    {run}\n    os._exit(0)\nos.wait()\n"}
        programs["executor.py"] = f"def work():\n    {run}\n" + programs["executor.py"]
        for name, text in programs.items():
            with open(name, "w") as file:
                file.write(text)
        commands = {"host": ("<string>", [harness.HOST, "-n", 2, run], 2), "executor": ("<string>", [harness.PYTHON3, "executor.py"], 1),
                    "interpreters": ("<script>", [harness.PYTHON3, "interpreters.py"], 1),
                    "child": ("<string>", [harness.GORGON, "run", "--python-lines=on", "forks.py"], 1)}
        for mode, (name, command, count) in commands.items():
            with self.subTest(mode=mode), harness.environment({"PYTHONPATH": self.folder}):
                follow = ["set follow-fork-mode child"] if mode == "child" else []
                output = harness.gdb([*CHEAP, f"break {name}:2", *follow, "run", *count * ["continue"], *later(count)],
                                     *map(str, command))
                place = rf"hit Breakpoint [\d.]+, {name}\.work \(n=\.\.\.\) at \S*/{name}:2\n2\t    made = n \+ 1\n"
                self.assertEqual(len(re.findall(place, output)), count, output)

    def test_no_folder_for_the_text(self):
        """The lines are there, and what they say is not."""
        with harness.environment({"XDG_CACHE_HOME": None, "HOME": None}):
            output = self.gdb(["break <string>:2", "run", "next", "info locals"], "-c", text_of("work"), python=harness.PYTHON)
        self.assertRegex(output, r"(?m)hit Breakpoint 1, <string>\.work \(n=\.\.\.\) at /<string>:2$")
        self.assertRegex(output, r'(?m)^made = 0x\w+ "5"$')

    def test_texts_that_have_one_name(self):
        """The text is shown that has made the code, also of code that was compiled before another text."""
        program = "".join(f"code_{i} = compile('def made_{i}(n):\\n    value_{i} = n\\n    return value_{i}\\n', '<string>', 'exec')\n"
                          for i in range(5)) + "".join(f"exec(code_{i})\nmade_{i}({i})\n" for i in (3, 1, 4, 0, 2))
        with open("named.py", "w") as file:
            file.write(program)
        output = self.gdb(["break <string>:2", "run", *4 * ["continue"]], "named.py", python=harness.PYTHON)
        self.assertEqual(re.findall(r"<string>\.made_(\d) \(n=\.\.\.\).*\n2\t    value_(\d) = n$", output, re.M),
                         [(i, i) for i in "31402"], output)

    def test_many_texts(self):
        """An interpreter's texts have lines up to a number, and the program runs on."""
        with open("many.py", "w") as file:
            file.write("for i in range(300):\n    exec(f'def many_{i}(n):\\n    return n\\nmany_{i}({i})\\n')\nprint('end', i)\n")
        output = self.gdb(["break many_255", "break <string>.many_250", "break <string>.many_290", "run", "continue"], "many.py", python=harness.PYTHON)
        self.assertIn("<string>.many_250 (", output)
        self.assertNotIn("<string>.many_290 (", output)
        self.assertRegex(output, r"end 299\n(?s:.*)exited normally")


LIBRARY = """import json

def convert(value):
    return repr(value)

def main():
    text = json.dumps({"a": main}, default=convert)
    return text

print(main()[:8])
"""


@harness.needs_python_lines
@harness.needs_gdb
class StandardLibrary(unittest.TestCase):
    def session(self, mode, python, *commands):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "library.py")
            with open(path, "w") as file:
                file.write(LIBRARY)
            return harness.gdb([*CHEAP, *commands], harness.GORGON, "run", f"--python-lines={mode}", f"--python={python}", path)

    def test_all_has_lines_of_it(self):
        for python in PYTHONS:
            with self.subTest(python=python):
                output = self.session("all", python, "break library.py:4", "break json.dumps", "run", "continue", "bt", "continue")
                self.assertRegex(output, r"hit Breakpoint 2, json\.dumps \(.*\) at \S*/json/__init__\.py:\d+\n\d+\tdef dumps")
                stack = re.findall(r"^#\d+ +(?:0x\w+ in )?([a-z]+\.\S+) \(", output, re.M)
                self.assertEqual(stack, ["library.convert", "encoder.JSONEncoder.iterencode", "encoder.JSONEncoder.encode", "json.dumps",
                                         "library.main", "library.<module>"], output)

    def test_steps_go_through_it_without_lines(self):
        for mode, ends in (("on", ["library.convert"]), ("all", ["json.dumps"])):
            with self.subTest(mode=mode):
                output = self.session(mode, harness.PYTHON, "break library.py:7", "run", "delete", "echo === step\\n", "step", "bt 1")
                self.assertEqual(re.findall(r"^#0 +(\S+) \(", output.partition("=== step\n")[2], re.M), ends, output)


if __name__ == "__main__":
    unittest.main()
