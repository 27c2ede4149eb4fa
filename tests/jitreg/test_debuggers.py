# SPDX-License-Identifier: MIT
"""What gdb and lldb really make of symfiles: a host maps a library three times by hand,
registers every copy, and the debuggers stop in it.

Cases with cores (terabytes, from a process with a sanitizer) and LD_PRELOAD are left out with SAN set."""

import os
import re
import struct
import tempfile
import unittest

from harness import (BUILD, LIBPYTHON, LLDB, ROOT, SANITIZED, Background, gdb, lldb, needs_gdb, needs_lldb, run,
                     source_line)

TESTS = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(TESTS, "jitreg_fixture.c")
LIBPYTHON_DEBUG = LIBPYTHON.replace(".so", "d.so", 1)
COPIES = 3
CC = ["gcc", "-g"]
SHARED = ["-O0", "-fPIC", "-shared", "-nostdlib", "-fasynchronous-unwind-tables", "-Wl,-Bsymbolic",
          "-Wl,--hash-style=sysv"]
# What libjitreg.pc asks of a static host, and the names that are looked at here.
EXPORTS = ["-Wl,--export-dynamic-symbol=" + name for name in
           ("__jit_debug_descriptor", "__jit_debug_register_code", "jitreg_debug_root",
            "main", "one_unregistered", "all_unregistered")]

# Words of a debugger that has found something wrong.
TROUBLE = re.compile(r"^.*(?:warning:|error:|Error |cannot|can't|Cannot|not found).*$", re.M)
# Said before the program runs, when the library is not there, and at its end.
EXPECTED = re.compile(r"WARNING:  Unable to resolve breakpoint|Function .* not defined")
COUNT_COPIES = ("python print(sum('in-memory' in (o.filename or '') for o in gdb.objfiles()),"
                " 'copies left')")

def check(name, good, output=""):
    """A part of the case that is running."""
    with Session.now.subTest(name):
        if not good:
            Session.now.fail(f"not so: {name}\n{output}")


def must(*command):
    result = run(*command)
    if result.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stderr}")


def damage_size(library, damaged):
    """Make the library say that the strings of its debug information take a terabyte."""
    with open(library, "rb") as file:
        data = bytearray(file.read())
    offset, = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<HH", data, 0x3c)
    sections = [struct.unpack_from("<IIQQQQ", data, offset + i * 64) for i in range(count)]
    strings = next(section for section in sections if data.startswith(b".debug_str\0", sections[names][4] + section[0]))
    struct.pack_into("<Q", data, strings[4] + 8, 1 << 40)  # ch_size
    with open(damaged, "wb") as file:
        file.write(data)


def build(directory):
    """Build libraries with DWARF inside, detached, without, without section headers; and three hosts."""
    def at(name):
        return os.path.join(directory, name)

    must(*CC, *SHARED, FIXTURE, "-o", at("self.so"))
    must(*CC, "-gdwarf-4", *SHARED, FIXTURE, "-o", at("dwarf4.so"))
    must("objcopy", "--only-keep-debug", at("self.so"), at("self.debug"))
    strip = ["objcopy", "--strip-debug", "--strip-unneeded"]
    must(*strip, at("self.so"), at("names.so"))
    must(*strip, "--add-gnu-debuglink=" + at("self.debug"), at("self.so"), at("link.so"))
    with open(FIXTURE) as file:
        source = file.read()
    with open(at("many.c"), "w") as file:
        file.write(source + "".join(f"struct s{i} {{ int member_of_{i}; }} v{i};\n" for i in range(400)))
    must(*CC, *SHARED, at("many.c"), "-o", at("many.so"))
    must("objcopy", "--compress-debug-sections=zlib", at("many.so"))
    with open(at("self.so"), "rb") as file:
        data = bytearray(file.read())
    data[0x28:0x30] = bytes(8)  # e_shoff
    data[0x3c:0x40] = bytes(4)  # e_shnum, e_shstrndx
    with open(at("nosec.so"), "wb") as file:
        file.write(data)

    damage_size(at("many.so"), at("size.so"))

    sanitize = ["-fsanitize=" + os.environ["SAN"]] if os.environ.get("SAN") else []
    host = [*CC, "-O1", *sanitize, "-I" + os.path.join(ROOT, "jitreg"), os.path.join(TESTS, "jitreg_host.c")]
    must(*host, "-o", at("host"), f"-L{BUILD}", "-ljitreg", f"-Wl,-rpath,{BUILD}")
    must(*host, "-o", at("host-static"), os.path.join(BUILD, "libjitreg.a"), "-lelf", "-lz", *EXPORTS)
    must("strip", at("host-static"))
    os.mkdir(at("stripped"))
    must("strip", "-o", at("stripped/libjitreg.so.0"), os.path.join(BUILD, "libjitreg.so"))
    must(*host, "-o", at("host-stripped"), f"-L{BUILD}", "-ljitreg", f"-Wl,-rpath,{at('stripped')}")
    with open(at("other.c"), "w") as file:
        file.write("struct { unsigned version, action; void *relevant, *first; }"
                   " __jit_debug_descriptor = {1};\n"
                   "void __jit_debug_register_code(void) { __asm__ volatile(\"\"); }\n")
    must(*CC, "-fPIC", "-shared", at("other.c"), "-o", at("other.so"))


def ranges(output):
    """[(start, end)] of the copies, as the host printed them."""
    return [(int(a, 16), int(b, 16)) for a, b in re.findall(r"bias (0x\w+) end (0x\w+)", output)]


def each_once(addresses, output):
    """Does exactly one of these addresses lie in each copy?"""
    copies = ranges(output)
    return len(addresses) == len(copies) > 0 and all(
        sum(start <= int(a, 16) < end for a in addresses) == 1 for start, end in copies)


def check_no_trouble(name, output):
    lines = [line for line in TROUBLE.findall(output) if not EXPECTED.search(line)]
    check(f"{name}: no warning", not lines, "\n".join(lines))


def split(output):
    """What was printed before the first copy was unregistered, before the last copy was, and after that."""
    first, _, rest = output.partition("--first gone--")
    second, _, third = rest.partition("--all gone--")
    return first, second, third


# ---- gdb ----------------------------------------------------------------------------

GDB_LOCATIONS = re.compile(r"^1\.\d+ +y +(0x\w+)(?: (in|<))?", re.M)
GDB_DWARF_FRAMES = re.compile(
    r"^#0 +snake_leaf \(number=(\d), value=10\) at .*jitreg_fixture\.c:(\d+)\n"
    r"#1 .* snake_enter \(number=\1, .*\n"
    r"#2 .* main ", re.M)
GDB_NAME_FRAMES = re.compile(
    r"^#0 .* in snake_leaf \(\)\n#1 .* in snake_enter \(\)\n#2 .* main ", re.M)
GDB_CALLBACK = re.compile(
    r"in_callback .*\n(?:#.*\n)*#\d+ .* snake_enter .*\n#\d+ .* main ")


def gdb_check_dwarf(name, before, output):
    line = str(source_line(FIXTURE, "int sum = number;"))
    check(f"{name}: file, line, arguments and callers in each copy",
          GDB_DWARF_FRAMES.findall(before) == [(str(i + 1), line) for i in range(COPIES)], output)
    check(f"{name}: arguments and locals",
          before.count("\nvalue = 10") == before.count("\nsum = ") == COPIES, output)
    statics = re.findall(r"\(int \*\) (0x\w+)", before)
    check(f"{name}: static variable of each copy", each_once(statics, output), output)


def gdb_live(directory, kind, host="host", label="", preload=None):
    """Stop three times by name; then the copies are unregistered one after the other."""
    name = f"gdb {label or kind}"
    dwarf = kind in ("self", "link", "dwarf4")
    stop = ["printf \"pc %#lx\\n\", $pc", "bt"]
    if dwarf:
        stop += ["info args", "info locals", "print &snake_static"]
    commands = [f"set environment LD_PRELOAD {preload}"] if preload else []
    commands += ["break snake_leaf", "break all_unregistered", "break one_unregistered",
                 "run", *stop, "continue", *stop, "continue", *stop, "info breakpoints 1",
                 "continue", "echo --first gone--\\n", "info breakpoints 1",
                 "continue", "echo --all gone--\\n", "info breakpoints 1", COUNT_COPIES,
                 "continue"]
    output = gdb(commands, os.path.join(directory, host), os.path.join(directory, kind + ".so"),
                 str(COPIES), "run")
    before, between, after = split(output)
    pcs = re.findall(r"^pc (0x\w+)", before, re.M)
    check(f"{name}: stops once in each copy", each_once(pcs, output), output)
    if dwarf:
        gdb_check_dwarf(name, before, output)
    else:
        check(f"{name}: function names up to main in each copy",
              len(GDB_NAME_FRAMES.findall(before)) == COPIES, output)
    places = [address for address, _ in GDB_LOCATIONS.findall(before)]
    check(f"{name}: one location per copy", each_once(places, output), output)
    places = GDB_LOCATIONS.findall(between)
    check(f"{name}: places in the other copies stay when one is unregistered",
          len(places) == COPIES - 1 and all(function for _, function in places), output)
    check(f"{name}: after unregistering, the breakpoint has a place where nothing is",
          re.search(r"^1 +breakpoint +keep y +0x\w+ (in|<)", after, re.M) and "\n1 copies left" in after, output)
    check(f"{name}: process ends normally, its memory is as it was",
          "exited normally" in after, output)
    check_no_trouble(name, output)


def gdb_attach(directory, kind):
    """Attach to a process that is in the last copy; returns the name of a core of it, or None with a sanitizer."""
    name = f"gdb {kind}"
    core = os.path.join(directory, f"core.{kind}")
    library = os.path.join(directory, kind + ".so")
    commands = ["bt", "break snake_leaf", "info breakpoints", "detach"]
    if not SANITIZED:
        commands.insert(3, f"gcore {core}")
    with Background(os.path.join(directory, "host"), library, str(COPIES), "wait",
                    until="waiting", asleep=1) as process:
        output = gdb(commands, options=("-p", str(process.pid)))
        places = [address for address, _ in GDB_LOCATIONS.findall(output)]
        check(f"{name} attached: backtrace goes through the copy",
              GDB_CALLBACK.search(output), output)
        check(f"{name} attached: one location per copy",
              each_once(places, process.output), output)
    return None if SANITIZED else core


def gdb_core(directory, kind, core):
    name = f"gdb {kind} core"
    output = gdb([f"core-file {core}", "bt", "info symbol snake_leaf"],
                 os.path.join(directory, "host"))
    check(f"{name}: backtrace goes through the copy", GDB_CALLBACK.search(output), output)
    check(f"{name}: names", "snake_leaf in section .text" in output, output)
    if kind == "self":
        check(f"{name}: file and line of the copy's frame",
              re.search(r"snake_enter \(number=3, .* at .*jitreg_fixture\.c:\d+", output), output)


def gdb_libpython(directory, library, kind):
    """Each copy has as many locations as the file alone: with inlining there can be more than one."""
    name = f"gdb {os.path.basename(library)}"
    alone = gdb(["break PyList_Append", "info breakpoints"], library)
    want = max(len(GDB_LOCATIONS.findall(alone)), 1)
    line = re.search(r"in PyList_Append at \S*listobject\.c:(\d+)", alone)
    line = line.group(1) if line else "1"
    output = gdb(["break all_registered", "run", "break PyList_Append", "info breakpoints 2",
                  f"info line listobject.c:{line}", "disassemble PyList_Append,+8",
                  "ptype PyObject", "kill"],
                 os.path.join(directory, "host"), library, "2", "map")
    copies = ranges(output)

    def in_copies(pattern):
        found = [int(a, 16) for a in re.findall(pattern, output, re.M)]
        return [sum(start <= a < end for a in found) for start, end in copies]

    check(f"{name}: debug information is found ({kind})",
          output.count(f" debug {kind} ") == 2, output)
    check(f"{name}: {want} location(s) with file and line in each copy, as in the file alone",
          in_copies(r"^2\.\d+ +y +(0x\w+) in PyList_Append at \S+:\d+") == [want, want], output)
    check(f"{name}: info line finds both copies", all(in_copies(
        r"^Line \d+ of \S*listobject\.c\S* starts at address (0x\w+) <PyList_Append")), output)
    check(f"{name}: disassembles by name",
          re.search(r"<PyList_Append\+\d+>:\s+\w+", output), output)
    check(f"{name}: types", "struct _object {" in output, output)
    check_no_trouble(name, output)


# ---- lldb -----------------------------------------------------------------------------

LLDB_FRAMES = re.compile(
    r"frame #0: (0x\w+) JIT\(0x\w+\)`snake_leaf.*\n"
    r"\s+frame #1: 0x\w+ JIT\(0x\w+\)`snake_enter.*\n"
    r"\s+frame #2: .*`main")
LLDB_CALLBACK = re.compile(
    r"`in_callback.*\n"
    r"\s+frame #\d+: 0x\w+ JIT\(0x\w+\)`snake_enter.*\n"
    r"\s+frame #\d+: .*`main")


def lldb_live(directory, kind, host="host", label=""):
    name = f"lldb {label or kind}"
    output = lldb(["breakpoint set -n snake_leaf", "breakpoint set -n all_unregistered",
                   "breakpoint set -n one_unregistered", "run", "bt", "continue", "bt",
                   "continue", "bt", "breakpoint list 1", "continue",
                   "script print('--first gone' + '--')", "breakpoint list 1", "continue",
                   "script print('--all gone' + '--')", "image list", "continue"],
                  os.path.join(directory, host), os.path.join(directory, kind + ".so"),
                  str(COPIES), "run")
    before, between, after = split(output)
    check(f"{name}: stops once in each copy, backtrace reaches main",
          each_once(LLDB_FRAMES.findall(before), output), output)
    check(f"{name}: one resolved location per copy",
          f"locations = {COPIES}, resolved = {COPIES}" in before, output)
    check(f"{name}: places in the other copies stay when one is unregistered",
          f"resolved = {COPIES - 1}" in between, output)
    check(f"{name}: no copies left after unregistering",
          "image list" in after and "JIT(0x" not in after, output)
    check(f"{name}: process ends normally, its memory is as it was",
          "exited with status = 0" in after, output)
    check_no_trouble(name, output)


def lldb_attach(directory, kind):
    host = os.path.join(directory, "host")
    library = os.path.join(directory, kind + ".so")
    with Background(host, library, str(COPIES), "wait", until="waiting", asleep=1) as process:
        lldb_still(f"lldb {kind} attached", f"target create {host}",
                   f"process attach -p {process.pid}")


def lldb_core(directory, kind, core):
    host = os.path.join(directory, "host")
    lldb_still(f"lldb {kind} core", f"target create {host} --core {core}")


def lldb_still(name, *commands):
    """Look at a process that stands in the last copy."""
    output = lldb([*commands, "bt", "image lookup -n snake_leaf"])
    check(f"{name}: backtrace goes through the copy", LLDB_CALLBACK.search(output), output)
    check(f"{name}: name in each copy",
          output.count("match found in JIT(") == COPIES, output)


def lldb_libpython(directory, library):
    name = f"lldb {os.path.basename(library)}"
    output = lldb(["breakpoint set -n all_registered", "run", "breakpoint set -n PyList_Append",
                   "breakpoint list 2", "image lookup -s _PyRuntime", "kill"],
                  os.path.join(directory, "host"), library, "2", "map")
    places = re.findall(r"^  2\.\d+: where = JIT\(0x\w+\)`PyList_Append.*?"
                        r"address = (0x\w+), resolved", output, re.M)
    check(f"{name}: one location in each copy", each_once(places, output), output)
    runtimes = re.findall(r"Address: JIT\(0x\w+\)\[(0x\w+)\]", output)
    check(f"{name}: variable by name in each copy", each_once(runtimes, output), output)
    check_no_trouble(name, output)


class Session(unittest.TestCase):
    """A case with debuggers and the libraries and hosts of build()."""

    now = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="jitreg-debuggers-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")  # the leak checker does not work under a debugger
        build(cls.folder)

    def setUp(self):
        Session.now = self


def each(function, kinds, prefix, **arguments):
    """Add a case for each kind of library to a class: prefix_KIND is function(folder, kind, ...)."""
    def add(cls):
        for kind in kinds:
            setattr(cls, f"test_{prefix}_{kind}", lambda self, kind=kind: function(self.folder, kind, **{
                name: value.format(kind=kind) if isinstance(value, str) else value for name, value in arguments.items()}))
        return cls

    return add


@needs_gdb
@each(gdb_live, ["self", "link", "names", "nosec"], "live")
@each(gdb_live, ["dwarf4"], "live")
class Gdb(Session):
    def test_debug_information_that_gdb_does_not_recognize(self):
        gdb_live(self.folder, "size", label="debug information that gdb does not recognize")

    def test_libjitreg_stripped(self):
        gdb_live(self.folder, "self", "host-stripped", "self, libjitreg stripped")

    def test_host_static_and_stripped(self):
        gdb_live(self.folder, "self", "host-static", "self, host static and stripped")

    @unittest.skipIf(SANITIZED, "a sanitizer's runtime insists on being loaded first")
    def test_another_registrar_in_the_process(self):
        gdb_live(self.folder, "self", label="self, another registrar in the process", preload=os.path.join(self.folder, "other.so"))

    @unittest.skipUnless(os.path.exists(LIBPYTHON), f"{LIBPYTHON} is not installed")
    def test_libpython(self):
        gdb_libpython(self.folder, LIBPYTHON, "build-id")

    @unittest.skipUnless(os.path.exists(LIBPYTHON_DEBUG), f"{LIBPYTHON_DEBUG} is not installed")
    def test_libpython_debug_build(self):
        gdb_libpython(self.folder, LIBPYTHON_DEBUG, "self")


def attached_and_core(folder, kind):
    """gdb writes the core that both debuggers read."""
    core = gdb_attach(folder, kind)
    if core:
        gdb_core(folder, kind, core)
        if LLDB:
            lldb_core(folder, kind, core)


@needs_gdb
@each(attached_and_core, ["self", "names"], "attached_and_core")
class GdbAttached(Session):
    pass


@needs_lldb
@each(lldb_live, ["self", "link", "names", "nosec"], "live")
@each(lldb_attach, ["self", "names"], "attached")
class Lldb(Session):
    def test_libjitreg_stripped(self):
        lldb_live(self.folder, "self", "host-stripped", "self, libjitreg stripped")

    def test_host_static_and_stripped(self):
        lldb_live(self.folder, "self", "host-static", "self, host static and stripped")

    @unittest.skipUnless(os.path.exists(LIBPYTHON), f"{LIBPYTHON} is not installed")
    def test_libpython(self):
        lldb_libpython(self.folder, LIBPYTHON)

    @unittest.skipUnless(os.path.exists(LIBPYTHON_DEBUG), f"{LIBPYTHON_DEBUG} is not installed")
    def test_libpython_debug_build(self):
        lldb_libpython(self.folder, LIBPYTHON_DEBUG)


if __name__ == "__main__":
    unittest.main()
