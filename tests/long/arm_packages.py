#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU: Debian's packages in two interpreters, which do what they do on x86-64, in tests/long/COMPATIBILITY.md.

Usage: arm_packages.py [PACKAGE]...

Uses the root of `make check-arm`, as arm_numpy.py and arm_cycles.py do, which are like this one."""

import os
import re
import sys

import arm
import programs
from report import Report
from root import SOURCES, Root, Unavailable

# C; C++ (kiwisolver, rapidjson, contourpy, icu, marisa, brotli, zmq), whose errors are exceptions that become Python's; Fortran
# (scipy); Rust (cryptography).
PACKAGES = ["ahocorasick", "apsw", "argon2", "bcrypt", "bitarray", "brotli", "btrees", "cbor2", "cffi", "contourpy", "crc32c",
            "cryptography", "cytoolz", "frozenlist", "gdbm", "gmpy2", "greenlet", "icu", "jellyfish", "kiwisolver", "levenshtein",
            "lmdb", "lxml", "lz4", "marisa", "markupsafe", "msgpack", "multidict", "nacl", "pandas", "pil", "psutil",
            "pycryptodome", "rapidjson", "regex", "scipy", "shapely", "yaml", "zmq", "zstandard"]
SLOWER = 6  # than the processor that the programs' limits of time are for


class Place:
    programs = os.path.join(SOURCES, "tests", "long", "programs")
    python = ["python3"]
    gorgon = [os.path.join(arm.BUILD, "gorgon"), "run"]

    def __init__(self, root):
        self.root = root

    def run(self, *command, env=None, timeout=None, **kwargs):
        return self.root.run(*command, env=env, timeout=timeout and SLOWER * timeout, folder=SOURCES, **kwargs)


def on_x86_64():
    """{package: (its outcome in python3, two at once)}."""
    with open(os.path.join(SOURCES, "tests", "long", "COMPATIBILITY.md")) as file:
        table = re.search(r"^### Debian 12\n(.*?)(?=^#|\Z)", file.read(), re.M | re.S)[1]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    columns = {name: number for number, name in enumerate(rows[0])}
    return {row[0]: (row[columns["python3"]], row[columns["two at once"]]) for row in rows[2:]}


def check_packages(report, place):
    found = programs.load("debian", sys.argv[1:] or PACKAGES)
    place.root.install({package for program in found for package in program.packages})
    programs.check(report, "Packages on aarch64", place, found, place.root.installed(), {"two at once": (2, 1, 1)})
    there, rows = on_x86_64(), report.tables[-1]["rows"]
    same = [row[0] for row in rows if there.get(row[0]) == tuple(row[2:4])]
    report.check("Packages on aarch64: as on x86-64, in tests/long/COMPATIBILITY.md", len(same) == len(rows), f"{len(rows)} of {len(rows)}",
                 f"{len(same)} of {len(rows)}", "\n".join(row[0] for row in rows if row[0] not in same))


def main(title, check):
    """Run check(report, place) in the root."""
    report = Report(title)
    try:
        arm.emulate()
        root = Root("arm64", "bookworm", machine="arm64", path=os.environ.get("ROOT") or None)
        root.install(arm.PACKAGES)
        arm.build(root)
        check(report, Place(root))
    except Unavailable as error:
        report.skip("a root for aarch64", error)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main("packages on aarch64, under QEMU", check_packages))
