#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Thousands of generated programs (tests/programs), with the executor, dask, joblib, a C pool and pools of processes: each prints
the same. The first CLUSTER (300) of them run with a local cluster of dask.distributed, too, its own workers and ours.

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
CLUSTER = int(os.environ.get("CLUSTER", "300"))  # a cluster takes seconds to start


def main(words):
    report = Report("Generated programs beside pools of processes")
    first = int.from_bytes(os.urandom(3), "little")
    seeds = words[0] if words else f"{first}-{first + SEEDS - 1}"
    first, last = map(int, seeds.split("-"))
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        check(report, site, first, last, "programs", "gorgon,dask,joblib,cpool")
        if CLUSTER:
            check(report, site, first, min(last, first + CLUSTER - 1), "programs with a cluster", "cluster")
    return report.finish()


def check(report, site, first, last, what, modes):
    programs = operations = differing = 0
    command = [environment("pools"), os.path.join(harness.ROOT, "tests", "programs", "run.py"), "--json", "--seeds", f"{first}-{last}",
               "--modes", modes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": site}) as process:
        for line in process.stdout:
            told = json.loads(line)
            programs, operations = programs + len(told["seeds"]), operations + told["steps"]
            report.progress(programs, last - first + 1)
            for found in told["differences"]:
                differing += 1
                report.check(f"seeds {found['seeds']}", False, "what processes print", found["differences"][0][1],
                             json.dumps(found["differences"], indent=1))
    report.check(f"{programs} {what}", programs == last - first + 1 and not differing, "no difference that is not explained",
                 f"{operations} operations, {differing} programs differ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
