#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The own tests of packages in a private copy, beside a second interpreter that works with the same package.

Usage: package_suites.py [PACKAGE]...

scipy and pandas of Debian bring their tests; slices of them run here. lxml's and cryptography's
come with the sources of the same version, which pip fetches into build/suites. Each runs once in
python3 and once in interpreter 0 of `gorgon run -n 2`; suites.py compares."""

import os
import re
import shutil
import subprocess
import sys
import tarfile

import suites
from report import Report
from harness import PYTHON3, ROOT

SOURCES = os.path.join(ROOT, "build", "suites")
LIMIT = 5400  # seconds for one run of one package
SCIPY = ["fft", "integrate", "interpolate", "linalg", "ndimage", "sparse", "spatial", "special"]
PANDAS = ["arithmetic", "frame/methods", "groupby", "io/parser"]


class Unavailable(Exception):
    pass


def version(package):
    return subprocess.run([PYTHON3, "-c", f"from importlib.metadata import version; print(version({package!r}))"],
                          capture_output=True, text=True, check=True).stdout.strip()


def installed(package):
    """The folder of an installed package."""
    return os.path.join(subprocess.run([PYTHON3, "-c", f"import {package}; print({package}.__path__[0])"],
                                       capture_output=True, text=True, check=True).stdout.strip())


def sources(package, *parts):
    """A folder with these parts of the sources of the version that is installed, and nothing else: what is
    imported is the package that is installed."""
    name = f"{package}-{version(package)}"
    folder = os.path.join(SOURCES, name)
    if os.path.exists(folder):
        return folder
    os.makedirs(SOURCES, exist_ok=True)
    archive = os.path.join(SOURCES, f"{name}.tar.gz")
    if not os.path.exists(archive):
        result = subprocess.run([PYTHON3, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
                                 "-d", SOURCES, name.replace("-", "==")], capture_output=True, text=True, check=False)
        if result.returncode or not os.path.exists(archive):
            said = result.stderr.strip().splitlines() or ["it says nothing"]
            raise Unavailable(f"pip does not fetch {name}.tar.gz: {said[-1]}")
    unfinished = f"{folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    with tarfile.open(archive) as file:
        wanted = re.compile(f"{re.escape(name)}/({'|'.join(parts)})/")
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # newer ones want to be told
        file.extractall(unfinished, [member for member in file.getmembers() if wanted.match(member.name)])
    os.rename(os.path.join(unfinished, name), folder)
    os.rmdir(unfinished)
    return folder


# The words for programs/suite.py and the directory that tests expect, None for any.


def scipy():
    return ["pytest", "--rootdir", installed("scipy"), "--pyargs", *(f"scipy.{part}" for part in SCIPY)], None


def pandas():
    folder = installed("pandas")
    return ["pytest", "--rootdir", folder, *(f"{folder}/tests/{part}" for part in PANDAS)], None


def lxml():
    folder = sources("lxml", "src/lxml/tests", "doc", "samples")
    return ["unittest", f"{folder}/src/lxml", "tests"], folder


def cryptography():
    folder = sources("cryptography", "tests")
    # Without the measurements of how fast it is.
    return ["pytest", "--rootdir", folder, f"{folder}/tests", "--ignore", f"{folder}/tests/bench"], None


PACKAGES = {function.__name__: function for function in (scipy, pandas, lxml, cryptography)}
TITLES = {"scipy": f"scipy: {', '.join(SCIPY)}", "pandas": f"pandas: {', '.join(PANDAS)}"}
# {package: {test or pattern: (its outcome in a private copy, why)}}
ALLOWED = {}


def check(report, package):
    """The Suite, or None where its tests are not to be had."""
    try:
        words, cwd = PACKAGES[package]()
    except Unavailable as error:
        report.skip(f"{package}'s tests", error)
        return None
    suite = suites.Suite(report, TITLES.get(package, package), version(package), ALLOWED.get(package, {}))
    runs = []
    for case, command in (f"{package}, python3", suites.python3()), (f"{package}, private copy", suites.private_copy()):
        run = suites.Run(command, [package, *words], {}, LIMIT,
                         lambda done, total, case=case: report.progress(done, total, case), cwd)
        suite.check_ended(case, run, (runs[0].status,) if runs else (0, 1))
        runs.append(run)
    suite.check_beside(case, runs[1].beside)
    suite.check_same(case, runs[0].tests, runs[1].tests)
    return suite


def main(words):
    report = Report("Packages' own tests")
    done = [check(report, package) for package in words or PACKAGES]
    suites.tables(report, [suite for suite in done if suite])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
