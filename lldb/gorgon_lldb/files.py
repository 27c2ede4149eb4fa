# SPDX-License-Identifier: MIT
"""Files that make a further copy of a library cheap for lldb; kept in gorgon/lldb in $XDG_CACHE_HOME or ~/.cache.

lldb has a module, with tables of its own, for each copy. These files hold what all copies have in common:

- links: a link to the library for each interpreter, "links/HASH/interp 3/libpython3.11.so.1.0". The path is the same in every
  session, so lldb finds its modules again when a program runs once more, and its indexes in the next session.
- quiet, whole: copies of libraries, as libraries.py makes them.
- inflated: debug files as inflated.py makes them.
- indexes: lldb's own cache of indexes, of the system's libraries, too. The index of a debug file becomes a part of the file in
  "inflated". If a version of lldb keeps its indexes in another form, each copy gets an index of its own.

The folder has to be the user's own, and writable by nobody else; otherwise these files are in a folder of the user's in
/tmp. They may be deleted at any time while no debugger runs."""

import contextlib
import functools
import hashlib
import os
import re
import stat
import tempfile
import time

INDEX, INDEXES_AT = "symbols.enable-lldb-index-cache", "symbols.lldb-index-cache-path"
INDEXES_MAX = ("symbols.lldb-index-cache-max-byte-size", 1 << 30)
INDEXES_SINCE = 19  # the indexes that lldb 16 keeps lack names of C++ functions
UNUSED_MAX = 30 * 24 * 3600  # seconds after which an unused file is removed
REST = "gorgon-lldb-rest-"  # the names of folders with files that were made from symfiles begin so


@functools.cache
def folder(name):
    """A folder of ours in the user's cache, or in /tmp; made if need be."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or "", ".cache")
    temporary = os.path.join(tempfile.gettempdir(), f"gorgon-lldb-{os.geteuid()}")
    with contextlib.suppress(OSError):
        os.mkdir(temporary, 0o700)
    # lldb ends without a word to Python, so a folder for one session would stay, with 32 MB for a libpython.
    found = (safe_folder(os.path.join(home, "gorgon", "lldb", name), 3) or
             not os.path.islink(temporary) and safe_folder(os.path.join(temporary, name), 2))
    return found or tempfile.mkdtemp(prefix="gorgon-lldb-")


def safe_folder(path, count):
    """A folder, made if need be, if the last @count folders of the path are the user's own and nobody else may write there; or None."""
    if not os.path.isabs(path):
        return None
    parts = [path]
    while len(parts) < count:
        parts.append(os.path.dirname(parts[-1]))
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        safe = all(o.st_uid == os.geteuid() and not stat.S_IMODE(o.st_mode) & 0o022 for o in map(os.stat, parts))
    except OSError:
        return None
    return path if safe else None


def digest(*words):
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()[:16]


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


def remove_unused(place):
    """Remove folders that were not used for long, for example of libraries that newer versions have replaced."""
    for folder_of_one in os.scandir(place):
        with contextlib.suppress(OSError):
            if time.time() - folder_of_one.stat().st_mtime > UNUSED_MAX:
                for entry in os.scandir(folder_of_one.path):
                    os.unlink(entry.path)
                os.rmdir(folder_of_one.path)


def version(debugger):
    """lldb's major version, 0 if it does not say."""
    found = re.search(r"version (\d+)", debugger.GetVersionString())
    return int(found[1]) if found else 0


def keep_indexes(debugger):
    """Have lldb keep its indexes. Returns the folder, which is the user's choice if the user has switched the cache on, or
    None."""
    if version(debugger) < INDEXES_SINCE:
        return None
    instance = debugger.GetInstanceName()

    def setting(name):
        return debugger.GetInternalVariableValue(name, instance).GetStringAtIndex(0)

    if setting(INDEX) == "false":
        debugger.SetInternalVariable(INDEXES_AT, folder("indexes"), instance)
        debugger.SetInternalVariable(INDEXES_MAX[0], str(INDEXES_MAX[1]), instance)
        debugger.SetInternalVariable(INDEX, "true", instance)
    return (setting(INDEXES_AT) or "").strip('"')
