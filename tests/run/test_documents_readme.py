# SPDX-License-Identifier: MIT
"""What the README and the guides say of debuggers with scripts and without is what the parity tests have found."""

import glob
import json
import os
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

PLAIN, SCRIPTS = ["plain-3", "plain-20"], ["scripts-3", "scripts-20"]
GDB_ALL = ["break FUNCTION", "break of a static function", "break FILE:LINE", "bt N, bt -N", "next", "step over functions without lines"]
LLDB_ALL = ["breakpoint set -n", "breakpoint set -n of a static function", "bt", "next", "finish"]
VALUES = ["print a global, in each thread", "set var of a global", "watch of a global", "print expressions and casts"]

# Sentences of the documents: how each begins, the debugger, columns and habits of the parity tests, and whether these work.
SENTENCES = [
    ("gdb/README.md", "Plain gdb gives names, lines, breakpoints and backtraces in every private copy", "gdb", PLAIN, GDB_ALL, True),
    ("gdb/README.md", "With the scripts, names in these commands mean the copy of the selected frame", "gdb", SCRIPTS, VALUES, True),
    ("gdb/README.md", "- Without scripts it has functions and lines of all copies", "gdb", ["plain-20"], GDB_ALL, True),
    ("gdb/README.md", "- Without scripts it has functions and lines of all copies", "gdb", ["plain-20"], ["info locals, info args"], False),
    ("gdb/README.md", "- With scripts, an extension has everything in every copy if", "gdb", ["scripts-20"], GDB_ALL + VALUES, True),
    ("lldb/README.md", "Plain lldb gives functions, lines, breakpoints, steps and backtraces", "lldb", PLAIN, LLDB_ALL, True),
    ("lldb/README.md", "Plain lldb gives functions, lines, breakpoints, steps and backtraces", "lldb", PLAIN, ["frame variable"], False),
    ("lldb/README.md", "| `expression`, `p`, `call`, `po` | lldb's own commands", "lldb", SCRIPTS,
     ["print a global", "expression sets a global", "expression calls a function"], True),
    ("lldb/README.md", "Globals of other source files are the first copy's", "lldb", PLAIN, ["print a global"], False),
    ("docs/architecture.md", "For `break time_sleep` plain gdb looks the name up", "gdb", PLAIN, ["break of a static function of CPython"], True),
    ("docs/architecture.md", "With the scripts (`gdb/gorgon_gdb`) the copies in the stack get", "gdb", SCRIPTS, VALUES, True),
    ("docs/debugging.md", "| a breakpoint that was set when its code was there", "gdb", SCRIPTS, ["detach, attach again"], True),
    ("docs/debugging.md", "Plain gdb and lldb set breakpoints by name and show lines", "gdb", PLAIN, GDB_ALL, True),
    ("docs/debugging.md", "Plain gdb and lldb set breakpoints by name and show lines", "lldb", PLAIN, LLDB_ALL, True),
    ("docs/debugging.md", "Without scripts, names, breakpoints, lines and backtraces work", "gdb", PLAIN, GDB_ALL, True),
    ("docs/debugging.md", "Then plain gdb has no lines of these interpreters", "gdb", ["plain-20-no-home"], ["break FILE:LINE"], False),
    ("docs/debugging.md", "With the scripts, `list`, `info line`, `info scope`", "gdb", ["scripts-20-no-home"],
     ["info functions of C++", "info line FUNCTION", "list FUNCTION", "info scope", "info types REGEX"], True),
    ("docs/debugging.md", "So do names in `call`, `x` and `display`", "gdb", ["plain-3"], ["print a global, in each thread"], False),
    ("docs/debugging.md", "So do names in `call`, `x` and `display`", "gdb", SCRIPTS, ["call a function of the extension", "x of memory", "display"], True),
    ("docs/debugging.md", "- plain gdb has functions (static functions, too), lines", "gdb", ["plain-20"], GDB_ALL, True),
    ("docs/debugging.md", "- plain gdb has functions (static functions, too), lines", "gdb", ["plain-20"], ["info locals, info args"], False),
    ("docs/debugging.md", "- gdb with the scripts has names and lines in all copies", "gdb", ["scripts-20"], GDB_ALL + ["info locals, info args"], True),
    ("docs/debugging.md", "- plain lldb has functions (static functions, too), lines", "lldb", ["plain-20"], LLDB_ALL + ["breakpoint set -f -l"], True),
    ("docs/debugging.md", "- plain lldb has functions (static functions, too), lines", "lldb", ["scripts-20"], ["frame variable"], True),
]
# Sentences of what no row of the parity tests is about, with the test that holds each.
HELD = [
    ("gdb/README.md", "Without scripts, `enable` it then", "tests/gdb/test_reattach.py"),
    ("gdb/README.md", "Where there is no such folder, plain gdb has names", "tests/gdb/test_lines.py"),
    ("gdb/README.md", "The scripts add what is in the library's own file", "tests/gdb/test_remote.py"),
    ("gdb/README.md", "If gdb's standard input is a terminal, there is no pipe", "tests/gdb/test_mi.py"),
    ("python/README.md", "`python3 -m gorgon gdb PID`", "tests/run/test_package.py"),
    ("docs/debugging.md", "If there is no such folder, or the file is larger than 128 MiB", "tests/gdb/test_lines.py"),
    ("docs/mixed.md", "In programs with Gorgon's interpreters that they start, plain gdb and plain lldb", "tests/gdb/test_python_lines.py"),
    ("docs/editors.md", "When dozens of threads stop at the same time", "tests/lldb/test_dap.py"),
]
# What only says where something stands.
LEADS = ["| what somebody does in a frame", "- [debugging.md](debugging.md): gdb and lldb"]

TELLS = re.compile(r"[Pp]lain\s+(gdb|lldb)|[Ww]ith(out)?\s+(our\s+|the\s+)?scripts")


def sentences(text):
    """The sentences and rows of tables that say something of debuggers with scripts or without."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-|#])", text):
        whole = [paragraph] if paragraph.startswith("|") else re.split(r"(?<=[.:;])\s+(?=[A-Z`])", paragraph)
        yield from (" ".join(sentence.split()) for sentence in whole if TELLS.search(sentence))


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

    def test_each_sentence_of_the_guides_is_held_by_what_was_found(self):
        known = [(name, start) for name, start, *_ in SENTENCES + HELD]
        met = set()
        names = glob.glob("docs/*.md", root_dir=ROOT) + ["gdb/README.md", "lldb/README.md", "python/README.md"]
        for name in sorted(names):
            with open(f"{ROOT}/{name}") as file:
                for sentence in sentences(file.read()):
                    found = {entry for entry in known if entry[0] == name and sentence.startswith(entry[1])}
                    met |= found
                    self.assertTrue(found or sentence.startswith(tuple(LEADS)), f"{name}: {sentence}")
        self.assertEqual(met, set(known))
        for *_, test in HELD:
            self.assertTrue(os.path.exists(f"{ROOT}/{test}"), test)

    def test_what_sentences_say_works_does_and_the_rest_does_not(self):
        with open(f"{ROOT}/tests/parity/results.json") as file:
            results = json.load(file)
        for name, start, debugger, columns, habits, works in SENTENCES:
            for habit in habits:
                for column in columns:
                    with self.subTest(f"{name}: {start}", habit=habit, column=column):
                        found = results[debugger]["rows"][habit][column][0]
                        self.assertNotEqual(found, "broken" if works else "same")

    def test_lines_in_plain_lldb_are_those_of_processes_that_it_has_started(self):
        with open(f"{ROOT}/tests/parity/results.json") as file:
            results = json.load(file)["lldb"]["rows"]
        self.assertEqual(table()["plain lldb"]["source lines"], "started under lldb: yes; attached: no")
        self.assertEqual({results["attach"][which][0] for which in ("plain-3", "plain-20")}, {"broken"})


if __name__ == "__main__":
    unittest.main()
