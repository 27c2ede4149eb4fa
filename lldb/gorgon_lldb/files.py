# SPDX-License-Identifier: MIT
"""Files that make a further copy of a library cheap for lldb; kept in gorgon/lldb in $XDG_CACHE_HOME or ~/.cache.

lldb has a module, with tables of its own, for each copy. These files hold what all copies have in common:

- links: a link to the library for each interpreter, "links/HASH/interp 3/libpython3.11.so.1.0". The path is the same in every
  session, so lldb finds its modules again when a program runs once more, and its indexes in the next session.
- quiet: for libraries in a pack, a copy of the library whose header says that it is a core. In each executable and shared
  library lldb looks for ten symbols, by which it finds the runtimes of sanitizers, and reads all names for that: seven eighths
  of what a further copy costs. Of other kinds of files it reads names and lines only when somebody asks for them.
- inflated: debug information without compression. Distributions compress it, and lldb decompresses it for each module into
  memory of its own, which is a third of what a copy costs. A file without compression is mapped, by all modules together.
- indexes: lldb's own cache of indexes. The index of the first copy is linked to the names under which lldb looks for the
  indexes of the other copies. Such a name has a hash of the module's path. If a version of lldb makes other names, each
  copy gets an index of its own.

The folder has to be the user's own, and writable by nobody else; otherwise these files are in a folder in /tmp for
this session. They may be deleted at any time while no debugger runs."""

import contextlib
import functools
import hashlib
import os
import re
import shutil
import stat
import struct
import tempfile
import time
import zlib

from . import root
from .symfiles import SECTION, TABLES, TABLES_AT

INDEX, INDEXES_AT = "symbols.enable-lldb-index-cache", "symbols.lldb-index-cache-path"
INDEXES_MAX = ("symbols.lldb-index-cache-max-byte-size", 1 << 30)
INDEXES_SINCE = 19  # the indexes that lldb 16 keeps lack names of C++ functions
UNUSED_MAX = 30 * 24 * 3600  # seconds after which an unused file is removed
QUIET_MAX = 64 << 20  # bytes; larger libraries are not copied
REST = "gorgon-lldb-rest-"  # the names of folders with files that were made from symfiles begin so

TYPE_AT, ET_CORE, ENTRY_AT = 0x10, b"\4\0", 0x18

SHF_COMPRESSED, SHT_NOBITS = 0x800, 8
COMPRESSION = struct.Struct("<IIQQ")  # kind, nothing, size, alignment
ZLIB = 1
ALIGNMENT_MAX = 4096

ANY_NAME = "main"  # looking up any name makes lldb write the index

_indexed = {}  # path of a debug file -> Indexed


@functools.cache
def folder(name):
    """A folder of ours in the user's cache, or in /tmp; made if need be."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or "", ".cache")
    path = os.path.join(home, "gorgon", "lldb", name)
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        owners = [os.stat(p) for p in (path, os.path.dirname(path), os.path.dirname(os.path.dirname(path)))]
    except OSError:
        owners = []
    if os.path.isabs(home) and owners and all(
            o.st_uid == os.geteuid() and not stat.S_IMODE(o.st_mode) & 0o022 for o in owners):
        return path
    return tempfile.mkdtemp(prefix="gorgon-lldb-")


def digest(*words):
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()[:16]


def link_to(o):
    """The path under which lldb is to know a copy, which is a link to its library. Raises OSError."""
    link, path = os.path.join(folder("links"), digest(o.path), o.namespace.label, o.name), o.path
    if o.symfile_kind == root.PACK:
        found = os.stat(path)
        path = quiet(path, found.st_size, found.st_mtime_ns)
    with contextlib.suppress(OSError):
        if os.readlink(link) == path:
            return link
    os.makedirs(os.path.dirname(link), mode=0o700, exist_ok=True)
    replace(link, lambda unfinished: os.symlink(path, unfinished))
    return link


@functools.cache
def quiet(library, size, time_ns):
    """The path of a copy of a library of which lldb reads nothing before somebody asks, or the library's own."""
    place = folder("quiet")
    path = os.path.join(place, digest(library, size, time_ns), os.path.basename(library))

    def make(unfinished):
        shutil.copyfile(library, unfinished)
        with open(unfinished, "r+b") as file:
            for at, content in ((TYPE_AT, ET_CORE), (ENTRY_AT, bytes(8))):
                file.seek(at)
                file.write(content)
        os.utime(unfinished, ns=(time_ns, time_ns))  # an index belongs to a file with this time

    try:
        if os.path.isfile(path):
            os.utime(os.path.dirname(path))
        elif size <= QUIET_MAX:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            replace(path, make)
            remove_unused(place)
        else:
            return library
    except OSError:
        return library
    return path


def has_links(directory):
    """Whether a module's file is one of these links, by the folder that it is in."""
    return (directory or "").startswith(folder("links") + os.sep)


def is_rest(directory):
    """Whether a module has been made of a symfile."""
    return os.path.basename(directory or "").startswith(REST)


def replace(path, make):
    """Have make(path) write a file under another name first, because another debugger may do so at the same time."""
    unfinished = f"{path}.{os.getpid()}.unfinished"
    try:
        make(unfinished)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


# ---- debug information without compression ---------------------------------------------------------


def debug_file(o):
    """The file with a library's debug information for lldb, or None when that is in the library itself, or nowhere."""
    if not o.debug_path or not os.path.isfile(o.debug_path) or o.debug_path == o.path:
        return None
    found = os.stat(o.debug_path)
    return inflated(o.debug_path, found.st_size, found.st_mtime_ns)


@functools.cache
def inflated(debug_path, *state):
    """The path of a debug file without compression; @state changes with the file."""
    place = folder("inflated")
    path = os.path.join(place, digest(debug_path, *state), os.path.basename(debug_path))
    if os.path.isfile(path):
        with contextlib.suppress(OSError):
            os.utime(os.path.dirname(path))  # the folder's time tells when it was used; an index belongs to the file's time
        return path
    try:
        with open(debug_path, "rb") as file:
            data = bytearray(file.read())
        parts = inflate(data)
        if not parts:
            return debug_path
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace(path, lambda unfinished: write(unfinished, parts))
        remove_unused(place)
        return path
    except (OSError, ValueError, struct.error, zlib.error):
        return debug_path  # lldb reads it as it is, or says what is wrong with it


def inflate(data):
    """[(offset, bytes)] of the ELF file with its compressed sections decompressed, behind all others; an empty list when no section
    is compressed. Raises ValueError if a section is compressed in an unknown way."""
    tables = TABLES.unpack_from(data, TABLES_AT)
    sections_at, count = tables[5], tables[11]
    added, holes, end = [], [], len(data)
    for at in range(sections_at, sections_at + count * SECTION.size, SECTION.size):
        section = list(SECTION.unpack_from(data, at))
        kind, flags, start, size = section[1], section[2], section[4], section[5]
        if kind == SHT_NOBITS or not flags & SHF_COMPRESSED:
            continue
        how, _, full_size, alignment = COMPRESSION.unpack_from(data, start)
        content = zlib.decompress(data[start + COMPRESSION.size:start + size]) if how == ZLIB else b""
        if len(content) != full_size or not 0 < alignment <= ALIGNMENT_MAX:
            raise ValueError("a section is damaged, or compressed in an unknown way")
        end = -(-end // alignment) * alignment
        holes.append((start, start + size))
        added.append((end, content))
        section[2], section[4], section[5], section[8] = flags & ~SHF_COMPRESSED, end, full_size, alignment
        SECTION.pack_into(data, at, *section)
        end += full_size
    if not added:
        return []
    # The compressed content is left out: the file has holes there.
    starts = [0, *(stop for _, stop in sorted(holes))]
    stops = [*(start for start, _ in sorted(holes)), len(data)]
    return [(start, data[start:stop]) for start, stop in zip(starts, stops)] + added


def write(path, parts):
    with open(path, "wb") as file:
        for offset, content in parts:
            file.seek(offset)
            file.write(content)


def remove_unused(place):
    """Remove folders that were not used for long, for example of libraries that newer versions have replaced."""
    for folder_of_one in os.scandir(place):
        with contextlib.suppress(OSError):
            if time.time() - folder_of_one.stat().st_mtime > UNUSED_MAX:
                for entry in os.scandir(folder_of_one.path):
                    os.unlink(entry.path)
                os.rmdir(folder_of_one.path)


# ---- indexes ---------------------------------------------------------------------------------------


def keep_indexes(debugger):
    """Have lldb keep its indexes. Returns the folder, which is the user's choice if the user has switched the cache on, or
    None."""
    version = re.search(r"version (\d+)", debugger.GetVersionString())
    if not version or int(version[1]) < INDEXES_SINCE:
        return None
    instance = debugger.GetInstanceName()

    def setting(name):
        return debugger.GetInternalVariableValue(name, instance).GetStringAtIndex(0)

    if setting(INDEX) == "false":
        debugger.SetInternalVariable(INDEXES_AT, folder("indexes"), instance)
        debugger.SetInternalVariable(INDEXES_MAX[0], str(INDEXES_MAX[1]), instance)
        debugger.SetInternalVariable(INDEX, "true", instance)
    return (setting(INDEXES_AT) or "").strip('"')


def index_name(triple, link):
    """The beginning of the name of lldb's file with the index of a module's debug information. It has a hash of the module's
    path."""
    value = 5381
    for byte in f"{triple}-{link}".encode():
        value = (value * 33 + byte) & 0xffffffff
    return f"llvmcache-{triple}-{os.path.basename(link)}-{value:#010x}-dwarf-index-"


class Indexed:
    """What is known of the indexes of a debug file, one for each module that uses the file."""

    def __init__(self, triple):
        self.triple = triple  # lldb's word for the architecture
        self.names = []       # beginnings of the names of the indexes
        self.hash = None      # the end of all these names, once there is an index
        self.unnamed = False  # lldb has not kept an index under the expected name

    def find(self, place, name):
        """Whether there is an index whose name begins so. The first index that is found tells how all names end."""
        if self.hash is None:
            self.hash = next((entry[len(name):] for entry in os.listdir(place) if entry.startswith(name)), None)
            return self.hash is not None
        return os.path.exists(os.path.join(place, name + self.hash))

    def link(self, place, source, name):
        with contextlib.suppress(OSError):  # the link is there already
            os.link(os.path.join(place, source + self.hash), os.path.join(place, name + self.hash))


def share_index(debugger, debug, link):
    """Called before lldb reads a library by this link: give the link the index of another copy with this debug file."""
    place, known = keep_indexes(debugger), _indexed.get(debug)
    source = next((name for name in known.names if known.find(place, name)), None) if place and known else None
    if source:
        known.link(place, source, index_name(known.triple, link))


def make_index(debugger, debug, link, module):
    """Called after lldb has read a library: have lldb index one of the copies. The second copy is indexed, because with a
    single copy an index is not needed before somebody asks for a name."""
    place, known = keep_indexes(debugger), _indexed.setdefault(debug, Indexed(module.GetTriple()))
    mine = index_name(known.triple, link)
    if mine not in known.names:
        known.names.append(mine)
    if not place or len(known.names) == 1 or known.unnamed or known.find(place, mine):
        return
    module.FindFunctions(ANY_NAME)
    if not known.find(place, mine):
        known.unnamed = True
        return
    for name in known.names:
        known.link(place, mine, name)
