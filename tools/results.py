#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commit what long tests and benchmarks have written, and nothing else: `make commit-results`.

Usage: results.py [FOLDER]      (a clone; default: this one)

The message names what is new: tests with their cases, benchmarks, pages. Other changes stay as they are, staged ones too."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONG = "tests/long/RESULTS.md"
# Pages that commands write, with their plots; what is made of one of them goes with it.
WRITTEN = [LONG, "tests/long/COMPATIBILITY.md", "docs/comparison.md", "tests/parity/PARITY.md", "tests/parity/results.json",
           "tests/bench/LOAD*", "tests/bench/EXECUTOR.md", "tests/bench/TEMPLATES.md", "tests/bench/MEMORY.md", "tests/bench/DEBUG.*", "tests/bench/FEEL.*",
           "tests/bench/EXTENSIONS.md",
           "tests/bench/LINES.md"]
NAMES = {"LOAD": "load", "EXECUTOR": "executor", "TEMPLATES": "templates", "MEMORY": "memory",
         "DEBUG": "debuggers", "EXTENSIONS": "breakpoints in extensions", "FEEL": "single commands of debuggers",
         "LINES": "Python lines", "results": "habits of debuggers"}


def git(folder, *words, check=True):
    result = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=False)
    if check and result.returncode:
        sys.exit(f"results: git {words[0]}: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def changed(folder):
    """Names of written files that differ from the last commit, new ones too."""
    lines = git(folder, "status", "--porcelain", "--untracked-files=all", "-z", "--", *WRITTEN).split("\0")
    return sorted(line[3:] for line in lines if line)


def sections(text):
    """{name of a long test: its section}"""
    return {part.split("\n", 1)[0]: part.strip() for part in re.split(r"(?m)^## ", text)[1:]}


def summary(section):
    """The line below a section's heading without versions, and how its cases ended."""
    title, _, rest = section.split("\n", 2)[2].partition(";")
    outcomes = re.findall(r"\| (ok|FAILED|skipped) \|$", rest, re.M)
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("ok", "FAILED", "skipped") if outcome in outcomes)
    return f"{title}: {counts or 'no cases'}"


def message(folder, files):
    names, lines = [], []
    if LONG in files:
        before = sections(git(folder, "show", f"HEAD:{LONG}", check=False))
        with open(os.path.join(folder, LONG)) as file:
            after = sections(file.read())
        for name in sorted(set(before) | set(after)):
            if before.get(name) != after.get(name):
                names.append(name)
                lines.append(f"{name}: {summary(after[name])}" if name in after else f"{name}: gone")
    for path in files:
        name = NAMES.get(re.split(r"[-.]", os.path.basename(path))[0])
        if name and name not in names:
            names.append(name)
    lines += [path for path in files if path != LONG]
    return f"tests: results of {', '.join(names) or 'pages'}\n\n" + "\n".join(lines) + "\n"


def main(folder=ROOT):
    files = changed(folder)
    if not files:
        print("results: none has changed since the last commit")
        return
    git(folder, "add", "--intent-to-add", "--", *files)
    git(folder, "commit", "--quiet", "--only", "--message", message(folder, files), "--", *files)
    print(git(folder, "log", "-1", "--format=%h %B").strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
