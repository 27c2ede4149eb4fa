# SPDX-License-Identifier: MIT
"""Read gorgon_debug_root out of another process or a core.

The format is documented in debug_root.h: one variable heads a list of namespaces, each
of which heads a list of objects. Only fixed-width integers are involved, so the bytes are
unpacked here and no debug information of libgorgon is needed.

The module knows no debugger: memory is a function read(address, size) -> bytes that raises
MemoryProblem. gdb and lldb use the same file.

What is read may be garbage: the process may have crashed because of it. So magic, version
and sizes are checked, strings and lists are capped, every walk stops at an address it has
seen, and whatever was odd is said in Snapshot.problems instead of stopping the reader."""

import bisect
import os
import struct

MAGIC = b"GORGONDR"
VERSION = 1
NO_INTERP = 0xFFFFFFFF
STATES = {0: "live", 1: "unloading"}
# enum jitreg_debug_kind
DEBUG_KINDS = {0: "names only", 1: "build-id", 2: "in the library", 3: "debug link"}

ROOT = struct.Struct("<8sIIQQIIQQIIQII")
NS = struct.Struct("<QQQIIQQIIQQ")
OBJECT = struct.Struct("<QQQQIIQQQQQQQIIQq")
THREAD = struct.Struct("<QQQQQQ")
SLOT = struct.Struct("<QQ")

NS_MAX = 100_000
OBJECT_MAX = 100_000  # in one namespace
THREAD_MAX = 100_000
SLOT_MAX = 1_000_000
ENTRY_SIZE_MAX = 4096
PATH_MAX = 4096
BUILD_ID_MAX = 64


class RootError(Exception):
    """There is nothing to read, or it is not ours. The text is one line for the user."""


class MemoryProblem(Exception):
    """Memory at an address cannot be read."""


class Object:
    """One privately loaded ELF file."""

    def __init__(self, address, fields, strings):
        (self.next, _, self.ns_address, path, path_size, build_id_size, build_id, self.bias, self.start,
         self.end, self.symfile, self.symfile_size, debug_path, debug_path_size, self.debug_kind,
         self.tls_module, self.static_tls) = fields
        self.address = address
        self.namespace = None
        self.path = strings.text(path, path_size)
        self.debug_path = strings.text(debug_path, debug_path_size) if debug_path else None
        self.build_id = strings.raw(build_id, min(build_id_size, BUILD_ID_MAX)) if build_id else b""

    @property
    def name(self):
        return os.path.basename(self.path) or self.path

    @property
    def label(self):
        """What frames of this object show: libfoo.so [interp 3]."""
        return f"{self.name} [{self.namespace.label}]"

    @property
    def debug(self):
        """Where a debugger finds its lines and variables, for people."""
        kind = DEBUG_KINDS.get(self.debug_kind, f"kind {self.debug_kind}")
        return f"{self.debug_path} ({kind})" if self.debug_path and self.debug_kind != 2 else kind


class Namespace:
    """One private world: an interpreter, or a namespace without one."""

    def __init__(self, address, fields):
        (self.next, _, self.id, interp, self.state, self.object_head, _, self.object_count,
         self.python_minor, self.python_object, self.thread) = fields
        self.address = address
        self.interp = None if interp == NO_INTERP else interp
        self.objects = []

    @property
    def label(self):
        return f"namespace {self.id}" if self.interp is None else f"interp {self.interp}"

    @property
    def state_name(self):
        return STATES.get(self.state, f"state {self.state}")

    @property
    def python_version(self):
        return f"3.{self.python_minor}" if self.python_minor else "-"

    @property
    def libpython(self):
        return next((o for o in self.objects if o.address == self.python_object), None)


class Thread:
    """A thread that has blocks of thread-local variables of private objects."""

    def __init__(self, address, fields):
        self.next, _, self.slots, self.slot_count, self.tid, self.tp = fields
        self.address = address


class Strings:
    """Names in the target. Copies of one file share text, so each address is read once."""

    def __init__(self, read, problems):
        self.read = read
        self.problems = problems
        self.cache = {}

    def raw(self, address, size):
        key = (address, size)
        if key not in self.cache:
            try:
                self.cache[key] = bytes(self.read(address, size)) if size else b""
            except MemoryProblem as problem:
                self.problems.append(str(problem))
                self.cache[key] = b""
        return self.cache[key]

    def text(self, address, size):
        if size > PATH_MAX:
            self.problems.append(f"a name of {size} bytes at {address:#x}")
            return "?"
        text = self.raw(address, size).split(b"\0", 1)[0].decode("utf-8", "replace")
        # A name goes to a terminal: no control characters from a broken process.
        return "".join(c if c.isprintable() else "?" for c in text) or "?"


class Snapshot:
    """Everything the root leads to, as it was at one moment."""

    def __init__(self, address, sequence):
        self.address = address
        self.sequence = sequence
        self.namespaces = []
        self.threads = []
        self.problems = []
        self.ranges = []
        self.starts = []

    @property
    def changing(self):
        """The writer was in the middle of a change."""
        return self.sequence % 2 == 1

    @property
    def interpreters(self):
        return [ns for ns in self.namespaces if ns.interp is not None]

    @property
    def objects(self):
        return [o for ns in self.namespaces for o in ns.objects]

    def find_interp(self, number):
        return next((ns for ns in self.namespaces if ns.interp == number), None)

    def find_thread(self, tid):
        return next((thread for thread in self.threads if thread.tid == tid), None)

    def find_object(self, address):
        """The object that an address lies in, or None."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i >= 0 and address < self.ranges[i].end:
            return self.ranges[i]
        return None

    def index(self):
        self.ranges = sorted((o for o in self.objects if o.start < o.end), key=lambda o: o.start)
        self.starts = [o.start for o in self.ranges]


class Header:
    """The root itself, checked."""

    def __init__(self, data):
        (magic, version, size, self.sequence, self.timestamp, self.ns_size, self.object_size, self.ns_head,
         _, self.ns_count, self.object_count, self.thread_head, self.thread_count,
         self.thread_size) = ROOT.unpack(data)
        if magic == bytes(8) and not version:
            raise RootError("no interpreter has been created in this process yet")
        if magic != MAGIC:
            raise RootError(f"gorgon_debug_root does not begin with {MAGIC.decode()} but with {magic!r}: "
                            "it is damaged or belongs to something else")
        if version != VERSION:
            raise RootError(f"gorgon_debug_root has version {version}; these scripts know version {VERSION}")
        for what, value, least in (("header", size, ROOT.size), ("namespace", self.ns_size, NS.size),
                                   ("object", self.object_size, OBJECT.size),
                                   ("thread", self.thread_size, THREAD.size)):
            if not least <= value <= ENTRY_SIZE_MAX:
                raise RootError(f"gorgon_debug_root is damaged: {what} size {value}, at least {least} expected")


def read_header(read, address):
    try:
        return Header(bytes(read(address, ROOT.size)))
    except MemoryProblem as problem:
        raise RootError(f"gorgon_debug_root: {problem}") from None


def read_snapshot(read, address):
    """Read all lists. Raises RootError when there is nothing useful; Snapshot.problems has the rest."""
    header = read_header(read, address)
    snapshot = Snapshot(address, header.sequence)
    strings = Strings(read, snapshot.problems)

    def namespace(at):
        return Namespace(at, NS.unpack(bytes(read(at, NS.size))))

    def an_object(at):
        return Object(at, OBJECT.unpack(bytes(read(at, OBJECT.size))), strings)

    snapshot.namespaces = walk(header.ns_head, namespace, NS_MAX, "namespaces", snapshot.problems)
    for ns in snapshot.namespaces:
        ns.objects = walk(ns.object_head, an_object, OBJECT_MAX, f"objects of {ns.label}", snapshot.problems)
        for o in ns.objects:
            o.namespace = ns
    snapshot.threads = walk(header.thread_head, lambda at: Thread(at, THREAD.unpack(bytes(read(at, THREAD.size)))),
                            THREAD_MAX, "threads", snapshot.problems)
    snapshot.index()
    return snapshot


def tls_block(read, snapshot, obj, tid, tp=None):
    """Address of a thread's block of an object's thread-local variables; None: it has none yet. @tp, the thread
    pointer, is needed only for threads that have used no private thread-local variable so far."""
    thread = snapshot.find_thread(tid)
    if obj.static_tls:
        tp = thread.tp if thread else tp
        return tp + obj.static_tls if tp else None
    for i in range(min(thread.slot_count, SLOT_MAX) if thread and obj.tls_module else 0):
        module, block = SLOT.unpack(bytes(read(thread.slots + i * SLOT.size, SLOT.size)))
        if module == obj.tls_module:
            return block
    return None


def walk(address, read_entry, limit, what, problems):
    """Follow `next` from an address. Stops, and says so, at what a healthy list cannot have."""
    entries, seen = [], set()
    while address:
        if address in seen:
            problems.append(f"the list of {what} comes back to {address:#x}")
            break
        if len(entries) >= limit:
            problems.append(f"the list of {what} is longer than {limit}")
            break
        seen.add(address)
        try:
            entry = read_entry(address)
        except MemoryProblem as problem:
            problems.append(f"the list of {what} breaks off: {problem}")
            break
        entries.append(entry)
        address = entry.next
    return entries
