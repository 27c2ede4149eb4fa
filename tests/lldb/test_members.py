# SPDX-License-Identifier: MIT
"""Where members of structures are, by DWARF: gorgon_lldb/members.py against the compiler."""

import os
import random
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(harness.ROOT, "lldb"))
import lldb_session as session  # noqa: E402
from gorgon_lldb.members import SECTIONS, Members  # noqa: E402

SOURCE = """
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
struct shelf;
typedef struct { const struct shelf *up; char letter; } label;
typedef const volatile label fixed_label;
typedef struct shelf { int number; fixed_label name; pthread_mutex_t mutex; union { long a; char b[24]; } either;
	struct { short low, high; } range[3][2]; unsigned kind : 3; unsigned place : 7; double weight; } shelf_type, *shelf_pointer;
struct my_shelf_type { char other; shelf_type mine; };
struct my_shelf_type all;
int main(void)
{
#define SHOW(TYPE, PATH) printf(#TYPE " " #PATH " %zu %zu\\n", offsetof(TYPE, PATH), sizeof(((TYPE *)0)->PATH))
	SHOW(shelf_type, number); SHOW(shelf_type, name); SHOW(shelf_type, name.up); SHOW(shelf_type, name.letter);
	SHOW(shelf_type, mutex); SHOW(shelf_type, either.b); SHOW(shelf_type, range); SHOW(shelf_type, weight);
	SHOW(struct my_shelf_type, mine.weight); SHOW(struct my_shelf_type, mine.name.letter);
	return 0;
}
"""


class Compiled(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, *options):
        """(Members, what the program says of itself)"""
        program = os.path.join(self.folder.name, "program")
        subprocess.run(["gcc", *options, "-x", "c", "-", "-o", program], input=SOURCE, text=True, check=True)
        return self.sections(program), subprocess.run([program], capture_output=True, text=True, check=True).stdout

    def sections(self, program):
        found = []
        for name in SECTIONS:
            copy = os.path.join(self.folder.name, "section")
            subprocess.run(["objcopy", "-O", "binary", f"--only-section={name}", f"--set-section-flags={name}=alloc", program, copy], check=True)
            with open(copy, "rb") as file:
                found.append(file.read())
        return found

    def check(self, *options):
        sections, text = self.build(*options)
        members, lines = Members(*sections), text.splitlines()
        self.assertEqual(len(lines), 10)
        for line in lines:
            name, path, offset, size = line.removeprefix("struct ").split()
            known, field = members.find(name, path)
            self.assertEqual((known, tuple(field)), (True, (int(offset), int(size), 0, 0)), line)
        base = members.find("shelf", "range")[1]
        kind, place = (members.find("shelf", name)[1] for name in ("kind", "place"))
        self.assertEqual([kind.bit_size, place.bit_size], [3, 7])
        self.assertEqual([(f.offset - base.offset - base.size) * 8 + f.bit_offset for f in (kind, place)], [0, 3])
        self.assertEqual(members.find("shelf", "nothing"), (True, None))
        self.assertEqual(members.find("no_such_structure", "x"), (False, None))

    def test_dwarf_5(self):
        self.check("-gdwarf-5", "-O0")

    def test_dwarf_4_of_an_optimised_program(self):
        self.check("-gdwarf-4", "-O2", "-flto")

    def test_names_that_it_does_not_understand(self):
        self.assertEqual(Members(b"", b"", b"").find("shelf", "number"), (False, None))
        (info, abbrev, _), _ = self.build("-gdwarf-5")
        self.assertEqual(Members(info, abbrev, b"\0other\0").find("shelf", "number"), (False, None))

    def test_garbage(self):
        sections, _ = self.build("-g")
        chance = random.Random(7)
        for _ in range(400):
            damaged = [bytearray(section) for section in sections]
            for _ in range(20):
                part = chance.choice(damaged[:2])
                part[chance.randrange(len(part))] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
            members = Members(*map(bytes, damaged))
            for name, path in (("shelf_type", "range"), ("shelf_type", "name.letter"), ("my_shelf_type", "mine.weight")):
                known, field = members.find(name, path)
                self.assertTrue(known or field is None)


@harness.needs_lldb
class List(session.Case):
    def test_lldb_has_nothing_to_complain_about(self):
        output = harness.lldb(["breakpoint set -n host_created", "run", "gorgon list", "script import time; time.sleep(0.5)"],
                              harness.HOST, "-n", "2", "pass", script=True)
        self.assertRegex(output, r"(?m)^1 .* live +(-|\d+ \(tid \d+\))$")
        self.assertNotRegex(output, session.QUIRK)


if __name__ == "__main__":
    unittest.main()
