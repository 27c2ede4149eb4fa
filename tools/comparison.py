#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the tables of docs/comparison.md anew, out of the results that tests/bench has: `make docs-comparison`.

Usage: comparison.py PAGE.md

A table stands between <!-- figures: NAME --> and <!-- end -->."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORKERS = {"a process": "a process", "a forked process": "a forked process", "a subinterpreter": "a sub-interpreter",
           "our interpreter": "**Gorgon**", "ours, `GORGON_END_QUICK` and `large_arenas`": "**Gorgon**, quick end, large arenas"}
LOADERS = {"`dlopen` of a copy": "copies of files, `dlopen`", "`dlmopen`": "`dlmopen`", "strategy `copy`": "`--isolate copy`", "our loader": "**Gorgon**"}
CALLS = {
    "start, import numpy and end of four workers": "four workers: start, `import numpy`, end",
    "an empty call": "an empty call",
    "work for both workers, in small steps that hold the GIL": "work in small steps of numpy, two workers",
    "bytes, 1 MB, as an argument": "a call with 1 MB of bytes",
    "bytes, 100 MB, as an argument": "a call with 100 MB of bytes",
    "an array, 1 MB, made and a result": "an array of 1 MB, which the worker makes, as the result",
    "an array, 100 MB, as an argument": "a call with an array of 100 MB",
    "a list of numbers, 1 MB, as an argument": "a call with a list of 350,000 numbers",
}


def rows(name, *heading):
    """The rows of the table with this heading, on a page in tests/bench, without the cells in further columns."""
    with open(f"{ROOT}/tests/bench/{name}.md") as file:
        found = re.search(rf"^\| {re.escape(' | '.join(heading))} \|.*\n\|[-|]+\n((?:\|.*\n)*)", file.read(), re.M)
    if not found:
        sys.exit(f"comparison: {name}.md has no table with the columns {', '.join(heading)}")
    return [[cell.strip() for cell in line.strip("|").split("|")][:len(heading)] for line in found[1].splitlines()]


def ratio(cell):
    return cell.split()[0].rstrip(":")


def workers():
    memory = {(program, who): mib for program, who, _, mib in rows("LOAD", "program", "who", "times a process", "MiB")}
    lines = ["| | nothing imported: ms | times a process | MiB | `import numpy`: ms | times a process | MiB |", "|---|---|---|---|---|---|---|"]
    took = {(program, who): (ms, ratio(times)) for program, at_once, who, times, ms, *_ in
            rows("LOAD", "program", "at once", "who", "times a process", "ms", "ms of the wall", "faults") if at_once == "1"}
    for who, title in WORKERS.items():
        cells = []
        for program in ("bare", "numpy"):
            ms, times = took.get((program, who), ("refused by numpy", ""))
            cells += [ms, times, memory.get((program, who), "")]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def loaders():
    found = {(library, way): ratio(times) for library, way, times in rows("LOAD", "library", "loaded by", "times the first")}
    libraries = list(dict.fromkeys(library for library, _ in found))
    lines = [f"| | {' | '.join(libraries)} |", "|---|" + "---|" * len(libraries)]
    for way, title in LOADERS.items():
        lines.append(f"| {title} | {' | '.join(found.get((library, way), '-') for library in libraries)} |")
    return lines


def calls():
    found = {(what, who): ratio(times) for what, who, times in rows("EXECUTOR", "what", "workers are", "times processes")}
    return ["| | interpreters | threads |", "|---|---|---|",
            *(f"| {title} | {found[what, 'interpreters']} | {found[what, 'threads']} |" for what, title in CALLS.items())]


def written(text):
    for table in (workers, loaders, calls):
        lines = "\n".join(table())
        text, count = re.subn(rf"(?<=<!-- figures: {table.__name__} -->\n\n).*?(?=\n\n<!-- end -->)", lambda _, lines=lines: lines, text, flags=re.S)
        if count != 1:
            sys.exit(f"comparison: expected one place for the table {table.__name__}, found {count}")
    return text


def main(page):
    with open(page) as file:
        text = written(file.read())
    with open(page, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
