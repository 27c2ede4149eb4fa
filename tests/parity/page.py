#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make tests/parity/PARITY.md of results.json: what each debugger habit comes to in private copies. Usage: page.py PAGE"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(1, HERE)
sys.dont_write_bytecode = True

from excuses import EXCUSES  # noqa: E402
from known import why  # noqa: E402
from normal import WHAT  # noqa: E402
from sessions import VARIANTS  # noqa: E402

HEAD = """<!-- Made by `make docs-parity`, of tests/parity/results.json. -->

# Debugger habits, in an ordinary host and in Gorgon's

Each row was typed into a debugger on a host that is linked with libpython, and on one whose interpreters are Gorgon's, and the answers
were compared whole. *different* is allowed, with the reason; *broken* is not right yet. `scripts-3` is with our scripts and three
interpreters, `plain-3` without scripts; `no-home`: neither HOME nor XDG_CACHE_HOME is set. A column that is not here, and a `-`, was not tried.
"""


def table(debugger, part):
    there = {name for row in part["rows"].values() for name in row}
    columns = [name for name in map(str, VARIANTS) if name in there]
    out = [f"## {debugger} {part['version']}", "", f"{part['date']}, Python {part['python']}.", "",
           "| habit | " + " | ".join(columns) + " | why |", "|---" * (len(columns) + 2) + "|"]
    for name, row in part["rows"].items():
        reasons = [EXCUSES[excuse].reason for cell in row.values() for excuse in cell[1:]]
        reasons += [why(debugger, name, variant) or "no reason is given" for variant, cell in row.items() if cell[0] == "broken"]
        cells = [row[column][0] if column in row else "-" for column in columns]
        out.append(f"| {name.replace('|', '')} | " + " | ".join(cells) + " | " + "; ".join(dict.fromkeys(reasons)) + " |")
    return "\n".join(out) + "\n"


def main(path):
    with open(os.path.join(HERE, "results.json")) as file:
        results = json.load(file)
    lines = [f"- {what}{': ' + reason if reason else ''}" for what, reason in WHAT]
    with open(path, "w") as file:
        file.write(HEAD + "\nNot compared:\n\n" + "\n".join(lines) + "\n\n" +
                   "\n".join(table(debugger, part) for debugger, part in results.items()))


if __name__ == "__main__":
    main(sys.argv[1])
