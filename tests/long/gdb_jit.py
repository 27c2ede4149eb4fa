#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GDB's own tests of its JIT interface pass while a Gorgon host with two interpreters is another inferior.

The tests are gdb.base/jit-*.exp of the gdb that is installed; Debian's source package has them. Each runs alone, beside an ordinary program that has stopped, beside a Gorgon host that has
stopped in private code, and the last with our scripts. Beside Gorgon every single test has to end as beside the ordinary program.
There jit-reader.exp misses "Program received signal": with two inferiors gdb says which thread has received it."""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys

from report import Report
import harness
import sources

HEADER = "/usr/include/gdb/jit-reader.h"
# A test's own inferior is the first. The second runs to where it is interesting and waits there.
BESIDE = """set breakpoint pending on
{source}
add-inferior -exec {program}
inferior 2
set args {arguments}
{stop}
run
inferior 1
set breakpoint pending auto
"""
ORDINARY = {"source": "", "program": shutil.which("sleep"), "arguments": "1000", "stop": "tcatch syscall clock_nanosleep"}
GORGON = {"source": "", "program": harness.HOST, "arguments": "-n 2 'id(1)'", "stop": "tbreak builtin_id"}
SCRIPTS = {**GORGON, "source": f"source {harness.GDB_SCRIPT}", "stop": "gorgon tbreak builtin_id"}
WAYS = {"alone": None, "beside an ordinary program": ORDINARY, "beside Gorgon": GORGON, "beside Gorgon, scripts": SCRIPTS}
# What has to be in a log, or the second inferior was not what it should be.
STOPPED = {"alone": "", "beside an ordinary program": r"\(call to syscall clock_nanosleep\)",
           "beside Gorgon": r'Thread 2\.\d+ "host" hit .*builtin_id',
           "beside Gorgon, scripts": r'Thread 2\.\d+ "host" hit .*builtin_id'}


def source_package():
    """The folder with gdb/testsuite in it, of the version that is installed."""
    folder = sources.debian("gdb", "gdb", "gdb/testsuite/*")
    if not glob.glob(os.path.join(folder, "gdb", "testsuite", "gdb.base", "jit-*.exp")):
        raise sources.Unavailable(f"the source package {os.path.basename(folder)} has no gdb.base/jit-*.exp")
    return folder


def number_inferiors(source):
    """jit-elf-fork.exp takes the first child for inferior 2, which is somebody else here: a copy of it says 3."""
    path = os.path.join(source, "gdb", "testsuite", "gdb.base", "jit-elf-fork.exp")
    copy = path.replace("jit-elf-fork.exp", "jit-elf-fork-beside.exp")
    with open(path) as file, open(copy, "w") as out:
        out.write(re.sub(r"(inferior |inferior is |Inferior ID )2", r"\g<1>3", file.read()))
    return os.path.basename(copy)


def run(source, way, names, folder):
    """({test: outcome}, log) of these files."""
    # jit-reader.exp looks for gdb's header two folders above, as in a tree that gdb was built in.
    place = os.path.join(folder, "gdb", "testsuite")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(place)
    shutil.copy(HEADER, os.path.join(folder, "gdb"))
    suite = os.path.join(source, "gdb", "testsuite")
    values = {"tool": "gdb", "srcdir": suite, "objdir": place,
              **{f"{role}_{form}": "x86_64-pc-linux-gnu" for role in ("host", "target", "build") for form in ("triplet", "alias")}}
    with open(os.path.join(place, "site.exp"), "w") as file:
        file.writelines(f"set {name} {value}\n" for name, value in values.items())
        file.write(f"source {suite}/lib/append_gdb_boards_dir.exp\n")
    flags = '-iex "set debuginfod enabled off"'
    if WAYS[way]:
        with open(os.path.join(folder, "beside.gdb"), "w") as file:
            file.write(BESIDE.format(**WAYS[way]))
        flags += f" -x {file.name}"
    command = ["runtest", f"GDB={harness.GDB}", "GDB_DATA_DIRECTORY=/usr/share/gdb", f"GDBFLAGS={flags}",
               *(f"gdb.base/{name}" for name in names)]
    with open(os.path.join(folder, "output"), "w") as output:
        subprocess.run(command, cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=3600, check=False)
    with open(os.path.join(place, "gdb.sum"), errors="replace") as file:
        found = re.findall(r"^(PASS|FAIL|KFAIL|XFAIL|UNTESTED|UNSUPPORTED|UNRESOLVED|ERROR|WARNING): (?:gdb\.base/)?(.*)", file.read(), re.M)
    with open(os.path.join(place, "gdb.log"), errors="replace") as file:
        log = file.read()
    return {re.sub(r" \((?:timeout|GDB internal error)\)$", "", name): outcome for outcome, name in found}, log


def describe(outcomes):
    counts = collections.Counter(outcomes.values())
    text = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items(), reverse=True)) or "nothing"
    others = [test.split(": ", 1)[-1] for test, outcome in outcomes.items() if outcome != "PASS"]
    return text + (f" ({'; '.join(others)})" if others else "")


def main():
    report = Report("GDB's own tests of the JIT interface")
    try:
        if not shutil.which("runtest"):
            raise sources.Unavailable("dejagnu is not installed")
        source = source_package()
    except sources.Unavailable as error:
        report.skip("jit-*.exp", str(error))
        return report.finish()
    names = sorted(os.path.basename(path) for path in glob.glob(os.path.join(source, "gdb", "testsuite", "gdb.base", "jit-*.exp"))
                   if not path.endswith("-beside.exp"))
    renumbered = number_inferiors(source)
    found = {}
    for number, way in enumerate(WAYS):
        report.progress(number, len(WAYS), way)
        files = [renumbered if name == "jit-elf-fork.exp" and WAYS[way] else name for name in names]
        outcomes, log = run(source, way, files, os.path.join(harness.BUILD, "gdb-jit", way.replace(" ", "-").replace(",", "")))
        found[way] = {name.replace("-beside.exp", ".exp"): outcome for name, outcome in outcomes.items()}
        sessions, stops = len(re.findall(r"^For help, type", log, re.M)), len(re.findall(STOPPED[way], log)) if STOPPED[way] else 0
        if STOPPED[way]:
            report.check(f"{way}: it has stopped where it should", stops == sessions and sessions, f"in {sessions} sessions", f"in {stops}")
    for name in names:
        for way, all_outcomes in found.items():
            outcomes = {test: outcome for test, outcome in all_outcomes.items() if test.startswith(f"{name}:")}
            other = {test: outcome for test, outcome in found["beside an ordinary program"].items() if test.startswith(f"{name}:")}
            if way == "beside an ordinary program":
                report.check(f"{name}, {way}", True, "(to compare with)", describe(outcomes))
            elif way == "alone":
                report.check(f"{name}, {way}", set(outcomes.values()) == {"PASS"}, "PASS only", describe(outcomes))
            else:
                differ = [f"{test}: {outcome}, beside an ordinary program {other.get(test)}" for test, outcome in outcomes.items()
                          if outcome != other.get(test)]
                differ += [f"{test}: did not run" for test in other.keys() - outcomes.keys()]
                report.check(f"{name}, {way}", outcomes and not differ, "each test ends as beside an ordinary program",
                             f"{describe(outcomes)}; {len(differ)} otherwise", "\n".join(differ))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
