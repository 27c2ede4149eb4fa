# SPDX-License-Identifier: MIT
"""The sources of installed packages whose tests are not: the same version, as pip or Debian has it, in build/suites."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import BUILD, PYTHON3, ROOT  # noqa: E402

SOURCES = os.path.join(ROOT, "build", "suites")


class Unavailable(Exception):
    """The sources cannot be fetched; the text says why."""


def installed(package, python=PYTHON3, distribution=None):
    """Folder and version of a package of /usr/bin/python3, or of a virtual environment; of a distribution of another name."""
    code = (f"import importlib.metadata, {package}; "
            f"print({package}.__path__[0], importlib.metadata.version({distribution or package!r}))")
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def environment(name):
    """The python of a virtual environment in build/ with what requirements-NAME.txt pins."""
    requirements = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"requirements-{name}.txt")
    path = os.path.join(BUILD, f"venv-{name}")
    python, done = os.path.join(path, "bin", "python"), os.path.join(path, ".done")
    if not os.path.exists(done) or os.path.getmtime(done) < os.path.getmtime(requirements):
        subprocess.run([PYTHON3, "-m", "venv", "--clear", path], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
                        "--no-deps", "-r", requirements], check=True)
        open(done, "w").close()
    return python


def sources(package, *parts, python=PYTHON3):
    """A folder with these parts of the sources and nothing else: what tests import is the package that is installed."""
    name = f"{package}-{installed(package, python)[1]}"
    folder, archive = os.path.join(SOURCES, name), os.path.join(SOURCES, f"{name}.tar.gz")
    if os.path.exists(folder):
        return folder
    os.makedirs(SOURCES, exist_ok=True)
    if not os.path.exists(archive):
        result = subprocess.run([PYTHON3, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", package,
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


def do(*command, cwd):
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines() or ["it says nothing"]
        raise Unavailable(f"{' '.join(command[:2])}: {said[-1]}")
    return result.stdout


def debian(source, package, pattern):
    """A folder with those files of Debian's source package @source that match @pattern, in the version of @package that is installed."""
    version = do("dpkg-query", "-W", "-f", "${source:Version}", package, cwd="/")
    folder = os.path.join(SOURCES, f"{source}-{version}")
    if os.path.exists(folder):
        return folder
    unfinished = f"{folder}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(os.path.join(unfinished, "lists", "partial"))
    # Sources of the releases that packages come from, in lists of this run's own.
    releases = {line for line in do("apt-get", "indextargets", "--format", "$(ORIGIN) $(SITE) $(SUITE)",
                                    "Created-By: Packages", cwd="/").splitlines() if line.startswith("Debian ")}
    with open(os.path.join(unfinished, "sources.list"), "w") as file:
        file.writelines(f"deb-src {line.removeprefix('Debian ')} main\n" for line in sorted(releases))
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={unfinished}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={unfinished}/lists", "-o", f"Dir::Cache={unfinished}/cache"]
    do(*apt, "update", cwd=unfinished)
    do(*apt, "source", "--download-only", f"{source}={version}", cwd=unfinished)
    for archive in glob.glob(os.path.join(unfinished, "*.orig.tar.*[!c]")):
        do("tar", "-xf", archive, "--strip-components=1", "--wildcards", f"*/{pattern}", cwd=unfinished)
        os.unlink(archive)
    shutil.rmtree(os.path.join(unfinished, "lists"))
    os.rename(unfinished, folder)
    return folder
