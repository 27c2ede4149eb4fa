#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each call that the libraries make while an interpreter is created, imports, shares, is packed and destroyed fails
alone, and the first one of each place in the code also with all of its kind after it: `build/tests/test_failures all`."""

import os
import re
import subprocess
import sys

from report import Report
import harness

PROGRAM = os.path.join(harness.BUILD, "tests", "test_failures")
LINE = re.compile(r"^failures: (\w+): (\d+) calls, (\d+) failures, (\d+) errors, (\d+) wrong$")


def main():
    report = Report("Calls that fail, in forked children")
    os.nice(19)
    environment = {name: text for name, text in os.environ.items() if name != "TEST_CASES"}
    with subprocess.Popen([PROGRAM, "all"], env=environment, cwd=harness.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        tail = []
        for line in process.stdout:
            found = LINE.match(line)
            if not found:
                tail = [*tail[-200:], line]
                continue
            step, calls, failures, errors, wrong = found[1], *map(int, found.groups()[1:])
            report.check(step, not wrong and failures >= calls, f"0 of {failures} leave something, end the process or hide the cause",
                         f"{wrong} of {failures}; {errors} are errors", "".join(tail))
            tail = []
    report.check("exit status", process.returncode == 0, 0, process.returncode, "".join(tail))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
