# SPDX-License-Identifier: MIT
"""Help, completion and the documents name every command of gdb's scripts."""

import os
import re
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402

WORDS = ["apply", "break", "bt", "list", "modules", "print", "symbols", "tbreak", "tls", "whose"]
# What can complete each of these in a process with two interpreters.
COMPLETED = {"gorgon modules ": ["0", "1"], "gorgon bt -i ": ["0", "1"], "gorgon apply ": ["0", "1", "all"],
             "gorgon symbols ": ["0", "1", "all", "off"], "gorgon symbols 0 libpy": [harness.SONAME],
             "gorgon break -i 1": ["1"], "gorgon whose PyList_Inser": ["PyList_Insert"],
             "gorgon print host_create": ["host_created"], "gorgon list ": []}


@harness.needs_gdb
class Help(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        asked = ["help gorgon", "gorgon", "complete gorgon ", *(f"help gorgon {word}" for word in WORDS),
                 *(f"complete {text}" for text in COMPLETED)]
        output = harness.gdb(["break host_created", "run", "gorgon break PyList_Append", *session.commands(asked), "kill"],
                             harness.HOST, "-n", 2, "pass", script=True)
        parts = re.split(r"^=== (.*)\n", output, flags=re.M)
        # The answer is not changed: completions end in a blank.
        cls.answers = dict(zip(parts[1::2], parts[2::2]))

    def test_the_list_of_commands(self):
        listed = re.findall(r"^gorgon (\w+) -- \S.*\.$", self.answers["help gorgon"], re.M)
        self.assertEqual(listed, WORDS)

    def test_without_a_command_it_is_shown(self):
        self.assertEqual(self.answers["gorgon"], self.answers["help gorgon"])

    def test_each_has_a_usage(self):
        for word in WORDS:
            with self.subTest(word):
                text = self.answers[f"help gorgon {word}"]
                self.assertRegex(text, rf"^[A-Z].*\.\n\n *Usage: gorgon {word}\b")

    def test_help_says_what_gdbs_own_commands_mean(self):
        self.assertIn('"print", "printf", "set variable", "watch"', self.answers["help gorgon"])

    def test_completion_of_words(self):
        self.assertEqual(self.answers["complete gorgon "].split("\n")[:len(WORDS)], [f"gorgon {word}" for word in WORDS])

    def test_completion_of_arguments(self):
        for text, expected in COMPLETED.items():
            with self.subTest(text):
                before = text.rpartition(" ")[0]
                self.assertEqual(self.answers[f"complete {text}"].split("\n\n")[0].strip("\n").split("\n"),
                                 [f"{before} {word}" for word in expected] or [""])

    def test_the_documents_have_each(self):
        for name in ("docs/debugging.md", "gdb/README.md"):
            with open(os.path.join(harness.ROOT, name)) as file:
                text = file.read()
            for word in WORDS:
                self.assertRegex(text, rf"`gorgon {word}\b", name)


if __name__ == "__main__":
    unittest.main()
