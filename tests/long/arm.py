#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64: everything is built by the cross compiler; unit tests and programs run under QEMU, in a root of Debian 12 for it.

Usage: arm.py [UNIT]...

ROOT in the environment is a root that is there. tests/machine/aarch64/qemu.txt lists what QEMU cannot do, or what takes
too long there, each with its reason: "PROGRAM CASE: reason", "PROGRAM *: reason". These cases do not run; if the reason is of QEMU 7.2, which
Debian 12 has, they run with the QEMU of its backports."""

import concurrent.futures
import fnmatch
import os
import re
import resource
import subprocess
import sys

from report import Report
from root import Root, Unavailable
from root import SOURCES

MACHINE = "aarch64"
BUILD = os.path.join(SOURCES, "build", MACHINE)
BINFMT = "/proc/sys/fs/binfmt_misc"
PACKAGES = ["libelf-dev", "zlib1g-dev", "libdw-dev", "libcmocka-dev", "libjson-c-dev", "libc6-dev", "libstdc++-12-dev", "gcc", "g++",
            "libpython3.11", "libpython3.11-dev", "libpython3.11-dbg", "python3.11-dbg", "python3", "python3-numpy", "dwz", "elfutils", "netbase"]
WORKERS = int(os.environ.get("WORKERS") or os.cpu_count())
BUDGET_MINUTES = 120  # of processor time: an hour on two processors
UNIT_TIMEOUT = 1800  # of a program, on a machine that has other things to do
OLDER = "QEMU 7.2"  # so begins a reason that a newer QEMU does not have
EVERY = 5  # what tries each byte of a file, or each call that may fail, tries each fifth; see tests/lib/cases.h
SUM = "import numpy; print(numpy.arange(5).sum())"
LINALG = ("import numpy as np; a = np.arange(16.).reshape(4, 4) + 10 * np.eye(4); "
          "print(np.linalg.solve(a, a.sum(axis=1)).round(6).tolist(), sorted(np.linalg.eigvals(a).real.round(4).tolist()))")
# Where a file is marked, a call of code that is not made for calls is a fault: SIGILL, which is 4.
BTI = """import ctypes, os
library = ctypes.CDLL(os.environ['BUILD'] + '/modules/libbti.so')
print(library.bti_present(), flush=True)
p = os.fork()
if not p: os._exit(library.bti_absent())
print(os.waitpid(p, 0)[1])"""
# (what, options of `gorgon run`, program, what it prints)
PROGRAMS = [
    ("numpy in an interpreter", [], SUM, "10\n"),
    ("numpy in two interpreters", ["-n", "2"], SUM, "10\n" * 2),
    ("linear algebra in three interpreters", ["-n", "3"], LINALG, None),
    ("a thread for each of two", ["-n", "2"], "import threading\nt = threading.Thread(target=print, args=('thread',))\nt.start()\nt.join()",
     "thread\n" * 2),
    ("ctypes, ssl, sqlite3 and lzma", ["-n", "2"], "import ctypes, ssl, sqlite3, lzma\nprint(ctypes.CDLL(None).abs(-7), "
     "sqlite3.connect(':memory:').execute('select 6 * 7').fetchone()[0], len(ssl.RAND_bytes(8)), len(lzma.decompress(lzma.compress(b'x' * 9))))",
     "7 42 8 9\n" * 2),
    ("branches are checked where python3's are", ["-n", "1"], BTI, None),
    ("fork", [], "import os\np = os.fork()\nif not p: os._exit(3)\nprint(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))", "3\n"),
    ("a child process", [], "import subprocess\nprint(subprocess.run(['/bin/echo', 'child'], capture_output=True, text=True).stdout.strip())",
     "child\n"),
]


def needs():
    """Read qemu.txt: {program: [(pattern of cases, reason)]}."""
    found = {}
    with open(os.path.join(SOURCES, "tests", "machine", MACHINE, "qemu.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                where, reason = line.strip().split(": ", 1)
                program, case = where.split(" ")
                found.setdefault(program, []).append((case, reason))
    return found


def emulate():
    """Have the kernel run the machine's programs by QEMU."""
    if not os.path.exists(f"{BINFMT}/register"):
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], check=False, capture_output=True)
    if not os.path.exists(f"{BINFMT}/qemu-{MACHINE}"):
        try:
            with open(f"/usr/lib/binfmt.d/qemu-{MACHINE}.conf") as file, open(f"{BINFMT}/register", "w") as register:
                register.write(file.read().strip())
        except OSError as error:
            raise Unavailable(f"binfmt_misc does not take QEMU: {error}") from error


def build(root):
    """Build with the cross compiler, with the root's headers and libraries."""
    folder = f"{root.path}/usr/lib/{MACHINE}-linux-gnu/pkgconfig"
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=root.path, PKG_CONFIG_LIBDIR=f"{folder}:{root.path}/usr/share/pkgconfig")
    command = ["make", f"-j{os.cpu_count()}", f"CC={MACHINE}-linux-gnu-gcc --sysroot={root.path}",
               f"CXX={MACHINE}-linux-gnu-g++ --sysroot={root.path}", f"BUILD=build/{MACHINE}", "built-for-tests"]
    result = subprocess.run(command, cwd=SOURCES, env=env, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Unavailable(f"{' '.join(command)}: {(result.stdout + result.stderr)[-1500:]}")


def newer_qemu(root):
    """The path in the root of the QEMU that Debian's backports have."""
    return root.unpack("qemu", "amd64", lambda apt: ["qemu-user/bookworm-backports"]).removeprefix(root.path) + f"/usr/bin/qemu-{MACHINE}"


def spent():
    """Seconds of processor time of this process' children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Unit:
    """What a program of unit tests has said. @whole: the reason why none of it ran."""

    def __init__(self, name, wanted=(), left_out=(), result=None, whole=None, seconds=0):
        self.name, self.wanted, self.left_out, self.whole, self.seconds = name, wanted, left_out, whole, seconds
        self.text = result.stdout + result.stderr if result else ""
        self.ok = set(re.findall(r"\[       OK \] (\w+)", self.text))
        self.skipped = set(re.findall(r"\[  SKIPPED \] (\w+)$", self.text, re.M))
        self.bad = [case for case in wanted if case not in self.ok | self.skipped]
        self.failed = not whole and bool(self.bad or not wanted or result.returncode)


class Arm:
    def __init__(self, report, root):
        self.report, self.root, self.needs, self.newer = report, root, needs(), newer_qemu(root)
        self.passed = self.skipped = 0

    def run(self, *command, env=None, timeout=UNIT_TIMEOUT):
        try:
            return self.root.run(*command, env={**(env or {}), "BUILD": BUILD}, timeout=timeout, cwd=SOURCES, folder=SOURCES)
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode(errors="replace") if isinstance(error.stdout, bytes) else error.stdout or ""
            return subprocess.CompletedProcess(command, -1, output, f"did not end in {timeout} s")

    def run_unit(self, name):
        """Run a program of unit tests, but for what qemu.txt lists; what only the older QEMU cannot do with the newer one."""
        before = spent()
        path = os.path.join(BUILD, "tests", name)
        rows = self.needs.get(name, [])
        whole = next((reason for pattern, reason in rows if pattern == "*"), None)
        if whole:
            return Unit(name, whole=whole)
        cases = self.run(path, env={"TEST_CASES": "?"}).stdout.split()
        left_out = {case: reason for case in cases for pattern, reason in rows if fnmatch.fnmatch(case, pattern)}
        newer = [case for case, reason in left_out.items() if reason.startswith(OLDER)]
        wanted = [case for case in cases if case not in left_out]
        chosen = {"TEST_CASES": " ".join(wanted)} if left_out else {}
        result = self.run(path, env={"TEST_EVERY": str(EVERY), **chosen})
        if newer:
            other = self.run(self.newer, path, env={"TEST_EVERY": str(EVERY), "TEST_CASES": " ".join(newer)})
            result = subprocess.CompletedProcess(path, result.returncode or other.returncode, result.stdout + other.stdout,
                                                 result.stderr + other.stderr)
        left_out = {case: reason for case, reason in left_out.items() if case not in newer}
        return Unit(name, wanted + newer, left_out, result, seconds=spent() - before)

    def tell(self, unit, how=""):
        if unit.whole:
            self.report.skip(unit.name, unit.whole)
            return
        for case, reason in unit.left_out.items():
            self.report.skip(f"{unit.name} {case}", reason)
        skipped = len(unit.skipped | set(unit.left_out))
        self.passed += len(unit.ok)
        self.skipped += skipped
        not_ok = f"; not: {' '.join(unit.bad[:5])}" if unit.bad else ""
        self.report.check(unit.name, not unit.failed, f"{len(unit.wanted)} cases pass",
                          f"{len(unit.ok)} pass, {skipped} are skipped, {unit.seconds:.0f} s{how}{not_ok}", unit.text[-3000:] if unit.failed else "")

    def program(self, what, options, program, expected):
        if expected is None:  # what plain python3 prints, as often as there are interpreters
            expected = self.run("/usr/bin/python3", "-c", program).stdout * int(options[1])
        result = self.run(os.path.join(BUILD, "gorgon"), "run", *options, "-c", program)
        self.report.check(what, expected and (result.returncode, result.stdout) == (0, expected), repr(expected[:60]),
                          repr(result.stdout[:60]) if not result.returncode else f"status {result.returncode}", result.stderr)


def main(units):
    report = Report("aarch64 under QEMU")
    try:
        emulate()
        root = Root("arm64", "bookworm", machine="arm64", path=os.environ.get("ROOT"))
        root.install(PACKAGES)
        build(root)
        arm = Arm(report, root)
    except Unavailable as error:
        report.skip("a root for aarch64", error)
        return report.finish()
    if not units:
        for row in PROGRAMS:
            arm.program(*row)
    built = sorted(name for name in os.listdir(os.path.join(BUILD, "tests")) if re.fullmatch(r"test_\w+", name))
    # Processes, each of which knows what its own programs have used.
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        failed = []
        for unit in pool.map(arm.run_unit, units or built):
            if not unit.failed:
                arm.tell(unit)
                continue
            failed.append(unit.name)
            print(f"        {unit.name} will run once more, alone: {' '.join(unit.bad)}\n{unit.text[-2000:]}", flush=True)
    # A second is short for QEMU beside another one: what failed runs once more, alone.
    for name in failed:
        arm.tell(arm.run_unit(name), " in a second run")
    minutes = spent() / 60
    report.table("aarch64 under QEMU", ["unit tests that pass", "skipped", "minutes of processor time"],
                 "Built by the cross compiler, run in Debian 12 for arm64.")
    report.entry(arm.passed, arm.skipped, f"{minutes:.0f}")
    if not units:
        report.check("processor time, with the build", minutes <= BUDGET_MINUTES, f"at most {BUDGET_MINUTES} minutes", f"{minutes:.0f} minutes")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
