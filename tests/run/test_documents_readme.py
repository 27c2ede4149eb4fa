# SPDX-License-Identifier: MIT
"""The README's table of what debuggers have with scripts and without is what the parity tests have found."""

import json
import re
import unittest

from harness import ROOT

# Rows of the README: the debugger and the columns of tests/parity/results.json that a row is about.
ROWS = {
    "gdb with scripts": ("gdb", ["scripts-3", "scripts-20"]),
    "plain gdb, up to eight interpreters": ("gdb", ["plain-3"]),
    "plain gdb, more than eight": ("gdb", ["plain-20"]),
    "lldb with scripts, after `gorgon symbols auto`": ("lldb", ["scripts-3", "scripts-20"]),
    "plain lldb": ("lldb", ["plain-3", "plain-20"]),
}

# Columns of the README, and what somebody types in each debugger who wants that.
HABITS = {
    "breakpoints by name, backtraces": {"gdb": ["break FUNCTION", "break of a static function", "bt N, bt -N"],
                                        "lldb": ["breakpoint set -n", "breakpoint set -n of a static function", "bt"]},
    "source lines": {"gdb": ["break FILE:LINE", "until LOCATION"], "lldb": ["breakpoint set -f -l", "source info"]},
    "arguments, locals, types": {"gdb": ["info locals, info args", "ptype, whatis"],
                                 "lldb": ["frame variable", "watchpoint of a local", "image lookup -t"]},
    "globals of the frame's copy": {"gdb": ["print a global, in each thread"],
                                    "lldb": ["print a global", "expression sets a global"]},
    "labels, `gorgon` commands": {"gdb": [], "lldb": []},
}


def table():
    """{row: {column: cell}}"""
    with open(f"{ROOT}/README.md") as file:
        section = file.read().partition("## With scripts, without")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", section, re.M)]
    return {cells[0]: dict(zip(lines[0][1:], cells[1:], strict=True)) for cells in lines[2:]}


class Readme(unittest.TestCase):
    def test_rows_and_columns_are_those_that_are_checked(self):
        self.assertEqual(list(table()), list(ROWS))
        for row in table().values():
            self.assertEqual(list(row), list(HABITS))

    def test_each_cell_is_what_was_found(self):
        with open(f"{ROOT}/tests/parity/results.json") as file:
            results = json.load(file)
        for name, cells in table().items():
            debugger, columns = ROWS[name]
            for column, cell in cells.items():
                found = [results[debugger]["rows"][habit][which] for habit in HABITS[column][debugger] for which in columns]
                with self.subTest(row=name, column=column, found=found):
                    if not found:  # of our scripts alone
                        self.assertEqual(cell, "yes" if "with scripts" in name else "no")
                    elif cell.startswith("yes") or cell.startswith("started under lldb: yes"):
                        self.assertNotIn("broken", [state[0] for state in found])
                    else:
                        self.assertNotEqual({state[0] for state in found}, {"same"}, "there is more than the README says")

    def test_lines_in_plain_lldb_are_those_of_processes_that_it_has_started(self):
        with open(f"{ROOT}/tests/parity/results.json") as file:
            results = json.load(file)["lldb"]["rows"]
        self.assertEqual(table()["plain lldb"]["source lines"], "started under lldb: yes; attached: no")
        self.assertEqual({results["attach"][which][0] for which in ("plain-3", "plain-20")}, {"broken"})


if __name__ == "__main__":
    unittest.main()
