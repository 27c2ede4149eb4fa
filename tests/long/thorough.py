#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tests that `make check` leaves out because they take long: harness.thorough marks them."""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from report import Report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    report = Report("Tests that make check leaves out")
    with tempfile.TemporaryDirectory() as folder:
        found = os.path.join(folder, "found.xml")
        result = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={found}"], cwd=ROOT,
                                env={**os.environ, "THOROUGH": "yes"}, capture_output=True, text=True, check=False)
        cases = list(xml.etree.ElementTree.parse(found).iter("testcase")) if os.path.exists(found) else []
    for case in cases:
        name = f"{case.get('classname').rpartition('.')[2]}: {case.get('name')}"
        faults = case.findall("failure") + case.findall("error")
        skipped = case.find("skipped")
        if skipped is not None:
            report.skip(name, skipped.get("message"))
        else:
            report.check(name, not faults, "passes", "fails" if faults else "passes", "\n".join(fault.text or "" for fault in faults))
    report.check("how many", len(cases) > 5, "more than 5", len(cases), result.stdout[-2000:] + result.stderr[-2000:])
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
