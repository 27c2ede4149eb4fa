#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU: the package as users install it, and the command: operations on what a process has beside python3, in each
mode (run/test_operations.py), programs of gorgon.interpreters, interrupts, templates, the C library's state.

Usage: arm_python.py [MODULE]...       (modules of unittest in tests/run)

Uses the root of `make check-arm`. OPERATIONS (1,000) in the environment is how many there are in all."""

import os
import re
import shutil
import subprocess
import sys

import arm
import arm_packages
import harness
from root import SOURCES

OPERATIONS = int(os.environ.get("OPERATIONS", "1000"))
MODES, INTERPRETERS = 10, 2
PACKAGE = os.path.join(arm.BUILD, "package")
MODULES = ["test_operations", "test_interpreters_programs", "test_python_lines", "test_templates", "test_libc_state"]


def make_package(root, folder):
    """The package of this machine, with libraries and an extension of the other one."""
    harness.install_package(folder)
    inside = os.path.join(folder, "gorgon")
    for name in "libgorgon.so.0", "libjitreg.so.0":
        shutil.copy(os.path.join(arm.BUILD, name), inside)
    subprocess.run([f"{arm.MACHINE}-linux-gnu-gcc", f"--sysroot={root.path}", "-shared", "-fPIC", "-O2", "-DPy_LIMITED_API=0x030b0000",
                    "-I", f"{SOURCES}/loader", "-I", f"{root.path}/usr/include/python3.11", f"{SOURCES}/python/gorgon/_gorgon.c",
                    "-L", arm.BUILD, "-lgorgon", "-ljitreg", "-Wl,-rpath,$ORIGIN", "-o", f"{inside}/_gorgon.abi3.so"], check=True)


def check_module(report, place, name):
    result = place.run("python3", "-B", "-m", "unittest", "-v", name, cwd=f"{SOURCES}/tests/run", timeout=3600, env={
        "BUILD": arm.BUILD, "PYTHONPATH": f"{SOURCES}/tests", "COUNT": str(OPERATIONS // MODES // INTERPRETERS),
        "PACKAGE": PACKAGE})
    ran = re.search(r"^Ran (\d+) tests? in", result.stderr, re.M)
    skipped = re.findall(r"(?:\.\.\. |^)skipped ['\"](.*)['\"]$", result.stderr, re.M)
    failed = re.findall(r"^(?:FAIL|ERROR): (\w+)", result.stderr, re.M)
    report.check(name, ran and not failed and result.returncode == 0, "no case fails",
                 f"{int(ran[1]) - len(skipped) - len(failed)} pass, {len(skipped)} are skipped{': ' * bool(failed)}{' '.join(failed)}"
                 if ran else f"status {result.returncode}", result.stderr[-6000:])
    for reason in sorted(set(skipped)):
        report.skip(name, reason)


def check(report, place):
    shutil.rmtree(PACKAGE, ignore_errors=True)
    make_package(place.root, PACKAGE)
    for name in sys.argv[1:] or MODULES:
        check_module(report, place, name)


if __name__ == "__main__":
    sys.exit(arm_packages.main("the package and the command on aarch64, under QEMU", check))
