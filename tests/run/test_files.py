# SPDX-License-Identifier: MIT
"""Descriptors, current directory, umask and record locks: each program has its own, as a process has."""

import os
import sqlite3
import subprocess
import tempfile
import textwrap
import unittest

import harness
from harness import GORGON, run

# Programs wait for each other at a named point: all of them write into a pipe that only this program reads.
MEET = """
import gorgon, os, time

def meet(name):
    open(f"{folder}/{name}.{gorgon.interpreter}", "w").close()
    until = time.monotonic() + 60
    while not all(os.path.exists(f"{folder}/{name}.{i}") for i in range(count)):
        assert time.monotonic() < until, name
        time.sleep(0.005)
"""


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)

    def run_program(self, code, count=2, options=(), before=(), **kwargs):
        """The programs' lines, sorted; all must succeed."""
        path = os.path.join(self.folder, "program.py")
        with open(path, "w") as file:
            file.write(f"folder, count = {self.folder!r}, {count}\n{MEET}\n{textwrap.dedent(code)}")
        result = run(*before, GORGON, "run", "-n", str(count), *options, path, cwd=self.folder, **kwargs)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return sorted(result.stdout.splitlines())

    def test_closerange_of_one_program_leaves_the_pipes_of_the_others(self):
        for options in (), ("--isolate", "copy"):
            with self.subTest(options=options):
                lines = self.run_program("""
                    pipes = [os.pipe() for _ in range(5)]
                    meet("opened")
                    if gorgon.interpreter == 0:
                        os.closerange(3, 300)
                    meet("closed")
                    if gorgon.interpreter:
                        for reader, writer in pipes:
                            assert os.write(writer, b"x") and os.read(reader, 1) == b"x"
                    import json, sqlite3, decimal
                    print(gorgon.interpreter, len(os.listdir("/proc/thread-self/fd")) > 10)
                    """, 4, options)
                self.assertEqual(lines, ["0 False", "1 True", "2 True", "3 True"])
                for name in os.listdir(self.folder):
                    os.remove(os.path.join(self.folder, name))

    def test_streams_of_the_shared_runtime_find_the_programs_own_descriptors(self):
        library = os.path.join(self.folder, "streams.so")
        subprocess.run(["g++", "-xc++", "-shared", "-fPIC", "-o", library, "-"], input="#include <fstream>\n"
                       'extern "C" int first(const char *name) { return std::ifstream(name).get(); }', text=True, check=True)
        lines = self.run_program(f"""
            import ctypes
            first = ctypes.CDLL({library!r}).first
            for number in range(3):  # so that the first thread does not have the last of them
                with open(f"{{folder}}/mine.{{gorgon.interpreter}}", "w") as file:
                    file.write(str(gorgon.interpreter))
                file = os.open(file.name, os.O_RDONLY)
            meet("opened")
            print(*(chr(first(f"{{place}}/{{file}}".encode())) for place in ("/proc/self/fd", "/dev/fd", "/proc/thread-self/fd")))
            """)
        self.assertEqual(lines, ["0 0 0", "1 1 1"])

    @unittest.skipUnless(harness.may_unshare(), "unshare(2) is refused: there is one directory and one umask")
    def test_current_directory_and_umask_are_a_programs_own(self):
        lines = self.run_program("""
            place = f"{folder}/of-{gorgon.interpreter}"
            os.mkdir(place)
            os.chdir(place)
            os.umask(0o70 + gorgon.interpreter)
            meet("moved")
            open("file", "w").close()
            os.mkdir("folder")
            print(gorgon.interpreter, os.getcwd() == os.readlink("/proc/self/cwd") == place, os.listdir("/proc/self/cwd"),
                  os.readlink(f"/proc/{os.getpid()}/cwd") == place, oct(os.stat("folder").st_mode & 0o777))
            """, 3)
        self.assertEqual([line.replace("'folder', 'file'", "'file', 'folder'") for line in lines],
                         [f"{i} True ['file', 'folder'] True {oct(0o777 & ~(0o70 + i))}" for i in range(3)])

    def test_names_below_proc_self_and_dev_fd_are_the_programs(self):
        lines = self.run_program("""
            path = f"{folder}/file-{gorgon.interpreter}"
            with open(path, "w") as file:
                file.write("mine")
            fd = os.open(path, os.O_RDONLY)
            meet("opened")
            for name in f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", f"/proc/{os.getpid()}/fd/{fd}":
                assert os.readlink(name) == os.path.realpath(name) == path, name
                assert os.stat(name).st_ino == os.fstat(fd).st_ino
                with open(name) as file:
                    assert file.read() == "mine", name
            assert str(fd) in os.listdir("/dev/fd") and os.path.exists(f"/proc/self/fdinfo/{fd}")
            meet("read")
            os.close(fd)
            assert not os.path.lexists(f"/proc/self/fd/{fd}")
            import subprocess
            print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split())
            """, 3)
        self.assertEqual(lines, ["['0', '1', '2', '3']"] * 3)

    def test_what_is_close_on_exec_is_not_inherited(self):
        kept, closed = os.pipe(), os.pipe()
        code = f"""
            import fcntl
            def is_open(fd):
                try:
                    return bool(os.fstat(fd))
                except OSError:
                    return False
            print([is_open(fd) for fd in {[*kept, *closed]}])
            """
        # Standard input is inherited. The host's runtime has marked the second pair close-on-exec before the program
        # starts.
        lines = self.run_program(code, 2, pass_fds=kept)
        self.assertEqual(lines, ["[True, True, False, False]"] * 2)
        for fd in (*kept, *closed):
            os.close(fd)

    def test_shared_files_are_the_processs(self):
        lines = self.run_program("""
            if gorgon.interpreter == 0:
                fd = os.open("/etc/passwd", os.O_RDONLY)
                os.chdir("/usr/lib")
                with open(f"{folder}/number", "w") as file:
                    file.write(str(fd))
            meet("opened")
            with open(f"{folder}/number") as file:
                print(os.readlink(f"/proc/self/fd/{file.read()}"), os.getcwd())
            meet("read")
            """, 2, ["--shared-files"])
        self.assertEqual(lines, ["/etc/passwd /usr/lib"] * 2)

    def test_descriptors_are_handed_on_by_name(self):
        lines = self.run_program("""
            if gorgon.interpreter == 0:
                reader, writer = os.pipe()
                gorgon.send_fd(reader, "reader")
                os.close(reader)
                with open(f"{folder}/file", "w+") as file:
                    file.write("12345")
                    file.flush()
                    gorgon.send_fd(file.fileno(), "file")
                for bad in lambda: gorgon.send_fd(writer, "reader"), lambda: gorgon.send_fd(999, "other"), \\
                        lambda: gorgon.send_fd(writer, ""), lambda: gorgon.receive_fd("nobody's"):
                    try:
                        bad()
                    except Exception as error:
                        print(type(error).__name__)
                meet("sent")
                os.write(writer, b"hello")
                meet("received")
            else:
                meet("sent")
                before = set(os.listdir("/proc/self/fd"))
                fd = gorgon.receive_fd("reader")
                assert not os.get_inheritable(fd) and {str(fd)} == set(os.listdir("/proc/self/fd")) - before
                print(os.read(fd, 9), os.lseek(gorgon.receive_fd("file"), 0, os.SEEK_CUR))
                meet("received")
            """)
        self.assertEqual(lines, ["KeyError", "OSError", "ValueError", "ValueError", "b'hello' 5"])

    def test_whoever_reads_from_a_program_sees_its_end(self):
        """The same when threads of a BLAS live on with the program's descriptors, because the program was the first to
        use it."""
        lines = self.run_program("""
            if gorgon.interpreter == 0:
                import numpy
                numpy.ones((400, 400)) @ numpy.ones((400, 400))
                reader, writer = os.pipe()
                os.write(writer, b"last words")
                gorgon.send_fd(reader, "reader")
                os.close(reader)
            meet("sent")
            if gorgon.interpreter == 1:
                with open(gorgon.receive_fd("reader"), "rb") as file:
                    print(file.read())
            """)
        self.assertEqual(lines, ["b'last words'"])

    def test_a_programs_output_goes_where_it_has_put_it(self):
        lines = self.run_program("""
            fd = os.open(f"{folder}/out-{gorgon.interpreter}", os.O_WRONLY | os.O_CREAT)
            meet("opened")
            if gorgon.interpreter == 1:
                os.dup2(fd, 1)
            meet("moved")
            print("from", gorgon.interpreter, flush=True)
            """, 3)
        self.assertEqual(lines, ["from 0", "from 2"])
        with open(f"{self.folder}/out-1") as file:
            self.assertEqual(file.read(), "from 1\n")

    def test_without_unshare_descriptors_are_a_programs_own_all_the_same(self):
        """A container's filter may forbid unshare(2)."""
        lines = self.run_program("""
            reader, writer = os.pipe()
            meet("opened")
            if gorgon.interpreter == 0:
                os.closerange(3, 300)
            meet("closed")
            if gorgon.interpreter:
                os.write(writer, b"x")
            print(os.getcwd() == folder)
            """, 3, before=harness.WITHOUT_UNSHARE)
        self.assertEqual(lines, ["True"] * 3)

    def check_database(self, path, rows):
        database = sqlite3.connect(path)
        self.assertEqual(database.execute("pragma integrity_check").fetchall(), [("ok",)])
        self.assertEqual(database.execute("select count(*), count(distinct a || ' ' || b) from t").fetchall(),
                         [(rows, rows)])
        database.close()

    def test_four_programs_insert_into_one_sqlite_file(self):
        for mode in "delete", "wal":
            for options in (), ("--isolate", "copy"):
                with self.subTest(mode=mode, options=options):
                    path = os.path.join(self.folder, f"{mode}-{len(options)}.db")
                    database = sqlite3.connect(path)
                    database.execute(f"pragma journal_mode = {mode}")
                    database.execute("create table t (a, b)")
                    database.commit()
                    database.close()
                    self.run_program(f"""
                        import sqlite3
                        database = sqlite3.connect({path!r}, timeout=120)
                        database.execute("pragma synchronous = off")
                        for i in range(100):
                            with database:
                                database.execute("insert into t values (?, ?)", (gorgon.interpreter, i))
                        database.close()
                        """, 4, options)
                    self.check_database(path, 400)

    def test_record_locks_keep_programs_apart(self):
        lines = self.run_program("""
            import fcntl
            file = open(f"{folder}/locked", "a+")
            if gorgon.interpreter == 0:
                fcntl.lockf(file, fcntl.LOCK_EX)
            meet("locked")
            if gorgon.interpreter == 1:
                open(f"{folder}/locked").close()    # would take a process's own locks away
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    print("locked twice")
                except BlockingIOError:
                    print("kept out")
            meet("tried")
            if gorgon.interpreter == 0:
                file.close()
            meet("closed")
            if gorgon.interpreter == 1:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                print("locked")
            """)
        self.assertEqual(lines, ["kept out", "locked"])
