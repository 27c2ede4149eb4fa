# SPDX-License-Identifier: MIT
"""Gives gdb a narrowed index (narrowed_index.py) of each libpython.

With the index of an optimised libpython that gdb makes for itself, it reads nearly all of libpython when it looks up the place of a
breakpoint in it. That takes two seconds for each copy: at "break" with up to eight interpreters, with more at each stop in another
copy. With the narrowed index this takes a sixth of the time.

gdb finds indexes by build-id in the folder of "set index-cache directory". That is our own, $XDG_CACHE_HOME/gorgon/gdb or
~/.cache/gorgon/gdb, unless the user has switched gdb's cache on: then it is left alone. gdb gets the folder by a name with which it
cannot write into it (read_only()), because nothing but narrowed indexes may come out of it: with its own index of a C++ library out of
its cache, gdb 13 does not find a template by its name alone ("break biggest").

A narrowed index is made once for each libpython, by a second gdb in the background. It is kept under a name that changes with the debug
file, and linked under the name that gdb looks for."""

import contextlib
import os
import shutil
import stat
import subprocess
import time

import gdb

from gorgon_shared import root
from . import execute, files, process

FILES_MAX = 64  # of indexes that are kept: the oldest go
NAME = "%s.gdb-index"  # what gdb adds to the folder, for a build-id in hexadecimal digits
BUILD_ID_DIGITS = 40  # SHA-1, what compilers ask the linker for
UNFINISHED_AGE = 3600  # seconds; in an older folder nobody makes an index any more: that gdb was killed, with a container perhaps
PATIENCE = 10  # seconds for an index that is being made
# The shell starts the program that its arguments name, and ends at once. So the program is no child of this gdb, and this gdb does not
# wait for it.
IN_BACKGROUND = 'nice -n 19 "$@" </dev/null >/dev/null 2>&1 &'

_folder = None  # None: not decided; "": gdb's cache is the user's, or there is no safe place
_begun = {}  # path of a narrowed index that is being made -> until when somebody waits for it
_checked = None  # the Snapshot whose libpythons were looked at


def folder():
    """The folder of the indexes, made if need be, or None: it has to be the user's own, and writable by nobody else."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or "", ".cache")
    if not os.path.isabs(home):
        return None
    top = os.path.join(home, "gorgon")
    path = os.path.join(top, "gdb", gdb.VERSION)
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        owners = [os.stat(p) for p in (top, path)]
    except OSError:
        return None
    return path if all(o.st_uid == os.geteuid() and not stat.S_IMODE(o.st_mode) & 0o022 for o in owners) else None


def state(path):
    """Values that change when the file changes."""
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]


def debug_file(build_id):
    """The file that gdb finds by a build-id, as gdb looks for it."""
    name = os.path.join(".build-id", build_id[:1].hex(), build_id[1:].hex() + ".debug")
    for directory in (gdb.parameter("debug-file-directory") or "").split(":"):
        for candidate in files.candidates(os.path.join(directory, name)):
            if os.path.isfile(candidate):
                return candidate
    return None


def install():
    """Switch gdb's cache on, once, unless the user has."""
    global _folder
    if _folder is not None:
        return
    try:
        place = "" if gdb.parameter("index-cache enabled") else folder() or ""
    except RuntimeError:  # a gdb without a cache, or one that was built without support for it
        place = ""
    if place and set_parameter("directory", read_only(place)) and set_parameter("enabled", True):
        tidy(place)
        _folder = place
    elif not place:
        _folder = place


def read_only(place):
    """Another name of a folder, with slashes at its end. By this name gdb can read indexes in the folder and cannot write any: the name of an
    index is the longest that the system allows then, and gdb writes into an unfinished file first, whose name is longer. (Permissions
    would not do, because root may write everywhere.)"""
    return place.ljust(root.PATH_MAX - len("\0") - len("/" + NAME % (BUILD_ID_DIGITS * "0")), "/")


def needs_command():
    """Whether install() runs a command, as it does before gdb 14."""
    return not hasattr(gdb, "set_parameter")


def set_parameter(name, value):
    """Returns whether that could be done now."""
    if needs_command():
        return execute.run(f"set index-cache {name} {'on' if value is True else value}") is not None
    gdb.set_parameter(f"index-cache {name}", value)
    return True


def tidy(place):
    """Let gdb find the narrowed indexes that are kept, and remove what was not used for long, and what gdb has written."""
    try:
        found = sorted((entry for entry in os.scandir(place) if entry.is_file()), key=lambda entry: -entry.stat().st_mtime)
        kept = [entry.path for entry in found if entry.name.endswith(".narrowed")]
        for path in reversed(kept[:FILES_MAX]):  # of two of a library, gdb gets what was used last
            link(path)
        wanted = {wanted_name(path) for path in kept[:FILES_MAX]}
        old = time.time() - UNFINISHED_AGE
        for folder in [entry.path for entry in os.scandir(place) if entry.is_dir() and entry.stat().st_mtime < old]:
            shutil.rmtree(folder, ignore_errors=True)
        for path in kept[FILES_MAX:] + [entry.path for entry in found if entry.name.endswith(".gdb-index")]:
            if path not in wanted:
                os.unlink(path)
    except OSError:
        pass  # another session removes files, too


def wanted_name(kept):
    """The name by which gdb looks for a narrowed index."""
    return os.path.join(os.path.dirname(kept), NAME % os.path.basename(kept).partition("-")[0])


def link(kept):
    """Let gdb find a narrowed index by the build-id in its name."""
    wanted = wanted_name(kept)
    try:
        if not os.path.getsize(kept) or os.path.exists(wanted) and os.path.samefile(kept, wanted):
            return
        unfinished = f"{wanted}.{os.getpid()}"
        os.link(kept, unfinished)
        os.replace(unfinished, wanted)
    except OSError:
        pass  # gdb makes its own


def check():
    """Have narrowed indexes made for the libpythons that are there now."""
    global _checked
    snapshot = process.try_snapshot()
    if snapshot is _checked or not _folder:
        return
    _checked = snapshot
    for path, debug_path, build_id in {(ns.libpython.path, ns.libpython.debug_path, ns.libpython.build_id)
                                       for ns in (snapshot.interpreters if snapshot else ()) if ns.libpython}:
        provide(path, debug_path, build_id)


def prepare(obj):
    """Called before gdb is given the file of a private object. Once for each libpython this waits until its index is made, as gdb
    would keep to its own index for the whole session, and takes longer for one breakpoint."""
    if not _folder or obj is not obj.namespace.libpython:
        return
    provide(obj.path, obj.debug_path, obj.build_id)
    while any(time.monotonic() < until and not os.path.exists(kept) for kept, until in _begun.items()):
        time.sleep(0.05)
    if _begun:
        provide(obj.path, obj.debug_path, obj.build_id)


def provide(path, debug_path, build_id):
    """Let gdb find the narrowed index of a library, or begin to make it."""
    debug = next((found for found in (debug_path and files.find(debug_path), build_id and debug_file(build_id),
                                      files.find(path)) if found and os.path.isfile(found)), None)
    if not debug or not build_id or not is_trusted(debug):
        return
    kept = os.path.join(_folder, f"{build_id.hex()}-" + "-".join(map(str, state(debug))) + ".narrowed")
    if os.path.exists(kept):
        with contextlib.suppress(OSError):
            os.utime(kept)
        link(kept)
    elif kept not in _begun:
        _begun[kept] = time.monotonic() + PATIENCE
        begin(debug, kept, build_id)


def is_trusted(path):
    """Whether nobody else can have written a file: the process names it, and its index serves other processes, too."""
    found = os.stat(path)
    return found.st_uid in (0, os.geteuid()) and not stat.S_IMODE(found.st_mode) & 0o022


def begin(debug, kept, build_id):
    here = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    make = f"python import sys; sys.path.insert(0, {here!r}); from gorgon_gdb import narrowed_index; narrowed_index.make({debug!r}, {kept!r}, {build_id!r})"
    # The program that runs this script, whatever its name is, with its own Python files.
    command = [f"/proc/{os.getpid()}/exe", "-data-directory", os.path.dirname(gdb.PYTHONDIR), "-nx", "-nh", "-batch",
               "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", debug, "-ex", make]
    try:
        # The second gdb gets a session of its own, so it goes on when the terminal of this gdb closes.
        subprocess.run(["/bin/sh", "-c", IN_BACKGROUND, "sh", *command], check=False, start_new_session=True)
    except OSError:
        pass  # gdb makes its own
