#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which packages write to code or tables that are not theirs: in an ordinary python3, after their programs.

Usage: writers.py [here] [NAME]...

The programs of corpus.py and wheels.py run under programs/writers.py, in the same root and virtual environments. Each writer
that is found needs a line in KNOWN, with what becomes of it in private copies (loader/process/memory/patch.c refuses). With
"here" only those programs run whose packages this machine has, in its own python3."""

import fnmatch
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import corpus
import programs
import wheels
from report import Report
from root import INSIDE, Root, Unavailable
import harness

# Names of functions that are written over: who does it, and what becomes of that.
KNOWN = {
    ("libc.so.6", frozenset({"brk", "madvise", "mmap64", "mremap", "munmap", "sbrk", "shmat", "shmdt"})):
        "UCX (libucm), told not to by UCX_MEM_MMAP_HOOK_MODE=none, refused otherwise",
}


class Here:
    """This machine, as it is."""

    programs, python, gorgon = programs.PROGRAMS, [harness.PYTHON3], [harness.GORGON, "run"]

    def run(self, *command, env, timeout):
        return subprocess.run(list(map(str, command)), env={**os.environ, **env}, capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=timeout, check=False)

    @staticmethod
    def has(package):
        result = harness.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}", package)
        return result.stdout.startswith("ii")


def look(place, program):
    """What writers.py says after a program, or a text why it says nothing."""
    try:
        result = place.run("sh", "-c", 'cd "$(mktemp -d)" && "$@"; status=$?; rm -r "$PWD"; exit $status', "-", *place.python,
                           f"{place.programs}/writers.py", f"{place.programs}/{program.file}", env=programs.ENVIRONMENT,
                           timeout=programs.TIMEOUT)
    except subprocess.TimeoutExpired:
        return "hangs"
    lines = result.stdout.strip().splitlines()
    if result.returncode or not lines or not lines[-1].startswith('{"code"'):
        return f"status {result.returncode}: {result.stderr.strip()[-300:]}"
    return json.loads(lines[-1])


def written(said):
    """{base name of an object: names of it that are written to}."""
    found = {}
    for path, name in said["code"]:
        found.setdefault(os.path.basename(path), set()).add(name)
    for path, name, target in said["tables"]:
        found.setdefault(os.path.basename(path), set()).add(f"{name} -> {os.path.basename(target)}")
    return found


def judge(objects):
    """What is known of each object that was written to; None if nobody has looked at it."""
    reasons = []
    for name, functions in objects.items():
        reasons.append(next((reason for (pattern, known), reason in KNOWN.items()
                             if fnmatch.fnmatch(name, pattern) and functions <= known), None))
    return reasons


def check(report, title, place, found):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip((program.name for program in found), pool.map(lambda program: look(place, program), found)))
    silent = {name: answer for name, answer in said.items() if isinstance(answer, str)}
    answers = {name: answer for name, answer in said.items() if name not in silent}
    writers = {name: written(answer) for name, answer in answers.items() if answer["code"] or answer["tables"]}
    unknown = {name: objects for name, objects in writers.items() if None in judge(objects)}
    asking = sorted({os.path.basename(path) for answer in answers.values() for path in answer["asks"]})
    report.check(f"{title}: programs looked at", answers and not silent, f"{len(found)} of {len(found)}",
                 f"{len(answers)} of {len(found)}", "\n".join(f"{name}: {text}" for name, text in sorted(silent.items())))
    report.check(f"{title}: they write to code or tables of others", not unknown, "only those that are known",
                 "; ".join(f"{name}: {', '.join(sorted(objects))} ({judge(objects)[0]})" for name, objects in sorted(writers.items()))
                 or "none", "\n".join(f"{name}: {objects}" for name, objects in sorted(unknown.items())))
    report.check(f"{title}: libraries that change the protection of memory", True, "(to be looked at when one is new)",
                 f"{len(asking)}: {', '.join(asking)}")


def check_here(report, words):
    place = Here()
    found = [program for program in programs.load("debian", words) if all(map(place.has, program.packages))]
    check(report, "this machine", place, found)


def check_root(report, title, name, suite, words):
    found = programs.load("debian", words)
    try:
        root = Root(name, suite)
        root.install({package for program in found for package in program.packages})
        root.build()
    except Unavailable as error:
        report.skip(f"a root of {title}'s packages", error)
        return
    place = type("Place", (), {"programs": f"{INSIDE}/tests/long/programs", "python": ["python3"], "run": staticmethod(root.run)})
    check(report, title, place, found)


def check_all(report, words):
    check_root(report, "Debian 12", "corpus", "bookworm", [word for word in words if word in programs.names("debian")])
    check_root(report, "Debian 13", "trixie", "trixie", corpus.NEWER)
    venv = wheels.Venv("venv-wheels", harness.PYTHON3)
    found = programs.load("wheels", [word for word in words if word in programs.names("wheels")] if words else [])
    check(report, "wheels", venv, [program for program in found if all(map(venv.has, program.packages))])


def main(words):
    report = Report("Writers to others' code")
    if words[:1] == ["here"]:
        check_here(report, words[1:])
    else:
        check_all(report, words)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
