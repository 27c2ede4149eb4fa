#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU, what takes longer: Debian's packages in two interpreters, a part of numpy's own tests in a private copy
and in python3, interpreters that come and go.

Usage: arm_packages.py [packages|numpy|cycles]...

Uses the root of `make check-arm`. What a package does is compared with the table of x86-64 in docs/compatibility.md. In the environment
CYCLES=... changes the number of interpreters, PACKAGES=... and SLICE=... which packages and which of numpy's tests."""

import json
import os
import re
import shutil
import sys
import tempfile

import arm
import programs
import suites
from report import Report
from root import SOURCES, Root, Unavailable

# C; C++ (kiwisolver, rapidjson, contourpy, icu, marisa, brotli, zmq), whose errors are exceptions that become Python's; Fortran
# (scipy); Rust (cryptography).
PACKAGES = ["ahocorasick", "apsw", "argon2", "bcrypt", "bitarray", "brotli", "btrees", "cbor2", "cffi", "contourpy", "crc32c",
            "cryptography", "cytoolz", "frozenlist", "gdbm", "gmpy2", "greenlet", "icu", "jellyfish", "kiwisolver", "levenshtein",
            "lmdb", "lxml", "lz4", "marisa", "markupsafe", "msgpack", "multidict", "nacl", "pandas", "pil", "psutil",
            "pycryptodome", "rapidjson", "regex", "scipy", "shapely", "yaml", "zmq", "zstandard"]
SLICE = os.environ.get("SLICE", "numpy.linalg numpy.fft numpy.core.tests.test_ufunc numpy.lib.tests.test_function_base").split()
CYCLES = int(os.environ.get("CYCLES", "1000"))
WITH_NUMPY = 10  # times as long under QEMU as an interpreter that imports nothing: one of as many imports it
WARM = 10
MAX_GROWTH = 100  # KiB in a cycle, of QEMU with what it has translated
SUITE_TIMEOUT = 3600
SLOWER = 6  # than the processor that the programs' limits of time are for
# What the process has while an interpreter lives.
CYCLE = """import json, os
with open("/proc/self/smaps_rollup") as file:
    memory = sum(int(line.split()[1]) for line in file if line.startswith(("Private_", "Swap:")))
print(json.dumps({"memory": memory, "descriptors": len(os.listdir("/proc/self/fd"))}), flush=True)
"""
NUMPY = "import numpy; assert (numpy.ones((2, 3)) @ numpy.ones((3, 2)) == 3).all()\n"


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
    with open(os.path.join(SOURCES, "docs", "compatibility.md")) as file:
        table = re.search(r"^### Debian 12\n(.*?)(?=^#|\Z)", file.read(), re.M | re.S)[1]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    columns = {name: number for number, name in enumerate(rows[0])}
    return {row[0]: (row[columns["python3"]], row[columns["two at once"]]) for row in rows[2:]}


def check_packages(report, place):
    found = programs.load("debian", os.environ.get("PACKAGES", "").split() or PACKAGES)
    place.root.install({package for program in found for package in program.packages})
    programs.check(report, "Packages on aarch64", place, found, place.root.installed(), {"two at once": (2, 1, 1)})
    there, rows = on_x86_64(), report.tables[-1]["rows"]
    same = [row[0] for row in rows if there.get(row[0]) == tuple(row[2:4])]
    report.check("Packages on aarch64: as on x86-64, in docs/compatibility.md", len(same) == len(rows), f"{len(rows)} of {len(rows)}",
                 f"{len(same)} of {len(rows)}", "\n".join(row[0] for row in rows if row[0] not in same))


class Run(suites.Run):
    """A run of the tests in the root."""

    def __init__(self, place, command):
        self.tests, self.status, self.peak, self.beside, self.collected = {}, None, 0, {"count": 0, "wrong": 0}, 0
        folder = tempfile.mkdtemp(dir=f"{place.root.path}/tmp")  # in the sources pytest would read their pytest.ini
        inside = folder.removeprefix(place.root.path)
        os.mkdir(f"{folder}/tmp")
        result = place.run(*command, f"{place.programs}/suite.py", inside, "numpy", "pytest", "-p", "no:cacheprovider", "--pyargs", *SLICE,
                           env={**suites.ENVIRONMENT, "TMPDIR": f"{inside}/tmp"}, timeout=SUITE_TIMEOUT // SLOWER, cwd=f"{inside}/tmp")
        self.process_status, self.output = result.returncode, result.stdout + result.stderr
        with open(f"{folder}/tests", "rb") as events:
            self.read(events)
        if os.path.exists(f"{folder}/beside"):
            with open(f"{folder}/beside") as file:
                self.beside = json.load(file)
        shutil.rmtree(folder)


def check_numpy(report, place):
    place.root.install(["python3-numpy", "python3-pytest", "python3-hypothesis"])
    plain, private = Run(place, place.python), Run(place, [*place.gorgon, "-n", "2", "--python", "/usr/bin/python3"])
    suite = suites.Suite(report, f"numpy: {', '.join(SLICE)}", place.root.installed()["python3-numpy"], {})
    suite.check_ended("python3", plain, (0, 1))
    suite.check_ended("private copy", private, (plain.status,))
    suite.check_beside("private copy", private.beside)
    suite.check_same("private copy", plain.tests, private.tests)
    suites.tables(report, [suite])


def check_cycles(report, place):
    for what, count, program in [("interpreters", CYCLES, CYCLE), ("interpreters that import numpy", CYCLES // WITH_NUMPY, NUMPY + CYCLE)]:
        result = place.run(*place.gorgon, "--repeat", str(count), "-c", program)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        report.check(f"{what}, one after the other", result.returncode == 0 and len(rows) == count, count, len(rows), result.stderr[-2000:])
        if len(rows) <= WARM:
            continue
        first, last = rows[WARM], rows[-1]
        growth = (last["memory"] - first["memory"]) / (len(rows) - WARM - 1)
        report.check(f"{what}: memory by interpreter", growth <= MAX_GROWTH, f"at most {MAX_GROWTH} KiB", f"{growth:.1f} KiB")
        report.check(f"{what}: descriptors after all", last["descriptors"] == first["descriptors"], first["descriptors"],
                     last["descriptors"])


CHECKS = {"packages": check_packages, "numpy": check_numpy, "cycles": check_cycles}


def main(words):
    report = Report("longer on aarch64, under QEMU")
    try:
        arm.emulate()
        root = Root("arm64", "bookworm", machine="arm64", path=os.environ.get("ROOT") or None)
        root.install(arm.PACKAGES)
        arm.build(root)
        for word in words or CHECKS:
            CHECKS[word](report, Place(root))
    except Unavailable as error:
        report.skip("a root for aarch64", error)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
