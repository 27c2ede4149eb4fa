# SPDX-License-Identifier: MIT
"""Each block of code and each session in the documents is run, and says what the document says, numbers and addresses apart."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness
from harness import BUILD, GORGON, MODULES, PYTHON3, ROOT, SANITIZED, SYMDUMP, Background, run

sys.path.insert(0, os.path.join(ROOT, "tests"))
from readme import pattern  # noqa: E402  pylint: disable=wrong-import-position

DOCUMENTS = ["README.md", "python/README.md", "examples/README.md",
             *(f"docs/{name}" for name in sorted(os.listdir(f"{ROOT}/docs")) if name.endswith(".md"))]

# Blocks that other tests run or compare: (document, number) -> the file of the test, which reads the document.
ELSEWHERE = {
    ("README.md", 0): "tests/gdb/test_python_lines.py",
    ("README.md", 4): "tests/gdb/test_readme.py",
    ("docs/mixed.md", 0): "tests/gdb/test_python_lines.py",
    ("docs/mixed.md", 1): "tests/gdb/test_python_lines.py",
    ("python/README.md", 0): "tests/run/test_executor.py",
    ("python/README.md", 1): "tests/run/test_interpreters_api.py",
    ("docs/architecture.md", 1): "tests/architecture.py",
    ("docs/architecture.md", 2): "tests/architecture.py",
    ("docs/architecture.md", 3): "tests/architecture.py",
    ("docs/debugging.md", 0): "tests/lldb/test_readme.py",
    **{("docs/embedding.md", number): "tests/run/test_install.py" for number in (1, 2, 3, 4, 5)},
    **{("docs/embedding.md", number): "tests/long/languages.py" for number in (9, 10, 11)},
    **{("docs/tutorial.md", number): "tests/run/test_documents_tutorial.py" for number in range(6)},
}
# Nothing to run: a drawing.
DRAWN = {("docs/architecture.md", 0)}

CHECKS = {}


def block(document, *numbers):
    """The decorated test checks these blocks of a document."""
    def register(test):
        for number in numbers:
            assert (document, number) not in CHECKS
            CHECKS[document, number] = test.__name__
        return test
    return register


def text(document, number):
    return blocks(document)[number]


def blocks(document):
    with open(f"{ROOT}/{document}") as file:
        return re.findall(r"^```\w*\n(.*?)^```", file.read(), re.M | re.S)


def session(document, number):
    """[(command, [lines that it prints])] of a block whose commands begin with `$ ` or `# `."""
    found = []
    for line in text(document, number).splitlines():
        if line.startswith(("$ ", "# ")):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def shell(self, command, env=None, **kwargs):
        """A command of a document, with our programs before others in PATH."""
        result = run("bash", "-o", "pipefail", "-c", command, cwd=kwargs.pop("cwd", self.folder),
                     env={"PATH": f"{BUILD}:{os.environ['PATH']}", **(env or {})}, **kwargs)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}{result.stderr}")
        return result.stdout + result.stderr

    def compare(self, said, lines):
        """Each line is there with its words in their order, one after the other."""
        at = 0
        for line in lines:
            if line.strip() == "...":
                continue
            found = re.compile(pattern(line)).search(said, at)
            self.assertTrue(found, f"{line!r} is not in, or not there:\n{said}")
            at = found.end()

    def write(self, name, code):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(code)


class Every(unittest.TestCase):
    def test_each_block_has_a_check(self):
        found = {(document, number) for document in DOCUMENTS for number in range(len(blocks(document)))}
        self.assertEqual(found, set(CHECKS) | set(ELSEWHERE) | DRAWN)
        self.assertEqual(set(CHECKS) & set(ELSEWHERE), set())

    def test_a_check_elsewhere_reads_the_document(self):
        for (document, _), name in ELSEWHERE.items():
            reader = "tests/readme.py" if name.endswith("test_readme.py") else name
            with open(f"{ROOT}/{reader}") as file:
                self.assertIn(os.path.basename(document) if reader == name else "README.md", file.read(), name)


class Commands(Case):
    @block("README.md", 1)
    @block("docs/embedding.md", 0)
    def test_targets_of_make_are_there(self):
        """Whole runs of them are `make check-roots`, in roots of Debian's releases."""
        for document in "README.md", "docs/embedding.md":
            for target in re.findall(r"\bmake ([a-z]+)", text(document, 0)):
                run("make", "-n", "-C", ROOT, target, "DEPS=no").check_returncode()
        self.assertIn("make install", text("README.md", 1))

    @block("README.md", 2)
    def test_run(self):
        (command, lines), = session("README.md", 2)
        self.assertEqual(self.shell(command).splitlines(), lines)

    @block("docs/command.md", 0)
    @unittest.skipIf(SANITIZED, "the sanitizer's handlers come first")
    def test_report_of_a_fault(self):
        self.write("model.py", "import ctypes, gorgon, time\n"
                   "def inner():\n    lib.fault_write()\n\n\n"
                   f"lib = ctypes.CDLL({MODULES + '/libfaults.so'!r})\n"
                   "if gorgon.interpreter != 1:\n    time.sleep(1000)\ninner()\n")
        result = run(GORGON, "run", "-n", 2, "model.py", cwd=self.folder)
        self.compare(result.stderr, text("docs/command.md", 0).splitlines())

    @block("docs/command.md", 1)
    @unittest.skipUnless(harness.VERSION == "3.11", "the session is with CPython 3.11")
    def test_dependencies(self):
        (command, lines), = session("docs/command.md", 1)
        self.compare(self.shell(command), lines)

    @block("docs/command.md", 3)
    def test_doctor(self):
        """What doctor finds differs from machine to machine: its rows and their order do not."""
        (command, lines), = session("docs/command.md", 3)
        rows = [line[9:].split("  ")[0] for line in lines if not line.startswith(" ")]
        said = run(*command.replace("gorgon", GORGON, 1).split()).stdout
        found = [line[9:].split("  ")[0] for line in said.splitlines() if not line.startswith(" ")]
        self.assertEqual([row for row in found if row in rows], rows, said)

    @block("docs/machines.md", 0)
    def test_a_build_for_aarch64_is_planned(self):
        """`make check-arm` builds it; here make reads the rules with these variables."""
        command = text("docs/machines.md", 0).strip()
        self.assertRegex(command, r"^make .*BUILD=build/aarch64$")
        self.assertIn("aarch64-linux-gnu-gcc --sysroot=ROOT", run("bash", "-c", f"{command} -n -B -C {ROOT} DEPS=no build/aarch64/libjitreg.so")
                      .stdout)

    @block("examples/README.md", 0)
    @unittest.skipIf(SANITIZED, "an ordinary program is linked without a sanitizer")
    def test_examples_are_built_as_said(self):
        shutil.copytree(f"{ROOT}/examples", f"{self.folder}/examples")
        run("make", "-C", ROOT, "install", f"BUILD={BUILD}", "PREFIX=/usr/local", f"DESTDIR={self.folder}/root", "DEPS=no",
            env={"MAKEFLAGS": None}).check_returncode()
        commands = text("examples/README.md", 0)
        self.assertIn("$(pkg-config --cflags python3)", commands)
        commands = commands.replace("$(pkg-config --cflags python3)", f"-I/usr/include/python{harness.VERSION}")
        self.shell(commands, cwd=f"{self.folder}/examples", env=installed(f"{self.folder}/root"))
        self.assertTrue(os.path.exists(f"{self.folder}/examples/librunner.so"))


def installed(root):
    """The environment in which a compiler finds what `make install` has put below a folder."""
    return {"PKG_CONFIG_PATH": f"{root}/usr/local/lib/pkgconfig:{root}/usr/local/lib/x86_64-linux-gnu/pkgconfig",
            "PKG_CONFIG_SYSROOT_DIR": root}


class Python(Case):
    def python(self, code, before=""):
        """A block of Python, as a user of the package runs it."""
        harness.install_package(self.folder)
        result = run(PYTHON3, "-c", before + code, env={"PYTHONPATH": self.folder})
        self.assertEqual((result.stderr, result.returncode), ("", 0))

    @block("README.md", 3)
    @unittest.skipIf(SANITIZED, "an ordinary python3 loads no library with a sanitizer")
    def test_an_executor(self):
        before = ("import numpy\ndef load_model():\n    global model\n    model = 2\n"
                  "def work(part): return (part * model).sum()\nparts = [numpy.arange(n) for n in range(5)]\n")
        self.python(text("README.md", 3) + "assert results == [0, 0, 2, 6, 12], results\n", before)

    @block("docs/arrays.md", 0)
    def test_arrays(self):
        code = text("docs/arrays.md", 0).replace("1e8", "1e5")
        self.assertIn('gorgon.receive("numbers")', code)
        self.write("arrays.py", f"import gorgon, threading, time\nif gorgon.interpreter == 0:\n{re.sub('^', '    ', code, flags=re.M)}"
                   "\n    time.sleep(0.5)\nelse:\n    import numpy\n    while True:\n        try:\n"
                   "            print(numpy.asarray(gorgon.receive('numbers')).sum())\n            break\n"
                   "        except KeyError:\n            time.sleep(0.01)\n")
        self.assertEqual(self.shell("gorgon run -n 2 arrays.py").strip(), str(sum(range(100000)) * 1.0))

    @block("docs/editors.md", 0)
    def test_debugpy(self):
        """tests/run/test_debugpy.py debugs with it; here its calls are those of the document."""
        code = text("docs/editors.md", 0)
        self.write("debugpy.py", "def listen(address): print(*address)\ndef wait_for_client(): print('waits')\n")
        self.write("program.py", code)
        self.assertEqual(self.shell("gorgon run -n 1 program.py").split("\n")[:2], ["127.0.0.1 5678", "waits"])


class Checkers(Case):
    @block("docs/debugging.md", 2)
    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    @unittest.skipIf(SANITIZED, "valgrind takes no program with a sanitizer")
    def test_valgrind_and_the_address_sanitizer(self):
        (valgrind, lines), (sanitizer, _) = session("docs/debugging.md", 2)
        self.write("overrun.c", '#include <stdlib.h>\n#include <string.h>\n__attribute__((noinline)) void overrun(int n)\n{\n'
                   '\tchar *bytes = malloc(n);\n\tmemset(bytes + n, 1, 1);\n\tfree(bytes);\n}\n')
        self.shell("gcc -g -O0 -fno-builtin -shared -fPIC overrun.c -o overrun.so")
        self.write("program.py", f"import ctypes\nctypes.CDLL('{self.folder}/overrun.so').overrun(8)\n")
        said = self.shell(valgrind.replace("/usr/local/share/gorgon", f"{ROOT}/tools"))
        # Only valgrind's own debug information has the line of its memset().
        self.compare(said, [line.partition(" (vg_")[0] for line in lines])
        self.write("program.py", "print('ran')\n")
        self.assertEqual(self.shell(sanitizer.partition("  #")[0], env={"ASAN_OPTIONS": "detect_leaks=0"}), "ran\n")


class Embedding(Case):
    @block("docs/embedding.md", 6, 7)
    @unittest.skipIf(SANITIZED, "an ordinary program is linked without a sanitizer")
    def test_calls(self):
        """The lines stand in a host with the declarations that they need."""
        self.write("nets.py", "class Model:\n    def __init__(self, size): self.size = size\n    def forward(self, x): return x * self.size\n")
        self.write("model.py", "def predict(x): return x + 1\n")
        self.write("host.c", "#include <gorgon.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                   "static void check(struct gorgon_error *err)\n{\n\tif (err) {\n\t\tfprintf(stderr, \"%s\\n\", gorgon_error_message(err));\n"
                   "\t\texit(1);\n\t}\n}\nint main(void)\n{\n\tstruct gorgon_interp *interp;\n\tstruct gorgon_value ret, value;\n"
                   "\tstruct gorgon_pyobject *class, *model, *forward, *result;\n"
                   "\tstruct gorgon_value number = {.kind = GORGON_VALUE_INT, .integer = 20};\n"
                   "\tstruct gorgon_value args = {.kind = GORGON_VALUE_LIST, .list = {&number, 1}}, x = args;\n"
                   "\tcheck(gorgon_interp_create(NULL, &interp));\n"
                   + text("docs/embedding.md", 6) + text("docs/embedding.md", 7) +
                   "\tprintf(\"%lld %lld\\n\", (long long)ret.integer, (long long)value.integer);\n\treturn 0;\n}\n")
        self.shell(f"gcc -Wall host.c -o host -I{ROOT}/loader -L{BUILD} -lgorgon -Wl,-rpath,{BUILD} -pthread")
        self.assertEqual(self.shell("./host", env={"PYTHONPATH": self.folder}), "21 400\n")

    @block("docs/embedding.md", 8)
    @unittest.skipIf(SANITIZED, "an ordinary program is linked without a sanitizer")
    def test_a_function_of_the_host(self):
        self.write("host.c", "#include <gorgon.h>\n#include <stdio.h>\n#include <stdlib.h>\n" + text("docs/embedding.md", 8) +
                   "static void check(struct gorgon_error *err)\n{\n\tif (err) {\n\t\tfprintf(stderr, \"%s\\n\", gorgon_error_message(err));\n"
                   "\t\texit(1);\n\t}\n}\nint main(void)\n{\n\tstruct gorgon_function_opts opts = {.size = sizeof(opts), .name = \"add\", .call = add};\n"
                   "\tstruct gorgon_interp *interp;\n\tstruct gorgon_pyobject *function, *module;\n\tstruct gorgon_value value;\n"
                   "\tcheck(gorgon_interp_create(NULL, &interp));\n\tcheck(gorgon_interp_start(interp, NULL));\n"
                   "\tcheck(gorgon_function_create(interp, &opts, &function));\n\tcheck(gorgon_pyobject_find(interp, NULL, NULL, &module));\n"
                   "\tvalue = gorgon_value_of_object(function);\n\tcheck(gorgon_pyobject_set_attr(module, \"add\", &value));\n"
                   "\tcheck(gorgon_interp_run_string(interp, \"print(add(1, 2))\\ntry:\\n    add(1)\\nexcept TypeError as error:\\n    print(error)\\n\", NULL));\n"
                   "\treturn 0;\n}\n")
        self.shell(f"gcc -Wall host.c -o host -I{ROOT}/loader -L{BUILD} -lgorgon -Wl,-rpath,{BUILD} -pthread")
        self.assertEqual(self.shell("./host"), "3\nadd() takes two numbers\n")

    @block("docs/tenants.md", 0)
    def test_customers(self):
        (_, lines), = session("docs/tenants.md", 0)
        self.compare(run(f"{BUILD}/examples/customers").stdout, lines)


class Running(Case):
    """Sessions about programs that run, with programs that do what the ones of the page did."""

    def background(self, code, count=2, asleep=0):
        self.write("shares.py", "print('begins', flush=True)\n" + code)
        program = Background(GORGON, "run", "-n", count, f"{self.folder}/shares.py", until=r"(?:begins\n){%d}" % count, asleep=asleep)
        self.addCleanup(program.stop)
        return program.pid

    @block("docs/command.md", 2)
    @block("docs/debugging.md", 1)
    @unittest.skipIf(SANITIZED, "a sanitizer's interpreters are asked in tests/run/test_exec.py")
    def test_exec(self):
        pid = self.background("import gorgon, threading, time\nfor _ in range(2 * gorgon.interpreter):\n"
                              "    threading.Thread(target=time.sleep, args=(1000,)).start()\ntime.sleep(1000)\n", asleep=4)
        self.write("collect.py", "import gc\nprint(gc.collect() >= 0)\n")
        (count, counts), (collect, _) = session("docs/command.md", 2)
        self.assertEqual(self.shell(count.replace("4711", str(pid))).splitlines(), counts)
        self.assertEqual(self.shell(collect.replace("4711", str(pid))).strip(), "True")
        stacks = text("docs/debugging.md", 1)
        self.assertIn("-i 2", stacks)
        self.assertIn("in <module>", self.shell(stacks.replace("4711", str(pid)).replace("-i 2", "-i 1")))

    @block("docs/symdump.md", 0)
    def test_find_and_stacks(self):
        pid = self.background("import time\ndef f(): return lambda: time.sleep(1000)\nf()()\n", asleep=2)
        (find, found), (stacks, frames) = session("docs/symdump.md", 0)
        self.compare(self.shell(re.sub(r"\d{4,}", str(pid), find)), found)
        said = run(SYMDUMP, pid, "--stacks").stdout
        self.assertTrue(stacks.endswith("--stacks | head -8"))
        for line in frames:  # inlined functions differ from build to build of libpython
            if re.search(r"time_sleep|EvalFrame|lambda|clock_nanosleep", line):
                self.assertRegex(said, pattern(re.sub(r"^#\d+ +0x\w+|\S+:\d+$", "", line)), said)

    @block("docs/symdump.md", 1)
    def test_top(self):
        pid = self.background("while True: pass\n")
        (command, lines), = session("docs/symdump.md", 1)
        said = run(SYMDUMP, pid, "--top", "--iterations", "1").stdout if "--iterations" in run(SYMDUMP, "--help").stdout else \
            run("timeout", "3", SYMDUMP, pid, "--top").stdout
        self.assertTrue(command.endswith("--top"))
        self.compare(said, lines[:3])

    @block("docs/symdump.md", 2)
    def test_record(self):
        pid = self.background("def five():\n    while True: pass\nfive()\n")
        (record, lines), (flames, _), (speedscope, _) = session("docs/symdump.md", 2)
        said = self.shell(re.sub(r"\d{4,}", str(pid), record))
        self.assertRegex(said, r"(?m)^interp 0;thread \d+ \(interp 0\);\[GIL\];<module> \(\S*shares.py:\d+\);five \(\S*shares.py:\d+\) \d+$")
        self.assertTrue(all(re.match(r"interp \d;thread \d+ \(interp \d\);\[(no )?GIL\];", line) for line in lines))
        for command, name, begins in (flames, "flames.svg", "<?xml|<svg"), (speedscope, "profile.json", "{"):
            self.shell(re.sub(r"\d{4,}", str(pid), command).replace("--record 10", "--record 1"))
            with open(f"{self.folder}/{name}") as file:
                self.assertTrue(file.read().startswith(tuple(begins.split("|"))))

    @block("docs/symdump.md", 3, 4, 5)
    def test_other_profilers(self):
        """tests/symdump/test_perf.py runs perf, where the machine allows it; here their lines name our options."""
        self.assertIn("perf record gorgon run -n 2", text("docs/symdump.md", 3))
        self.assertIn("gorgon-symdump 4711 --perf-map > /tmp/perf-4711.map", text("docs/symdump.md", 4))
        self.assertIn("gorgon run -n 3 -c pass", text("docs/symdump.md", 5))
        pid = self.background("import time\ntime.sleep(1000)\n", count=1, asleep=1)
        self.assertRegex(run(SYMDUMP, pid, "--perf-map").stdout, r"(?m)^[0-9a-f]+ [0-9a-f]+ \S+|\A\Z")


if __name__ == "__main__":
    unittest.main()
