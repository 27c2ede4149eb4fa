#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Binary wheels in a virtual environment: in private copies, several at once and again and again.

Usage: wheels.py [NAME]...

Programs are programs/wheels/use_NAME.py (programs.py says how). What they import is pinned in
requirements-wheels.txt and installed in virtual environments of their own, of Debian's python3 and,
where there is one, of a pyenv's newest. Of each package the table says what its wheel looks
like inside (layout.py). RUNS says how often two interpreters at once are tried (10)."""

import importlib.metadata
import glob
import os
import re
import signal
import subprocess
import sys

import layout
import programs
from report import Report
import harness

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, "requirements-wheels.txt")
RUNS = int(os.environ.get("RUNS", "10"))
COLUMNS = {"one copy": (1, 1, 1), "two at once": (2, 1, RUNS), "four at once": (4, 1, 1), "after a destroyed one": (1, 2, 1)}


class Venv:
    """A virtual environment in build/ with all of it; a place for programs.py."""

    programs = programs.PROGRAMS

    def __init__(self, name, python):
        self.path = os.path.join(harness.BUILD, name)
        self._install(python)
        executable = os.path.join(self.path, "bin", "python")
        self.python = [executable]
        self.gorgon = [harness.GORGON, "run", "--python", executable]
        site = glob.glob(os.path.join(self.path, "lib", "python3.*", "site-packages"))
        self.packages = {self._key(package.metadata["Name"]): package for package in importlib.metadata.distributions(path=site)}

    @staticmethod
    def _key(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    def _install(self, python):
        done = os.path.join(self.path, ".done")
        if os.path.exists(done) and os.path.getmtime(done) >= os.path.getmtime(REQUIREMENTS):
            return
        print(f"wheels: installing in {self.path}", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", self.path], check=True)
        subprocess.run([os.path.join(self.path, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        "--only-binary", ":all:", "--no-deps", "-r", REQUIREMENTS], check=True)
        open(done, "w").close()

    def run(self, *command, env, timeout):
        """Run a command in a session of its own, so that nothing of a command that hangs is left behind."""
        process = subprocess.Popen(list(map(str, command)), env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise error
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def has(self, name):
        """Not what the requirements leave out for this Python."""
        return self._key(name) in self.packages

    def version(self, name):
        return self.packages[self._key(name)].version

    def layout(self, program):
        files = [str(file.locate()) for name in program.packages for file in self.packages[self._key(name)].files
                 if re.search(r"\.so(\.|$)", file.name)]
        return layout.describe(files)


def newest_of_pyenv():
    """Its python, or None. It must have a libpython."""
    found = [(int(m[1]), path) for path in glob.glob(os.path.join(harness.PYENV, "3.*", "lib", "libpython3.*.so.1.0"))
             if (m := re.search(r"libpython3\.(\d+)\.so", path)) and int(m[1]) > 11]
    return os.path.join(os.path.dirname(os.path.dirname(max(found)[1])), "bin", "python3") if found else None


def check(report, title, venv, words):
    found = []
    for program in programs.load("wheels", words):
        missing = [name for name in program.packages if not venv.has(name)]
        if missing:
            report.skip(f"{title}: {program.name}", f"requirements-wheels.txt leaves {missing[0]} out for this Python")
        else:
            found.append(program)
    versions = {name: venv.version(name) for program in found for name in program.packages}
    programs.check(report, title, venv, found, versions, COLUMNS,
                   lambda program: "; ".join(filter(None, [program.remark, venv.layout(program)])))


def main(words):
    report = Report("Wheels")
    check(report, "Debian's Python 3.11", Venv("venv-wheels", harness.PYTHON3), words)
    python = newest_of_pyenv()
    if python:
        minor = harness.run(python, "-c", "import sys; print(sys.version_info.minor)").stdout.strip()
        check(report, f"Python 3.{minor} of pyenv", Venv(f"venv-wheels-3.{minor}", python), words)
    else:
        report.skip("wheels of a newer Python", "pyenv has none")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
