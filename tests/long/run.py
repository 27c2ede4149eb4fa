#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the long tests, or those that are named, and write the tables of results.

Usage: run.py [NAME]...

Each test is a program beside this one (report.py says how). tests/long/RESULTS.md has a
section for each, tests/long/COMPATIBILITY.md for each that has something to look up. Both are
written anew after each test: the sections of tests that did not run stay as they were."""

import datetime
import glob
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NOT_TESTS = {"run", "readers", "report", "root", "programs", "sources", "suites"}
PACKAGES = ["libc6", "libpython3.11", "python3-numpy", "gdb", "lldb-19"]
RESULTS = os.path.join(HERE, "RESULTS.md")
RESULTS_HEAD = "# Results of the long tests\n\nWritten by `make check-long`. Each section has the day and the versions it ran with.\n"
COMPATIBILITY = os.path.join(ROOT, "tests", "long", "COMPATIBILITY.md")
COMPATIBILITY_HEAD = """# What works in private copies

Written by `make check-long`. Each part has the day and the versions it was made with. "ok" is what plain python3 does, too.
CPython from 3.11 on, of one's own or a distribution's build; a free-threaded one is refused ([comparison.md](../../docs/comparison.md#free-threading)).
"""


def tests():
    names = {os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(HERE, "*.py"))}
    return sorted(names - NOT_TESTS)


def version(package):
    result = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
    return f"{package} {result.stdout}" if result.returncode == 0 and result.stdout else None


def versions():
    parts = [f"Linux {platform.release().split('-')[0]}, {os.cpu_count()} processors"]
    return ", ".join(parts + [text for text in map(version, PACKAGES) if text])


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def markdown(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(map(cell, line)) + " |" for line in lines]


def day(report):
    return f"{datetime.date.today().isoformat()}, {report['seconds']} s; {versions()}."


def results_section(name, report, status):
    """The Markdown of one test."""
    outcomes = {True: "ok", False: "FAILED", None: "skipped"}
    rows = [[row["case"], row["expected"], row["seen"], outcomes[row["ok"]]] for row in report["rows"]]
    lines = [f"## {name}", "", f"{report['title']}. {day(report)}", "", *markdown(["case", "expected", "seen", ""], rows)]
    if status and all(row["ok"] is not False for row in report["rows"]):
        lines.append(f"\nThe test ended with status {status}.")
    return "\n".join(lines) + "\n"


def compatibility_section(name, report):
    """The Markdown of what one test has to look up."""
    lines = [f"## {report['title']}", "", f"`make check-long TESTS={name}`, {day(report)}"]
    for table in report["tables"]:
        lines += ["", f"### {table['title']}", "", *([table["text"], ""] if table["text"] else []),
                  *markdown(table["columns"], table["rows"])]
    return "\n".join(lines) + "\n"


class Page:
    """A file whose sections begin with a line "## ...", after a head."""

    def __init__(self, path, head):
        self.path, self.head = path, head

    def read(self):
        """The sections' texts."""
        if not os.path.exists(self.path):
            return []
        with open(self.path) as file:
            return [("## " + part).rstrip() + "\n" for part in re.split(r"(?m)^## ", file.read())[1:]]

    def write(self, text, key, known):
        """Replace the section with the same @key(text) by @text; those that are not @known go."""
        sections = {key(section): section for section in [*self.read(), text]}
        with open(self.path, "w") as file:
            file.write("\n".join([self.head, *(sections[k] for k in sorted(sections) if k in known)]))


def results_key(text):
    return text[3:].split("\n", 1)[0]


def compatibility_key(text):
    return re.search(r"^`make check-long TESTS=(\w+)`", text, re.M)[1]


def run(name):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        env = dict(os.environ, REPORT=file.name)
        status = subprocess.run([sys.executable, os.path.join(HERE, f"{name}.py")], env=env, check=False).returncode
        text = file.read()
    report = json.loads(text) if text else {"title": "Did not end", "seconds": 0, "rows": [], "tables": []}
    Page(RESULTS, RESULTS_HEAD).write(results_section(name, report, status), results_key, tests())
    if report["tables"]:
        Page(COMPATIBILITY, COMPATIBILITY_HEAD).write(compatibility_section(name, report), compatibility_key, tests())
    return status


def main(names):
    unknown = set(names) - set(tests())
    if unknown:
        sys.exit(f"run.py: no such test: {' '.join(sorted(unknown))} (there are: {' '.join(tests())})")
    failed = [name for name in names or tests() if run(name)]
    print(f"\nlong tests: {'all passed' if not failed else 'failed: ' + ' '.join(failed)}; see tests/long/RESULTS.md")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
