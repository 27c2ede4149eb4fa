# SPDX-License-Identifier: MIT
"""gorgon exec: Python that runs in interpreters of another process, in every mode, beside what python3 does with the same code."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import dap_client
import harness
from harness import BUILD, GORGON, PYTHON3, SANITIZED, SYMDUMP, VENV_PYTHON, install_package

ASKED = os.path.join(BUILD, "asked")
TOLD = "did not take the request in time, which was withdrawn"


def ask(pid, *args, **kwargs):
    return subprocess.run([GORGON, "exec", str(pid), *args], capture_output=True, text=True, timeout=120, **kwargs)


@contextlib.contextmanager
def process(command, **kwargs):
    """(process, number that it has printed)."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **kwargs) as popen:
        try:
            yield popen, int(popen.stdout.readline())
        finally:
            popen.kill()


def program(code, before="", *options):
    """A program that does `before`, has a variable, says that it is ready, and goes on."""
    return process([GORGON, "run", *options, "-c", f"import os, time\n{before}\nmine = 5\nprint(os.getpid(), flush=True)\n{code}"])


@contextlib.contextmanager
def looping_program(*options):
    """A program that calls work() of a file again and again: the file's path, and the program's PID."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "worker.py")
        with open(path, "w") as file:
            file.write("def work(count):\n    total = 0\n    for i in range(count):\n        total += i\n    return total\n")
        before = f"import sys; sys.path.insert(0, {folder!r})\nimport worker"
        with program("round = 0\nwhile True:\n    worker.work(4)\n    round += 1\n    time.sleep(0.02)", before, *options) as (_, pid):
            yield path, pid


def asked(mode, **kwargs):
    return process([ASKED, mode], **kwargs)


class Exec(unittest.TestCase):
    def works(self, pid, count):
        """Code runs in all interpreters, each with what belongs to it, twice."""
        for _ in range(2):
            result = ask(pid, "--json", "-c", "import gorgon, __main__; print(gorgon.interpreter, __main__.mine)")
            self.assertEqual(result.stderr, "")
            answers = json.loads(result.stdout)
            self.assertEqual([(a["interpreter"], a["stdout"], a["status"], a["error"]) for a in answers],
                             [(i, f"{i} 5\n", 0, None) for i in range(count)])

    @unittest.skipIf(harness.VERSION in ("3.11", "3.12", "3.13"), "sys.remote_exec() is new in CPython 3.14")
    def test_remote_debugging_of_cpython_enters_interpreter_0(self):
        with tempfile.TemporaryDirectory() as folder, program("while True: time.sleep(0.01)", "", "-n", "2") as (_, pid):
            script, told = os.path.join(folder, "script.py"), os.path.join(folder, "told")
            with open(script, "w") as file:
                file.write(f"import gorgon, os\nwith open('{told}.new', 'w') as file: print(gorgon.interpreter, file=file)\n"
                           f"os.rename('{told}.new', '{told}')\n")
            for command, expected in (([PYTHON3, "-c", f"import sys; sys.remote_exec({pid}, {script!r})"], "0\n"),
                                      ([GORGON, "exec", str(pid), "-i", "1", script], "1\n")):
                subprocess.run(command, check=True, timeout=120)
                while not os.path.exists(told):
                    time.sleep(0.05)
                with open(told) as file:
                    self.assertEqual(file.read(), expected)
                os.unlink(told)

    @unittest.skipIf(harness.VERSION in ("3.11", "3.12", "3.13"), "sys.remote_exec() is new in CPython 3.14")
    def test_remote_debugging_of_cpython_says_that_interpreter_0_has_ended(self):
        with program("import gorgon\ngorgon.interpreter and time.sleep(1000)", "", "-n", "2") as (_, pid):
            command = [PYTHON3, "-c", f"import sys; sys.remote_exec({pid}, {os.devnull!r})"]
            while not (result := subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)).returncode:
                time.sleep(0.05)  # until it has ended
            self.assertIn("Can't find a running interpreter in the remote process", result.stderr)
            self.assertEqual(ask(pid, "-i", "1", "-c", "import __main__; print(__main__.mine)").stdout, "5\n")

    def test_programs(self):
        for name, code in {
            "sleeps": "time.sleep(1000)",
            "computes": "while True: pass",
            "reads": "import sys; sys.stdin.read()",
            "waits for a lock": "import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()",
            "waits for a thread": "import threading\nt = threading.Thread(target=time.sleep, args=(1000,)); t.start(); t.join()",
            "asyncio": "import asyncio\nasyncio.run(asyncio.sleep(1000))",
            "waits for a child": "import subprocess\nsubprocess.run(['sleep', '1000'])",
        }.items():
            with self.subTest(name), program(code) as (_, pid):
                self.works(pid, 1)

    def test_hosts(self):
        for mode, count in {"idle": 2, "lull": 2, "call": 2, "other": 2, "lent": 1, "pool": 2, "fork": 2, "handler": 2}.items():
            with self.subTest(mode), asked(mode) as (popen, pid):
                if mode == "handler":
                    answer = ask(pid, "--timeout", "1", "-c", "pass")
                    self.assertIn(TOLD, answer.stderr)
                    continue
                self.works(pid, count)
                if mode == "lull":
                    self.assertEqual(popen.stdout.readline(), "slept\n")

    @unittest.skipIf(SANITIZED, "a python3 that is not built with the sanitizer")
    def test_executor(self):
        """Workers that wait for work take code as those that compute."""
        code = ("import os, sys\nfrom gorgon import InterpreterPoolExecutor\npool = InterpreterPoolExecutor(2)\n"
                "list(pool.map(exec, ['import __main__; __main__.mine = 5; import time; time.sleep(0.2)'] * 2))\n"
                "print(os.getpid(), flush=True); sys.stdin.readline()\n"
                "jobs = [pool.submit(exec, 'while True: pass') for _ in range(2)]\nprint('computes', flush=True); sys.stdin.readline(); os._exit(0)")
        with tempfile.TemporaryDirectory() as folder:
            install_package(folder)
            with process([PYTHON3, "-c", code], env=dict(os.environ, PYTHONPATH=folder)) as (popen, pid):
                self.works(pid, 2)
                popen.stdin.write("\n")
                popen.stdin.flush()
                self.assertEqual(popen.stdout.readline(), "computes\n")
                self.works(pid, 2)

    def test_nothing_runs_and_the_host_computes(self):
        with asked("computing") as (_, pid):
            before = time.monotonic()
            answer = ask(pid, "-i", "0", "--timeout", "0.5", "-c", "print('too late')")
            self.assertEqual((answer.returncode, answer.stdout), (3, ""))
            self.assertIn(f"gorgon: exec: interpreter 0: {TOLD}: nothing runs in it, ", answer.stderr)
            self.assertLess(time.monotonic() - before, 60)

    def test_being_stopped(self):
        with asked("stop") as (_, pid):
            answer = ask(pid, "-i", "0", "-c", "pass")
            self.assertEqual((answer.returncode, answer.stderr), (3, "gorgon: exec: interpreter 0: is being stopped\n"))
            self.assertEqual(ask(pid, "-i", "1", "-c", "print(1)").stdout, "1\n")

    def test_a_program_beside_others(self):
        with tempfile.TemporaryDirectory() as folder, process(
                [GORGON, "run", "-n", "3", "-c", f"import gorgon, os, time\nopen(f'{folder}/{{gorgon.interpreter}}', 'w').close()\n"
                 f"while not gorgon.interpreter and len(os.listdir('{folder}')) < 3: time.sleep(0.01)\n"
                 "if not gorgon.interpreter: print(os.getpid(), flush=True)\ntime.sleep(1000)"]) as (popen, _):
            # The label of `gorgon run` stands before its output, so the number is asked for elsewhere.
            answer = ask(popen.pid, "-c", "import gorgon, sys; print('a\\nb'); print('c', file=sys.stderr)")
            self.assertEqual((answer.stdout, answer.stderr), ("".join(f"[{i}] a\n[{i}] b\n" for i in range(3)),
                                                              "".join(f"[{i}] c\n" for i in range(3))))
            self.assertEqual(ask(popen.pid, "-i", "2", "-c", "import gorgon; print(gorgon.interpreter)").stdout, "2\n")

    def test_code_as_in_python3(self):
        """Output, errors and status are those of python3 -c, or python3 FILE."""
        with tempfile.TemporaryDirectory() as folder, program("time.sleep(1000)") as (_, pid):
            for code in ["print('ü€\\U0001f600'); print('no newline', end='')", "print('x' * 3_000_000)", "1/0", "import sys; sys.exit(7)",
                         "import sys; sys.exit('words')", "raise SystemExit", "def f():\n  raise ValueError('ü') from KeyError(1)\nf()",
                         "x = (", "import sys; sys.stdout.buffer.write(b'bytes\\n'); sys.stderr.write('e\\n')", "", "assert False", "if 1:\n    print(__name__)", "import sys; [print(i) for i in range(2000)]"]:
                path = os.path.join(folder, "code.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(code)
                for args in (["-c", code], [path]):
                    with self.subTest(code=code, args=args[:-1]):
                        peer = subprocess.run([PYTHON3, *args], capture_output=True, text=True, timeout=60)
                        ours = ask(pid, *args)
                        self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (peer.returncode, peer.stdout, peer.stderr))

    def test_own_namespace(self):
        with program("time.sleep(1000)") as (_, pid):
            self.assertEqual(ask(pid, "-c", "leak = 1").returncode, 0)
            self.assertEqual(ask(pid, "-c", "import __main__; print(hasattr(__main__, 'leak'), 'leak' in globals())").stdout, "False False\n")

    def test_others_print_where_they_have_printed(self):
        with program("while True:\n  time.sleep(0.001); print('mine')") as (popen, pid):
            answer = ask(pid, "-c", "import time\nfor i in range(20): print(i); time.sleep(0.005)")
            self.assertEqual(answer.stdout, "".join(f"{i}\n" for i in range(20)))
            self.assertEqual(popen.stdout.readline(), "mine\n")
            self.assertEqual(ask(pid, "-c", "import sys; print(type(sys.stdout).__name__, file=sys.__stdout__)").stdout, "")

    def test_prints_that_are_under_way(self):
        """print() goes on with the stream that was sys.stdout when it began, also while sys.stdout becomes another."""
        before = ("import threading\nclass Slow:\n    def __str__(self):\n        time.sleep(0.001)\n        return 'mine'\nstop = []\n"
                  "def go_on():\n    while not stop:\n        print(Slow(), Slow())\n"
                  "threads = [threading.Thread(target=go_on) for _ in range(3)]")
        code = "for each in threads: each.start()\nfor each in threads: each.join()\nprint('end', flush=True)"
        for python in harness.PYTHONS_OF_LINES:
            with self.subTest(python=python), program(code, before, f"--python={python}") as (popen, pid):
                seen = []
                reader = threading.Thread(target=lambda popen=popen, seen=seen: seen.extend(popen.stdout))
                reader.start()
                for i in range(20):
                    self.assertEqual(ask(pid, "-c", f"print({i})").stdout, f"{i}\n")
                self.assertEqual(ask(pid, "-c", "import __main__; __main__.stop.append(1)").stderr, "")
                self.assertEqual(popen.wait(60), 0)
                reader.join()
                self.assertRegex("".join(seen), r"\A(mine|\s)+end\n\Z")

    def test_no_stream(self):
        with program("while True:\n  time.sleep(0.001); print('nowhere')", "import sys") as (popen, pid):
            self.assertEqual(ask(pid, "-c", "import sys; sys.stdout = None").returncode, 0)
            for i in range(3):
                self.assertEqual(ask(pid, "-c", f"import time; print({i}); time.sleep(0.01)").stdout, f"{i}\n")
            self.assertIsNone(popen.poll())

    def test_time_is_up(self):
        with program("import signal\ntime.sleep(1000)") as (_, pid):
            for code in ("while True: pass", "import time; time.sleep(1000)", "import threading; threading.Event().wait()"):
                with self.subTest(code):
                    answer = ask(pid, "--timeout", "0.5", "-c", code)
                    self.assertEqual(answer.returncode, 3)
                    self.assertIn("KeyboardInterrupt\n", answer.stderr)
                    self.assertIn("interpreter 0: the code has not ended within 0.5 s, and was interrupted\n", answer.stderr)
            self.works(pid, 1)

    def test_traced_functions(self):
        """They run behind other requests and interrupts, too: CPython 3.11 does not begin one while an exception seems to be due."""
        traced = ("import sys, threading\ndef trace(*args): return trace\nthreading.settrace(trace); sys.settrace(trace)\ndef f(): return 'done'\n"
                  "t = threading.Thread(target=f); t.start(); t.join(); print(f()); sys.settrace(None); threading.settrace(None)")
        with program("time.sleep(1000)") as (_, pid):
            for code in (traced, traced, "while True: pass", traced, "import time; time.sleep(1000)", traced):
                answer = ask(pid, "--timeout", "10" if code == traced else "0.3", "-c", code)
                if code == traced:
                    self.assertEqual((answer.stdout, answer.stderr), ("done\n", ""))

    def test_the_command_goes(self):
        """Code is interrupted when the command that has asked is gone; the program is not."""
        with program("time.sleep(1000)") as (_, pid), tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ended")
            command = subprocess.Popen([GORGON, "exec", str(pid), "-c", f"import time\ntry: print('begun'); time.sleep(1000)\n"
                                        f"except KeyboardInterrupt: open({path!r}, 'w')"], stdout=subprocess.PIPE, text=True)
            self.assertEqual(command.stdout.readline(), "begun\n")
            command.kill()
            command.communicate()
            for _ in range(1000):
                if os.path.exists(path):
                    break
                time.sleep(0.01)
            self.assertTrue(os.path.exists(path))
            self.works(pid, 1)

    def test_c_code_that_holds_the_gil(self):
        """The request is withdrawn, and does not run later."""
        code = "sum(range(150_000_000))\nprint('over', flush=True)\ntime.sleep(1000)"
        with program(code) as (popen, pid), tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ran")
            time.sleep(0.2)
            answer = ask(pid, "--timeout", "0.5", "-c", f"open({path!r}, 'w')")
            self.assertEqual((answer.returncode, answer.stdout), (3, ""))
            self.assertEqual(answer.stderr, f"gorgon: exec: interpreter 0: {TOLD}: its code holds the GIL, or is in C for long\n")
            self.assertEqual(popen.stdout.readline(), "over\n")
            self.works(pid, 1)
            self.assertFalse(os.path.exists(path))

    def test_several_at_once(self):
        """Each prints what is its own, also if they are the first to import threading, and threads change after each instruction."""
        changing = "import sys\nsys.setswitchinterval(1e-6); sys.modules.pop('threading', None)"
        code = "import time, threading\nfor i in range(20): print({}, i); time.sleep(0.01)\nassert threading.main_thread() is not threading.current_thread()"
        for start in (lambda: asked("idle"), *[lambda: program("while True: time.sleep(0.01)", changing)] * 4):
            with start() as (_, pid):
                commands = [subprocess.Popen([GORGON, "exec", str(pid), "-i", "0", "-c", code.format(n)],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for n in range(8)]
                for n, command in enumerate(commands):
                    self.assertEqual(command.communicate(timeout=60), ("".join(f"{n} {i}\n" for i in range(20)), ""))

    def test_program_sees_nothing(self):
        """Neither descriptors nor threads stay, blocking calls go on, handlers are not called."""
        code = ("import signal\nsignal.signal(signal.SIGURG, lambda *_: print('handler', flush=True))\n"
                "before = time.monotonic(); time.sleep(3); print('slept', time.monotonic() - before >= 3, flush=True); time.sleep(1000)")
        look = "import os; print(len(os.listdir('/proc/thread-self/fd')), len(os.listdir('/proc/self/task')))"
        with program(code) as (popen, pid):
            answers = {ask(pid, "-c", look).stdout for _ in range(10)}
            self.assertEqual(len(answers), 1, answers)
            self.assertEqual(popen.stdout.readline(), "slept True\n")

    def test_forked_child_of_a_program(self):
        """Of its main thread, and of another one, which is the main one of the child."""
        code = ("import threading\ndef fork():\n if os.fork():\n  os.wait()\n else:\n"
                "  print(os.getpid(), flush=True); time.sleep(1000)\n")
        for start in "fork()", "thread = threading.Thread(target=fork); thread.start(); thread.join()":
            with self.subTest(start=start), program(code + start) as (popen, _):
                pid = int(popen.stdout.readline())
                self.works(pid, 1)
                shown = subprocess.run([SYMDUMP, "--json", str(pid)], capture_output=True, text=True, timeout=120).stdout
                self.assertEqual([ns["thread"] for ns in json.loads(shown)["namespaces"]], [pid])
                os.kill(pid, 9)

    def test_switched_off(self):
        for start in (lambda: asked("refuse"), lambda: asked("idle", env=dict(os.environ, PYTHON_DISABLE_REMOTE_DEBUG="1"))):
            with start() as (_, pid):
                answer = ask(pid, "-c", "pass")
                self.assertEqual(answer.returncode, 3)
                self.assertRegex(answer.stderr, rf"^gorgon: exec: process {pid}: it takes no requests: .*\n$")

    def test_clear_lines(self):
        with program("time.sleep(1000)") as (_, pid), subprocess.Popen(["sleep", "1000"]) as other:
            for args, line in {
                ("999999999", "-c", "1"): "gorgon: exec: process 999999999: there is none with this number\n",
                (str(other.pid), "-c", "1"): f"gorgon: exec: process {other.pid}: it has no interpreters of Gorgon (no gorgon_debug_root in use)\n",
                (str(pid), "-i", "7", "-c", "1"): f"gorgon: exec: process {pid}: has no interpreter 7\n",
                (str(pid), "/nowhere"): "gorgon: exec: /nowhere: No such file or directory\n",
            }.items():
                with self.subTest(args):
                    answer = subprocess.run([GORGON, "exec", *args], capture_output=True, text=True, timeout=60)
                    self.assertEqual((answer.returncode, answer.stdout, answer.stderr), (3, "", line))
            for args, line in {
                (): "a process's number expected",
                ("x", "-c", "1"): "x: a process's number expected",
                (str(pid),): "-c CODE or FILE expected",
                (str(pid), "-c", "1", "file"): "either -c CODE or FILE expected, not both",
                (str(pid), "-c", "1", "--memray", "file"): "either -c CODE or FILE expected, not both",
                (str(pid), "--debugpy", "65536"): "--debugpy: 65536: a port expected, 0 to 65535",
                (str(pid), "--pdb", "--json"): "--pdb: a session has no --json",
                (str(pid), "-i", "-1", "-c", "1"): "-1: an interpreter's number expected",
                (str(pid), "--timeout", "soon", "-c", "1"): "--timeout: soon: seconds expected, 0 to 1000000",
            }.items():
                with self.subTest(args):
                    answer = subprocess.run([GORGON, "exec", *args], capture_output=True, text=True, timeout=60)
                    self.assertEqual((answer.returncode, answer.stderr), (2, f"gorgon: exec: {line} (gorgon --help)\n"))
            other.kill()

    def test_first_to_import_threading(self):
        """The main thread stays the main thread, now and at the end, as with code that is not the first. (3.13 sees to that itself.)"""
        before = "import sys, gorgon\nfor name in ('threading', 'concurrent.futures.thread'): sys.modules.pop(name, None)"
        with program("sys.stdin.readline(); import threading; thread = threading.Thread(target=print, args=('ran',)); thread.start(); "
                     "thread.join(); print(threading.current_thread() is threading.main_thread())", before) as (popen, pid):
            answer = ask(pid, "-c", "import threading; print(threading.current_thread() is threading.main_thread())")
            self.assertEqual((answer.stdout, answer.stderr), ("False\n", ""))
            out, _ = popen.communicate("\n", timeout=60)
            self.assertEqual((sorted(out.split()), popen.returncode), (["True", "ran"], 0))

    def test_memray(self):
        """The time, the file's name and Ctrl-C, with a package that stands for memray; what memray needs of the loader is in tests/dl/test_dl.c."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "memray.py"), "w") as file:
                file.write("import time\nclass Tracker:\n    def __init__(self, name):\n        self.file = open(name, 'x')\n"
                           "    def __enter__(self):\n        self.begin = time.monotonic()\n"
                           "    def __exit__(self, *_):\n        self.file.write(str(time.monotonic() - self.begin >= 0.5)); self.file.close()\n")
            with program("time.sleep(1000)", f"import sys; sys.path.insert(0, {folder!r})") as (_, pid):
                for name, told in (("relative", "memray has written 4 bytes\n"), ("relative", None)):
                    answer = ask(pid, "--timeout", "0.5", "--memray", name, cwd=folder)
                    self.assertEqual(answer.stdout, f"memray records\n{told}" if told else "", answer.stderr)
                    self.assertEqual(answer.returncode, 0 if told else 1)
                self.assertRegex(answer.stderr, r"^gorgon: exec: memray: .*File exists.*\n$")
                path = os.path.join(folder, "interrupted")
                with subprocess.Popen([GORGON, "exec", str(pid), "--timeout", "0", "--memray", path], stdout=subprocess.PIPE, text=True) as popen:
                    self.assertEqual(popen.stdout.readline(), "memray records\n")
                    popen.send_signal(signal.SIGINT)
                until = time.monotonic() + 60
                while not os.path.getsize(path) and time.monotonic() < until:
                    time.sleep(0.01)
                self.assertGreater(os.path.getsize(path), 0)

    def test_pdb(self):
        """The program stops where it is, at breakpoints and steps, and goes on at the end of the session, however it ends."""
        with looping_program() as (path, pid):
            moves = "import __main__, time; round = __main__.round; time.sleep(0.5); print(__main__.round > round)"
            told = f"b {path}:4, i == 2\nc\np (total, i)\nn\nn\np (total, i)\nu\np mine\ncl 1\n"
            for end in ("c\n", "q\n", ""):  # nothing can stop it any more; quit; the end of the input
                answer = ask(pid, "--pdb", input=told + end)
                self.assertEqual((answer.returncode, answer.stderr), (0, ""))
                self.assertIn("> <string>(", answer.stdout.splitlines()[0])
                for line in ("(Pdb) (1, 2)", "(Pdb) (3, 3)", "(Pdb) 5"):
                    self.assertIn(line, answer.stdout.splitlines())
                self.assertEqual(ask(pid, "-c", moves).stdout, "True\n")
            for told in ("", "b worker.work\nc\n"):  # at its prompt the command is killed
                with subprocess.Popen([GORGON, "exec", str(pid), "--pdb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as popen:
                    popen.stdin.write(told.encode())
                    popen.stdin.flush()
                    out = b""
                    while not out.endswith(b"(Pdb) ") or out.count(b"(Pdb) ") < 1 + told.count("\n"):
                        out += popen.stdout.read1(4096)
                    popen.kill()
                self.assertEqual(ask(pid, "-c", moves).stdout, "True\n")

    def test_pdb_in_a_blocking_call(self):
        with program("time.sleep(1000)") as (_, pid):
            answer = ask(pid, "--pdb", input="p mine\nq\n")
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            self.assertIn("(Pdb) 5\n", answer.stdout)
            self.works(pid, 1)

    @unittest.skipIf(SANITIZED, "debugpy starts other programs, which a sanitizer's environment would reach")
    def test_debugpy(self):
        with looping_program("--python", VENV_PYTHON) as (path, pid):
            answer = ask(pid, "--debugpy", "0")
            if "No module named 'debugpy'" in answer.stderr:
                self.skipTest(f"{VENV_PYTHON} has no debugpy")
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            port = answer.stdout.removeprefix("debugpy listens on 127.0.0.1:").strip()
            with dap_client.Client([PYTHON3, "-c", dap_client.RELAY, port], "debugpy") as client:
                client.attach(dap_client.launch_json("Python: interpreter 0"), lines={path: [{"line": 4, "condition": "i == 2"}]})
                for _ in range(2):
                    stop = client.stopped()
                    frame = client.frames(stop)[0]
                    self.assertEqual((frame["name"], frame["line"]), ("work", 4))
                    self.assertEqual({n: v for n, v in client.variables(frame, "Locals").items() if n in ("i", "total")}, {"i": "2", "total": "1"})
                    client.resume(stop)
                client.request("disconnect")
            self.assertEqual(ask(pid, "-c", "import __main__, time; round = __main__.round; time.sleep(0.5); print(__main__.round > round)").stdout, "True\n")
            self.assertRegex(ask(pid, "--debugpy", "0").stderr, "^gorgon: exec: debugpy: .*\n$")

    @unittest.skipIf(os.geteuid() == 0, "root may trace every process")
    def test_no_permission(self):
        answer = ask(1, "-c", "1")
        self.assertEqual((answer.returncode, answer.stderr), (3, "gorgon: exec: process 1: you may not trace it: Permission denied\n"))


if __name__ == "__main__":
    unittest.main()
