# SPDX-License-Identifier: MIT
"""Another machine with the same files under a sysroot: a folder with copies of a process's files
and of their debug information, and a gdb to which the originals do not exist.

That gdb runs in a mount namespace of its own and hides the originals (hide.py) as its first
command."""

import os
import re
import shutil
import sys
import tempfile

import harness

sys.path.insert(0, os.path.dirname(harness.GDB_SCRIPT))
import gorgon_gdb  # noqa: E402,F401
from gorgon_shared import elf  # noqa: E402

DEBUG = "/usr/lib/debug"
# Of files here gdb itself, and iconv behind it, need others: these are hidden one by one.
SYSTEM = "/usr/lib/x86_64-linux-gnu"
HIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hide.py")
UNSHARE = ["unshare", "-rm"]


def available():
    return bool(shutil.which("unshare")) and harness.run(*UNSHARE, "true").returncode == 0


def is_elf(path):
    """The linker's cache in /etc is mapped, too."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def files_of(pid):
    """The files of a process, under each of the names that it knows them by."""
    output = harness.gdb(["python from gorgon_gdb import process",
                          "python list(map(print, [o.path for o in process.snapshot().objects]))", "info sharedlibrary"],
                         script=True, options=["-p", str(pid)])
    with open(f"/proc/{pid}/maps") as file:
        mapped = {line.split()[-1] for line in file if " /" in line}
    return sorted(filter(is_elf, mapped | set(re.findall(r"(?:^| )(/\S+)$", output, re.M))))


def copy(sysroot, paths):
    """Fill the folder, links as links."""
    for name in ("lib", "lib64"):
        if os.path.islink(f"/{name}"):
            os.makedirs(os.path.join(sysroot, os.readlink(f"/{name}")), exist_ok=True)
            os.symlink(os.readlink(f"/{name}"), os.path.join(sysroot, name))
    for path in paths:
        number = elf.read(path).build_id.hex()
        for file in (path, os.path.realpath(path), f"{DEBUG}/.build-id/{number[:2]}/{number[2:]}.debug"):
            if os.path.isfile(file) and not os.path.lexists(sysroot + file):
                os.makedirs(os.path.dirname(sysroot + file), exist_ok=True)
                shutil.copy(file, sysroot + file, follow_symlinks=False)


def hiding(listing, paths, system=True):
    """gdb's command that hides the originals; an open file passes their names on. Without those of the system no
    other program can be started."""
    real = {os.path.realpath(path) for path in paths}
    folders = {os.path.dirname(path) for path in real if not path.startswith(SYSTEM + "/")} | {DEBUG}
    files = {path for path in real if os.path.dirname(path) == SYSTEM} if system else set()
    listing.write("\n".join(sorted(folders | files)))
    listing.flush()
    return f"shell {harness.PYTHON3} {HIDE} {listing.name}"


def gdb(sysroot, paths, commands, system=True, **options):
    """harness.gdb() with the sysroot set and the originals hidden."""
    with tempfile.NamedTemporaryFile("w", suffix=".hidden") as listing:
        return harness.gdb([hiding(listing, paths, system), f"set sysroot {sysroot}", *commands], before=UNSHARE, **options)
