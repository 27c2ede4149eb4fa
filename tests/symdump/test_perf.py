# SPDX-License-Identifier: MIT
"""perf beside gorgon-symdump: private text has names from the mapped files, and code that no file has from
--perf-map."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

PERF = shutil.which("perf")

# Counts down in code that is nowhere but in memory.
GENERATED = """
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include "symfile.h"
struct entry { struct entry *next, *prev; const char *addr; uint64_t size; };
struct { uint32_t version, action; struct entry *relevant, *first; } __jit_debug_descriptor = {1};
static const unsigned char code[] = {0xb9, 0xff, 0xff, 0xff, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
int main(void)
{
	static struct symfile file;
	static struct entry entry = {.addr = (const char *)&file, .size = sizeof(file)};
	void *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(text, code, sizeof(code));
	mprotect(text, 4096, PROT_READ | PROT_EXEC);
	fill_symfile(&file, "countdown", (uintptr_t)text, sizeof(code));
	file.shdr[0] = (Elf64_Shdr){0};
	file.ehdr.e_shnum = 3;
	file.sym[1].st_shndx = 1;
	file.shdr[1].sh_flags = SHF_ALLOC;
	file.shdr[1].sh_addr = (uintptr_t)text;
	__jit_debug_descriptor.first = &entry;
	puts("ready");
	fflush(stdout);
	for (;;)
		((void (*)(void))text)();
}
"""

SQUARES = """
print("ready", flush=True)
while True:
    sum(n * n for n in range(1000))
"""


def report(pid, folder):
    """What perf says of half a second of a process: [(percent, thread, file, function)]"""
    data = os.path.join(folder, "perf.data")
    harness.run(PERF, "record", "-e", "cpu-clock", "-o", data, "-p", pid, "--", "sleep", "0.5").check_returncode()
    text = harness.run(PERF, "report", "-i", data, "--stdio", "--sort", "comm,dso,symbol").stdout
    return re.findall(r"^ +([\d.]+)%  (.+?) {2,}(\S.*?) +\[\.\] (.+?)(?: +-)* *$", text, re.M)


@unittest.skipUnless(PERF, "perf is not installed")
class Perf(unittest.TestCase):
    def test_private_functions_have_names_without_help(self):
        with tempfile.TemporaryDirectory() as folder, \
                harness.Background(harness.GORGON, "run", "-n", 2, "-c", SQUARES, until=r"(?s)(ready.*){2}") as process:
            rows = report(process.pid, folder)
        loops = {comm for _, comm, dso, name in rows
                 if dso == harness.SONAME and name == "_PyEval_EvalFrameDefault"}
        self.assertEqual(loops, {"interp 0", "interp 1"}, rows)

    def test_generated_code_has_names_from_the_map(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "generated")
            made = subprocess.run(["gcc", "-x", "c", "-", f"-I{harness.ROOT}/tests/symdump", "-o", program], input=GENERATED,
                                  text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                name = f"/tmp/perf-{process.pid}.map"
                self.assertNotIn("countdown", str(report(process.pid, folder)))
                text = session.output(process.pid, "--perf-map")
                self.assertRegex(text, r"^\w+ a countdown \[jit\]\n$")
                with open(name, "x") as file:
                    self.addCleanup(os.remove, name)
                    file.write(text)
                rows = report(process.pid, folder)
        self.assertGreater(sum(float(percent) for percent, _, _, symbol in rows if symbol == "countdown [jit]"), 50, rows)


def probes_work():
    """Whether this kernel has probes, and this user may set them."""
    return PERF and not os.geteuid() and any(os.path.exists(f"{folder}/uprobe_events") for folder in
                                             ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))


@unittest.skipUnless(probes_work(), "no probes of the kernel's here, or no perf")
class Probes(unittest.TestCase):
    def test_a_probe_in_a_file_is_in_each_copy(self):
        group = f"gorgon_test_{os.getpid()}"
        made = harness.run(PERF, "probe", "-q", "-x", harness.LIBPYTHON, "--add", f"{group}:list_reverse=PyList_Reverse")
        if made.returncode:
            self.skipTest(f"perf cannot set probes: {made.stderr.strip()}")
        self.addCleanup(harness.run, PERF, "probe", "-q", "-d", f"{group}:*")
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "perf.data")
            code = "import ctypes, gorgon; [ctypes.pythonapi.PyList_Reverse(ctypes.py_object([])) for _ in range(gorgon.interpreter + 2)]"
            harness.run(PERF, "record", "-q", "-e", f"{group}:list_reverse", "-o", data, "--", harness.GORGON, "run", "-n", "3", "-c",
                        code).check_returncode()
            calls = re.findall(r"^ *(interp \d)\s", harness.run(PERF, "script", "-i", data, "-F", "comm").stdout, re.M)
        self.assertEqual({name: calls.count(name) for name in sorted(set(calls))}, {"interp 0": 2, "interp 1": 3, "interp 2": 4})


if __name__ == "__main__":
    unittest.main()
