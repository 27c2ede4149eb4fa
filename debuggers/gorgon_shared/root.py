# SPDX-License-Identifier: MIT
"""Read gorgon_debug_root out of another process or a core.

The format is documented in debug_root.h: one variable heads a list of namespaces, each
of which heads a list of objects. Only fixed-width integers are involved, so the bytes are
unpacked here and no debug information of libgorgon is needed.

The module knows no debugger: memory is a function read(address, size) -> bytes that raises
MemoryProblem.

The memory may be damaged: that may be why the process has crashed. So magic, version
and sizes are checked, strings and lists are capped, every walk stops at an address it has
seen, and Snapshot.problems says what was odd, which does not stop the reader."""

import bisect
import functools
import os
import struct

MAGIC = b"GORGONDR"
VERSION = 1
NO_INTERP = 0xFFFFFFFF
STATES = {0: "live", 1: "unloading", 2: "abandoned"}
# enum jitreg_debug_kind
DEBUG_NAMES, DEBUG_IN_LIBRARY = 0, 2
DEBUG_KINDS = {DEBUG_NAMES: "names only", 1: "build-id", DEBUG_IN_LIBRARY: "in the library", 3: "debug link"}

# enum jitreg_symfile_kind
FULL, NAMES_ONLY, PACK = range(3)

ROOT = struct.Struct("<8sIIQQIIQQIIQIIQ")
NS = struct.Struct("<QQQIIQQIIQQQQQ")
NS_TEXTS = struct.Struct("<QQQQ")  # behind that, in processes that are new enough: of struct gorgon_debug_ns, usage to job
NS_LINES = struct.Struct("<QI")  # behind that: to python_lines
NS_COPY_OF = struct.Struct("<IQ")  # behind that: to copy_of
USAGE = struct.Struct("<QQQQQ")
ACTIVITY = struct.Struct("<IIQQQQQ")
# Why Python lines are missing that the host has asked for, by the number in struct gorgon_debug_ns.
LINES_MISSING = {2: "{} or its isolation is not among those that have them", 3: "{} is built in another way than expected"}
ACTIVITIES = ("created", "running", "starting", "started", "stopping", "ending", "ended", "abandoned")
TEXT_SIZE = 64
OBJECT = struct.Struct("<QQQQIIQQQQQQQIIQqIIQ")
OBJECT_LEAST = 128  # the size of an object before link_map was added to the format
THREAD = struct.Struct("<QQQQQQ")
THREAD_OWNER = struct.Struct("<Q")  # behind that, in processes that are new enough
THREAD_HEAD = 64  # where the root has the address of the first thread
SLOT = struct.Struct("<QQ")

NS_MAX = 100_000
OBJECT_MAX = 1_000_000  # of all namespaces
THREAD_MAX = 100_000
SLOT_MAX = 1_000_000
ENTRY_SIZE_MAX = 4096
PATH_MAX = 4096
BUILD_ID_MAX = 64


class RootError(Exception):
    """There is nothing to read, or what is there is not Gorgon's. The text is one line for the user."""


class MemoryProblem(Exception):
    """Memory at an address cannot be read."""


class Object:
    """One privately loaded ELF file."""

    def __init__(self, address, fields, strings):
        (self.next, _, self.ns_address, path, path_size, build_id_size, build_id, self.bias, self.start,
         self.end, self.symfile, self.symfile_size, debug_path, debug_path_size, self.debug_kind,
         self.tls_module, self.static_tls, self.symfile_kind, _, self.link_map) = fields
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
    def lacks_dwarf(self):
        """Whether debuggers were told the object's addresses and names, and not where its DWARF is."""
        return bool(self.symfile) and self.symfile_kind != FULL and self.debug_kind != 0

    @property
    def debug(self):
        """Where a debugger finds its lines and variables, for people."""
        if self.link_map:
            return "as any library of the system's linker"
        kind = DEBUG_KINDS.get(self.debug_kind, f"kind {self.debug_kind}")
        return f"{self.debug_path} ({kind})" if self.debug_path and self.debug_kind != 2 else kind


class Namespace:
    """One private world: an interpreter, or a namespace without one."""

    def __init__(self, address, fields):
        (self.next, _, self.id, interp, self.state, self.object_head, _, self.object_count,
         self.python_minor, self.python_object, self.thread, self.sequence, self.changed_next, _) = fields
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
        self.owner = None  # address of the namespace whose code has started it, 0 for none; None: not known


class Strings:
    """Names in the process's memory. Copies of a file share the memory of its names, so each address is read only once."""

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
    """All namespaces and objects that the root leads to, as they were at one moment."""

    def __init__(self, address, header, read):
        self.address = address
        self.sequence = header.sequence
        self.namespaces = []
        self.problems = []
        self.ranges = []
        self.starts = []
        self.read_threads = lambda: read_threads(read, header, self.problems)
        self.read_figures = lambda ns: Figures(read, ns, header.ns_size)
        self.read_lines = lambda ns: read_lines(read, ns, header.ns_size)
        self.read_copy_of = lambda ns: read_copy_of(read, ns, header.ns_size)

    @property
    def changing(self):
        """Whether the process was in the middle of a change."""
        return self.sequence % 2 == 1

    @functools.cached_property
    def threads(self):
        """The threads, read only when somebody asks; the process stands still until then."""
        return self.read_threads()

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

    def objects_between(self, start, end):
        """The objects that begin in [start, end), or contain start."""
        first = max(bisect.bisect_right(self.starts, start) - 1, 0)
        return [o for o in self.ranges[first:bisect.bisect_left(self.starts, end)] if o.end > start]

    def index(self):
        self.ranges = sorted((o for o in self.objects if o.start < o.end), key=lambda o: o.start)
        self.starts = [o.start for o in self.ranges]

    def index_again(self, known, gone, come):
        """As index(), but from the ranges of an older snapshot and the namespaces that have gone and come since."""
        self.ranges, self.starts = list(known.ranges), list(known.starts)
        for o in (o for ns in gone for o in ns.objects if o.start < o.end):
            i = bisect.bisect_left(self.starts, o.start)
            while self.ranges[i] is not o:
                i += 1
            del self.ranges[i], self.starts[i]
        for o in (o for ns in come for o in ns.objects if o.start < o.end):
            i = bisect.bisect_left(self.starts, o.start)
            self.ranges.insert(i, o)
            self.starts.insert(i, o.start)


class Header:
    """The root itself, checked."""

    def __init__(self, data):
        (magic, version, size, self.sequence, self.timestamp, self.ns_size, self.object_size, self.ns_head,
         _, self.ns_count, self.object_count, self.thread_head, self.thread_count,
         self.thread_size, self.changed_head) = ROOT.unpack(data)
        if magic == bytes(8) and not version:
            raise RootError("no interpreter has been created in this process yet")
        if magic != MAGIC:
            raise RootError(f"gorgon_debug_root does not begin with {MAGIC.decode()} but with {magic!r}: "
                            "it is damaged or belongs to something else")
        if version != VERSION:
            raise RootError(f"gorgon_debug_root has version {version}; these scripts know version {VERSION}")
        for what, value, least in (("header", size, ROOT.size), ("namespace", self.ns_size, NS.size),
                                   ("object", self.object_size, OBJECT_LEAST),
                                   ("thread", self.thread_size, THREAD.size)):
            if not least <= value <= ENTRY_SIZE_MAX:
                raise RootError(f"gorgon_debug_root is damaged: {what} size {value}, at least {least} expected")


class Figures:
    """What an interpreter holds and does at this moment. A process of an older libgorgon has none; what is not known is None."""

    def __init__(self, read, ns, ns_size):
        self.memory = self.limit = self.activity = self.calls = self.calls_ns = None
        self.label = self.job = ""
        if ns_size < NS.size + NS_TEXTS.size:
            return
        usage, activity, label, job = NS_TEXTS.unpack(bytes(read(ns.address + NS.size, NS_TEXTS.size)))
        if usage:
            *parts, self.limit = USAGE.unpack(bytes(read(usage, USAGE.size)))
            self.memory = sum(parts)
        if activity:
            state, _, self.calls, self.calls_ns, *_ = ACTIVITY.unpack(bytes(read(activity, ACTIVITY.size)))
            self.activity = ACTIVITIES[state] if state < len(ACTIVITIES) else f"state {state}"
        self.label, self.job = (text_of(bytes(read(at, TEXT_SIZE))) if at else "" for at in (label, job))


def read_lines(read, ns, ns_size):
    """Why an interpreter has no Python lines although the host has asked for them, for people; None: they are there, or nobody has."""
    if ns_size < NS.size + NS_TEXTS.size + NS_LINES.size:
        return None
    _, state = NS_LINES.unpack(bytes(read(ns.address + NS.size + NS_TEXTS.size, NS_LINES.size)))
    return state in LINES_MISSING and LINES_MISSING[state].format(f"CPython {ns.python_version}") or None


def read_copy_of(read, ns, ns_size):
    """The label of the template of which an interpreter is a copy; None: it has started by itself."""
    before = NS.size + NS_TEXTS.size + NS_LINES.size
    if ns_size < before + NS_COPY_OF.size:
        return None
    _, at = NS_COPY_OF.unpack(bytes(read(ns.address + before, NS_COPY_OF.size)))
    return text_of(bytes(read(at, TEXT_SIZE))) if at else None


def text_of(data):
    """A text of a namespace, with "?" for what may not be shown."""
    text = data.split(b"\0")[0].decode(errors="replace")
    return "".join(c if c.isprintable() else "?" for c in text)


def read_header(read, address):
    try:
        return Header(bytes(read(address, ROOT.size)))
    except MemoryProblem as problem:
        raise RootError(f"gorgon_debug_root: {problem}") from None


class Reader:
    """Reads entries of the lists."""

    def __init__(self, read, header, problems):
        self.read = read
        self.object_size = min(header.object_size, OBJECT.size)
        self.problems = problems
        self.strings = Strings(read, problems)
        self.objects = set()  # addresses: each is in one list

    def namespace(self, at):
        return Namespace(at, NS.unpack(bytes(self.read(at, NS.size))))

    def an_object(self, at):
        return Object(at, OBJECT.unpack(bytes(self.read(at, self.object_size)).ljust(OBJECT.size, b"\0")), self.strings)

    def read_objects(self, ns):
        ns.objects = walk(ns.object_head, self.an_object, OBJECT_MAX, f"objects of {ns.label}", self.problems,
                          self.objects)
        for o in ns.objects:
            o.namespace = ns


def read_snapshot(read, address, known=None):
    """Read all lists. Raises RootError when there is nothing useful; Snapshot.problems has the rest.

    Namespaces that have not changed are taken from `known`, an older snapshot of the process."""
    header = read_header(read, address)
    snapshot = Snapshot(address, header, read)
    reader = Reader(read, header, snapshot.problems)
    usable = known and not known.changing and not known.problems and header.changed_head
    if usable and update(snapshot, header, known, reader):
        return snapshot
    snapshot.namespaces = walk(header.ns_head, reader.namespace, NS_MAX, "namespaces", snapshot.problems)
    for ns in snapshot.namespaces:
        reader.read_objects(ns)
    snapshot.index()
    return snapshot


def update(snapshot, header, known, reader):
    """Make the snapshot out of an older one and what has changed since. False: it has to be read from the start."""
    changed = read_changed(header, known, reader)
    living = {ns.address: ns for ns in known.namespaces}
    living.update((ns.address, ns) for ns in changed)
    if len(living) != header.ns_count:  # some have gone
        listed = walk(header.ns_head, reader.namespace, NS_MAX, "namespaces", reader.problems)
        living = {ns.address: living[ns.address] for ns in listed if ns.address in living}
    if reader.problems or len(living) != header.ns_count:
        reader.problems.clear()
        return False
    for ns in changed:
        reader.read_objects(ns)
    snapshot.namespaces = sorted(living.values(), key=lambda ns: ns.id)
    kept = {id(ns) for ns in snapshot.namespaces}
    snapshot.index_again(known, [ns for ns in known.namespaces if id(ns) not in kept],
                         [ns for ns in changed if id(ns) in kept])
    return True


def read_changed(header, known, reader):
    """The namespaces that have changed or come since, without their objects; the namespace that changed last comes first."""
    changed, seen, at = [], set(), header.changed_head
    while at and at not in seen and len(changed) < NS_MAX:
        seen.add(at)
        try:
            ns = reader.namespace(at)
        except MemoryProblem as problem:
            reader.problems.append(str(problem))
            break
        if ns.sequence <= known.sequence:
            break
        changed.append(ns)
        at = ns.changed_next
    return changed


def read_threads(read, header, problems):
    def thread(at):
        found = Thread(at, THREAD.unpack(bytes(read(at, THREAD.size))))
        if header.thread_size >= THREAD.size + THREAD_OWNER.size:
            found.owner, = THREAD_OWNER.unpack(bytes(read(at + THREAD.size, THREAD_OWNER.size)))
        return found

    return walk(header.thread_head, thread, THREAD_MAX, "threads", problems)


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


def walk(address, read_entry, limit, what, problems, seen=None):
    """Follow `next` from an address. Stops where the list is damaged, and adds to @problems. @seen has the addresses of entries in
    other lists: no entry may be in two lists."""
    entries, seen = [], set() if seen is None else seen
    while address:
        if address in seen:
            problems.append(f"the list of {what} comes back to {address:#x}")
            break
        if len(seen) >= limit:
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
