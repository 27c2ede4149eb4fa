# SPDX-License-Identifier: MIT
"""tools/MESSAGES.md has every message of the sources, and no other."""

import re
import sys
import unittest

from harness import ROOT

sys.path.insert(0, f"{ROOT}/tools")
import messages  # noqa: E402


def explained():
    """[(message with <> for each value, line number)] of the page, and the lines that are not explained."""
    with open(f"{ROOT}/tools/MESSAGES.md") as file:
        lines = file.read().splitlines()
    found, unexplained = [], []
    for number, line in enumerate(lines):
        match = re.fullmatch(r"- `(.+)`", line)
        if not match:
            continue
        found.append((re.sub(r"<[^<>]*>", "<>", match[1]), number + 1))
        rest = [text for text in lines[number:] if text and not text.startswith("- `")]
        if not rest or rest[0].startswith("#"):
            unexplained.append(number + 1)
    return found, unexplained


class Errors(unittest.TestCase):
    def test_each_message_is_in_the_page_and_each_of_the_page_is_a_message(self):
        sources, page = messages.messages(), {message for message, _ in explained()[0]}
        self.assertGreater(len(sources), 400)
        self.assertEqual({message: files for message, files in sources.items() if message not in page}, {},
                         "not in tools/MESSAGES.md")
        self.assertEqual(page - sources.keys(), set(), "in tools/MESSAGES.md, but in no source")

    def test_each_message_is_explained_once(self):
        found, unexplained = explained()
        self.assertEqual(unexplained, [], "lines of tools/MESSAGES.md without a text below")
        names = [message for message, _ in found]
        self.assertEqual({name for name in names if names.count(name) > 1}, set())

    def test_the_list_has_messages_of_each_kind_of_source(self):
        found = messages.messages()
        for message in ("<>: not an ELF file (<> bytes)",                    # a macro
                        "<>: e_machine is <>, this process is <> (<>)",      # gorgon_error_create()
                        "interpreter <>: is being started",                  # a table
                        "--isolate <>: expected loader or copy",    # the command
                        "<>: its threads cannot be read: <>",                # gorgon-symdump
                        "writable: this <> is read-only",                    # the package
                        "no interpreter has been created in this process yet",
                        "missing packages:<>"):                              # the set-up
            self.assertIn(message, found)


if __name__ == "__main__":
    unittest.main()
