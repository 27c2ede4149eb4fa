# SPDX-License-Identifier: MIT
"""gorgon run --isolate: the same programs under each strategy, and what each says at its limits."""

import os
import re
import shutil
import signal
import tempfile
import unittest
from unittest import mock

from harness import Background, GORGON, LIBPYTHON, SANITIZED, SONAME, VENV_PYTHON, find_python, run

NUMPY = "import numpy; print(numpy.ones(3).sum())"
# In a python3's environment only the room for thread-local variables is the host's.

# A relocation that eu-elflint takes for one of the text: its section and its number there.
OF_TEXT = re.compile(r"section \[ *\d+\] '(\S+)': relocation (\d+): read-only section modified but text relocation flag not set")


def lint(path):
    """What eu-elflint says of a file. It adds the size of a relocation's symbol to its place, see loader/copy/rewrite.c: where
    a relocation writes is looked up, and what it says of one that writes where it may is left out."""
    result = run("eu-elflint", "--gnu-ld", path)
    facts = run("readelf", "-lrW", path).stdout
    sections = re.split(r"^Relocation section '(\S+)' .*\n.*\n", facts, flags=re.M)
    places = {name: [int(place, 16) for place in re.findall(r"^([0-9a-f]+)  [0-9a-f]+ R_", text, re.M)]
              for name, text in zip(sections[1::2], sections[2::2])}
    writable = [(int(vaddr, 16), int(vaddr, 16) + int(size, 16))
                for vaddr, size in re.findall(r"^ +LOAD +\S+ (\S+) \S+ \S+ (\S+) RW ", facts, re.M)]

    def is_fault(line):
        match = OF_TEXT.fullmatch(line)
        place = match and places[match[1]][int(match[2])]
        return not match or not any(start <= place and place + 8 <= end for start, end in writable)

    said = [line for line in (result.stdout + result.stderr).splitlines() if line and line != "No errors"]
    return [line for line in said if is_fault(line)]


class Strategy:
    """What a program sees is the same under each strategy."""

    isolate = None
    maxDiff = None

    def setUp(self):
        # What CPython leaves on the heap is freed with an interpreter of the loader only.
        environment = mock.patch.dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        environment.start()
        self.addCleanup(environment.stop)

    def gorgon(self, *args, **kwargs):
        return run(GORGON, "run", "--isolate", self.isolate, *args, **kwargs)

    def check(self, result, lines, status=0):
        self.assertEqual((sorted(result.stdout.splitlines()), result.stderr, result.returncode),
                         (sorted(lines), "", status))

    def fails(self, result, *fragments):
        self.assertEqual((result.stdout, result.returncode), ("", 3), result.stderr)
        self.assertRegex(result.stderr, r"\Agorgon: [^\n]+\n\Z")
        for fragment in fragments:
            self.assertIn(fragment, result.stderr)

    def test_numpy_runs_in_each(self):
        self.check(self.gorgon("-n", "2", "-c", NUMPY), ["3.0"] * 2)

    @unittest.skipUnless(os.path.exists(VENV_PYTHON), "the virtual environment is not built")
    def test_wheels_with_libraries_of_their_own(self):
        code = "import numpy, sys; print(sys.prefix != sys.base_prefix, numpy.linalg.inv(numpy.eye(3)).sum())"
        self.check(self.gorgon("--python", VENV_PYTHON, "-n", "2", "-c", code), ["True 3.0"] * 2)

    @unittest.skipUnless(find_python("3.13"), "there is no CPython 3.13")
    def test_a_libpython_with_thread_local_variables(self):
        code = "import sys, threading; t = threading.Thread(target=lambda: print(sys.version_info[:2])); t.start(); t.join()"
        self.check(self.gorgon("--python", find_python("3.13"), "-n", "2", "-c", code), ["(3, 13)"] * 2)

    def test_objects_of_copies_are_their_own(self):
        result = self.gorgon("-n", "3", "-c", "print(id(None))")
        self.assertEqual((len(set(result.stdout.split())), result.returncode), (3, 0), result.stderr)

    def test_modules_with_libraries_of_their_own(self):
        code = ("import decimal, hashlib, sqlite3, ssl, threading, xml.parsers.expat, zlib\n"
                "got = []\n"
                "thread = threading.Thread(target=lambda: got.append(decimal.Decimal(2).sqrt()))\n"
                "thread.start(); thread.join()\n"
                "print(got[0], sqlite3.connect(':memory:').execute('select 1+1').fetchone()[0], "
                "hashlib.sha256(b'x').hexdigest()[:8], zlib.crc32(b'x'))\n")
        self.check(self.gorgon("-n", "2", "-c", code), ["1.414213562373095048801688724 2 2d711642 2363233923"] * 2)

    def test_module_gorgon_tells_numbers_and_shares_arrays(self):
        code = ("import gorgon, numpy, time\n"
                "if gorgon.interpreter == 0:\n"
                "    gorgon.use_data_handler()\n"
                "    gorgon.share(numpy.arange(5), 'numbers')\n"
                "while True:\n"
                "    try: numbers = gorgon.receive('numbers'); break\n"
                "    except KeyError: time.sleep(0.01)\n"
                "print(gorgon.interpreter, gorgon.count(), numbers.sum())\n")
        self.check(self.gorgon("-n", "2", "-c", code), ["0 2 10", "1 2 10"])

    def test_exit_ends_one_interpreter(self):
        code = "import gorgon, sys, time\nif gorgon.interpreter == 0: sys.exit(7)\ntime.sleep(0.3); print('alive')\n"
        self.check(self.gorgon("-n", "2", "-c", code), ["alive"], 7)

    def test_output_is_the_host_s_to_label(self):
        self.check(self.gorgon("-n", "2", "--label", "-c", "print('line'); import os; os.write(1, b'raw\\n')"),
                   ["[0] line", "[0] raw", "[1] line", "[1] raw"])

    def test_what_c_code_has_printed_is_written(self):
        code = "import ctypes, gorgon; ctypes.CDLL(None).printf(b'from C %d\\n', gorgon.interpreter)"
        self.check(self.gorgon("-n", "2", "-c", code), ["from C 0", "from C 1"])

    def test_ctypes_answers_from_its_own_copy(self):
        code = ("import ctypes\n"
                "ctypes.pythonapi.PyLong_FromLong.restype = ctypes.py_object\n"
                "assert ctypes.pythonapi.PyLong_FromLong(5) is 5 + 0\n"
                "print(ctypes.cast(ctypes.CDLL(None).PyList_Append, ctypes.c_void_p).value)\n")
        result = self.gorgon("-n", "3", "-c", code)
        self.assertEqual((len(set(result.stdout.split())), result.returncode), (3, 0), result.stderr)

    def test_missing_library_and_name_are_exceptions(self):
        code = ("import ctypes\n"
                "for call in (lambda: ctypes.CDLL('libnothing.so'), lambda: ctypes.CDLL('libz.so.1').nothing):\n"
                "    try: call()\n"
                "    except (OSError, AttributeError) as error: print(type(error).__name__, 'nothing' in str(error))\n")
        self.check(self.gorgon("-n", "2", "-c", code), ["AttributeError True", "OSError True"] * 2)

    def test_each_has_its_own_signal_handlers(self):
        code = ("import gorgon, signal, time\n"
                "print('ready', flush=True)\n"
                "try: time.sleep(60)\n"
                "except KeyboardInterrupt: print('interrupted', gorgon.interpreter)\n"
                "try: signal.signal(signal.SIGKILL, print)\n"
                "except OSError as error: print(error)\n")
        with Background(GORGON, "run", "--isolate", self.isolate, "-n", "2", "-c", code, until="(ready\\s+){2}") as program:
            program.process.send_signal(signal.SIGINT)
            status = program.process.wait(timeout=30)
            lines = sorted(program.output.splitlines())
        self.assertEqual((lines, status), (["[Errno 22] Invalid argument"] * 2 + ["interrupted 0", "interrupted 1",
                                                                                 "ready", "ready"], 0))

    def test_unhandled_interrupt_ends_one_interpreter_only(self):
        code = "import gorgon, time\nif gorgon.interpreter == 0: raise KeyboardInterrupt\ntime.sleep(0.3); print('alive')\n"
        result = self.gorgon("-n", "2", "-c", code)
        self.assertEqual((result.stdout, result.returncode), ("alive\n", 130), result.stderr)

    @unittest.skipIf(SANITIZED, "a lock of a sanitizer that another thread holds at fork() stays taken in the child")
    def test_fork_leaves_a_usable_child(self):
        code = ("import os, sys\n"
                "pid = os.fork()\n"
                "if pid == 0:\n"
                "    import numpy\n"
                "    sys.exit(int(numpy.arange(5).sum()))\n"
                "status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
                "import numpy\n"
                "print(status, numpy.arange(5).sum())\n")
        self.check(self.gorgon("-n", "2", "-c", code), ["10 10"] * 2)

    def test_interpreters_come_and_go(self):
        code = "import decimal, json, threading; t = threading.Thread(target=print, args=('x',)); t.start(); t.join()"
        self.check(self.gorgon("-n", "2", "--repeat", "5", "-c", code), ["x"] * 10)

    def test_statistics_count_objects(self):
        result = self.gorgon("--timing", "-c", "import _decimal")
        self.assertRegex(result.stderr, r"(?m)^ +0 +[1-9]\d* .*[1-9]")


class Loader(Strategy, unittest.TestCase):
    isolate = "loader"


class Linked(Strategy):
    """Strategies in which the system's linker loads."""

    def test_what_debuggers_are_told_cannot_be_chosen(self):
        for mode in ("full", "lazy", "off"):
            self.fails(self.gorgon("--debug", mode, "-c", "1"), f"isolation by {self.isolate}", "debuggers")

    def test_a_damaged_libpython_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, SONAME)
            shutil.copyfile(LIBPYTHON, path)
            for size in (5000000, 100000, 4000, 10):
                os.truncate(path, size)
                with self.subTest(size=size):
                    self.fails(self.gorgon("-n", "2", "--python", path, "-c", "1"), path)

    def test_a_damaged_extension_is_an_exception(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                "try: import damaged\n"
                "except ImportError as error: print('damaged' in str(error))\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "damaged.so")
            shutil.copyfile(LIBPYTHON, path)
            os.truncate(path, 5000000)
            self.check(self.gorgon("-n", "2", "-c", code, folder), ["True"] * 2)

    def test_global_scope_is_refused(self):
        code = ("import ctypes\n"
                "try: ctypes.CDLL('libz.so.1', mode=ctypes.RTLD_GLOBAL)\n"
                "except OSError as error: print(error)\n")
        self.check(self.gorgon("-c", code), [f"libz.so.1: RTLD_GLOBAL is not possible with isolation by {self.isolate}"])


class Copy(Linked, unittest.TestCase):
    isolate = "copy"

    def test_copies_are_private_and_gone_at_the_end(self):
        code = ("import glob, os, numpy\n"
                "folder, = glob.glob(os.path.join(os.environ['TMPDIR'], 'gorgon-*'))\n"
                "copies = glob.glob(folder + '/*/*/*')\n"
                "print(oct(os.stat(folder).st_mode)[-3:], *{oct(os.stat(c).st_mode)[-3:] for c in copies},"
                " *(any(name in c for c in copies) for name in ('libpython3', '_multiarray_umath', 'libc.so')))\n")
        with tempfile.TemporaryDirectory() as folder:
            result = self.gorgon("-c", code, env={"TMPDIR": folder})
            self.assertEqual(os.listdir(folder), [])
        self.check(result, ["700 600 True True False"])

    @unittest.skipUnless(shutil.which("eu-elflint"), "eu-elflint is not installed")
    def test_copies_are_as_well_formed_as_their_originals(self):
        code = ("import _decimal, glob, os, shutil\n"
                "for copy in glob.glob(os.environ['TMPDIR'] + '/gorgon-*/*/*/*'): shutil.copy(copy, os.environ['KEPT'])\n")
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as kept:
            self.check(self.gorgon("-c", code, env={"TMPDIR": folder, "KEPT": kept}), [])
            said = {name: lint(os.path.join(kept, name)) for name in os.listdir(kept)}
        # The checker complains of the original's notes, too.
        self.assertEqual(said.pop(os.path.basename(LIBPYTHON)), lint(LIBPYTHON))
        self.assertEqual(([line for lines in said.values() for line in lines], len(said) > 2), ([], True), said)

    def test_a_slot_s_copies_serve_the_next_interpreter(self):
        code = ("import glob, os\n"
                "import _decimal\n"
                "print(*sorted(os.stat(c).st_ino for c in glob.glob(os.environ['TMPDIR'] + '/gorgon-*/*/*/*')))\n")
        for options in ((), ("--private", "libz*")):
            with self.subTest(options=options), tempfile.TemporaryDirectory() as folder:
                result = self.gorgon(*options, "--repeat", "3", "-c", code, env={"TMPDIR": folder})
                lines = result.stdout.splitlines()
                self.assertEqual((len(lines), len(set(lines))), (3, 1), result.stderr)

    def test_a_kept_library_does_not_come_again(self):
        # libcrypto cannot be unloaded, so another interpreter with the same files would get its old state.
        code = "import glob, os, ssl; print(*(os.path.basename(d) for d in glob.glob(os.environ['TMPDIR'] + '/gorgon-*/[0-9]*')))"
        with tempfile.TemporaryDirectory() as folder:
            result = self.gorgon("--private", "libcrypto*", "--private", "libssl*", "--repeat", "2", "-c", code,
                                 env={"TMPDIR": folder})
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual([sorted(line.split()) for line in result.stdout.splitlines()], [["0"], ["0", "1"]], result.stderr)

    def test_the_folder_of_a_killed_process_goes_with_the_next(self):
        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.dict(os.environ, TMPDIR=folder):
                with Background(GORGON, "run", "--isolate", "copy", "-c", "import time; print('ready', flush=True); time.sleep(60)",
                                until="ready") as program:
                    alive = os.listdir(folder)
                    # The folder of a process that runs stays.
                    self.check(self.gorgon("-c", "1"), [])
                    self.assertEqual(os.listdir(folder), alive)
                    program.process.kill()
                    program.process.wait()
                    self.assertEqual(os.listdir(folder), alive)
                self.check(self.gorgon("-c", "1"), [])
            self.assertEqual(os.listdir(folder), [])

    def test_of_folders_without_a_lock_the_old_go_and_those_of_others_stay(self):
        """What is not a lock or a number somebody else has put there: the folder is not of this kind, whatever its name is."""
        stay = {"gorgon-copies-young1": (0o700, False, "0"), "gorgon-copies-other1": (0o755, True, "0"),
                "gorgon-copies-mine11": (0o700, True, "notes"), "gorgon-copies-mine12": (0o700, True, "lock", "notes"),
                "gorgon-source": (0o700, True), "gorgon-sources": (0o700, True, "lock")}
        with tempfile.TemporaryDirectory() as folder:
            for name, (mode, is_old, *files) in (stay | {"gorgon-copies-older1": (0o700, True, "0"),
                                                         "gorgon-copies-older2": (0o700, True, "lock", "0")}).items():
                path = os.path.join(folder, name)
                os.mkdir(path)
                os.chmod(path, mode)
                for file in files:
                    with open(os.path.join(path, file), "w") as out:
                        out.write("left")
                if is_old:
                    os.utime(path, (1, 1))
            self.check(self.gorgon("-c", "1", env={"TMPDIR": folder}), [])
            self.assertEqual(sorted(os.listdir(folder)), sorted(stay))

    def test_where_copies_cannot_be_written_is_one_line(self):
        self.fails(self.gorgon("-c", "1", env={"TMPDIR": "/nonexistent"}), "/nonexistent/gorgon-", "No such file")

    def test_copies_are_not_written_where_others_may_replace_them(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            self.fails(self.gorgon("-c", "1", env={"TMPDIR": folder}), folder, "others may replace them", "mode 777")
            os.chmod(folder, 0o1777)
            self.check(self.gorgon("-c", "1", env={"TMPDIR": folder}), [])
            self.assertEqual(os.listdir(folder), [])

    def test_a_forked_child_leaves_the_folder_alone(self):
        code = ("import os, sys\n"
                "pid = os.fork()\n"
                "if pid == 0: sys.exit(0)\n"
                "os.waitpid(pid, 0)\n"
                "import _decimal\n"
                "print(len(os.listdir(os.environ['TMPDIR'])))\n")
        with tempfile.TemporaryDirectory() as folder:
            self.check(self.gorgon("-c", code, env={"TMPDIR": folder}), ["1"])

    def test_locales_are_their_own(self):
        code = ("import gorgon, locale, time\n"
                "before = locale.setlocale(locale.LC_CTYPE)\n"
                "if gorgon.interpreter == 0: locale.setlocale(locale.LC_CTYPE, 'C')\n"
                "time.sleep(0.3)\n"
                "print(gorgon.interpreter, locale.setlocale(locale.LC_CTYPE) == ('C' if gorgon.interpreter == 0 else before))\n")
        self.check(self.gorgon("-n", "2", "-c", code, env={"LC_ALL": "C.UTF-8"}), ["0 True", "1 True"])
