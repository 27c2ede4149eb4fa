#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Look for mistakes with gcc's analyzer and clang-tidy; name each finding that has no reason in the table.

Usage: analyze.py [--table FILE] -- CC CLANG_TIDY 'FLAGS' FILE...

CC or CLANG_TIDY may be empty: then only the other program looks. The table, tools/analyze.txt, knows a finding by its file, its
function and the check that found it, and so survives changes of other lines. The status is 1 when a finding has no reason,
or when a program failed. A reason that no finding needs is named, which is no failure: other versions of gcc find other things."""

import argparse
import collections
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys

GCC = ["-O1", "-fanalyzer", "-fdiagnostics-path-format=none", "-fno-diagnostics-show-caret", "-c", "-o", "/dev/null"]
# Left out: checks of style, and checks of what this code does on purpose (an assignment as a condition, "if (memcmp(...))").
TIDY = ["-*", "clang-analyzer-*", "bugprone-*", "-bugprone-assignment-in-if-condition", "-bugprone-easily-swappable-parameters",
        "-bugprone-reserved-identifier", "-bugprone-narrowing-conversions", "-bugprone-suspicious-string-compare",
        "-bugprone-multi-level-implicit-pointer-conversion", "-bugprone-branch-clone", "-bugprone-inc-dec-in-conditions",
        "-bugprone-macro-parentheses", "-bugprone-implicit-widening-of-multiplication-result", "-bugprone-casting-through-void",
        "-bugprone-switch-missing-default-case", "-clang-analyzer-security.insecureAPI.*",
        "-clang-analyzer-optin.performance.*"]
FINDING = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: (?:warning|error): (?P<text>.*) \[(?P<check>[^]\s]+)\]$")
CWE = re.compile(r" \[CWE-\d+\]$")

Finding = collections.namedtuple("Finding", "file function check line text")


def function_at(path, line):
    """The function that a line is in: a definition begins in the first column, and its "{" is the last to do so."""
    name, found = "-", "-"
    with open(path) as f:
        for number, text in enumerate(f, 1):
            match = re.match(r"[A-Za-z_].*?(\w+)\(", re.sub(r"__attribute__\(\(.*?\)\) ?", "", text))
            if match and not text.rstrip().endswith(";"):
                name = match.group(1)
            elif text.startswith("{"):
                found = name
            elif number < line and text.startswith("}"):
                found = "-"
            if number == line:
                return found
    return found


def read_findings(text):
    for line in text.splitlines():
        match = FINDING.match(line)
        if match:
            path = os.path.relpath(match["file"])
            number = int(match["line"])
            yield Finding(path, function_at(path, number), match["check"].split(",")[0], number, CWE.sub("", match["text"]))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    found = list(read_findings(done.stdout + done.stderr))
    return found, done.stderr if done.returncode and not found else ""


def read_table(path):
    """{(file, function, check): reason}."""
    table = {}
    with open(path) as f:
        for number, line in enumerate(f, 1):
            if not line.strip() or line.startswith("#"):
                continue
            key, _, reason = line.partition(": ")
            if len(key.split()) != 3 or not reason.strip():
                sys.exit(f"{path}:{number}: a line is FILE FUNCTION CHECK: REASON")
            table[tuple(key.split())] = reason.strip()
    return table


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "analyze.txt"))
    parser.add_argument("cc")
    parser.add_argument("tidy")
    parser.add_argument("flags")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    flags = shlex.split(args.flags)
    commands = [[args.cc, *flags, *GCC, file] for file in args.files if args.cc]
    commands += [[args.tidy, "--quiet", "--checks=" + ",".join(TIDY), file, "--", *flags] for file in args.files if args.tidy]
    table, failed = read_table(args.table), False
    needed, told = set(), set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found, broken in pool.map(run, commands):
            if broken:
                failed = True
                print(broken.rstrip())
            for finding in found:
                needed.add(finding[:3])
                if finding[:3] not in table and finding not in told:
                    told.add(finding)
                    print(f"{finding.file}:{finding.line}: in {finding.function}: {finding.text} [{finding.check}]", flush=True)
    looked_at = {os.path.relpath(file) for file in args.files}
    unneeded = [key for key in set(table) - needed
                if key[0] in looked_at and (args.cc if key[2].startswith("-W") else args.tidy)]
    for key in sorted(unneeded):
        print(f"{os.path.relpath(args.table)}: nothing finds {' '.join(key)} any more")
    print(f"{len(args.files)} files: {len(told)} findings without a reason, {len(needed & set(table))} with one")
    return 1 if told or failed else 0


if __name__ == "__main__":
    sys.exit(main())
