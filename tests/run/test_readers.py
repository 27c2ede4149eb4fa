# SPDX-License-Identifier: MIT
"""What the debuggers' scripts read of a process and of files, made up and damaged: they end, raise what they say they raise,
and print nothing that a terminal would obey."""

import glob
import importlib.util
import os
import struct
import sys
import types
import unittest

from hypothesis import HealthCheck, given, settings, strategies as st

from harness import ROOT

BASE = 0x10000
SIZE = 0x4000
EDGES = [0, 1, 7, BASE, BASE + 8, BASE + SIZE - 1, BASE + SIZE, 4096, 4097, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
EXAMPLES = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def load(package, *names):
    """Modules of a package that know no debugger, without the others."""
    folder = os.path.join(ROOT, package)
    parent = f"readers_of_{os.path.basename(package)}"
    sys.modules[parent] = types.ModuleType(parent)
    sys.modules[parent].__path__ = [folder]
    modules = []
    for name in names:
        spec = importlib.util.spec_from_file_location(f"{parent}.{name}", os.path.join(folder, f"{name}.py"))
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    return modules


root, layout, elf = load("debuggers/gorgon_shared", "root", "layout", "elf")


class Memory:
    """A registry in memory that can be damaged."""

    def __init__(self):
        self.bytes = bytearray(SIZE)
        self.end = BASE + root.ROOT.size

    def add(self, data):
        address = self.end
        self.end += len(data) + -len(data) % 8
        self.put(address, data)
        return address

    def put(self, address, data):
        self.bytes[address - BASE:address - BASE + len(data)] = data

    def read(self, address, size):
        at = address - BASE
        if at < 0 or size < 0 or at + size > len(self.bytes):
            raise root.MemoryProblem(f"no memory at {address:#x}")
        return bytes(self.bytes[at:at + size])


def registry(namespaces=3, objects=4):
    memory = Memory()
    path = memory.add(b"/lib/\x1b[31ma\n.so")
    ns_at = [memory.add(bytes(root.NS.size)) for _ in range(namespaces)]
    for n, at in enumerate(ns_at):
        of = [memory.add(bytes(root.OBJECT.size)) for _ in range(objects)]
        for i, address in enumerate(of):
            start = 0x20000 + (n * objects + i) * 0x1000
            memory.put(address, root.OBJECT.pack(of[i + 1] if i + 1 < objects else 0, 0, at, path, 15, 0, 0, start, start, start + 0x800,
                                                 0, 0, path, 15, 0, 0, 0, 0, 0, 0))
        following = ns_at[n + 1] if n + 1 < namespaces else 0
        memory.put(at, root.NS.pack(following, 0, n + 1, n, 0, of[0], of[-1], objects, 11, of[0], 0, 1, following, 0))
    thread = memory.add(root.THREAD.pack(0, 0, ns_at[0], 3, 4711, 0))
    memory.put(BASE, root.ROOT.pack(b"GORGONDR", 1, root.ROOT.size, 2, 0, root.NS.size, root.OBJECT.size, ns_at[0], ns_at[-1],
                                    namespaces, namespaces * objects, thread, 1, root.THREAD.size, ns_at[0]))
    return memory


words = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1), st.integers(0, SIZE // 8 - 1).map(lambda n: BASE + 8 * n))
damages = st.lists(st.tuples(st.integers(0, SIZE // 8 - 1), words), max_size=8)


class Readers(unittest.TestCase):
    def check(self, snapshot):
        for o in snapshot.objects:
            self.assertTrue(o.path.isprintable() and o.namespace.label.isprintable())
            snapshot.find_object(o.start)
        snapshot.objects_between(0, 2**64)
        self.assertLessEqual(len(snapshot.threads), root.THREAD_MAX)
        for thread in snapshot.threads[:3]:
            for o in snapshot.objects[:3]:
                try:
                    root.tls_block(memory_of(snapshot), snapshot, o, thread.tid)
                except root.MemoryProblem:
                    pass

    def test_a_sound_registry_is_read(self):
        memory = registry()
        snapshot = root.read_snapshot(memory.read, BASE)
        self.assertEqual((snapshot.problems, len(snapshot.objects), snapshot.objects[0].path), ([], 12, "/lib/?[31ma?.so"))
        self.assertEqual(snapshot.find_object(0x20010), snapshot.objects[0])

    @given(damages)
    @EXAMPLES
    def test_a_damaged_registry_ends(self, changes):
        memory = registry()
        known = root.read_snapshot(memory.read, BASE)
        for at, word in changes:
            memory.put(BASE + 8 * at, struct.pack("<Q", word))
        snapshot = None
        for before in None, known:
            try:
                snapshot = root.read_snapshot(memory.read, BASE, before)
            except root.RootError as error:
                self.assertTrue(str(error).isprintable())
                continue
            snapshot.memory = memory
            self.check(snapshot)

    def test_lists_that_share_their_objects_are_read_once(self):
        """Reading has a bound: a hundred thousand namespaces that all list the same hundred thousand objects would take
        days."""
        memory = registry(namespaces=20, objects=4)
        first = struct.unpack_from("<Q", memory.bytes, struct.calcsize("<8sIIQQII"))[0]
        head = root.Namespace(first, root.NS.unpack(memory.read(first, root.NS.size))).object_head
        at = first
        for _ in range(20):
            fields = list(root.NS.unpack(memory.read(at, root.NS.size)))
            fields[5] = head
            memory.put(at, root.NS.pack(*fields))
            at = fields[0]
        snapshot = root.read_snapshot(memory.read, BASE)
        self.assertEqual(len(snapshot.objects), 4)
        self.assertEqual(len(snapshot.problems), 19)
        self.assertRegex(snapshot.problems[0], r"^the list of objects of interp 1 comes back to 0x")

    @given(st.sampled_from(range(10, 17)), st.binary(max_size=1200), st.booleans())
    @EXAMPLES
    def test_made_up_layouts_are_refused_or_within_bounds(self, minor, data, begins_right):
        if begins_right:
            data = layout.HEADER.pack(b"xdebugpy", (0x300 | minor) << 16, 0) + data
        memory = types.SimpleNamespace(bytes=data)
        try:
            offsets = layout.find(lambda address, size: Memory.read(memory, address, size), BASE, minor)
        except (root.RootError, root.MemoryProblem) as error:
            self.assertTrue(str(error).isprintable())
        else:
            self.assertTrue(all(0 <= offset <= 2 * layout.STRUCTURE_MAX for offset in offsets.values()))

    @given(st.data())
    @EXAMPLES
    def test_damaged_files_have_the_symbols_that_can_be_read(self, data):
        path = data.draw(st.sampled_from(sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/corpus/library/*")))))
        with open(path, "rb") as file:
            content = bytearray(file.read())
        for at, word in data.draw(st.lists(st.tuples(st.integers(0, max(0, len(content) - 8)), words), max_size=6)):
            if data.draw(st.booleans()):
                struct.pack_into("<Q", content, at, word) if at + 8 <= len(content) else None
            else:
                content[at:at + 1] = bytes([word & 255])
        for symbol in elf.File(bytes(content)).symbols.values():
            self.assertTrue(symbol.name)


def memory_of(snapshot):
    return snapshot.memory.read


if __name__ == "__main__":
    unittest.main()
