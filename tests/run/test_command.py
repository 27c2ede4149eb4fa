# SPDX-License-Identifier: MIT
"""The gorgon command, as somebody at a prompt uses it."""

import json
import os
import re
import shutil
import signal
import tempfile
import unittest

from harness import (Background, GORGON, LIBPYTHON, PYTHON, PYTHON3, ROOT, SANITIZED, SONAME, VENV_PYTHON,
                     run)

NUMPY = "import numpy as np; print((np.arange(6.).reshape(2,3) @ np.arange(6.).reshape(3,2)).tolist())"
PRODUCT = "[[10.0, 13.0], [28.0, 40.0]]"


def gorgon(*args, **kwargs):
    return run(GORGON, *args, **kwargs)


class Run(unittest.TestCase):
    maxDiff = None

    def check(self, result, stdout, status=0, stderr=""):
        self.assertEqual((result.stdout, result.stderr, result.returncode), (stdout, stderr, status))

    def fails(self, result, status, *fragments):
        """The result is one line on stderr that contains all of these texts, and nothing on stdout."""
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, r"\Agorgon: [^\n]+\n\Z")
        for fragment in fragments:
            self.assertIn(fragment, result.stderr)

    def test_numpy_in_four_interpreters_prints_the_same_line(self):
        self.check(gorgon("run", "-n", "4", "-c", NUMPY), f"{PRODUCT}\n" * 4)

    def test_numpy_in_two_interpreters_is_clean(self):
        """With SAN set this case shows leaks and errors of addresses and of undefined behaviour."""
        self.check(gorgon("run", "-n", "2", "-c", NUMPY), f"{PRODUCT}\n" * 2)

    def test_numpy_wheel_in_three_interpreters(self):
        code = "import numpy; print(numpy.__version__); " + NUMPY
        result = gorgon("run", "-n", "3", "--label", "--python", VENV_PYTHON, "-c", code)
        lines = sorted(result.stdout.splitlines())
        with open(f"{ROOT}/tests/requirements.txt") as file:
            version = re.search(r"numpy==(\S+)", file.read()).group(1)
        expected = [f"[{i}] {text}" for i in range(3) for text in (version, PRODUCT)]
        self.assertEqual((lines, result.returncode), (sorted(expected), 0), result.stderr)

    def test_system_exit_gives_its_status(self):
        self.check(gorgon("run", "-n", "2", "-c", "raise SystemExit(7)"), "", 7)

    def test_lowest_numbered_failure_wins(self):
        code = "import gorgon, sys; sys.exit({0: 0, 1: 5, 2: 6}[gorgon.interpreter])"
        self.check(gorgon("run", "-n", "3", "-c", code), "", 5)

    def test_exit_in_a_file_ends_one_interpreter_only(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write("import gorgon, sys, time\n"
                           "if gorgon.interpreter == 0: sys.exit('gone')\n"
                           "time.sleep(0.3); print('alive', sys.argv)\n")
            result = gorgon("run", "-n", "2", path, "x", "-y")
        self.check(result, f"alive {[path, 'x', '-y']}\n", 1, "gone\n")

    def test_uncaught_exception_prints_as_python3_prints_it(self):
        code = "def f():\n    raise ValueError('no')\nf()"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(code)
            expected = run(PYTHON3, path)
            result = gorgon("run", path)
        self.assertEqual(expected.returncode, 1)
        self.check(result, "", 1, expected.stderr)

    def test_module_and_arguments_as_python3(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "shown.py"), "w") as file:
                file.write("import sys; print(sys.argv, __name__, __spec__.name)")
            expected = run(PYTHON3, "-m", "shown", "-n", "3", cwd=folder)
            result = gorgon("run", "-n", "2", "-m", "shown", "-n", "3", cwd=folder)
        self.assertIn("__main__", expected.stdout)
        self.check(result, expected.stdout * 2)

    def test_python_is_what_the_named_executable_says(self):
        code = "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sys.path)"
        for python in (PYTHON, VENV_PYTHON):
            with self.subTest(python=python):
                expected = run(python, "-c", code)
                # Neither a python on PATH nor a wrong PYTHONHOME plays a part.
                result = gorgon("run", "--python", python, "-c", code, env={"PATH": "/nonexistent"})
                self.check(result, expected.stdout)

    def test_nones_differ(self):
        result = gorgon("run", "-n", "2", "-c", "print(id(None))")
        self.assertEqual(len(set(result.stdout.split())), 2, result.stdout)

    def test_gorgon_module_knows_number_and_count(self):
        result = gorgon("run", "-n", "3", "-c", "import gorgon; print(gorgon.interpreter, gorgon.count())")
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 3", "1 3", "2 3"])

    def test_repeat_uses_fresh_interpreters(self):
        code = "import gorgon; print(gorgon.interpreter)"
        result = gorgon("run", "-n", "2", "--repeat", "3", "-c", code, env={"ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual((sorted(result.stdout.split()), result.stderr), (list("012345"), ""))

    def test_label_prefixes_whole_lines(self):
        code = "import sys, time\nfor i in range(50): print('line', i); sys.stderr.write('error\\n')"
        result = gorgon("run", "-n", "2", "--label", "-c", code)
        for number in "01":
            lines = [line[4:] for line in result.stdout.splitlines() if line.startswith(f"[{number}] ")]
            self.assertEqual(lines, [f"line {i}" for i in range(50)])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] error"] * 50 + ["[1] error"] * 50)

    def test_what_a_program_puts_in_place_of_the_output_gets_bytes_as_they_are(self):
        code = ("import os, tempfile\n"
                "os.write(1, b'begun, ')\n"
                "with tempfile.TemporaryFile() as file:\n"
                "    output = os.dup(1)\n"
                "    os.dup2(file.fileno(), 1)\n"
                "    os.write(1, b'part')\n"
                "    os.dup2(output, 1)\n"
                "    file.seek(0)\n"
                "    assert file.read() == b'part'\n"
                "os.write(1, b'ended\\n')\n")
        self.check(gorgon("run", "--label", "-c", code), "[0] begun, ended\n")

    def test_label_completes_an_unfinished_line(self):
        self.check(gorgon("run", "--label", "-c", "print('x', end='')"), "[0] x\n")

    def test_timing_table_has_a_row_per_interpreter(self):
        result = gorgon("run", "-n", "2", "--timing", "-c", "import numpy")
        lines = result.stderr.splitlines()
        self.assertEqual(lines[0].split(), "interp objects load reloc register init run private shared".split())
        for number, line in enumerate(lines[2:]):
            fields = line.split()
            self.assertEqual(int(fields[0]), number)
            self.assertGreater(int(fields[1]), 5)
            for value in fields[2:]:
                self.assertGreater(float(value), 0, line)
        self.assertEqual(len(lines), 4)

    def test_json_has_the_same_figures(self):
        result = gorgon("run", "-n", "2", "--json", "-c", "raise SystemExit(3)")
        rows = json.loads(result.stderr)
        self.assertEqual([(row["interpreter"], row["status"]) for row in rows], [(0, 3), (1, 3)])
        self.assertTrue(all(row["init_ns"] > 0 and row["private_bytes"] > 0 for row in rows), rows)

    def test_stdlib_extensions_in_three_interpreters(self):
        code = ("import ssl, sqlite3, decimal, ctypes, hashlib, lzma, bz2, zlib, zoneinfo, curses, readline, asyncio;"
                "import json, uuid, multiprocessing, xml.parsers.expat, unicodedata;"
                "db = sqlite3.connect(':memory:');"
                "print(decimal.Decimal(2).sqrt(), db.execute('select 1+1').fetchone()[0], "
                "hashlib.sha256(b'x').hexdigest()[:8])")
        expected = run(PYTHON3, "-c", code)
        self.check(gorgon("run", "-n", "3", "-c", code), expected.stdout * 3)

    def test_ctypes_answers_from_its_own_copy(self):
        code = ("import ctypes, gorgon, re\n"
                "def address(f): return ctypes.cast(f, ctypes.c_void_p).value\n"
                "a = address(ctypes.pythonapi.PyList_Append)\n"
                "b = address(ctypes.CDLL(None).PyList_Append)\n"
                "assert a == b\n"
                # The C function of a builtin function lies in this copy, and so must the others.
                "ctypes.pythonapi.PyCFunction_GetFunction.restype = ctypes.c_void_p\n"
                "c = ctypes.pythonapi.PyCFunction_GetFunction(ctypes.py_object(len))\n"
                "assert abs(a - c) < 8 << 20\n"
                "ctypes.pythonapi.PyLong_FromLong.restype = ctypes.py_object\n"
                "assert ctypes.pythonapi.PyLong_FromLong(5) is 5 + 0\n"
                "print(a)\n")
        result = gorgon("run", "-n", "3", "-c", code)
        self.assertEqual((len(set(result.stdout.split())), result.returncode), (3, 0), result.stderr)

    def test_missing_python_is_one_line(self):
        self.fails(gorgon("run", "--python", "/nonexistent", "-c", "1"), 3, "/nonexistent", "No such file")

    def test_damaged_libpython_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, SONAME)
            for size in (0, 10, 64, 4000, 100000, 5000000):
                shutil.copyfile(LIBPYTHON, path)
                os.truncate(path, size)
                with self.subTest(size=size):
                    self.fails(gorgon("run", "-n", "2", "--python", path, "-c", "1"), 3, path)
            with open(path, "w") as file:
                file.write("not a library\n" * 100)
            self.fails(gorgon("run", "--python", path, "-c", "1"), 3, path, "not an ELF file")

    def test_script_named_as_python_says_so(self):
        with tempfile.NamedTemporaryFile("w", suffix="python3") as file:
            file.write("#!/bin/sh\n")
            file.flush()
            self.fails(gorgon("run", "--python", file.name, "-c", "1"), 3, file.name, "script")

    def test_wrong_usage_is_status_2(self):
        for args in (["run", "-n", "2"], ["run", "-n", "0", "-c", "1"], ["run", "-n", "x", "-c", "1"], ["run", "--what"],
                     ["run", "--debug", "some", "-c", "1"], ["run", "--isolate", "magic", "-c", "1"], ["what"],
                     ["demo", "-n", "0"], ["info", "--what"]):
            with self.subTest(args=args):
                self.fails(gorgon(*args), 2, "gorgon --help")

    def test_the_option_that_is_wrong_is_named(self):
        for words, wrong in (("run -VV", "-VV"), ("run -V -B", "-V"), ("run -BVV", "-BVV"), ("run -B -VV", "-VV"), ("run -B -V", "-V"),
                             ("run -BV -B", "-BV"), ("run --what -B", "--what"), ("run -B --what", "--what"), ("run -B -n", "-n"),
                             ("run -Bn", "-Bn"), ("run -W", "-W"), ("run --python", "--python"), ("run -n 2 -VV", "-VV"),
                             ("info -VV", "-VV"), ("info --json -VV", "-VV"), ("doctor --json -VVV", "-VVV"), ("cache -V", "-V"),
                             ("exec 1 -VV", "-VV"), ("exec 1 2 -VV", "-VV"), ("exec 1 -i 1 -VV", "-VV"), ("exec -i", "-i")):
            with self.subTest(words):
                said = gorgon(*words.split()).stderr
                self.assertEqual(said, f"gorgon: {words.split()[0]}: {wrong}: no such option, or its value is missing (gorgon --help)\n")

    @unittest.skipIf(SANITIZED, "the sanitizer's allocator does not survive a fork among threads")
    def test_fork_in_an_interpreter_leaves_a_usable_child(self):
        code = ("import os, sys\n"
                "pid = os.fork()\n"
                "if pid == 0:\n"
                "    import numpy\n"
                "    os._exit(int(numpy.arange(5).sum()))\n"
                "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n")
        self.check(gorgon("run", "-n", "2", "-c", code), "10\n10\n")

    @unittest.skipIf(SANITIZED, "the sanitizer's allocator does not survive a fork among threads")
    def test_forked_child_ends_with_the_program_s_status(self):
        code = ("import os, sys\n"
                "def child(end):\n"
                "    pid = os.fork()\n"
                "    if pid == 0: end()\n"
                "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                "first = child(lambda: sys.exit(5))\n"
                "pid = os.fork()\n"
                "if pid:\n"
                "    second = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                "    print(first, second, flush=True)\n"
                "else:\n"
                "    print('child', flush=True)\n"
                "    raise ZeroDivisionError\n")
        result = gorgon("run", "-n", "2", "-c", code)
        self.assertEqual(sorted(result.stdout.splitlines()), ["5 1"] * 2 + ["child"] * 2, result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_interrupt_reaches_every_interpreter(self):
        code = ("import time, gorgon\n"
                "try: print('ready', flush=True); time.sleep(600)\n"
                "except KeyboardInterrupt: print('interrupted', gorgon.interpreter)\n")
        with Background(GORGON, "run", "-n", "3", "-c", code, until="(ready\\s+){3}") as program:
            program.process.send_signal(signal.SIGINT)
            status = program.process.wait(timeout=300)
            lines = program.output.split("\n")
        self.assertEqual(sorted(line for line in lines if line.startswith("inter")),
                         [f"interrupted {i}" for i in range(3)])
        self.assertEqual(status, 0)

    def test_unhandled_interrupt_ends_one_interpreter_only(self):
        code = ("import gorgon, time\n"
                "if gorgon.interpreter == 0: raise KeyboardInterrupt\n"
                "time.sleep(0.5); print('alive')\n")
        result = gorgon("run", "-n", "2", "-c", code)
        self.assertEqual((result.stdout, result.returncode), ("alive\n", 130), result.stderr)
        self.assertIn("KeyboardInterrupt", result.stderr)

    def test_handlers_of_copies_do_not_disturb_each_other(self):
        # Each program creates a file for each step and waits for the others' files.
        code = ("import gorgon, os, signal, sys, time\n"
                "def meet(where):\n"
                "    open(f'{sys.argv[1]}/{where}{gorgon.interpreter}', 'w').close()\n"
                "    while len([n for n in os.listdir(sys.argv[1]) if n.startswith(where)]) < 3: time.sleep(0.01)\n"
                "got = []\n"
                "if gorgon.interpreter != 2: signal.signal(signal.SIGUSR1, lambda n, f: got.append(n))\n"
                "before = signal.getsignal(signal.SIGINT)\n"
                "meet('ready')\n"
                "if gorgon.interpreter == 0: os.kill(os.getpid(), signal.SIGUSR1)\n"  # in a process, it is to itself
                "meet('own')\n"
                "own = len(got)\n"
                "meet('seen')\n"
                "if gorgon.interpreter == 0: os.system(f'kill -USR1 {os.getpid()}')\n"  # of another process, to this one
                "while gorgon.interpreter != 2 and len(got) == own: time.sleep(0.01)\n"
                "meet('done')\n"
                "print(gorgon.interpreter, own, got == [signal.SIGUSR1] * (own + 1), before is signal.default_int_handler,"
                " signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL)\n")
        with tempfile.TemporaryDirectory() as folder:
            result = gorgon("run", "-n", "3", "-c", code, folder)
        self.assertEqual(sorted(result.stdout.splitlines()),
                         ["0 1 True True False", "1 0 True True False", "2 0 False True True"], result.stderr)

    def test_signal_raised_in_a_copy_is_its_own(self):
        code = ("import gorgon, os, signal, sys, threading, time\n"
                "def meet(where):\n"
                "    open(f'{sys.argv[1]}/{where}{gorgon.interpreter}', 'w').close()\n"
                "    while len([n for n in os.listdir(sys.argv[1]) if n.startswith(where)]) < 3: time.sleep(0.01)\n"
                "got = []\n"
                "if gorgon.interpreter != 2: signal.signal(signal.SIGUSR1, lambda n, f: got.append(n))\n"
                "meet('ready')\n"
                "if gorgon.interpreter == 0:\n"
                "    signal.raise_signal(signal.SIGUSR1)\n"
                "    thread = threading.Thread(target=signal.raise_signal, args=[signal.SIGUSR1])\n"
                "    thread.start(); thread.join()\n"
                "    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)\n"
                "if gorgon.interpreter == 2: signal.raise_signal(signal.SIGUSR1)  # nobody's: the host has none\n"
                "meet('done')\n"
                "print(gorgon.interpreter, len(got))\n")
        with tempfile.TemporaryDirectory() as folder:
            result = gorgon("run", "-n", "3", "-c", code, folder)
        self.assertEqual(sorted(result.stdout.splitlines()), ["0 3", "1 0", "2 0"], result.stderr)

    def test_signal_to_the_own_process_has_come_when_kill_returns(self):
        code = ("import os, signal\n"
                "got = []\n"
                "signal.signal(signal.SIGUSR1, lambda n, f: got.append(n))\n"
                "for i in range(500):\n"
                "    os.kill(os.getpid(), signal.SIGUSR1)\n"
                "    assert len(got) == i + 1, i\n"
                "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
                "os.kill(os.getpid(), signal.SIGUSR1)\n"
                "print(len(got), signal.sigwait([signal.SIGUSR1]) == signal.SIGUSR1)\n")
        result = gorgon("run", "-c", code)
        self.assertEqual((result.stdout, result.stderr), ("500 True\n", ""))

    def test_handlers_of_other_copies_are_not_in_a_child(self):
        # Interpreter 1 has handlers. A child of interpreter 0 ignores one of the signals, and has the default action
        # for the other.
        code = ("import gorgon, os, signal, sys, time\n"
                "def wait(name):\n"
                "    while not os.path.exists(f'{sys.argv[1]}/{name}'): time.sleep(0.01)\n"
                "def say(name): open(f'{sys.argv[1]}/{name}', 'w').close()\n"
                "def fork():\n"
                "    child = os.fork()\n"
                "    if not child:\n"
                "        signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                "        say('child')\n"
                "        for _ in range(3000): time.sleep(0.01)\n"
                "        os._exit(1)\n"
                "    wait('child')\n"
                "    os.kill(child, signal.SIGINT)\n"
                "    time.sleep(0.1)\n"
                "    print('alive', os.waitpid(child, os.WNOHANG) == (0, 0))\n"
                "    os.kill(child, signal.SIGTERM)\n"
                "    print('ended by', os.waitpid(child, 0)[1])\n"
                "if gorgon.interpreter == 1:\n"
                "    for number in signal.SIGINT, signal.SIGTERM: signal.signal(number, lambda *_: print('called'))\n"
                "    say('ready'); wait('done')\n"
                "else:\n"
                "    wait('ready')\n"
                "    try: fork()\n"
                "    finally: say('done')\n")
        with tempfile.TemporaryDirectory() as folder:
            result = gorgon("run", "-n", "2", "-c", code, folder)
        self.assertEqual((result.stdout, result.stderr), (f"alive True\nended by {signal.SIGTERM}\n", ""))

    def test_handlers_survive_a_subprocess(self):
        # Between vfork() and exec a child resets signals, in the memory of its parent.
        code = ("import signal, subprocess\n"
                "got = []\n"
                "signal.signal(signal.SIGUSR1, lambda n, f: got.append(n))\n"
                "status = subprocess.check_output(['grep', 'SigIgn', '/proc/self/status'], text=True)\n"
                "ignores_sigpipe = int(status.split()[1], 16) >> (signal.SIGPIPE - 1) & 1\n"
                "signal.raise_signal(signal.SIGUSR1)\n"
                "print(signal.SIGUSR1 in got, ignores_sigpipe)\n")
        self.check(gorgon("run", "-n", "2", "-c", code), "True 0\n" * 2)

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime answers the fault")
    def test_faulthandler_of_the_faulting_copy_answers(self):
        for start in ("ctypes.string_at(0)", "import threading; threading.Thread(target=ctypes.string_at, args=(0,)).start()"):
            with self.subTest(start=start):
                self.check_faulthandler(start)

    def check_faulthandler(self, start):
        code = ("import ctypes, faulthandler, gorgon, time\n"
                "faulthandler.enable()\n"
                "time.sleep(0.3)\n"
                "if gorgon.interpreter == 1:\n"
                f"    {start}\n"
                "time.sleep(30)\n")
        result = gorgon("run", "-n", "3", "--label", "-c", code)
        self.assertEqual(result.returncode, -signal.SIGSEGV)
        self.assertEqual(result.stderr.count("Fatal Python error: Segmentation fault"), 1, result.stderr)
        self.assertIn("[1] Fatal Python error: Segmentation fault", result.stderr)
        self.assertIn("string_at", result.stderr)

    def test_allocator_of_arrow_starts_no_thread(self):
        """Its thread that gives memory back never ends, and an interpreter with a thread of its libraries cannot go."""
        code = ("import ctypes, os\n"
                "get = ctypes.CDLL(None).secure_getenv\n"
                "get.restype = ctypes.c_char_p\n"
                "print(get(b'JE_ARROW_MALLOC_CONF'))\n")
        self.check(gorgon("run", "-c", code, env={"JE_ARROW_MALLOC_CONF": None}), "b'background_thread:false'\n")
        self.check(gorgon("run", "-c", code, env={"JE_ARROW_MALLOC_CONF": "narenas:1"}), "b'narenas:1'\n")

    def test_thread_pools_share_the_processors(self):
        # ctypes calls this copy's getenv(); Python's own os.environ stays the process's.
        code = ("import ctypes, os\n"
                "get = ctypes.CDLL(None).getenv\n"
                "get.restype = ctypes.c_char_p\n"
                "print(get(b'OPENBLAS_NUM_THREADS'), os.environ.get('OPENBLAS_NUM_THREADS'))\n")
        unset = {"OPENBLAS_NUM_THREADS": None}
        count = max(1, len(os.sched_getaffinity(0)) // 2)
        self.check(gorgon("run", "-n", "2", "-c", code, env=unset), f"{str(count).encode()} None\n" * 2)
        self.check(gorgon("run", "-n", "1", "-c", code, env=unset), "None None\n")
        self.check(gorgon("run", "-n", "2", "-c", code, env={"OPENBLAS_NUM_THREADS": "7"}), "b'7' 7\n" * 2)


class Info(unittest.TestCase):
    def test_says_where_things_are(self):
        info = json.loads(gorgon("info", "--json").stdout)
        self.assertEqual(info["libpython"], LIBPYTHON)
        self.assertEqual(os.path.realpath(info["executable"]), PYTHON)
        notes = run("readelf", "-n", LIBPYTHON).stdout
        self.assertIn(f"Build ID: {info['build_id']}", notes)
        self.assertTrue(os.path.isfile(info["debug_file"]))
        for name in ("gdb", "lldb"):
            self.assertTrue(os.path.isfile(info[name].split()[-1]), info[name])
        self.assertIn("libc.so.6", [row["pattern"] for row in info["shared"]])
        with open("/proc/sys/vm/max_map_count") as file:
            self.assertEqual(info["max_map_count"], int(file.read()))

    def test_text_names_the_same(self):
        text = gorgon("info").stdout
        self.assertRegex(text, r"(?s)mappings +a process may have \d+ \(sysctl vm.max_map_count\).*give up RELRO")
        self.assertIn(LIBPYTHON, text)
        self.assertIn("source ", text)


class Demo(unittest.TestCase):
    def test_shows_nones_times_and_numpy(self):
        result = gorgon("demo", env={"ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        nones = re.findall(r"id\(None\) = (0x[0-9a-f]+)", result.stdout)
        self.assertEqual(len(set(nones)), 2, result.stdout)
        self.assertRegex(result.stdout, r"two interpreters +\d+\.\d+ s, \d+\.\d+ s of processor time: \d+\.\d+ processors at once\n")
        self.assertEqual(result.stdout.count("a @ a.T = [[5.0, 14.0], [14.0, 50.0]]"), 3)
