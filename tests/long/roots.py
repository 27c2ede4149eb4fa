#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other releases of Debian: everything is built, shown and tested in a root of each.

Usage: roots.py [SUITE]...

Where there are make and git and nothing else, `make check` is all that is typed; with the release's own
Python, gdb and lldb the demonstration runs, too. Each further Python that it has libraries for runs numpy,
scipy, the demonstration, walks through hosts with it, and the sessions that are about versions, those of
both in one process among them.

Hosts take the newest by default: further ones are removed before the tests of the
first, and installed again after those."""

import re
import sys

from report import Report
from root import INSIDE, Root, Unavailable

# suite: (name of the release, other versions of CPython that it has numpy for)
RELEASES = {
    "trixie": ("Debian 13", []),
    "sid": ("Debian sid", ["3.15"]),
}
# For a further CPython: the tests that need only its libraries.
VERSIONS = {"unit": "test_mixed", "run": "run/test_python_lines", "symdump": "test_3_",
            "gdb": "gdb/test_python gdb/test_walk gdb/test_mixed gdb/test_scripts",
            "lldb": "lldb/test_python lldb/test_walk lldb/test_mixed lldb/test_scripts"}
TIMEOUT = 3 * 3600  # of `make check`, on a machine that has other things to do
INTERPRETERS = 3
NUMPY = """
import sys
import numpy as np, scipy, scipy.linalg, scipy.sparse.linalg as sparse, scipy.fft
a = np.arange(16.).reshape(4, 4) + 10 * np.eye(4)
lu = scipy.linalg.lu_factor(a)
b = scipy.sparse.csr_matrix(a)
print(sys.version_info[:2], np.__version__, scipy.__version__, scipy.linalg.lu_solve(lu, a.sum(axis=1)).round(6).tolist(),
      sparse.spsolve(b.tocsc(), np.ones(4)).round(6).tolist(), abs(scipy.fft.fft(np.arange(8.))).round(6).tolist())
"""
PROGRAMS = {"gdb": "gdb", "lldb": "$(ls /usr/bin/lldb-[0-9][0-9])"}


def further(version):
    """The packages of another Python."""
    return [f"libpython{version}", f"libpython{version}-dev", f"libpython{version}-dbg", f"python{version}-dbg"]


class Release:
    def __init__(self, report, suite):
        self.report, self.suite = report, suite
        self.name, self.others = RELEASES[suite]
        self.root = Root(suite, suite)

    def sh(self, command, **kwargs):
        return self.root.run("nice", "sh", "-c", command, cwd=INSIDE, **kwargs)

    def remove(self, packages):
        there = sorted(set(packages) & self.root.installed().keys())
        if there:
            result = self.root.run("apt-get", "remove", "-y", "-qq", *there)
            if result.returncode:
                raise Unavailable(f"apt-get remove in {self.root.path}: {result.stderr.strip()[-500:]}")

    def check(self, case, ok, expected, seen, detail=""):
        return self.report.check(f"{self.name}: {case}", ok, expected, seen, detail)

    def versions(self):
        """What the release has, for the table."""
        found = {name: re.search(r"\d+[\d.]*\d", self.sh(f"{program} --version").stdout)
                 for name, program in PROGRAMS.items()}
        return {name: match[0] if match else "none" for name, match in found.items()}

    def numpy(self, version=None):
        """The same program in python3 and in several interpreters at once; its versions."""
        python = f"/usr/bin/python{version}" if version else "/usr/bin/python3"
        plain = self.root.run(python, "-c", NUMPY)
        private = self.root.run(f"{INSIDE}/build/gorgon", "run", "-n", INTERPRETERS, "--python", python, "-c", NUMPY)
        lines = plain.stdout.splitlines()
        self.check(f"numpy and scipy in {INTERPRETERS} interpreters, CPython {version or 'of python3'}",
                   plain.returncode == 0 and len(lines) == 1 and private.returncode == 0
                   and private.stdout.splitlines() == lines * INTERPRETERS,
                   f"{INTERPRETERS} times what {python} prints", f"status {private.returncode}, "
                   f"{private.stdout.count(plain.stdout.strip() or '?')} times", plain.stderr + private.stderr + private.stdout)
        found = re.match(r"\((\d+), (\d+)\) (\S+) (\S+)", plain.stdout)
        return (f"{found[1]}.{found[2]}", found[3], found[4]) if found else (version or "python3", "none", "none")

    def tests(self, title, command):
        """Run tests: "passed of all"."""
        result = self.sh(command, timeout=TIMEOUT)
        counts = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", result.stdout, re.M)
        detail = result.stdout[result.stdout.find("= FAILURES ="):] if counts else result.stdout + result.stderr
        self.check(title, counts and counts[2] == "0" and counts[1] != "0", "no case fails",
                   counts[0] if counts else f"status {result.returncode}", detail[-6000:])
        return f"{counts[1]} of {int(counts[1]) + int(counts[2])}" if counts else "does not end"

    def demo(self, title="make demo", variables=""):
        result = self.sh(f"make demo DEPS=no {variables}", timeout=TIMEOUT)
        ok = result.returncode == 0 and "stopped in interpreters [0, 1, 2]" in result.stdout
        self.check(title, ok, "gdb and lldb stop in each interpreter", f"status {result.returncode}",
                   (result.stdout + result.stderr)[-4000:])
        return "ok" if ok else "FAILS"

    def first(self):
        """The release's own Python, with everything."""
        self.remove([package for version in self.others for package in further(version)])
        self.root.install(["git", "make"])
        self.root.copy()
        result = self.tests("make check", "make check")
        self.root.install(["python3-scipy"])
        debuggers = self.versions()
        return [*self.numpy(), debuggers["gdb"], debuggers["lldb"], self.demo(), result]

    def other(self, version):
        """Another Python of the release, with what the first one was built with."""
        self.root.install(further(version))
        python = self.numpy(version)
        debuggers = self.versions()
        shown = self.demo(f"make demo with CPython {version}", f"TEST_PYTHON={version}")
        results = [f"{kind}: " + self.tests(f"check-{kind} with CPython {version}, too",
                                            f"make check-{kind} TEST_PYTHON={version} TESTS='{words}' DEPS=no")
                   for kind, words in VERSIONS.items()]
        return [*python, debuggers["gdb"], debuggers["lldb"], shown, ", ".join(results)]


def main(words):
    report = Report("Other releases of Debian")
    unknown = set(words) - RELEASES.keys()
    if unknown:
        sys.exit(f"roots.py: no such release: {' '.join(sorted(unknown))} (there are: {' '.join(RELEASES)})")
    report.table("Debian's releases", ["release", "CPython", "numpy", "scipy", "gdb", "lldb", "make demo", "make check"],
                 "Cases that pass, of those that are not skipped. Of a further CPython: of those that need only its libraries.")
    for suite in words or RELEASES:
        try:
            release = Release(report, suite)
            report.entry(release.name, *release.first())
            for version in release.others:
                report.entry(release.name, *release.other(version))
        except Unavailable as error:
            report.skip(f"a root of {RELEASES[suite][0]}", error)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
