#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the table of docs/machines.md: the files of each machine, with their lines, side by side. Usage: machine_table.py DOCUMENT"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MACHINES = ["x86_64", "aarch64"]
PLACES = ["loader/machine/{}", "jitreg/machine"]


def files(machine):
    """{name without the machine: lines}"""
    found = {}
    for place in PLACES:
        top = place.format(machine)
        for parent, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith((".c", ".h", ".S")) and ("{}" in place or os.path.splitext(name)[0] == machine):
                    path = os.path.relpath(os.path.join(parent, name), ROOT)
                    with open(os.path.join(ROOT, path)) as file:
                        found[path.replace(machine, "MACHINE")] = sum(1 for _ in file)
    return found


def table():
    of = {machine: files(machine) for machine in MACHINES}
    names = sorted(set().union(*of.values()))
    rows = [[f"`{name}`", *(str(of[machine].get(name, "-")) for machine in MACHINES)] for name in names]
    rows.append(["together", *(str(sum(of[machine].values())) for machine in MACHINES)])
    lines = [["file", *MACHINES], ["---"] * (1 + len(MACHINES)), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(path):
    with open(path) as file:
        text = file.read()
    text = re.sub(r"(?s)<!-- machines -->\n.*?<!-- end -->", f"<!-- machines -->\n{table()}\n<!-- end -->", text)
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
