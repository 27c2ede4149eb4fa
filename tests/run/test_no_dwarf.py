# SPDX-License-Identifier: MIT
"""make DWARF=no: a libjitreg without DWARF inside symfiles, built and installed without the loader."""

import os
import subprocess
import tempfile
import unittest

from harness import BUILD, GORGON, ROOT, SANITIZED, gdb, lldb, needs_gdb, needs_lldb, run

VARIANT = os.path.join(BUILD, "no-dwarf-jitreg")  # not the folder in which a user builds it with the loader

# Registers two copies of a library with debug information, and asks for the DWARF of one.
HOST = r"""
#include <jitreg.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct jitreg_entry *entries[2];
	struct jitreg_info info;

	for (int i = 0; i < 2 && argc > 1; i++) {
		uint64_t start = 0x100000000ull * (i + 1);
		struct jitreg_image image = {.size = sizeof(image), .path = argv[1], .fd = -1, .bias = start,
					     .start = start, .end = start + 0x10000000};

		if (jitreg_register(&image, &entries[i]))
			return 1;
	}
	for (int i = 0; i < 2; i++) {
		const char *reason = "none";
		int r = jitreg_entry_set_dwarf(entries[0], !i, &reason);

		printf("%d %s\n", r, reason);
	}
	jitreg_entry_get_info(entries[0], &info);
	printf("%d %d %zu\n", info.debug_kind, info.symfile != NULL, jitreg_count());
	jitreg_unregister(entries[0]);
	jitreg_unregister(entries[1]);
	printf("%zu\n", jitreg_count());
	return 0;
}
"""
REASON = "this libjitreg was built without DWARF in symfiles (DWARF=no)"


@unittest.skipIf(SANITIZED, "one build is enough")
class NoDwarf(unittest.TestCase):
    @classmethod
    def make(cls, *words):
        # This make must not get variables of the make that runs the tests.
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "BUILD", "SAN")}
        subprocess.run(["make", "-C", ROOT, "DWARF=no", "DEPS=no", f"BUILD={VARIANT}", *words], check=True, env=environment,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.make("install-jitreg", f"PREFIX={cls.folder}")

    def test_installs_without_the_loader(self):
        self.assertEqual(sorted(os.listdir(f"{self.folder}/include/gorgon")), ["jitreg.h"])
        self.assertEqual([name for name in os.listdir(f"{VARIANT}/obj") if name != "jitreg"], [])
        self.assertFalse(os.path.exists(f"{VARIANT}/obj/jitreg/dwarf"))

    def test_registers_and_refuses_dwarf_with_a_reason(self):
        library = f"{self.folder}/one.so"
        for name, text, options in (("one", "int one(void) { return 1; }", ["-g", "-shared", "-fPIC", "-o", library]),
                                    ("host", HOST, ["-I", f"{self.folder}/include/gorgon", "-o", f"{self.folder}/host"])):
            with open(f"{self.folder}/{name}.c", "w") as file:
                file.write(text)
            libraries = [f"{self.folder}/lib/libjitreg.a", "-lelf", "-lz", "-pthread"] if name == "host" else []
            subprocess.run(["cc", f"{self.folder}/{name}.c", *options, *libraries], check=True)
        result = run(f"{self.folder}/host", library)
        self.assertEqual((result.returncode, result.stdout), (0, f"-95 {REASON}\n0 none\n2 1 2\n0\n"))

    @needs_gdb
    def test_gdb_has_lines_as_ever(self):
        output = gdb(["break time_sleep", "run", "backtrace 1", "kill"], "env", f"LD_LIBRARY_PATH={VARIANT}",
                     GORGON, "run", "-n", "2", "-c", "import time; time.sleep(0.01)")
        self.assertRegex(output, r"#0  time_sleep \(self=.*, timeout_obj=.*\) at \S*timemodule\.c:\d+")

    @needs_lldb
    def test_lldb_has_names_and_is_told_why_no_more(self):
        output = lldb([f"settings set target.env-vars LD_LIBRARY_PATH={VARIANT}", "breakpoint set -n PyObject_Dir", "run", "bt 1",
                       "gorgon symbols --dwarf 0", "kill"], GORGON, "run", "-n", "2", "-c", "dir(1)", script=True)
        self.assertRegex(output, r"frame #0: 0x[0-9a-f]+ .+`PyObject_Dir\n")
        self.assertIn(REASON, output)


if __name__ == "__main__":
    unittest.main()
