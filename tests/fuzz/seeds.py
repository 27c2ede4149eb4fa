#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the seeds of the fuzz targets: the smallest inputs that reach every part of a reader.

Usage: seeds.py FOLDER      (the corpus is tests/fuzz/corpus; names of 40 digits there are what libFuzzer has found)"""

import os
import struct
import subprocess
import sys
import tempfile

ROOT, JITREG, DESCRIPTORS, WORLD = 0x10000, 0x10100, 0x10200, 0x10300
TEXT, STEP = 0x20000, 0x10000
NO_INTERP = 0xFFFFFFFF


class Memory:
    """Bytes at addresses from ROOT on."""

    def __init__(self):
        self.bytes = bytearray(WORLD - ROOT)

    def add(self, data):
        address = ROOT + len(self.bytes)
        self.bytes += data + b"\0" * (-len(data) % 8)
        return address

    def put(self, address, fmt, *values):
        struct.pack_into("<" + fmt, self.bytes, address - ROOT, *values)


def symfile(address, name=b"f", relocatable=False):
    """An ELF file with one function, at an address or in a section there."""
    names = b"\0" + name + b"\0"
    sym = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1 if relocatable else 0xFFF1, 16 if relocatable else address, 8)
    offset = 64 + 4 * 64
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, 8, 2, address, 0, 64, 0, 0, 1, 0)
    sections += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, offset, len(sym), 3, 1, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, offset + len(sym), len(names), 0, 0, 1, 0)
    return elf_header(1 if relocatable else 3, sections=4) + sections + sym + names


def elf_header(kind, segments=0, sections=0):
    return b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", kind, 62, 1, 0, 64 if segments else 0,
                                                      64 if sections else 0, 0, 64, 56, segments, 64, sections, 0)


def note(kind, desc):
    return struct.pack("<III", 5, len(desc), kind) + b"CORE\0\0\0\0" + desc + b"\0" * (-len(desc) % 4)


def core(memory, files):
    """A core with one segment of memory and the names of mapped files."""
    entries = b"".join(struct.pack("<QQQ", start, end, 0) for start, end, _ in files)
    names = b"".join(name + b"\0" for _, _, name in files)
    notes = note(0x46494C45, struct.pack("<QQ", len(files), 4096) + entries + names)
    offset = 64 + 2 * 56
    headers = struct.pack("<IIQQQQQQ", 4, 0, offset, 0, 0, len(notes), 0, 4)
    headers += struct.pack("<IIQQQQQQ", 1, 6, offset + len(notes), ROOT, 0, len(memory.bytes), len(memory.bytes), 8)
    return elf_header(4, segments=2) + headers + notes + bytes(memory.bytes)


FILES = [(TEXT, TEXT + STEP // 2, b"/lib/a.so"), (TEXT + STEP, TEXT + STEP + STEP // 2, b"/lib/b.so")]


def add_registry(memory, namespaces, objects):
    """@namespaces: [(interpreter, Python's minor version)], all with the same number of objects."""
    path, build_id = memory.add(b"/lib/a.so"), memory.add(b"\xab" * 20)
    ns_at = [memory.add(bytes(72)) for _ in namespaces]
    count = 0
    for n, (interp, minor) in enumerate(namespaces):
        at = [memory.add(bytes(120)) for _ in range(objects)]
        for i, address in enumerate(at):
            start = TEXT + count * STEP
            count += 1
            data = symfile(start + 16)
            memory.put(address, "QQQQIIQQQQQQQIIQQ", at[i + 1] if i + 1 < objects else 0, at[i - 1] if i else 0, ns_at[n],
                       path, 9, 20, build_id, start, start, start + STEP // 2, memory.add(data), len(data), path, 9,
                       count % 4, 0, 0)
        memory.put(ns_at[n], "QQQIIQQIIQQ", ns_at[n + 1] if n + 1 < len(ns_at) else 0, ns_at[n - 1] if n else 0, n + 1,
                   interp, 0, at[0] if at else 0, at[-1] if at else 0, objects, minor, at[0] if at else 0, 4711)
    memory.put(ROOT, "8sIIQQIIQQIIQII", b"GORGONDR", 1, 80, 2, 0, 72, 120, ns_at[0], ns_at[-1], len(ns_at), count, 0, 0,
               48)


def add_list(memory, descriptor, symfiles, jitreg=False):
    at = [memory.add(bytes(80 if jitreg else 32)) for _ in symfiles]
    for i, (address, (start, data)) in enumerate(zip(at, symfiles)):
        memory.put(address, "QQQQ", at[i + 1] if i + 1 < len(at) else 0, at[i - 1] if i else 0, memory.add(data),
                   len(data))
        if jitreg:
            memory.put(address + 32, "IIQQQQQ", 0x4554494A, 80, i + 1, 0, start, start, start + STEP // 2)
    memory.put(descriptor, "IIQQ", 1, 0, 0, at[0])
    if jitreg:
        memory.put(JITREG, "QIIIIQQQQQ", 0x010047455254494A, 1, 64, 24, 80, descriptor, 2, 0, len(at), len(at))


def cores():
    memory = Memory()
    add_registry(memory, [(0, 11)], 1)
    yield "registry", core(memory, FILES)
    memory = Memory()
    add_registry(memory, [(0, 11), (1, 13), (NO_INTERP, 0)], 2)
    add_list(memory, DESCRIPTORS, [(TEXT, symfile(TEXT + 16))], jitreg=True)
    yield "registry_and_list", core(memory, FILES)
    memory = Memory()
    add_list(memory, DESCRIPTORS, [(TEXT + i * STEP, symfile(TEXT + i * STEP + 16)) for i in range(2)], jitreg=True)
    yield "jitreg", core(memory, FILES)
    memory = Memory()
    add_list(memory, DESCRIPTORS, [(0, symfile(TEXT + 16, b"f\x1b[1m")), (0, symfile(TEXT + STEP, relocatable=True))])
    add_list(memory, DESCRIPTORS + 32, [(0, symfile(TEXT + 2 * STEP))])
    yield "plain", core(memory, FILES)


SOURCE = """
static int hidden(int x) { return x * 3; }
int f(int x) { return hidden(x) + 1; }
int variable;
"""


# Everything that a loader reads: versions, thread-local storage, references to others, constructors, tables of pointers.
LOADABLE = """
#include <stdio.h>
__thread int tls = 3;
__thread int tls_zero;
extern __thread int errno_of_somebody __attribute__((weak));
int variable = 7;
static int *pointers[] = {&variable, &variable};
__attribute__((constructor)) static void begin(void) { variable++; }
__attribute__((destructor)) static void end(void) { variable--; }
int old(void) { return 1; }
int new(void) { return tls + tls_zero; }
__asm__(".symver old, f@V1");
__asm__(".symver new, f@@V2");
int g(const char *text) { return puts(text) + *pointers[1] + (&errno_of_somebody != NULL); }
"""


def loadable(*options):
    with tempfile.NamedTemporaryFile("w", suffix=".map") as versions:
        versions.write("V1 { global: f; local: begin; };\nV2 { global: g; } V1;\n")
        versions.flush()
        return compiled("-shared", "-fPIC", "-s", "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=4096", "-Wl,--build-id",
                        "-nostartfiles", "-lc", f"-Wl,--version-script={versions.name}", *options, source=LOADABLE)


def loadables():
    yield "plain", loadable()
    yield "sysv", loadable("-Wl,--hash-style=sysv", "-Wl,-z,norelro")
    yield "relr", loadable("-Wl,-z,pack-relative-relocs", "-Wl,-soname,libseed.so")
    yield "tlsdesc", loadable("-mtls-dialect=gnu2", "-Wl,-rpath,$ORIGIN/x", "-Wl,-z,now")
    yield "frames", loadable("-fasynchronous-unwind-tables", "-Wl,--eh-frame-hdr", "-Wl,-z,nodelete", "-Wl,-Bsymbolic")


def frames():
    for name, options in ("plain", []), ("shorter", ["-O0", "-fcf-protection=none"]):
        library = compiled("-shared", "-fasynchronous-unwind-tables", *options)
        with tempfile.TemporaryDirectory() as folder:
            whole, part = os.path.join(folder, "whole"), os.path.join(folder, "part")
            with open(whole, "wb") as file:
                file.write(library)
            subprocess.run(["objcopy", "-O", "binary", "--only-section=.eh_frame", whole, part], check=True)
            with open(part, "rb") as file:
                yield name, file.read().rstrip(b"\0") + b"\0" * 4
    yield "empty", bytes(4)


def ldcaches():
    names = [b"libfoo.so.1", b"/lib/libfoo.so.1", b"libbar.so", b"/opt/libbar.so"]
    at, texts = 48 + 24 * 3, b""
    offsets = []
    for name in names:
        offsets.append(at + len(texts))
        texts += name + b"\0"
    entries = b"".join(struct.pack("<IIIIQ", 0x303, offsets[i], offsets[i + 1], 0, hwcap) for i, hwcap in ((0, 0), (2, 0), (0, 1)))
    cache = b"glibc-ld.so.cache1.1" + struct.pack("<II", 3, len(texts)) + bytes(20) + entries + texts
    yield "new", cache
    yield "after_old", b"ld.so-1.7.0\0" + struct.pack("<I", 0) + cache


def compiled(*options, source=SOURCE):
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "f")
        subprocess.run(["gcc", "-x", "c", "-", "-O1", "-nostdlib", "-fno-asynchronous-unwind-tables", "-fdebug-prefix-map="
                        + os.getcwd() + "=.", "-o", output, *options], input=source, text=True, check=True)
        with open(output, "rb") as file:
            return file.read()


SMALL = ["-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=512", "-Wl,-z,norelro", "-Wl,--hash-style=sysv"]


# Debuggers are referred to a copy of such a library (jitreg/debug_copy.c).
JIT_INTERFACE = "void *__jit_debug_descriptor[4]; void __jit_debug_register_code(void) { }\n"


def libraries():
    yield "symfile", symfile(TEXT)
    yield "symfile_relocatable", symfile(TEXT, b"f@V", relocatable=True)
    yield "names", compiled("-shared", "-Wl,--build-id", *SMALL)
    yield "stripped", compiled("-shared", "-s", *SMALL)
    yield "object", compiled("-c", "-g")
    for version in (2, 4, 5):
        yield f"dwarf{version}", compiled("-shared", f"-gdwarf-{version}", *SMALL)
    yield "compressed", compiled("-shared", "-g", "-gz", *SMALL)
    yield "jit_interface", compiled("-shared", "-g", *SMALL, source=SOURCE + JIT_INTERFACE)


# Offsets of python_layout.c, by their names; those of 3.13 and 3.14 are in the seed itself. In 3.11 "gil" is in
# _PyRuntime, and in later versions it leads from an interpreter to its GIL.
COMMON = {"previous": 8, "code": 0, "instr": 56, "owner": 70, "filename": 112, "name": 128, "line_table": 136,
          "first_line": 68, "first_instr": 192, "ascii_size": 40, "thread_next": 8, "thread_id": 144, "interp_head": 40,
          "interp_next": 0, "thread_head": 72, "gil": 96, "current_frame": 0}
LAYOUTS = {
    11: dict(COMMON, previous=48, code=32, owner=68, first_line=72, first_instr=184, ascii_size=48, thread_id=160,
             thread_head=16, gil=360, current_frame=8),
    12: dict(COMMON, gil=384),
    13: dict(COMMON, interp_head=800),
    14: dict(COMMON, interp_head=800),
}
# Words of _Py_DebugOffsets.
WORDS = {
    13: {"interp_head": 5, "interp_next": 8, "thread_head": 9, "gil": 14, "thread_next": 21, "thread_id": 25,
         "previous": 29, "code": 30, "instr": 31, "owner": 33, "filename": 35, "name": 37, "line_table": 38,
         "first_line": 39, "first_instr": 43, "ascii_size": 70},
    14: {"interp_head": 5, "interp_next": 8, "thread_head": 9, "gil": 15, "thread_next": 24, "thread_id": 28,
         "previous": 32, "code": 33, "instr": 34, "owner": 36, "filename": 40, "name": 42, "line_table": 43,
         "first_line": 44, "first_instr": 48, "ascii_size": 80},
}
FIXED = {13: {0: int.from_bytes(b"xdebugpy", "little"), 1: 0x030D00F0, 15: 24, 17: 40, 18: 32, 23: 56, 65: 16, 66: 32,
              68: 32, 69: 16},
         14: {0: int.from_bytes(b"xdebugpy", "little"), 1: 0x030E00F0, 16: 24, 18: 40, 19: 32, 26: 56, 75: 16, 76: 32,
              78: 32, 79: 16}}


def python(minor):
    """The memory of a thread in f(), which C code has called, which <module> has called."""
    at = LAYOUTS[minor]
    memory = bytearray(1032)  # _PyRuntime

    def add(data):
        memory.extend(data + bytes(-len(data) % 8))
        return ROOT + len(memory) - len(data) - -len(data) % 8

    def put(address, fmt, value):
        struct.pack_into("<" + fmt, memory, address - ROOT, value)

    def text(characters, width=1):
        data = b"".join(ord(c).to_bytes(width, "little") for c in characters)
        is_ascii = characters.isascii()
        head = struct.pack("<QQQQQ", 0, 0, len(characters), 0, width << 2 | 1 << 5 | is_ascii << 6)
        return add(head.ljust(at["ascii_size"] + (0 if is_ascii else 16 if minor > 12 else 24 if minor == 11 else 16), b"\0") + data)

    def code(name, first_line):
        address = add(bytes(at["first_instr"] + 16))
        put(address + at["filename"], "Q", filename)
        put(address + at["name"], "Q", text(name))
        put(address + at["line_table"], "Q", lines)
        put(address + at["first_line"], "I", first_line)
        return address

    def frame(of, previous, owner):
        address = add(bytes(80))
        put(address + at["code"], "Q", of and of | (minor == 14))
        put(address + at["previous"], "Q", previous)
        put(address + at["instr"], "Q", of and of + at["first_instr"] + 4)
        put(address + at["owner"], "B", owner)
        return address

    for name, word in WORDS.get(minor, {}).items():
        put(ROOT + 8 * word, "Q", at[name])
    for word, value in FIXED.get(minor, {}).items():
        put(ROOT + 8 * word, "Q", value)
    filename = text("\u00e9\u20ac.py", 2)
    lines = add(struct.pack("<QQQQ", 0, 0, 9, 0) + bytes([0x80 | 10 << 3 | 1, 0, 0x80 | 13 << 3 | 1, 0x42, 1, 0x80 | 15 << 3, 0x80 | 14 << 3 | 3, 2, 1]))
    entry = 0 if minor == 11 else frame(0, 0, 3)
    module = frame(code("<module>", 1), entry, minor == 11)
    innermost = frame(code("f", 10), module if minor == 11 else frame(0, module, 3), minor == 11)
    thread, interp, gil = add(bytes(256)), add(bytes(512)), add(bytes(32))
    put(thread + at["thread_id"], "Q", 4711)
    put(thread + 56, "Q", innermost if minor > 12 else add(struct.pack("<QQ", innermost, innermost)))
    put(ROOT + at["interp_head"], "Q", interp)
    put(interp + at["thread_head"], "Q", thread)
    if minor == 11:
        gil = ROOT + at["gil"]
    else:
        put(interp + at["gil"], "Q", gil)
    put(gil + 16, "I", 1)
    put(gil + 8, "Q", thread)
    return bytes([minor - 11]) + memory


def pythons():
    for minor in LAYOUTS:
        yield f"python3.{minor}", python(minor)


def main(folder):
    for kind, inputs in (("core", cores()), ("library", libraries()), ("python", pythons()),
                         ("load", loadables()), ("rewrite", loadables()), ("registrar", libraries()),
                         ("frames", frames()), ("ldcache", ldcaches())):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        for name, data in inputs:
            with open(os.path.join(folder, kind, name), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
