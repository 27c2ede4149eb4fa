#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compare public headers, a version script and what a library really exports.

Usage: check_exports.py MAP LIBRARY HEADER..."""

import re
import subprocess
import sys


def main(version_map, library, *headers):
    text = "".join(open(header).read() for header in headers)
    declared = set(re.findall(r"\b(gorgon_\w+)\s*\(", re.sub(r"/\*.*?\*/|^static inline .*?^}", "", text, flags=re.S | re.M)))
    declared -= {"gorgon_error"}
    nodes = open(version_map).read()
    listed = set(re.findall(r"^\s+(\w+);", nodes, flags=re.M))
    private = set(re.findall(r"^\s+(\w+);", nodes.partition("GORGON_PRIVATE {")[2].partition("}")[0], flags=re.M))
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    exported = {line.split()[2].split("@")[0] for line in symbols.stdout.splitlines()}
    exported = {name for name in exported if name.startswith(("gorgon_", "jitreg_", "__jit", "_dl_"))}
    # debug_root.h: what debuggers look for is no interface for programs.
    listed_functions = {name for name in listed if name.startswith("gorgon_") and not name.startswith("gorgon_debug_")} - private
    problems = []
    for name in sorted(declared ^ listed_functions):
        problems.append(f"{name}: in {'a header' if name in declared else 'the map'} only")
    for name in sorted(listed ^ exported):
        problems.append(f"{name}: in {'the map' if name in listed else 'the library'} only")
    for problem in problems:
        print(f"{library}: {problem}", file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
