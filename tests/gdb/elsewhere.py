# SPDX-License-Identifier: MIT
"""Another machine with the same files under a sysroot: a folder with copies of a process's files
and of their debug information, and a gdb to which the originals do not exist.

That gdb runs in a mount namespace of its own and hides the originals as its first command; as a
program this file does that."""

import ctypes
import os
import shutil
import sys
import tempfile

import harness

DEBUG = "/usr/lib/debug"
# Of files here gdb itself, and iconv behind it, need others: these are hidden one by one.
SYSTEM = "/usr/lib/x86_64-linux-gnu"
MS_BIND = 4096

UNSHARE = ["unshare", "-rm"]


def available():
    return bool(shutil.which("unshare")) and harness.run(*UNSHARE, "true").returncode == 0


def copy(sysroot, paths, build_id):
    """Fill the folder, links as links. build_id(path) -> hexadecimal, to find debug files by."""
    for name in ("lib", "lib64"):
        if os.path.islink(f"/{name}"):
            os.makedirs(os.path.join(sysroot, os.readlink(f"/{name}")), exist_ok=True)
            os.symlink(os.readlink(f"/{name}"), os.path.join(sysroot, name))
    for path in paths:
        number = build_id(path)
        for file in (path, os.path.realpath(path), f"{DEBUG}/.build-id/{number[:2]}/{number[2:]}.debug"):
            if os.path.isfile(file) and not os.path.lexists(sysroot + file):
                os.makedirs(os.path.dirname(sysroot + file), exist_ok=True)
                shutil.copy(file, sysroot + file, follow_symlinks=False)


def gdb(sysroot, paths, commands, **options):
    """harness.gdb() with the sysroot set and the originals hidden."""
    real = {os.path.realpath(path) for path in paths}
    folders = {os.path.dirname(path) for path in real if not path.startswith(SYSTEM + "/")} | {DEBUG}
    files = {path for path in real if os.path.dirname(path) == SYSTEM}
    with tempfile.NamedTemporaryFile("w", suffix=".hidden") as file:
        file.write("\n".join(sorted(folders | files)))
        file.flush()
        hide = f"shell {harness.PYTHON3} {os.path.abspath(__file__)} {file.name}"
        return harness.gdb([hide, f"set sysroot {sysroot}", *commands], before=UNSHARE, **options)


def hide(paths):
    mount = ctypes.CDLL(None, use_errno=True).mount
    with tempfile.TemporaryDirectory() as empty:
        # Folders within others first.
        for path in sorted(paths, key=len, reverse=True):
            source = empty if os.path.isdir(path) else "/dev/null"
            if mount(source.encode(), path.encode(), None, MS_BIND, None):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


if __name__ == "__main__":
    with open(sys.argv[1]) as listing:
        hide(listing.read().splitlines())
