# SPDX-License-Identifier: MIT
"""Make gdb read companion files without lines.

With many interpreters gdb hears of each by one symfile. The symfile refers to a file in the cache, libjitreg's companion, which has
names and unwind data of all objects of the interpreter, and functions with lines. The lines are for gdb without scripts. The
scripts add the whole debug information of the copies in the stack (symbols.py). But gdb uses what it has heard of first, which
would be the lines of the companion, whose functions have neither arguments nor variables; and a companion cannot be removed.
So the scripts make gdb find another companion, without lines. gdb looks for a file by the symfile's build-id before it follows
the reference. The build-id is 67 and the name of a file in the cache, so it is enough that a directory in which gdb looks has a
symbolic link .build-id/67 to the cache.

gdb has to know that directory before it hears of the interpreters. If these scripts are read later, they attach to the
process again, or load the core again; if gdb itself has started the program, they tell the user.

The process may be another user's, or have another HOME than gdb, and so another cache. The process's environment tells where
it is; gdb can read it when it hears of the first object file, before the interpreters'. The environment of a process on another
machine, or of a core, cannot be read; then the cache is that of the user who runs gdb. If an interpreter's companion is elsewhere,
gdb has lines and no variables of it."""

import atexit
import os
import re
import shutil
import tempfile

import gdb

from . import execute

_directories = {}  # a cache -> the directory that has the link to it
_root = None       # the folder of these directories
_asked = None      # the id of the process whose environment has been read


def cache(environment):
    """The folder in which libjitreg keeps its files with this environment, or None."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        home = environment.get("HOME", "")
        base = f"{home}/.cache" if home.startswith("/") else ""
    return f"{base}/gorgon" if base else None


def add(directory):
    """Make a directory with a link to this cache, and have gdb look there."""
    global _root
    if _root is None:
        _root = tempfile.mkdtemp(prefix="gorgon-gdb-")
        atexit.register(shutil.rmtree, _root, ignore_errors=True)
    here = os.path.join(_root, str(len(_directories)))
    os.makedirs(os.path.join(here, ".build-id"))
    os.symlink(directory, os.path.join(here, ".build-id", "67"))
    _directories[directory] = here
    before = gdb.parameter("debug-file-directory") or ""
    execute.run(f"set debug-file-directory {before}:{here}" if before else f"set debug-file-directory {here}")


def has_lines():
    """Whether gdb has already read a companion with lines."""
    return any(objfile.owner and objfile.filename and os.path.dirname(objfile.filename) in _directories
               and (objfile.owner.build_id or "").startswith("67") for objfile in gdb.objfiles())


def load_again():
    inferior = gdb.selected_inferior()
    core = re.search(r"^Local core dump file:\n\s*`(.*)', file type", execute.run("info files") or "", re.M)
    if core:
        execute.run(f"core-file {core[1]}")
    elif inferior.was_attached:
        pid = inferior.pid
        execute.run("detach")
        execute.run(f"attach {pid}")
    else:
        gdb.write("gorgon: these scripts were read after the program's start: where there are more than eight "
                  "interpreters, gdb shows no variables of theirs.\n")


def environment_of(inferior):
    """The environment with which a process on this machine has started; empty if it cannot be read."""
    if inferior.connection is None or inferior.connection.type != "native":
        return {}
    try:
        with open(f"/proc/{inferior.pid}/environ", "rb") as file:
            entries = (os.fsdecode(entry).partition("=") for entry in file.read().split(b"\0"))
    except OSError:
        return {}
    return {name: value for name, _, value in entries}


def on_new_objfile(_event):
    global _asked
    inferior = gdb.selected_inferior()
    if inferior.pid and inferior.pid != _asked:
        _asked = inferior.pid
        add_once(cache(environment_of(inferior)))


def add_once(directory):
    """Have gdb look for companions in a cache. Returns whether it did not do so before and does now."""
    if not directory or directory in _directories:
        return False
    try:
        add(directory)
    except OSError:
        return False  # there is no place for the link: gdb reads the companion with lines
    return True


def register(running):
    """@running: gdb has found these scripts itself, and waits for the program. A command would end its waiting."""
    if running:
        gdb.post_event(register_now)
    else:
        register_now()


def register_now():
    added = [add_once(cache(environment)) for environment in (os.environ, environment_of(gdb.selected_inferior()))]
    if any(added) and has_lines():
        load_again()
