#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every CPython of this machine by every name, wherever it is run: what copies of it say of themselves
(sys.executable, prefix, path, flags, sysconfig and more) is what the executable says.

Usage: named.py [WORD]...       (only pythons and ways with such a word)"""

import glob
import os
import shutil
import sys
import tempfile

from report import Report
import harness
import pythons

DEBIANS = ["/usr/bin/python3.11", "/usr/bin/python3.11d"]
# Another Python than those that are tried.
OTHER = "/usr/bin/python3.11"


def installed():
    """Executables, each with its libpython."""
    others = sorted(glob.glob(os.path.join(harness.PYENV, "3.*", "bin", "python3.[0-9][0-9]")))
    return [path for path in DEBIANS + others
            if os.path.exists(path) and harness.run(harness.GORGON, "info", "--python", path).returncode == 0]


def label(python):
    """The name of a Python in the table, which does not say where somebody's pyenv is."""
    version, _, rest = os.path.relpath(python, harness.PYENV).partition("/")
    return f"pyenv's {version}" if rest and version != ".." else python


def relocated(python, folder):
    """A copy of the whole installation, without what is installed in it."""
    prefix = os.path.dirname(os.path.dirname(python))
    shutil.copytree(prefix, folder, symlinks=True, ignore=shutil.ignore_patterns("test", "site-packages", "__pycache__", "share"))
    return os.path.join(folder, "bin", os.path.basename(python))


def ways(python, folder):
    found = pythons.ways(python, folder)
    if python == DEBIANS[1]:
        # venv copies the release build here, and writes down that it was the debug build.
        del found["copies of copies"]
    if python not in DEBIANS:
        found["the whole prefix elsewhere"] = relocated(python, f"{folder}/relocated")
        found["a copy under another name"] = shutil.copy(python, f"{folder}/snake")
    return found


def main(words):
    report = Report("Pythons by every name")
    with tempfile.TemporaryDirectory() as folder:
        surroundings = pythons.surroundings(f"{folder}/surroundings", OTHER)
        program = pythons.forms(folder)["-c"]
        for number, python in enumerate(installed()):
            for way, executable in ways(python, f"{folder}/{number}").items():
                if words and not any(word in python or word in way for word in words):
                    continue
                report.progress(number, len(installed()), f"{python}, {way}")
                found = [f"{name}: {differences}" for name, (env, cwd) in surroundings.items()
                         if (differences := pythons.differences(executable, program, env, cwd))]
                report.check(f"{label(python)}: {way}", not found, f"the same in {len(surroundings)} surroundings",
                             f"the same in {len(surroundings) - len(found)}", "\n".join(found)[:4000])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
