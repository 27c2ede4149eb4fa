#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Eight threads that create, run and destroy interpreters at random: build/soak (tests/hosts/soak.c).

Plain for MINUTES (10, from the environment): what the process holds after two minutes and at
the end. The heap may grow: it is what CPython and extensions leave at their own end (docs/limits.md,
limits); the rest may not. Then SAN_MINUTES (2) with each set of sanitizers, which see
libgorgon and libjitreg, and what Python does through the C library's functions."""

import collections
import os
import re
import subprocess
import sys

from report import Report

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import ROOT  # noqa: E402

PROGRAMS = os.path.join(ROOT, "tests", "long", "programs")
MINUTES = float(os.environ.get("MINUTES", "10"))
SAN_MINUTES = float(os.environ.get("SAN_MINUTES", "2"))
ROUND = 30  # seconds
OURS = r" (loader|jitreg)/\S+:\d+| tests/soak\w*\.c:\d+"  # in a frame of a report
HELD = r"^soak: round (\d+) cycles (\d+) resident (\d+) heap (\d+) mappings (\d+) descriptors (\d+)$"

# What build/soak does: title of the table, options, file, KiB of heap that an interpreter may leave.
Mode = collections.namedtuple("Mode", "title options file heap")
RUN = Mode("Interpreters created, run and destroyed on eight threads", [], "soak.py", 2048)


def build(san):
    """Folder of a build with these sanitizers."""
    env = {name: value for name, value in os.environ.items() if name not in ("BUILD", "SAN", "MAKEFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-s", "-C", ROOT, "-j2", f"SAN={san}", "all"], env=env, stdout=subprocess.DEVNULL, check=True)
    return os.path.join(ROOT, "build", "san-" + san.replace(",", "-") if san else "")


def soak(mode, folder, rounds, seconds, prefix=(), **env):
    """(status, output, [(round, cycles, KiB, heap, mappings, descriptors)])."""
    command = [*prefix, os.path.join(folder, "soak"), *mode.options, "-r", str(rounds), "-s", str(seconds),
               os.path.join(PROGRAMS, mode.file)]
    try:
        result = subprocess.run(command, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **env), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, errors="replace",
                                timeout=rounds * (seconds + 120) + 600, check=False)
        status, output = result.returncode, result.stdout
    except subprocess.TimeoutExpired as error:
        status, output = "hangs", (error.stdout or b"").decode(errors="replace")
    return status, output, [tuple(map(int, match)) for match in re.findall(HELD, output, re.M)]


def tail(output):
    return "\n".join(output.splitlines()[-200:])


def check_plain(report, mode):
    rounds = max(2, round(MINUTES * 60 / ROUND))
    status, output, held = soak(mode, build(""), rounds, ROUND, PYTHONFAULTHANDLER="1")
    if not report.check(f"plain, {rounds * ROUND / 60:g} minutes", status == 0 and len(held) == rounds,
                        "status 0, no interpreter left", f"status {status}, {held[-1][1] if held else 0} interpreters",
                        tail(output)):
        return
    check_growth(report, mode, held[min(4, rounds // 2) - 1], held[-1])


def check_growth(report, mode, first, last):
    """What the process holds after two rounds, an early one and the last."""
    cycles, kib, heap, mappings, descriptors = (b - a for a, b in zip(first[1:], last[1:]))
    names = "resident {2} KiB (heap {3}), {4} mappings, {5} descriptors, {1} interpreters"
    report.check(f"after {first[0] * ROUND} s", True, "(to compare with)", names.format(*first))
    # New parts of the heap are mappings of up to 64 MiB, for each of its arenas.
    report.check(f"after {last[0] * ROUND} s", mappings <= 2 + 2 * heap // 65536 + 16 and not descriptors and
                 kib - heap < cycles * 64 and heap < cycles * mode.heap,
                 f"no more mappings (but the heap's own) and descriptors; {mode.heap} KiB of heap and 64 KiB else for each interpreter",
                 names.format(*last) + f"; for each interpreter {heap / cycles:.0f} KiB of heap, {(kib - heap) / cycles:.0f} else")


def check_address(report, mode):
    folder = build("address,undefined")
    rounds = max(1, round(SAN_MINUTES * 60 / ROUND))
    # With every object of Python's from malloc(), the sanitizer sees their use after free, too.
    status, output, held = soak(mode, folder, rounds, ROUND, PYTHONMALLOC="malloc", ASAN_OPTIONS="detect_leaks=0")
    count = len(re.findall("ERROR: AddressSanitizer|runtime error:", output))
    report.check(f"address and undefined behaviour, {rounds * ROUND} s", status == 0 and not count and len(held) == rounds,
                 "status 0, 0 reports", f"status {status}, {count} reports, {held[-1][1] if held else 0} interpreters",
                 tail(output))
    # Short: it lists no more than 5000 leaks, and CPython has dozens for each interpreter.
    status, output, held = soak(mode, folder, 1, 5)
    leaks = re.split(r"\n(?=(?:Direct|Indirect) leak of)", output)[1:]
    # What extensions have from malloc() comes through us (loader/process/memory/malloc_family.c), and is theirs.
    ours = [leak for leak in leaks if re.search(OURS, "\n".join(re.findall(r"^    #[1-3] .*", leak, re.M))) and
            "in gorgon_malloc" not in leak]
    # None at all is good, too, if the checker has run.
    report.check("leaks, one short round", held and (leaks or not status) and not ours and "Too many leaks" not in output,
                 "0 that libgorgon or libjitreg allocated", f"{len(ours)} of {len(leaks)}, {held[-1][1] if held else 0} interpreters",
                 "\n".join(ours) or tail(output))


def check_thread(report, mode):
    rounds = max(1, round(SAN_MINUTES * 60 / ROUND))
    options = f"suppressions={ROOT}/tests/tsan.supp print_suppressions=0 history_size=4"
    # The sanitizer's shadow memory does not fit every layout of randomised addresses.
    status, output, held = soak(mode, build("thread"), rounds, ROUND, ("setarch", "-R"), TSAN_OPTIONS=options)
    reports = re.findall(r"^WARNING: ThreadSanitizer.*?^SUMMARY: [^\n]*$", output, re.M | re.S)
    # Which functions have made the two accesses: the first frame of each that is not the sanitizer's.
    accesses = [[re.search(r"^    #\d+ (?!.*libtsan).*$", part, re.M) for part in re.split(r"\n\n", one)[:2]]
                for one in reports]
    ours = [one for one, frames in zip(reports, accesses) if any(f and re.search(OURS, f[0]) for f in frames)]
    places = sorted({f[0].split(None, 1)[1] for frames in accesses for f in frames if f and not re.search(OURS, f[0])})
    report.check(f"threads, {rounds * ROUND} s", not ours and len(held) == rounds and status in (0, 66),
                 "0 reports in libgorgon and libjitreg",
                 f"{len(ours)}, others {len(reports) - len(ours)}{': ' if places else ''}{'; '.join(places)}; "
                 f"status {status}, {held[-1][1] if held else 0} interpreters", "\n".join(ours) or tail(output))


def main(mode):
    report = Report(mode.title)
    for check in check_plain, check_address, check_thread:
        check(report, mode)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(RUN))
