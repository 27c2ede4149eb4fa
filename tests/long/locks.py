#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files with record locks that four interpreters, their host and another process use at once: tests/stores.py.

10,000 transactions in each store, COUNT (2500, from the environment) by each interpreter, and as many by the host
and by the other process. Where a store is all or nothing, an interpreter that is interrupted in the middle of its
work and destroyed takes part besides, again and again."""

import os
import shutil
import sys
import tempfile

from report import Report

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import stores  # noqa: E402
from harness import BUILD, PYTHON3, install_package  # noqa: E402

HOST = os.path.join(BUILD, "stores")
COUNT = int(os.environ.get("COUNT", "2500"))
INTERPRETERS = 4
EXECUTED = ("sqlite-rollback", "sqlite-wal", "counter")


def check(report, case, complaints):
    report.check(case, not complaints, "nothing lost", "nothing lost" if not complaints else complaints[0][:80], "\n".join(complaints))


def check_host(report, store, isolation, option):
    kind = stores.STORES[store]
    options = [*option, *(["-v"] if kind.victims else [])]
    who = f"{INTERPRETERS} interpreters, {'the host, ' if kind.host and '-o' in option else ''}a process"
    case = f"{store}: {COUNT} transactions each by {who}{', victims' if kind.victims else ''} ({isolation})"
    if stores.is_there(store, PYTHON3):
        check(report, case, stores.run_store(HOST, PYTHON3, store, COUNT, INTERPRETERS, options))
    else:
        report.skip(case, f"{kind.module} is not installed")


def check_executor(report, store):
    site = tempfile.mkdtemp(prefix="gorgon-site-")
    try:
        install_package(site)
        check(report, f"{store}: {COUNT} transactions each by an executor's 4 workers, its python3, a process",
              stores.run_executor(PYTHON3, site, store, COUNT))
    finally:
        shutil.rmtree(site)


def main():
    report = Report("Record locks: stores that interpreters and their host share")
    for isolation, option in (("loader", []), ("copy", ["-c"]), ("loader, descriptors of their own", ["-o"]),
                              ("copy, descriptors of their own", ["-c", "-o"])):
        for store in stores.STORES:
            check_host(report, store, isolation, option)
    for store in EXECUTED:
        check_executor(report, store)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
