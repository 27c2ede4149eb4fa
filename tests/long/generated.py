#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Thousands of generated programs (tests/programs), with the executor, dask, joblib, a C pool and pools of processes: each prints
the same.

`generated.py A-B` runs these seeds, otherwise SEEDS (20000, from the environment) new ones run."""

import json
import os
import subprocess
import sys
import tempfile

from report import Report
from sources import environment
import harness

SEEDS = int(os.environ.get("SEEDS", "20000"))


def main(words):
    report = Report("Generated programs beside pools of processes")
    copies = ",copies,cpool-copies" if harness.TEMPLATES else ""
    check(report, words[0] if words else new_seeds(SEEDS), "gorgon,dask,joblib,cpool" + copies)
    return report.finish()


def new_seeds(count):
    first = int.from_bytes(os.urandom(3), "little")
    return f"{first}-{first + count - 1}"


def check(report, seeds, modes):
    first, last = map(int, seeds.split("-"))
    programs = operations = differing = 0
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        command = [environment("pools"), os.path.join(harness.ROOT, "tests", "programs", "run.py"), "--json", "--seeds", seeds,
                   "--modes", modes]
        if modes == "cluster":  # which waits most of the time
            command += ["--jobs", str(3 * os.cpu_count())]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": site}) as process:
            for line in process.stdout:
                told = json.loads(line)
                programs, operations = programs + len(told["seeds"]), operations + told["steps"]
                report.progress(programs, last - first + 1)
                for found in told["differences"]:
                    differing += 1
                    report.check(f"seeds {found['seeds']}", False, "what processes print", found["differences"][0][1],
                                 json.dumps(found["differences"], indent=1))
    report.check(f"{programs} programs", programs == last - first + 1 and not differing, "no difference that is not explained",
                 f"{operations} operations, {differing} programs differ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
