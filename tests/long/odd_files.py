#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that elfutils and LLVM keep for their tests because each has once broken a reader of ELF.

Debian's source packages have them: elfutils in tests/, LLVM as binary inputs and as descriptions, of which yaml2obj makes
files. All are read by the loader, by libjitreg, by the rewriter of the strategy `copy` and by gorgon-symdump, with the address
and undefined behaviour sanitizers (the fuzz targets take files), and are opened under the system's linker and ours."""

import bz2
import concurrent.futures
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

from report import Report
import harness
import readers
import sources

FOLDER = os.path.join(harness.BUILD, "odd-files")
TARGETS = ["core", "library", "load", "registrar", "rewrite"]
MAGIC = b"\x7fELF"
LARGE = 1 << 22
BATCH = 100


class Files:
    """Files by their content, so that the same one is tried once."""

    def __init__(self):
        self.paths = {}

    def add(self, content):
        if len(content) > LARGE or not content.startswith(MAGIC):
            return
        path = os.path.join(FOLDER, hashlib.sha256(content).hexdigest()[:16])
        if path not in self.paths:
            with open(path, "wb") as file:
                file.write(content)
            self.paths[path] = True

    def all(self):
        return sorted(self.paths)


def from_elfutils(files):
    for path in glob.glob(os.path.join(sources.debian("elfutils", "libelf1", "tests/*"), "tests", "*.bz2")):
        with bz2.open(path) as file:
            try:
                files.add(file.read())
            except OSError:
                pass


def described(path, tool):
    """The files that a test of LLVM's describes; a description that this yaml2obj does not know makes none."""
    with open(path, errors="replace") as file:
        count = len(re.findall(r"^--- !ELF", file.read(), re.M))
    made = []
    for number in range(1, count + 1):
        result = subprocess.run([tool, f"--docnum={number}", path], capture_output=True, check=False)
        if result.returncode == 0:
            made.append(result.stdout)
    return made


def from_llvm(files, tool):
    top = os.path.join(sources.debian("llvm-toolchain-19", "llvm-19", "llvm/test/*"), "llvm", "test")
    tests = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                begin = file.read(4)
                if begin == MAGIC:
                    files.add(begin + file.read())
                elif name.endswith((".test", ".yaml", ".s", ".ll")) and b"!ELF" in begin + file.read():
                    tests.append(path)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for made in pool.map(lambda path: described(path, tool), sorted(tests)):
            for content in made:
                files.add(content)


def read(report, target, paths):
    found = []
    for first in range(0, len(paths), BATCH):
        report.progress(first, len(paths), target)
        found += readers.read(target, paths[first:first + BATCH], FOLDER)
    report.check(f"read by {target}, with sanitizers", not found, f"{len(paths)} without a report", f"{len(found)} reports",
                 "\n".join(f"{path}\n{text}" for path, text in found))


def compare(report, paths):
    counts, crashed, _ = readers.compare(paths, FOLDER)
    report.check("under both linkers", not crashed, "no crash where the system's linker refuses", counts, "\n".join(crashed))


def main():
    report = Report("Odd files of elfutils and LLVM")
    tool = shutil.which("yaml2obj-19")
    files = Files()
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    try:
        if not tool:
            raise sources.Unavailable("llvm-19 is not installed")
        from_elfutils(files)
        count = len(files.all())
        from_llvm(files, tool)
    except sources.Unavailable as error:
        report.skip("files", str(error))
        return report.finish()
    paths = files.all()
    report.check("files", count >= 150 and len(paths) - count >= 500, "at least 150 of elfutils and 500 of LLVM",
                 f"{count} and {len(paths) - count}")
    for target in TARGETS:
        read(report, target, paths)
    compare(report, paths)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
