# SPDX-License-Identifier: MIT
"""Libraries that write into the C library's code: refused, and everybody goes on."""

import ctypes
import glob
import os
import unittest

from harness import GORGON, MODULES, run

PATCHER = f"""
import ctypes, os
patcher = ctypes.CDLL({os.path.join(MODULES, "libpatcher.so")!r})
address = ctypes.cast(ctypes.CDLL(None).getsid, ctypes.c_void_p)
before = os.getsid(0)
print(patcher.patcher_jump(address), patcher.patcher_calls(), os.getsid(0) == before)
"""

# UCX installs what it can when it is loaded.
UCX = """
import ctypes
ucp = ctypes.CDLL("libucp.so.0")
memory = [bytes(1 << 24) for _ in range(20)]
del memory
print("works")
"""


def has_ucx():
    try:
        return ctypes.CDLL("libucp.so.0")
    except OSError:
        return None


def opens_plug_ins():
    """UCX 1.18 does, while it is loaded: docs/isolation.md has what becomes of that under the system's linker."""
    return glob.glob("/usr/lib/*/ucx/libucs_fuse.so.0")


class Patchers(unittest.TestCase):
    def test_jump_into_the_c_library_is_refused_and_said_once(self):
        for options in (["-n", "2"], ["--repeat", "2"]):
            with self.subTest(options=options):
                result = run(GORGON, "run", *options, "-c", PATCHER)
                self.assertEqual((result.stdout, result.returncode), ("13 0 True\n" * 2, 0), result.stderr)
                self.assertRegex(result.stderr, r"\Agorgon: \S+/libpatcher\.so was kept from writing to code or tables of "
                                                r"\S+/libc\.so\.6, which all share\n\Z")

    @unittest.skipUnless(has_ucx(), "libucx0 is not installed")
    def test_ucx_in_copies_at_once_and_one_after_the_other(self):
        for options, count in ((["-n", "2"], 2), (["-n", "4"], 4), (["--repeat", "3"], 3),
                               (["-n", "2", "--repeat", "2"], 4)):
            with self.subTest(options=options):
                result = run(GORGON, "run", *options, "-c", UCX)
                self.assertEqual((result.stdout, result.stderr, result.returncode), ("works\n" * count, "", 0))

    @unittest.skipUnless(has_ucx(), "libucx0 is not installed")
    def test_ucx_that_is_told_to_patch_goes_on_without(self):
        result = run(GORGON, "run", "--repeat", "2", "-c", UCX, env={"UCX_MEM_MMAP_HOOK_MODE": "bistro"})
        self.assertEqual((result.stdout.count("works\n"), result.returncode), (2, 0), result.stderr)
        self.assertRegex(result.stderr, r"gorgon: \S+/libucm\.so\.0 was kept from writing to code or tables of ")

    @unittest.skipUnless(has_ucx(), "libucx0 is not installed")
    @unittest.skipIf(opens_plug_ins(), "its constructor opens plug-ins, which the system's linker does not give the copies")
    def test_ucx_under_the_system_s_linker(self):
        # What CPython and UCX leave has no library's name any more when the copies are unloaded.
        result = run(GORGON, "run", "--isolate", "copy", "--repeat", "2", "-c", UCX, env={"ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual((result.stdout, result.returncode), ("works\n" * 2, 0), result.stderr)
