#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What units and the command's tests run of the code: the table of `make coverage`."""

import os
import re
import subprocess
import sys

from report import Report
import harness

GOALS = {"loader, all": (92, 85), "jitreg, all": (92, 85)}  # percent of lines, of error branches
ROW = re.compile(r"^(\S.*?) +([\d.]+%|-)(?: of (\d+))? +([\d.]+%|-)(?: of (\d+))? +([\d.]+%|-)(?: of (\d+))?$")


def number(percent):
    return float(percent.rstrip("%"))


def main():
    report = Report("Code that the tests run")
    environment = {name: text for name, text in os.environ.items() if name not in ("BUILD", "MAKEFLAGS", "MAKELEVEL")}
    result = subprocess.run(["make", "coverage", f"BUILD={os.path.relpath(harness.BUILD, harness.ROOT)}", "TESTS="], cwd=harness.ROOT, env=environment,
                            capture_output=True, text=True, errors="replace", check=False)
    tail = "\n".join((result.stdout + result.stderr).splitlines()[-40:])
    counts = re.search(r"^(\d+) passed, (\d+) failed, \d+ skipped$", result.stdout, re.M)
    # Whether tests pass is for other builds: this one is slow, and some wait for a time. What they ran counts.
    report.check("tests", counts, "(what they run counts, whether they pass or not)",
                 "{} passed, {} failed".format(*counts.groups()) if counts else "none ran", tail)
    floors = result.stdout.partition("error branches\n")[2].partition("\n\n")[0]
    for line in floors.splitlines():
        name, lines, line_count, branches, branch_count, errors, error_count = ROW.match(line).groups()
        ok, expected = True, ""
        if name in GOALS:
            expected = "at least {}% of lines, {}% of error branches".format(*GOALS[name])
            ok = number(lines) >= GOALS[name][0] and number(errors) >= GOALS[name][1]
        report.check(name, ok, expected, f"{lines} of {line_count} lines, {branches} of {branch_count or 0} branches, "
                                         f"{errors} of {error_count or 0} error branches")
    report.check("the table", bool(floors), "every floor", f"{len(floors.splitlines())} rows", tail)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
