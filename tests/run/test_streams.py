# SPDX-License-Identifier: MIT
"""Streams of the C library that C code of programs leaves open: written when the program ends, to its own files, by
nobody else."""

import os
import tempfile
import unittest

from harness import GORGON, run

BEGIN = """
import ctypes, gorgon, os, sys, time
libc = ctypes.CDLL(None)
for name in "fopen", "fdopen", "popen", "tmpfile":
    getattr(libc, name).restype = ctypes.c_void_p
libc.fputs.argtypes = ctypes.c_char_p, ctypes.c_void_p
libc.fflush.argtypes = libc.fileno.argtypes = [ctypes.c_void_p]
number = gorgon.interpreter

def wait(path):
    while not os.path.exists(path):
        time.sleep(0.01)

def done(path):
    open(path, "w").close()

def leave(path):
    stream = libc.fopen(path.encode(), b"w")
    libc.fputs(b"left by %d" % number, stream)
    return libc.fileno(stream)
"""

# Program 1 has a file of its own with the number of program 0's stream.
OTHER = BEGIN + """
if number == 0:
    with open("number", "w") as file:
        file.write(str(leave("stream0")))
    done("opened")
    wait("looked")
else:
    wait("opened")
    fd = int(open("number").read())
    other = os.open("file1", os.O_CREAT | os.O_WRONLY)
    os.dup2(other, fd)
    leave("stream1")
    pid = os.getpid()
    try:
        {what}
        print(os.path.getsize("file1"), os.path.getsize("stream0"), os.path.getsize("stream1"))
    finally:
        if os.getpid() == pid:
            done("looked")
"""

# If the C library's stdout took the buffer of a private library, the host would write into it after the library is unloaded.
BUFFER = BEGIN + """
stream = ctypes.c_void_p.in_dll(libc, "stdout")
untouched = ctypes.create_string_buffer(b"-" * 1024)
libc.{call}
libc.printf(b"in a buffer\\n")
assert untouched.raw == b"-" * 1024 + b"\\0", untouched.raw
libc.fflush(stream)
own = libc.fopen(b"own", b"w")
libc.setvbuf(ctypes.c_void_p(own), untouched, 0, 1024)
libc.fputs(b"text", own)
assert untouched.raw.startswith(b"text"), untouched.raw
"""


class Streams(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, code, *options):
        result = run(GORGON, "run", "-n", "2", *options, "-c", code, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def text(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def test_what_is_left_in_a_stream_is_written_at_the_program_s_end(self):
        for options in [], ["--shared-files"]:
            self.program(BEGIN + "leave(f'file{number}')", *options)
            self.assertEqual([self.text("file0"), self.text("file1")], ["left by 0", "left by 1"], options)

    def test_streams_on_descriptors_and_to_commands_are_written_too(self):
        self.program(BEGIN + """
fd = os.open(f"file{number}", os.O_CREAT | os.O_WRONLY)
libc.fputs(b"left by %d" % number, libc.fdopen(fd, b"w"))
libc.fputs(b"left by %d" % number, libc.popen(b"cat > command%d; touch command%d.done" % (number, number), b"w"))
""")
        for number in range(2):
            self.assertEqual(self.text(f"file{number}"), f"left by {number}")

    def test_program_ends_while_a_thread_waits_for_input(self):
        self.assertEqual(self.program(BEGIN + """
import threading
libc.fgetc.argtypes = [ctypes.c_void_p]
read, write = os.pipe()
stream = libc.fdopen(read, b"r")
threading.Thread(target=libc.fgetc, args=(stream,), daemon=True).start()
time.sleep(0.2)
leave(f"file{number}")
print("ends")
"""), "ends\n" * 2)
        self.assertEqual([self.text("file0"), self.text("file1")], ["left by 0", "left by 1"])

    def test_flush_of_all_streams_is_about_the_program_s_own(self):
        told = self.program(OTHER.replace("{what}", "assert libc.fflush(None) == 0"))
        self.assertEqual(told, "0 0 9\n")
        self.assertEqual([self.text("stream0"), self.text("stream1"), self.text("file1")], ["left by 0", "left by 1", ""])

    def test_child_of_a_program_writes_nothing_of_others(self):
        told = self.program(OTHER.replace("{what}", "child = os.fork()\n        if not child: sys.exit(0)\n"
                                                    "        assert os.waitpid(child, 0)[1] == 0"))
        self.assertEqual(told, "0 0 9\n")
        self.assertEqual([self.text("stream0"), self.text("file1")], ["left by 0", ""])

    def test_closed_stream_is_nobody_s(self):
        self.assertEqual(self.program(BEGIN + """
libc.fclose.argtypes = [ctypes.c_void_p]
for i in range(200):
    stream = libc.fopen(f"file{number}".encode(), b"w")
    libc.fputs(b"%d" % i, stream)
    assert libc.fclose(stream) == 0
print(open(f"file{number}").read())
"""), "199\n" * 2)

    def test_stdout_does_not_take_the_buffer_of_a_program(self):
        for call in "setvbuf(stream, untouched, 0, 1024)", "setbuffer(stream, untouched, 1024)", "setbuf(stream, untouched)":
            with self.subTest(call=call):
                self.assertEqual(self.program(BUFFER.replace("{call}", call)), "in a buffer\n" * 2)


if __name__ == "__main__":
    unittest.main()
