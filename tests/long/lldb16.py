#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lldb sessions of `make check` with lldb 16, which cannot be installed beside lldb 19.

Its packages are unpacked into build/lldb-16; what they need of the system (clang-16 has it) is there
already. $LLDB of any other program is taken instead, for a look at another version by hand."""

import collections
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

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
    # Where the program looks for libraries in addition to the system's folders.
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
    name = version.stdout.split("\n")[0]
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        result = subprocess.run([harness.PYTHON3, "-B", "-m", "pytest", "--select=lldb", f"--junitxml={file.name}"],
                                env=dict(os.environ, LLDB=program, BUILD=harness.BUILD), cwd=harness.ROOT, capture_output=True,
                                text=True, errors="replace", check=False)
        cases = list(xml.etree.ElementTree.parse(file.name).iter("testcase")) if os.path.getsize(file.name) else []
    counts, why = collections.defaultdict(collections.Counter), collections.defaultdict(str)
    for case in cases:
        file = "/".join(case.get("classname").split(".")[1:3])  # tests.lldb.test_walk.Walk
        problems = [case.find("failure"), case.find("error")]
        outcome = "FAILED" if any(p is not None for p in problems) else "ok" if case.find("skipped") is None else "skipped"
        counts[file][outcome] += 1
        why[file] += "".join(f"{case.get('name')}:\n{p.text}\n" for p in problems if p is not None)
    for file, count in sorted(counts.items()):
        report.check(f"{name}, {file}", not count["FAILED"], "all cases that lldb 16 can have",
                     f"{count['ok']} ok, {count['FAILED']} failed, {count['skipped']} skipped", why[file])
    files = {f"lldb/{os.path.basename(path)[:-3]}"
             for path in glob.glob(os.path.join(harness.ROOT, "tests", "lldb", "test_*.py"))}
    report.check(f"{name}, files with cases", set(counts) == files, len(files), len(counts), (result.stdout + result.stderr)[-2000:])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
