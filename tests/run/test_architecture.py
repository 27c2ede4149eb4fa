# SPDX-License-Identifier: MIT
"""tests/architecture.py: the code keeps to the floors of docs/architecture.md, and code that does not is found."""

import os
import re
import subprocess
import tempfile
import unittest

import architecture
from harness import BUILD, ROOT, run

DOCUMENT = os.path.join(ROOT, "docs", "architecture.md")
FLOORS = "# Text\n\n```floors\ncode/low    what is below\ncode/high   what is above\n```\n"
# Words that have meant several things, and structures' names that say nothing alone.
WORN = {"kept", "place", "places", "row", "rows", "own", "home", "world", "turn", "errand", "hurry", "hurried", "brief", "rested", "gate",
        "noted", "looks", "asked", "pretends"}
VAGUE = {"state", "search", "walk", "table", "part", "place"}
# Names that stay: of rows of DWARF's tables and of tables that are printed, public ones, a term of the document, names of places in gdb.
ALLOWED = {"cfi_row", "line_row", "jitreg_line_row", "jitreg_lines_row", "top_row", "kept", "gorgon_kept_stats", "gorgon_debug_place"}
TOPS = ("jitreg", "loader", "tools", "gdb", "lldb", "debuggers")


def sources(*ends, tops=TOPS):
    return [os.path.join(folder, name) for top in tops for folder, _, names in os.walk(os.path.join(ROOT, top))
            for name in names if name.endswith(ends)]


class Architecture(unittest.TestCase):
    def check(self, sources, packages=(), walk=""):
        """What the script says of {file: C source}."""
        with tempfile.TemporaryDirectory() as folder:
            document = os.path.join(folder, "architecture.md")
            with open(document, "w") as file:
                file.write(FLOORS + (f"```walk\n{walk}```\n" if walk else ""))
            for name, source in sources.items():
                path = os.path.join(folder, "obj", name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                subprocess.run(["cc", "-xc", "-c", "-o", path + ".o", "-"], input=source, text=True, check=True)
            for name, source in packages:
                with open(os.path.join(folder, name), "w") as file:
                    file.write(source)
            result = run("python3", os.path.join(ROOT, "tests", "architecture.py"), document, os.path.join(folder, "obj"),
                         *([folder] if packages else []))
        return result.returncode, result.stdout

    def test_the_code_keeps_to_its_floors(self):
        packages = [os.path.join(ROOT, name) for name in ("gdb/gorgon_gdb", "lldb/gorgon_lldb", "debuggers/gorgon_shared")]
        result = run("python3", os.path.join(ROOT, "tests", "architecture.py"), DOCUMENT, os.path.join(BUILD, "obj"), *packages)
        self.assertEqual((result.stdout, result.returncode), ("", 0))

    def test_what_gdb_and_lldb_share_knows_neither(self):
        folder = os.path.join(ROOT, "debuggers", "gorgon_shared")
        for name in sorted(name for name in os.listdir(folder) if name.endswith(".py")):
            with open(os.path.join(folder, name)) as file:
                self.assertNotRegex(file.read(), r"(?m)^\s*(import|from) (gdb|lldb|gorgon_gdb|gorgon_lldb)\b", name)

    def test_lines_of_c_have_at_most_100_columns(self):
        """Tables in comments, whose columns are apart by several blanks, may be wider."""
        long = []
        for folder, _, names in (found for top in ("jitreg", "loader", "tools") for found in os.walk(os.path.join(ROOT, top))):
            for path in (os.path.join(folder, name) for name in names if name.endswith((".c", ".h", ".hpp"))):
                with open(path) as file:
                    for number, line in enumerate(file, 1):
                        text = line.rstrip("\n").expandtabs(8)
                        is_table = re.match(r"\s*(//|\*)\s.*(\S {3}|\t)|\s*(//|\*)(\t| {4})", line)
                        if len(text) > 100 and not is_table:
                            long.append(f"{os.path.relpath(path, ROOT)}:{number}: {len(text)} columns")
        self.assertEqual(long, [])

    def test_files_and_structures_have_no_name_that_has_meant_several_things(self):
        files = {os.path.splitext(os.path.basename(path))[0] for path in sources(".c", ".h", ".S", ".py")}
        structures = set()
        for path in sources(".c", ".h"):
            with open(path) as file:
                structures |= set(re.findall(r"^(?:\t*|typedef )(?:struct|enum|union) (\w+) \{", file.read(), re.M))
        self.assertIn("gorgon_part", structures)
        self.assertEqual({name for name in files | structures if WORN & set(name.split("_"))} - ALLOWED, set())
        self.assertEqual(structures & VAGUE - ALLOWED, set())

    def test_functions_and_variables_have_no_such_name_either(self):
        """Nor members. A home is $HOME; a row, a place and what is kept may be a variable's."""
        words = WORN - {"kept", "place", "places", "row", "rows", "own", "home"}
        found = set()
        for path in sources(".c", ".h", tops=("jitreg", "loader", "tools")):
            with open(path) as file:
                code = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', "", file.read(), flags=re.S)
            found |= {(os.path.relpath(path, ROOT), name) for name in re.findall(r"\b[A-Za-z_]\w*\b", code)
                      if words & set(name.lower().split("_"))}
        self.assertEqual(found, set())

    def test_the_list_of_terms_is_short(self):
        with open(DOCUMENT) as file:
            terms = re.findall(r"^\| (.+?) \| (.+) \|$", file.read().split("\n## Words\n")[1].split("\n## ")[0], re.M)[1:]
        self.assertLessEqual(len(terms), 25)
        self.assertEqual([term for term, text in terms if ". " in text], [])

    def test_files_that_comments_name_are_there(self):
        there = {os.path.relpath(path, ROOT) for path in sources(".c", ".h", ".S", ".py", ".txt", ".map", tops=(*TOPS, "tests"))}
        folders = {part for path in there for part in path.split("/")[:-1]}
        gone = []
        for path in sources(".c", ".h", ".S", ".py"):
            with open(path) as file:
                for number, line in enumerate(file, 1):
                    for name in re.findall(r"(?<![\w/<.$*%{}-])((?:\.\./)*(?:[\w-]+/)*[\w-]+\.(?:[chS]|py))\b", "" if "#include" in line else line):
                        if name.startswith("../"):
                            is_there = os.path.exists(os.path.join(os.path.dirname(path), name))
                        else:
                            is_there = name.split("/")[0] not in folders or any(f"/{other}".endswith(f"/{name}") for other in there)
                        if not is_there:
                            gone.append(f"{os.path.relpath(path, ROOT)}:{number}: {name}")
        self.assertEqual(gone, [])

    def test_each_floor_of_the_document_is_a_folder(self):
        for floor in architecture.floors_of(DOCUMENT):
            self.assertTrue(os.path.isdir(os.path.join(ROOT, floor)), floor)

    def test_a_call_upwards_is_told(self):
        self.assertEqual(self.check({"code/low/a": "void b(void); void a(void) { b(); }", "code/high/b": "void b(void) {}"}),
                         (1, "code/low/a uses b of code/high/b, which is on a higher floor\n"))

    def test_data_and_addresses_count_as_calls_do(self):
        source = "extern int data; void b(void); void *a[] = {&data, b};"
        status, text = self.check({"code/low/a": source, "code/high/b": "void b(void) {}", "code/high/data": "int data = 1;"})
        self.assertEqual((status, text.count("higher floor")), (1, 2))

    def test_a_circle_is_told_with_its_calls(self):
        sources = {"code/low/a": "void b(void); void a(void) { b(); }", "code/low/b": "void a(void); void b(void) { a(); }"}
        self.assertEqual(self.check(sources), (1, "a circle of 2 files: code/low/a uses code/low/b (b); code/low/b uses code/low/a (a)\n"))

    def test_downwards_and_within_a_floor_is_right(self):
        sources = {"code/high/a": "void b(void); void a(void) { b(); }", "code/high/b": "void c(void); void b(void) { c(); }",
                   "code/low/c": "void c(void) {}"}
        self.assertEqual(self.check(sources), (0, ""))

    def test_a_folder_that_is_no_floor_is_told(self):
        self.assertEqual(self.check({"code/attic/a": "void a(void) {}"}), (1, "code/attic/a: no floor code/attic/ in the document\n"))

    def test_a_walk_that_is_not_true_is_told(self):
        sources = {"code/high/a": "void b(void); void a(void) { b(); }", "code/high/b": "void c(void); void b(void) { c(); }",
                   "code/low/c": "void c(void) {}"}
        self.assertEqual(self.check(sources, walk="code/high  a\ncode/high    b\ncode/low       c   text\n"), (0, ""))
        self.assertEqual(self.check(sources, walk="code/high  a\ncode/low     c\n"),
                         (1, "walk: code/high/a does not use c\n"))
        self.assertEqual(self.check(sources, walk="code/high  a\ncode/low     b\n"),
                         (1, "walk: b is in code/high/b, expected code/low/\n"))
        self.assertEqual(self.check(sources, walk="code/low   a\ncode/high    b\n")[1],
                         "walk: a to b leads up, from code/low to code/high\n")

    def test_imports_in_a_circle_are_told(self):
        packages = [("one.py", "from . import two\n"), ("two.py", "from .one import name\n")]
        self.assertEqual(self.check({"code/low/a": "void a(void) {}"}, packages),
                         (1, "a circle of 2 files: one uses two (import); two uses one (import)\n"))


if __name__ == "__main__":
    unittest.main()
