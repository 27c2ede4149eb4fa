# SPDX-License-Identifier: MIT
"""Keeps the answers of the second gdb (location_resolver.py) for later sessions.

To look up a name in an optimised libpython takes gdb more than a second, and the answer never changes. Each answer is a
file in $XDG_CACHE_HOME/gorgon/places or ~/.cache/gorgon/places, beside the companions. The first part of the file is all that
the answer depends on: gdb's version, the question, and for each library the build-id and
which files it and its debug information are. If the debug information of a library is neither in it nor found by
its build-id, the answer is not kept: gdb may find another file tomorrow.

The folder has to be the user's own, and writable by nobody else; without such a folder nothing is kept."""

import hashlib
import json
import os
import stat

import gdb

from gorgon_shared import elf
from . import files

FILES_MAX = 512  # the oldest go


def folder(name="places"):
    """The folder of the answers, or another one of the cache, made if need be, or None."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or "", ".cache")
    if not os.path.isabs(home):
        return None
    top = os.path.join(home, "gorgon")
    path = os.path.join(top, name)
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


def library(path):
    """What an answer about a library depends on, or None if that is not certain."""
    path = files.find(path)
    file = elf.read(path)
    debug = debug_file(file.build_id) if file.build_id else None
    if not file.has_dwarf and not debug:
        return None
    return [file.build_id.hex(), state(path), state(debug) if debug else None]


def key(paths, question):
    """The text that stands for a question about libraries, or None."""
    try:
        libraries = [library(path) for path in paths]
    except OSError:
        return None
    return json.dumps([gdb.VERSION, question, libraries]) if None not in libraries else None


def name(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32] + ".json"


def read(text):
    """The addresses that are kept for a key, or None."""
    place = folder() if text else None
    try:
        with open(os.path.join(place or "/nonexistent", name(text or ""))) as file:
            kept, addresses = json.load(file)
    except (OSError, ValueError):
        return None
    right = kept == text and isinstance(addresses, list) and all(isinstance(a, int) for a in addresses)
    return addresses if right else None


def write(text, addresses):
    """Keep an answer. A failure is not reported: the question is then asked again."""
    place = folder() if text else None
    if not place:
        return
    unfinished = os.path.join(place, f"{os.getpid()}.unfinished")
    try:
        with open(unfinished, "w") as file:
            json.dump([text, addresses], file)
        os.replace(unfinished, os.path.join(place, name(text)))
        kept = sorted((entry for entry in os.scandir(place) if entry.name.endswith(".json")),
                      key=lambda entry: entry.stat().st_mtime_ns)
        for entry in kept[:-FILES_MAX]:
            os.unlink(entry.path)
    except OSError:
        try:
            os.unlink(unfinished)  # the disk is full
        except OSError:
            pass
