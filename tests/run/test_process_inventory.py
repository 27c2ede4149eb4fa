# SPDX-License-Identifier: MIT
"""loader/process/inventory.txt: each name of the C library that anything installed imports has a decision, no decision
is about nothing, and loader/process/NAMES.md says what the source says."""

import os
import re
import unittest

import inventory
from harness import BUILD, ROOT, run
from inventory import process

TOLD = os.path.join(BUILD, "inventory")


def c_library():
    """(2, 36)."""
    return tuple(map(int, re.search(r"(\d+)\.(\d+)$", run("ldd", "--version").stdout.splitlines()[0]).groups()))


def group(decision, *names):
    made = process.Group(decision, "reason")
    made.add(names)
    return made


def without(topics, name):
    """The topics, as if one name were not there."""
    copies = []
    for title, parts in topics:
        parts = list(parts)
        for i, part in enumerate(parts):
            if isinstance(part, process.Group) and name in part.names:
                parts[i] = group(part.decision, *(other for other in part.names if other != name))
        copies.append((title, parts))
    return copies


class Inventory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.topics, cls.entries = process.read(), process.bound(TOLD)
        cls.decisions = inventory.Decisions(cls.topics, cls.entries)
        cls.names = inventory.defined()
        cls.importers = inventory.imports(cls.names)
        cls.sections, cls.values = inventory.manual()

    def none(self, problems):
        self.assertFalse(problems, "\n" + "\n".join(problems))

    # --- the test compares something -----------------------------------------------------------------

    def test_corpus_imports_what_is_known_of_it(self):
        self.assertGreater(len(self.importers), 800)
        for name in "fcntl", "getpwnam", "environ", "stdout", "__read_chk", "stat64":
            self.assertTrue(self.importers[name], name)
        self.assertTrue(any("/libpython" in path for path in self.importers["setlocale"]))
        self.assertTrue(any("/lib-dynload/" in path for path in self.importers["sem_open"]))

    def test_manual_says_what_is_known_of_it(self):
        self.assertEqual(self.sections["umask"], {"2"})
        self.assertIn("3", self.sections["getservbyname"])
        for name, value in {"strtok": "MT-Unsafe race:strtok", "setenv": "MT-Unsafe const:env",
                            "localtime": "MT-Unsafe race:tmbuf env locale", "qsort": "MT-Safe"}.items():
            self.assertEqual(self.values[name], {value})
        self.assertGreater(sum(any("Unsafe" in value for value in found) for found in self.values.values()), 150)

    # --- the inventory is complete -------------------------------------------------------------------

    def test_every_imported_name_has_a_decision(self):
        self.none(inventory.undecided(self.decisions, self.names, self.importers))

    def test_every_name_of_the_census_has_a_decision(self):
        counted = inventory.census()
        self.assertGreater(len(counted), 800)
        self.none(inventory.undecided(self.decisions, self.names, {name: ["the census"] for name in counted if name in self.names}))

    def test_what_private_code_gets_from_us_has_an_importer(self):
        entries = [entry for entry in self.entries if entry.get("part")]
        self.none(inventory.without_importer(entries, inventory.census()))
        self.assertEqual(inventory.without_importer([{"name": "hsearch", "part": 50}, {"name": "hcreate", "part": 50}], inventory.census()),
                         ["hsearch, hcreate: nobody imports one of them"])
        of_one_part = [{"name": "alarm", "part": 50, "reason": "one"}, {"name": "hsearch", "part": 50, "reason": "another"}]
        self.assertEqual(inventory.without_importer(of_one_part, inventory.census()), ["hsearch: nobody imports one of them"])

    def test_no_decision_is_on_a_name_that_does_not_exist(self):
        self.none(inventory.unknown(self.decisions, self.names, self.sections, c_library()))

    def test_nothing_is_decided_twice_or_otherwise_than_the_code_does(self):
        self.none(inventory.contradictions(self.decisions))

    def test_manual_knows_of_no_state_where_none_is_said_to_be(self):
        self.none(inventory.doubtful(self.decisions, self.names, self.sections, self.values))

    def test_page_is_current(self):
        with open(f"{ROOT}/loader/process/NAMES.md") as file:
            self.assertTrue(file.read() == process.page(self.topics, self.entries),
                            "loader/process/NAMES.md is not what its source says: make docs-process")

    # --- each check fails when it should -------------------------------------------------------------

    def test_name_without_a_decision_is_told_with_an_importer(self):
        decisions = inventory.Decisions(without(self.topics, "umask"), self.entries)
        problems = inventory.undecided(decisions, self.names, self.importers)
        self.assertEqual([problem.split(";")[0] for problem in problems], ["umask: no decision"])
        self.assertRegex(problems[0], r"; /\S+\.so\S* imports it$")

    def test_variant_goes_with_its_name_but_not_past_ours(self):
        decisions = inventory.Decisions([("", [group("shared", "pread", "read")])],
                                        [{"name": "fcntl", "decision": "own"}])
        for name in "pread", "pread64", "__pread64_chk", "__read_chk", "__read", "fcntl":
            self.assertIsNone(decisions.missing(name), name)
        self.assertEqual(decisions.missing("fcntl64"), "no decision; fcntl is own, and this goes past it")
        self.assertEqual(decisions.missing("__fcntl"), "no decision; fcntl is own, and this goes past it")
        self.assertEqual(decisions.missing("write"), "no decision")

    def test_name_that_does_not_exist_is_told(self):
        topics = self.topics + [("", [group("shared", "umsak", "xyz_*", "@libnone.so.1", "strlcpy2@99.1")])]
        decisions = inventory.Decisions(topics, self.entries + [{"name": "pthread_creat", "decision": "own"}])
        self.assertEqual(inventory.unknown(decisions, self.names, self.sections, c_library()),
                         ["umsak: no such name in the C library", "xyz_*: no such name in the C library",
                          "@libnone.so.1: no such name in the C library",
                          "pthread_creat: bound, but no such name in the C library"])

    def test_contradictions_are_told(self):
        topics = self.topics + [("", [group("shared", "umask", "sigaction"), group("own", "nice", "dup"),
                                      group("ordered", "dlopen")])]
        twice = [{"name": "nice", "decision": "ordered", "part": part} for part in (50, 51)]
        problems = inventory.contradictions(inventory.Decisions(topics, self.entries + twice))
        for problem in ("umask: decided 2 times", "sigaction: shared, but private code gets ours",
                        "nice: own, but for private code it is ordered",
                        "dup: own, but for private code it is the system's",
                        "nice: bound by 2 parts, of which only the first is called",
                        "dlopen: ordered, but for private code it is own"):
            self.assertIn(problem, problems)

    def test_state_that_the_manual_knows_of_is_told(self):
        decisions = inventory.Decisions([("", [group("stateless", "strtok", "umask", "qsort")])], [])
        self.assertEqual(inventory.doubtful(decisions, self.names, self.sections, self.values),
                         ["strtok: no state, but the manual says: MT-Unsafe race:strtok",
                          "umask: no state, but the manual says: a system call"])

    def test_page_follows_its_source(self):
        page = process.page(self.topics, self.entries)
        self.assertNotEqual(process.page(without(self.topics, "umask"), self.entries), page)
        entry = {"name": "first_name", "decision": "own", "reason": "its answer is its own", "part": 1, "title": "Some part"}
        like = {**entry, "name": "second_name", "reason": "as first_name"}
        with_part = process.page(self.topics, self.entries + [like, entry])
        self.assertIn("### Some part\n", with_part)
        self.assertIn("| own | Its answer is its own. | `second_name` `first_name` |", with_part)
        self.assertEqual(with_part.count("`first_name`"), 1)
        with self.assertRaisesRegex(process.Malformed, "second_name: its reason is that of first_name, which has none"):
            process.page(self.topics, self.entries + [like])

    def test_source_that_nobody_understands_is_refused(self):
        for text, message in (("shared: why\n\t: a\n", "nothing stands before the first title"),
                              ("== T\n\t: a\n", "an indented line belongs to no group"),
                              ("== T\nshared: why\n\t: a,b\n", "'a,b' is no name"),
                              ("== T\nshared: why\n", "T: a group without names")):
            path = os.path.join(BUILD, "malformed.txt")
            with open(path, "w") as file:
                file.write(text)
            with self.assertRaisesRegex(process.Malformed, message):
                process.read([path])


if __name__ == "__main__":
    unittest.main()
