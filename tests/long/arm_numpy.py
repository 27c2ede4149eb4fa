#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64 under QEMU: a part of numpy's own tests in a private copy, beside a second interpreter that works, and in python3.

Usage: arm_numpy.py [MODULE]...

Uses the root of `make check-arm`."""

import json
import os
import shutil
import sys
import tempfile

import arm_packages
import suites

SLICE = sys.argv[1:] or os.environ.get("SLICE", "numpy.linalg numpy.fft").split()
SUITE_TIMEOUT = 3600


class Run(suites.Run):
    """A run of the tests in the root."""

    def __init__(self, place, command):
        self.tests, self.status, self.peak, self.beside, self.collected = {}, None, 0, {"count": 0, "wrong": 0}, 0
        folder = tempfile.mkdtemp(dir=f"{place.root.path}/tmp")  # in the sources pytest would read their pytest.ini
        inside = folder.removeprefix(place.root.path)
        os.mkdir(f"{folder}/tmp")
        result = place.run(*command, f"{place.programs}/suite.py", inside, "numpy", "pytest", "-p", "no:cacheprovider", "--pyargs", *SLICE,
                           env={**suites.ENVIRONMENT, "TMPDIR": f"{inside}/tmp"}, timeout=SUITE_TIMEOUT // arm_packages.SLOWER, cwd=f"{inside}/tmp")
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


if __name__ == "__main__":
    sys.exit(arm_packages.main("numpy's tests on aarch64, under QEMU", check_numpy))
