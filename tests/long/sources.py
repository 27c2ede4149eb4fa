# SPDX-License-Identifier: MIT
"""The sources of installed packages whose tests are not: the same version, as pip has it, in build/suites."""

import os
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import PYTHON3, ROOT  # noqa: E402

SOURCES = os.path.join(ROOT, "build", "suites")


class Unavailable(Exception):
    """pip does not fetch them; the text says why."""


def installed(package):
    """Folder and version of a package of /usr/bin/python3."""
    code = (f"import importlib.metadata, {package}; "
            f"print({package}.__path__[0], importlib.metadata.version({package!r}))")
    return subprocess.run([PYTHON3, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def sources(package, *parts):
    """A folder with these parts of the sources and nothing else: what tests import is the package that is installed."""
    name = f"{package}-{installed(package)[1]}"
    folder, archive = os.path.join(SOURCES, name), os.path.join(SOURCES, f"{name}.tar.gz")
    if os.path.exists(folder):
        return folder
    os.makedirs(SOURCES, exist_ok=True)
    if not os.path.exists(archive):
        result = subprocess.run([PYTHON3, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
                                 "-d", SOURCES, name.replace("-", "==")], capture_output=True, text=True, check=False)
        if result.returncode or not os.path.exists(archive):
            said = result.stderr.strip().splitlines() or ["it says nothing"]
            raise Unavailable(f"pip does not fetch {name}.tar.gz: {said[-1]}")
    unfinished = f"{folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    wanted = re.compile(f"{re.escape(name)}/({'|'.join(parts)})/")
    with tarfile.open(archive) as file:
        file.extraction_filter = getattr(tarfile, "data_filter", None)  # newer ones want to be told
        file.extractall(unfinished, [member for member in file.getmembers() if wanted.match(member.name)])
    os.rename(os.path.join(unfinished, name), folder)
    os.rmdir(unfinished)
    return folder
