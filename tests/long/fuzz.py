#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten million made-up inputs for gorgon-symdump's readers: libFuzzer, with the address and undefined behaviour
sanitizers. Begins with the committed corpus, which stays as it is; what libFuzzer finds is left in build/fuzz.

EXECUTIONS=... in the environment changes the number."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from report import Report
import harness

EXECUTIONS = int(os.environ.get("EXECUTIONS", "10000000"))
# Of a hundred. A core has more to get wrong than the others.
SHARES = {"core": 50, "library": 25, "python": 25}
CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus")
FINDINGS = os.path.join(harness.BUILD, "fuzz")


def fuzz(name, executions, report):
    with tempfile.TemporaryDirectory() as folder:
        corpus = shutil.copytree(os.path.join(CORPUS, name), os.path.join(folder, name))
        process = subprocess.Popen([os.path.join(FINDINGS, f"fuzz_{name}"), f"-runs={executions}", "-max_len=8192",
                                    "-timeout=20", f"-artifact_prefix={FINDINGS}/{name}-", corpus],
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace")
        tail, done = [], 0
        for line in process.stderr:
            tail = [*tail[-60:], line]
            found = re.match(r"#(\d+)\s", line) or re.match(r"Done (\d+) runs", line)
            if found:
                done = int(found[1])
                report.progress(done, executions, name)
        status = process.wait()
    report.check(f"{name}: executions without a finding", status == 0 and done >= executions, executions,
                 f"{done}, status {status}", "".join(tail))


def main():
    report = Report("Made-up inputs for gorgon-symdump")
    os.nice(19)
    for name, share in SHARES.items():
        fuzz(name, EXECUTIONS * share // 100, report)
    left = [os.path.basename(path) for name in SHARES for path in glob.glob(f"{FINDINGS}/{name}-*")]
    report.check("inputs that failed", not left, 0, len(left), "\n".join(left))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
