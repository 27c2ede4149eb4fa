# SPDX-License-Identifier: MIT
"""With the scripts gdb takes companions without lines.

With many interpreters gdb hears of each by one symfile, which refers to a file in the cache (libjitreg's companion):
names and unwind data of all its objects, and functions with lines. The latter are for gdb without scripts.
symbols.py adds the whole debug information of the copies in the stack, but gdb takes what it has heard of first: the
lines, where functions have neither arguments nor variables, and nothing can take them away again. So gdb is to find
another companion: by the symfile's build-id, which it looks for before it follows the link. The build-id is
67 and the name of a file in the cache, so a directory that gdb looks in needs one symbolic link: .build-id/67, to the cache.

gdb has to be told before it hears of the interpreters. Where these scripts are read later, with a process attached or
a core loaded, that is attached or loaded again; of a program that gdb has started the user is told.

The cache is where the process has it, which may be of another user, or have another HOME than gdb: its environment says so
when gdb hears of its first object file, before those of interpreters. That of a process on another machine, and of a core, is not
here to be read: there it is the cache of the user who runs gdb. Of interpreters that have companions elsewhere gdb has the lines, and no
variables."""

import atexit
import os
import re
import shutil
import tempfile

import gdb

from . import execute

_directories = {}  # of a cache -> where its link is
_root = None
_asked = None      # the id of the process whose environment has been read


def cache(environment):
    """Where libjitreg has its files, as it finds that out itself, or None."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        home = environment.get("HOME", "")
        base = f"{home}/.cache" if home.startswith("/") else ""
    return f"{base}/gorgon" if base else None


def add(directory):
    """A directory with a link to this cache, which gdb is to look in."""
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
    """gdb has heard of interpreters already, and of their lines."""
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
    """Of a process on this machine, as it was at its start; empty where that cannot be read."""
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
    """Whether gdb looks there now."""
    if not directory or directory in _directories:
        return False
    try:
        add(directory)
    except OSError:
        return False  # without a place for the link gdb follows the other one
    return True


def register(running):
    """@running: gdb reads these scripts by itself, while it waits for the program. A command would end its waiting."""
    if running:
        gdb.post_event(register_now)
    else:
        register_now()


def register_now():
    added = [add_once(cache(environment)) for environment in (os.environ, environment_of(gdb.selected_inferior()))]
    if any(added) and has_lines():
        load_again()
