#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the long tests, or those that are named, and write the table of results.

Usage: run.py [NAME]...

Each test is a program beside this one (report.py says how). tests/long/RESULTS.md is
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
RESULTS = os.path.join(HERE, "RESULTS.md")
NOT_TESTS = {"run", "report"}
PACKAGES = ["libc6", "libpython3.11", "python3-numpy", "gdb", "lldb-19"]
HEAD = "# Results of the long tests\n\nWritten by `make check-long`. Each section has the day and the versions it ran with.\n"


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


def section(name, report, status):
    """The Markdown of one test."""
    today = datetime.date.today().isoformat()
    lines = [f"## {name}", "", f"{report['title']}. {today}, {report['seconds']} s; {versions()}.", "",
             "| case | expected | seen | |", "|---|---|---|---|"]
    for row in report["rows"]:
        outcome = {True: "ok", False: "FAILED", None: "skipped"}[row["ok"]]
        lines.append(f"| {cell(row['case'])} | {cell(row['expected'])} | {cell(row['seen'])} | {outcome} |")
    if status and all(row["ok"] is not False for row in report["rows"]):
        lines.append(f"\nThe test ended with status {status}.")
    return "\n".join(lines) + "\n"


def read_sections():
    """{name: text} of the table as it is."""
    if not os.path.exists(RESULTS):
        return {}
    with open(RESULTS) as file:
        parts = re.split(r"(?m)^## ", file.read())[1:]
    return {part.split("\n", 1)[0]: ("## " + part).rstrip() + "\n" for part in parts}


def write_section(name, text):
    sections = dict(read_sections(), **{name: text})
    kept = [sections[n] for n in sorted(sections) if n in tests()]
    with open(RESULTS, "w") as file:
        file.write("\n".join([HEAD, *kept]))


def run(name):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        env = dict(os.environ, REPORT=file.name)
        status = subprocess.run([sys.executable, os.path.join(HERE, f"{name}.py")], env=env, check=False).returncode
        text = file.read()
    report = json.loads(text) if text else {"title": "Did not end", "seconds": 0, "rows": []}
    write_section(name, section(name, report, status))
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
