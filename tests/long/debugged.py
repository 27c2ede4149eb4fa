#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Suites and torture under gdb, which stops at Python lines of their interpreters: each ends as without it.

`debugged.py PROGRAM...` runs these alone; the environment is theirs (JOBS, MINUTES, LIVES, AT_ONCE)."""

import json
import os
import subprocess
import sys
import tempfile

from report import Report

PROGRAMS = ["cpython_suite", "numpy_suite", "torture"]
HERE = os.path.dirname(os.path.abspath(__file__))


def main(words):
    report = Report("Suites and torture under gdb, with breakpoints at Python lines")
    for name in words or PROGRAMS:
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            status = subprocess.run([sys.executable, f"{HERE}/{name}.py"], check=False,
                                    env=dict(os.environ, LINES_IN="gdb", REPORT=file.name)).returncode
            rows = json.loads(file.read() or b'{"rows": []}')["rows"]
        report.rows += [dict(row, case=f"{name}: {row['case']}") for row in rows]
        if status and all(row["ok"] is not False for row in rows):
            report.check(name, False, "status 0", f"status {status}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
