#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print how much of the code the tests have run: lines and branches of each floor, and the files with most lines that did not run.

Usage: coverage.py BUILD [FILE...]      (with files: the lines of each that nothing has run)

BUILD was built with gcc's --coverage and the tests have run in it: `make coverage`."""

import collections
import json
import os
import subprocess
import sys

SHOWN = 20  # files


class Counts:
    """How often each line and each branch of a file has run, in all programs that have the file."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()

    def add(self, line):
        self.lines[line["line_number"]] += line["count"]
        for number, branch in enumerate(line["branches"]):
            self.branches[line["line_number"], number] += branch["count"]


def read(folder):
    """{source file: Counts}."""
    data = [os.path.join(where, name) for where, _, names in os.walk(os.path.join(folder, "obj"))
            for name in names if name.endswith(".gcno") and "/obj/tests/" not in where]
    files = collections.defaultdict(Counts)
    for path in data:
        text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path], capture_output=True, text=True,
                              check=True).stdout
        for report in filter(None, text.splitlines()):
            for file in json.loads(report)["files"]:
                if not file["file"].startswith("/") and not file["file"].startswith("tests/"):
                    for line in file["lines"]:
                        files[file["file"]].add(line)
    return files


def part(counter):
    return sum(count > 0 for count in counter.values()), len(counter)


def percent(done, count):
    return f"{100 * done / count:5.1f}%" if count else "     -"


def row(name, counts):
    lines, branches = [tuple(map(sum, zip(*(part(getattr(c, what)) for c in counts)))) for what in ("lines", "branches")]
    return f"{name:<32}{percent(*lines)} of {lines[1]:<6} {percent(*branches)} of {branches[1]}"


def uncovered(counts):
    """Ranges of lines."""
    ranges = []
    for number in sorted(counts.lines):
        if counts.lines[number]:
            ranges.append(None)
        elif ranges and ranges[-1]:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in filter(None, ranges))


def main(folder, *names):
    files = read(folder)
    if names:
        for name in names:
            print(f"{name}: {uncovered(files[name])}")
        return
    floors = collections.defaultdict(list)
    for path, counts in files.items():
        floors[os.path.dirname(path)].append(counts)
    print(f"{'floor':<32} lines            branches")
    for floor in sorted(floors):
        print(row(floor, floors[floor]))
    for group in "loader", "jitreg":
        print(row(f"{group}, all", [counts for path, counts in files.items() if path.startswith(group)]))
    ours = [path for path in files if path.startswith(("loader", "jitreg"))]
    ours.sort(key=lambda path: part(files[path].lines)[0] - part(files[path].lines)[1])
    print("\nmost lines that nothing has run")
    for path in ours[:SHOWN]:
        print(row(path, [files[path]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
