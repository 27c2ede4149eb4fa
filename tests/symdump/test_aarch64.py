# SPDX-License-Identifier: MIT
"""--stacks of cores of aarch64, on any machine: a library made by a cross compiler, whose code signs its return addresses,
and a core with the stack that a chain of its calls leaves. readelf says where in the stack what is."""

import os
import re
import struct
import tempfile
import unittest

import harness

SOURCE = os.path.join(harness.ROOT, "tests", "jitreg", "jitreg_aarch64.c")
# An empty list of object files: with a list a process is worth looking at.
DESCRIPTOR = "struct { unsigned version, action; void *relevant, *first; } __jit_debug_descriptor = {1, 0, 0, 0};\n"
CALLS = ["hidden", "deeper", "first", "second"]  # innermost first
BASE, STACK, PAGE = 0x5500000000, 0x5600000000, 65536
PROGRAM, LINKER = 0x5400000000, 0x5700000000
EM_AARCH64, ET_CORE, PT_LOAD, PT_NOTE = 183, 4, 1, 4
NT_PRSTATUS, NT_AUXV, NT_FILE, NT_ARM_PAC_MASK = 1, 6, 0x46494C45, 0x406
AT_PHDR, AT_EXECFN, DT_DEBUG = 3, 31, 21
MASK_48, MASK_39 = 0x7F << 48, 0xFFFF << 39


def tool(name, *words):
    result = harness.run("aarch64-linux-gnu-" + name, *words)
    assert result.returncode == 0, result.stderr
    return result.stdout


def note(name, kind, content):
    name += b"\0"
    return struct.pack("<III", len(name), len(content), kind) + name.ljust(-len(name) % 4 + len(name), b"\0") + \
        content.ljust(-len(content) % 4 + len(content), b"\0")


class Library:
    def __init__(self, folder, options):
        self.path = os.path.join(folder, "libsigned.so")
        extra = os.path.join(folder, "descriptor.c")
        with open(extra, "w") as file:
            file.write(DESCRIPTOR)
        tool("gcc", "-g", "-O2", "-shared", "-fPIC", "-nostdlib", *options, SOURCE, extra, "-o", self.path)
        self.code = tool("objdump", "-d", self.path)
        self.rows = [(int(at, 16), cfa, registers.split()) for at, cfa, registers in
                     re.findall(r"^([0-9a-f]{16}) (sp\+\d+) +(.*)$",
                                tool("readelf", "--debug-dump=frames-interp", self.path), re.M)]
        address, self.data_size = re.search(r"([0-9a-f]{16}) +(\d+) OBJECT .* __jit_debug_descriptor$",
                                            tool("readelf", "-sW", self.path), re.M).groups()
        self.descriptor = int(address, 16)

    def after_call(self, caller, callee):
        """The address behind the call of one function in another."""
        body = re.search(rf"<{caller}>:\n(.*?)\n\n", self.code + "\n\n", re.S)[1]
        return int(re.search(rf"^ +([0-9a-f]+):.*\bbl\t[0-9a-f]+ <{callee}(@plt)?>", body, re.M)[1], 16) + 4

    def frame(self, pc):
        """(size of the frame, where in it from its end the return address is)"""
        _, cfa, registers = [row for row in self.rows if row[0] <= pc][-1]
        return int(cfa.removeprefix("sp+")), int(registers[-1].removeprefix("c"))


class Program:
    """A program that the system's linker has loaded, and what that linker has in memory: its list, with one library."""

    def __init__(self, folder, library):
        self.path = os.path.join(folder, "program")
        source = os.path.join(folder, "program.c")
        with open(source, "w") as file:
            file.write("int start(void); int start(void) { return 1; }\n")
        tool("gcc", "-pie", "-nostdlib", "-Wl,-e,start,--dynamic-linker,/lib/ld.so", source, library.path, "-o", self.path)
        headers = tool("readelf", "-lW", self.path)
        self.headers = int(re.search(r"^  PHDR +0x\w+ (0x\w+)", headers, re.M)[1], 16)
        offset, self.dynamic = (int(n, 16) for n in re.search(r"^  DYNAMIC +(0x\w+) (0x\w+)", headers, re.M).groups())
        with open(self.path, "rb") as file:
            data = file.read()[offset:]
        self.entries = b""
        for tag, value in struct.iter_unpack("<QQ", data[:len(data) // 16 * 16]):
            self.entries += struct.pack("<QQ", tag, LINKER if tag == DT_DEBUG else value)
            if not tag:
                break
        # r_debug at 0, two entries of the list at 64 and 128, names from 192 on
        names = b"\0" + library.path.encode() + b"\0" + self.path.encode() + b"\0"
        self.linker = struct.pack("<QQ", 1, LINKER + 64).ljust(64, b"\0") + \
            struct.pack("<5Q", PROGRAM, LINKER + 192, 0, LINKER + 128, 0).ljust(64, b"\0") + \
            struct.pack("<5Q", BASE, LINKER + 193, 0, 0, LINKER + 64).ljust(64, b"\0") + names
        self.vector = struct.pack("<6Q", AT_PHDR, PROGRAM + self.headers, AT_EXECFN, LINKER + 194 + len(library.path), 0, 0)


def write_core(path, library, sign, mask=None, program=None):
    """A core whose thread is in the innermost of CALLS. sign(address) is how a return address is saved. Without a
    program the core itself says which files are mapped."""
    places = [library.after_call(caller, callee) for caller, callee in zip(CALLS, ["beyond", *CALLS])]
    stack, at = bytearray(4096), 0
    for i, pc in enumerate(places):
        size, saved = library.frame(pc)
        at += size
        struct.pack_into("<Q", stack, at + saved, sign(BASE + places[i + 1]) if i + 1 < len(places) else 0)
    registers = [0] * 31 + [STACK, BASE + places[0], 0]  # x0 to x30, sp, pc, pstate
    status = bytearray(392)
    struct.pack_into("<i", status, 32, 4711)
    struct.pack_into("<34Q", status, 112, *registers)
    files = struct.pack("<5Q", 1, PAGE, BASE, BASE + 0x40000, 0) + library.path.encode() + b"\0"
    notes = note(b"CORE", NT_PRSTATUS, bytes(status))
    notes += note(b"CORE", NT_AUXV, program.vector) if program else note(b"CORE", NT_FILE, files)
    if mask is not None:
        notes += note(b"LINUX", NT_ARM_PAC_MASK, struct.pack("<QQ", mask, mask))
    descriptor = struct.pack("<IIQQ", 1, 0, 0, 0)
    parts = [(PT_NOTE, 0, notes), (PT_LOAD, BASE + library.descriptor, descriptor), (PT_LOAD, STACK, bytes(stack))]
    if program:
        parts += [(PT_LOAD, PROGRAM + program.dynamic, program.entries), (PT_LOAD, LINKER, program.linker)]
    off = 64 + 56 * len(parts)
    with open(path, "wb") as file:
        file.write(b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", ET_CORE, EM_AARCH64, 1, 0, 64, 0, 0, 64, 56,
                                                                  len(parts), 0, 0, 0))
        for kind, address, content in parts:
            file.write(struct.pack("<IIQQQQQQ", kind, 6, off, address, 0, len(content), len(content), 4))
            off += len(content)
        for *_, content in parts:
            file.write(content)


class Aarch64(unittest.TestCase):
    def check(self, options, sign, mask=None, linked=False):
        with tempfile.TemporaryDirectory() as folder:
            library, core = Library(folder, options), os.path.join(folder, "core")
            write_core(core, library, sign, mask, Program(folder, library) if linked else None)
            result = harness.run(harness.SYMDUMP, "--stacks", core)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        heading, *frames = result.stdout.strip().splitlines()
        self.assertEqual(heading, "no interpreter, thread 4711")
        found = [re.fullmatch(r"#\d+ +0x\w+  system  libsigned.so!(\w+)\+0x\w+  jitreg_aarch64.c:\d+", line) for line in frames]
        self.assertTrue(all(found), result.stdout)
        self.assertEqual([match[1] for match in found], CALLS)

    def test_without_signatures(self):
        self.check([], lambda address: address)

    def test_signed(self):
        self.check(["-mbranch-protection=standard"], lambda address: address | 0x35 << 48)

    def test_signed_with_the_second_key(self):
        self.check(["-mbranch-protection=pac-ret+leaf+b-key"], lambda address: address | 0x4A << 48)

    def test_signed_in_39_bits(self):
        self.check(["-mbranch-protection=standard"], lambda address: address | 0x1234 << 39, MASK_39)

    def test_signed_in_the_bits_of_the_note(self):
        self.check(["-mbranch-protection=standard"], lambda address: address | 0x11 << 48, MASK_48)

    def test_files_are_those_of_the_system_s_linker_where_no_note_names_them(self):
        self.check(["-mbranch-protection=standard"], lambda address: address | 0x35 << 48, linked=True)


if __name__ == "__main__":
    unittest.main()
