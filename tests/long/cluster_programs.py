#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hundreds of generated programs (tests/programs) whose calls are tasks of a local cluster of dask.distributed with
gorgon.distributed: each prints what it prints with a pool of processes, or with dask's own worker processes.

`cluster_programs.py A-B` runs these seeds, otherwise SEEDS (300, from the environment) new ones run: a cluster takes seconds to
start, and 25 programs share one."""

import os
import sys

from generated import check, new_seeds
from report import Report


def main(words):
    report = Report("Generated programs with a cluster")
    check(report, words[0] if words else new_seeds(int(os.environ.get("SEEDS", "300"))), "cluster")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
