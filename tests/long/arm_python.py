#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU: the package as users install it, and the command: operations on what a process has beside python3, in each
mode (run/test_operations.py), programs of gorgon.interpreters, interrupts, templates, the C library's state.

Usage: arm_python.py [MODULE]...       (modules of unittest in tests/run)

Uses the root of `make check-arm`. OPERATIONS (1,000) in the environment is how many there are in all."""

import os
import re
import sys

import arm
import arm_packages
from report import Report
from root import SOURCES

OPERATIONS = int(os.environ.get("OPERATIONS", "1000"))
MODES, INTERPRETERS = 10, 2
PACKAGES = ["python3-pip", "python3-setuptools", "python3-wheel"]  # the extension is compiled in the root
MODULES = ["test_operations", "test_interpreters_programs", "test_python_lines", "test_templates", "test_libc_state", "test_endings"]


def check_module(report, place, name):
    result = place.run("python3", "-B", "-m", "unittest", "-v", name, cwd=f"{SOURCES}/tests/run", timeout=3600, env={
        "BUILD": arm.BUILD, "PYTHONPATH": f"{SOURCES}/tests", "COUNT": str(OPERATIONS // MODES // INTERPRETERS)})
    ran = re.search(r"^Ran (\d+) tests? in", result.stderr, re.M)
    skipped = re.findall(r"\.\.\. skipped ['\"](.*)['\"]$", result.stderr, re.M)
    failed = re.findall(r"^(?:FAIL|ERROR): (\w+)", result.stderr, re.M)
    report.check(name, ran and not failed and result.returncode == 0, "no case fails",
                 f"{int(ran[1]) - len(skipped) - len(failed)} pass, {len(skipped)} are skipped{': ' * bool(failed)}{' '.join(failed)}"
                 if ran else f"status {result.returncode}", result.stderr[-6000:])
    for reason in sorted(set(skipped)):
        report.skip(name, reason)


def check(report, place):
    place.root.install(PACKAGES)
    for name in sys.argv[1:] or MODULES:
        check_module(report, place, name)


if __name__ == "__main__":
    sys.exit(arm_packages.main("the package and the command on aarch64, under QEMU", check))
