#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lldb sessions of `make check` with lldb 16, which cannot be installed beside lldb 19.

Its packages are unpacked into build/lldb-16; what they need of the system (clang-16 has it) is there
already. $LLDB of any other program is taken instead, for a look at another version by hand."""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys

from report import Report
import harness

PACKAGES = ["lldb-16", "liblldb-16", "python3-lldb-16"]
FOLDER = os.path.join(harness.ROOT, "build", "lldb-16")
PROGRAM = os.path.join(FOLDER, "usr", "bin", "lldb-16")


class Unavailable(Exception):
    """The text says why there is no lldb 16."""


def do(*command, cwd):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Unavailable(f"{' '.join(command[:2])}: {(result.stderr or result.stdout).strip().splitlines()[-1]}")


def unpack():
    unfinished = FOLDER + ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(unfinished)
    do("apt-get", "download", "-q", *PACKAGES, cwd=unfinished)
    for package in glob.glob(os.path.join(unfinished, "*.deb")):
        do("dpkg-deb", "-x", package, unfinished, cwd=unfinished)
        os.unlink(package)
    # Where the program looks for libraries besides the system's folders.
    library = "liblldb-16.so.1"
    os.symlink(f"../../x86_64-linux-gnu/{library}", os.path.join(unfinished, "usr/lib/llvm-16/lib", library))
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.rename(unfinished, FOLDER)


def find():
    if os.environ.get("LLDB"):
        return harness.LLDB
    if not os.path.exists(PROGRAM):
        unpack()
    return PROGRAM


def main():
    report = Report("lldb 16")
    try:
        program = find()
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if version.returncode:
            raise Unavailable(version.stderr.strip().splitlines()[-1])
    except Unavailable as error:
        report.skip("lldb 16", str(error))
        return report.finish()
    runner = os.path.join(harness.ROOT, "tests", "run.py")
    result = subprocess.run([sys.executable, runner, "lldb"], env=dict(os.environ, LLDB=program, BUILD=harness.BUILD),
                            capture_output=True, text=True, errors="replace", check=False)
    counts = collections.defaultdict(collections.Counter)
    for outcome, file in re.findall(r"^(ok|FAILED|skipped) +(lldb/\w+):", result.stdout, re.M):
        counts[file][outcome] += 1
    name = version.stdout.split("\n")[0]
    why = result.stdout[result.stdout.find("\nfailed: "):] if "\nfailed: " in result.stdout else result.stdout[-2000:]
    for file, count in sorted(counts.items()):
        report.check(f"{name}, {file}", count["ok"] and not count["FAILED"], "all cases",
                     f"{count['ok']} ok, {count['FAILED']} failed, {count['skipped']} skipped",
                     "\n".join(part for part in why.split("\nfailed: ") if part.startswith(file)))
    files = {f"lldb/{os.path.basename(path)[:-3]}"
             for path in glob.glob(os.path.join(harness.ROOT, "tests", "lldb", "test_*.py"))}
    report.check(f"{name}, files with cases", set(counts) == files, len(files), len(counts), result.stderr[-2000:] + why)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
