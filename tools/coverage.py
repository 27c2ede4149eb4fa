#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print how much of the code the tests have run: lines, branches and error branches of each floor, and the files with most lines that
did not run. An error branch is a branch of a condition whose statement makes an error or passes one on.

Usage: coverage.py BUILD [FILE...]      (with files: the lines of each that nothing has run)

BUILD was built with gcc's --coverage and the tests have run in it: `make coverage`."""

import collections
import json
import os
import re
import subprocess
import sys

SHOWN = 20  # files
ERROR = re.compile(r"gorgon_error_\w+|\breturn (?:err\b|-E[A-Z]+|-errno|-1\b|\w*(?:bad|failed|refuse\w*)\()|\bgoto ")


def error_lines(path):
    """Numbers of the lines of a file from which the first statement that ends has to do with an error."""
    with open(path) as file:
        text = file.readlines()
    found, begin = set(), 0
    for number, line in enumerate(text, 1):
        if line.rstrip().endswith((";", "}")):
            if ERROR.search("".join(text[begin:number])):
                found.update(range(begin + 1, number + 1))
            begin = number
    return found


class Counts:
    """How often each line and each branch of a file has run, in all programs that have the file."""

    def __init__(self, path):
        self.lines = collections.Counter()
        self.branches = collections.Counter()
        self.errors = collections.Counter()
        self.error_lines = error_lines(path)

    def add(self, line):
        self.lines[line["line_number"]] += line["count"]
        for number, branch in enumerate(line["branches"]):
            counters = [self.branches, self.errors] if line["line_number"] in self.error_lines else [self.branches]
            for counter in counters:
                counter[line["line_number"], number] += branch["count"]


def read(folder):
    """{source file: Counts}."""
    data = [os.path.join(where, name) for where, _, names in os.walk(os.path.join(folder, "obj"))
            for name in names if name.endswith(".gcno") and "/obj/tests/" not in where]
    files = {}
    for path in data:
        text = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path], capture_output=True, text=True,
                              check=True).stdout
        for report in filter(None, text.splitlines()):
            for file in json.loads(report)["files"]:
                name = file["file"]
                if not name.startswith("/") and not name.startswith("tests/"):
                    if name not in files:
                        files[name] = Counts(name)
                    for line in file["lines"]:
                        files[name].add(line)
    return files


def part(counter):
    return sum(count > 0 for count in counter.values()), len(counter)


def percent(done, count):
    return f"{100 * done / count:5.1f}%" if count else "     -"


def row(name, counts):
    parts = [tuple(map(sum, zip(*(part(getattr(c, what)) for c in counts)))) for what in ("lines", "branches", "errors")]
    return f"{name:<32}" + " ".join(f"{percent(*of)} of {of[1]:<6}" for of in parts).rstrip()


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
    print(f"{'floor':<32} lines            branches         error branches")
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
