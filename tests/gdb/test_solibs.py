# SPDX-License-Identifier: MIT
"""What gdb's Python functions and "info sharedlibrary" say of private objects."""

import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gdb_session as session  # noqa: E402
from terminal import Terminal  # noqa: E402

LINE = harness.source_line(session.WALK, "// where the walk stops")
WALK = os.path.join(harness.MODULES, "walk.so")
ASKED = {"solib": "python print(gdb.solib_name(gdb.selected_frame().pc()), gdb.solib_name(int(gdb.parse_and_eval('(long) &main'))))",
         "objfile": f"python print([int(gdb.lookup_objfile(name).lookup_static_symbol('walk_static').value()) "
                    f"for name in ('walk.so', {WALK!r})])",
         "system": "python print(gdb.lookup_objfile('libc.so.6').filename.rpartition('/')[2])",
         "none": "python\ntry: gdb.lookup_objfile('nosuch.so')\nexcept ValueError as error: print(error)\nend",
         "listed": "info sharedlibrary", "value": "print walk_static", "again": f"source {harness.GDB_SCRIPT}", "hook": "info sharedlibrary"}


@harness.needs_gdb
class Solibs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lines = [line for word, command in ASKED.items() for line in (f"echo \\n=== {word}\\n", command)]
        output = harness.gdb([f"break walk.cc:{LINE} if $gorgon_interp() == 1", "run", *lines], harness.HOST, "-n", 2, session.walk(),
                             script=True)
        parts = output.split("\n=== ")
        cls.answers = dict(part.split("\n", 1) for part in parts[1:])

    def test_a_private_objects_name(self):
        self.assertEqual(self.answers["solib"], f"{WALK} None\n")

    def test_its_object_file_is_that_of_the_frames_copy(self):
        value = session.value(self.answers["value"])
        self.assertEqual(self.answers["objfile"], f"[{value}, {value}]\n")

    def test_others_are_as_ever(self):
        self.assertEqual((self.answers["system"], self.answers["none"]), ("libc.so.6\n", "Objfile not found.\n"))

    def test_the_list_says_where_they_are(self):
        for word in ("listed", "hook"):
            self.assertRegex(self.answers[word], r'libc\.so\.6\n(?s:.*)\ngorgon: and \d+ private objects: "gorgon modules"\n')

    def test_what_is_typed_lists_them(self):
        row = r"0x\w{16}  0x\w{16}  Yes( \(\*\)|    )     "
        with Terminal(harness.HOST, "-n", 2, session.walk()) as gdb:
            gdb.ask(f"source {harness.GDB_SCRIPT}")
            before = gdb.ask("info sharedlibrary walk")
            for number in range(2):  # after a stop in each of them both have loaded it
                gdb.ask(f"tbreak walk.cc:{LINE} if $gorgon_interp() == {number}")
            for line in ("run", "continue"):
                gdb.ask(line)
            listed, everything = gdb.ask("info sharedlibrary /walk"), gdb.ask("i sha")
            loaded = gdb.ask("sharedlibrary /walk.so")
            none, wrong = gdb.ask("info sharedlibrary nosuch"), gdb.ask("info sharedlibrary [")
        self.assertEqual(before, "No shared libraries matched.\n")
        self.assertRegex(listed, rf"^From +To +Syms Read +Shared Object Library\n{row}{WALK} \[interp 0\]\n{row}{WALK} \[interp 1\]\n$")
        self.assertRegex(everything, rf"libc\.so\.6\n(?s:.*){WALK} \[interp 1\]\n")
        self.assertEqual(loaded, f"Symbols already loaded for {WALK}\n")
        self.assertEqual(none.strip(), "No shared libraries matched.")
        self.assertIn("Invalid regexp", wrong)


if __name__ == "__main__":
    unittest.main()
