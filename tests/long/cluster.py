#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A local cluster of dask.distributed whose workers compute in interpreters (gorgon.distributed), by a preload and by a plug-in,
with nannies and without, two workers or as many as there is work for: the same results as with dask's own workers."""

import os
import re
import sys
import tempfile

from report import Report
from sources import environment
import harness

EXAMPLE = os.path.join(harness.ROOT, "examples", "cluster.py")
WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "cluster_work.py")
OWN = ["own: the first result is in the worker alone True", "own: what a worker keeps stays 1000.0 0.0", "own: environments True"]
ALL_THE_TIME = ["own: four interpreters True", "own: memory True", "own: metrics True True True",
                "own: without a plug-in True None True"]  # of workers that stay
ENDS = ["own: inside True", "own: the end {'cancelled'}"]


def lines_of(python, site, kind):
    result = harness.run(python, WORK, kind, env={"PYTHONPATH": site}, timeout=1800)
    return result.stdout.splitlines(), result.stderr[-3000:] if result.returncode else ""


def check_example(report, python, site):
    """examples/cluster.py: the same values from each kind of workers, and a history that is there once."""
    values, memory, sent = {}, {}, {}
    for kind in ("processes", "threads", "interpreters"):
        result = harness.run(python, EXAMPLE, kind, "60", env={"PYTHONPATH": site}, timeout=1800)
        found = re.fullmatch(r"(value at risk: .*)\n\w+: \S+ s, (\d+) MiB, (\d+) MiB sent\n", result.stdout)
        if not report.check(f"examples/cluster.py, {kind}", found, "values, and what they cost", result.stdout.replace("\n", "; "), result.stderr[-3000:]):
            return
        values[kind], memory[kind], sent[kind] = found[1], int(found[2]), int(found[3])
    report.check("examples/cluster.py: values", len(set(values.values())) == 1, "the same", "; ".join(sorted(set(values.values()))))
    report.check("examples/cluster.py: memory, and what workers sent", memory["interpreters"] < memory["processes"] and not sent["interpreters"],
                 "less than that of processes, nothing", f"{memory['interpreters']} MiB, processes {memory['processes']} MiB; {sent['interpreters']} MiB, "
                 f"processes {sent['processes']} MiB")


def main():
    report = Report("A cluster whose workers are interpreters")
    python = environment("pools")
    with tempfile.TemporaryDirectory() as site:
        harness.install_package(site)
        expected, failure = lines_of(python, site, "threads")
        report.check("dask's own workers", len(expected) > 15 and not failure, "all work is done", f"{len(expected)} lines", failure)
        for kind in ("preload", "plugin", "alone", "adaptive"):
            lines, failure = lines_of(python, site, kind)
            own = [line for line in lines if line.startswith("own: ")]
            for line in [line for line in expected if line not in lines]:
                report.check(f"{kind}: {line.split(':')[0]}", False, line, "otherwise", "\n".join(lines) + failure)
            report.check(f"{kind}: work", lines and not failure and [line for line in lines if line not in own] == expected,
                         f"the {len(expected)} lines of dask's own workers", f"{len(lines) - len(own)} lines", failure)
            wanted = OWN if kind == "adaptive" else OWN + ALL_THE_TIME + (ENDS if kind == "plugin" else [])
            report.check(f"{kind}: what is an interpreter's own", own == wanted, "; ".join(wanted), "; ".join(own))
        check_example(report, python, site)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
