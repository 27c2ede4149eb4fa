# SPDX-License-Identifier: MIT
"""The command line of gorgon-symdump: outputs for other programs, mistakes, targets that have no
registry or never keep still."""

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

EVERY = list(range(session.COUNT))

# A program with a plain JIT list, which has what LLVM registers: a relocatable object with absolute section addresses
# and names relative to them. Its own code stands for generated code.
PLAIN_JIT = """
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
struct entry { struct entry *next, *prev; const char *addr; uint64_t size; };
struct { uint32_t version, action; struct entry *relevant, *first; } __jit_debug_descriptor = {1};
void __jit_debug_register_code(void) { }
static int generated(int x) { return x + 1; }
static struct {
	Elf64_Ehdr ehdr; Elf64_Shdr shdr[4]; Elf64_Sym sym[2]; char names[16];
} file;
static struct entry entry = {.addr = (const char *)&file, .size = sizeof(file)};
#define AT(member) ((uintptr_t)&file.member - (uintptr_t)&file)
int main(void)
{
	file.ehdr = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_REL,
		.e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_shoff = AT(shdr), .e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4};
	file.shdr[1] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC, .sh_addr = (uintptr_t)generated - 16,
		.sh_size = 32};
	file.shdr[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_offset = AT(sym), .sh_size = sizeof(file.sym), .sh_link = 3,
		.sh_entsize = sizeof(Elf64_Sym)};
	file.shdr[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = sizeof(file.names)};
	file.sym[1] = (Elf64_Sym){.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_value = 16,
		.st_size = 16};
	snprintf(file.names + 1, sizeof(file.names) - 1, "jitted\\033[1m");
	__jit_debug_descriptor.relevant = __jit_debug_descriptor.first = &entry;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
	printf("ready %p\\n", (void *)generated);
	fflush(stdout);
	pause();
	return 0;
}
"""

# Registers an object file with DWARF as LLVM does: in memory as the compiler made it, with addresses for the sections
# and nothing relocated.
JIT_WITH_LINES = """
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
struct entry { struct entry *next, *prev; const char *addr; uint64_t size; };
struct { uint32_t version, action; struct entry *relevant, *first; } __jit_debug_descriptor = {1};
int main(int argc, char **argv)
{
	struct stat st;
	int fd = open(argv[argc - 1], O_RDONLY);
	if (fd < 0 || fstat(fd, &st))
		return 1;
	char *file = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)file;
	Elf64_Shdr *shdr = (Elf64_Shdr *)(file + ehdr->e_shoff);
	static struct entry entry;
	for (int i = 0; i < ehdr->e_shnum; i++)
		if (shdr[i].sh_flags & SHF_ALLOC && shdr[i].sh_size)
			shdr[i].sh_addr = (uintptr_t)file + shdr[i].sh_offset;
	for (int i = 0; i < ehdr->e_shnum; i++)
		if (shdr[i].sh_flags & SHF_EXECINSTR && shdr[i].sh_size)
			printf("ready %p\\n", (void *)shdr[i].sh_addr);
	entry = (struct entry){.addr = file, .size = st.st_size};
	__jit_debug_descriptor.first = &entry;
	fflush(stdout);
	pause();
	return 0;
}
"""

GENERATED = """
int generated(int x)
{
	int y = x;
	while (y < 100)
		y *= y;
	return y;
}
"""

# A program that LLVM itself runs; pause() never returns.
LLVM = """
declare i32 @pause()
define i32 @generated(i32 %x) !dbg !4 {
  %y = add i32 %x, 1, !dbg !7
  %p = call i32 @pause(), !dbg !8
  %z = mul i32 %y, %p, !dbg !9
  ret i32 %z, !dbg !9
}
define i32 @main() {
  %r = call i32 @generated(i32 5)
  ret i32 %r
}
!llvm.module.flags = !{!0, !1}
!llvm.dbg.cu = !{!2}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 2, !"Dwarf Version", i32 4}
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, emissionKind: FullDebug)
!3 = !DIFile(filename: "generated.x", directory: "/")
!4 = distinct !DISubprogram(name: "generated", file: !3, line: 10, scopeLine: 10, type: !5, unit: !2, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 11, scope: !4)
!8 = !DILocation(line: 12, scope: !4)
!9 = !DILocation(line: 14, scope: !4)
"""

# A registry that stays in the middle of a change.
STUCK = """
#include <debug_root.h>
#include <stdio.h>
#include <unistd.h>
static struct gorgon_debug_ns ns = {.id = 1, .interp = 7};
struct gorgon_debug_root gorgon_debug_root = {GORGON_DEBUG_MAGIC, GORGON_DEBUG_VERSION, sizeof(gorgon_debug_root), 3, 0,
	sizeof(ns), sizeof(struct gorgon_debug_object), .ns_count = 1, .thread_size = sizeof(struct gorgon_debug_thread)};
int main(void)
{
	gorgon_debug_root.ns_head = gorgon_debug_root.ns_tail = (uintptr_t)&ns;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""

# Runs a command that may not call process_vm_readv().
FORBID = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 99;
	execv(argv[1], argv + 1);
	return 99;
}
"""

# In a mount namespace of its own: a file system with a copy of a folder becomes the root, and nothing else is left.
CONTAINER = """
import ctypes, os, shutil, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args):
        raise OSError(ctypes.get_errno(), name)
folder, mount = sys.argv[1:]
call("mount", b"none", mount.encode(), b"tmpfs", 0, None)
shutil.copytree(folder, mount, dirs_exist_ok=True)
os.chdir(mount)
os.mkdir("old")
call("pivot_root", b".", b"old")
call("umount2", b"/old", 2)
os.chdir("/")
os.execv("/inside", ["/inside"])
"""

# Two objects whose files are gone, and one symfile with the names of both.
PACKED = """
#include <debug_root.h>
#include "symfile.h"
#include <unistd.h>
static struct { Elf64_Ehdr ehdr; Elf64_Shdr shdr[3]; Elf64_Sym sym[3]; char names[16]; } file;
static const char *const paths[] = {"/gone/liba.so", "/gone/libb.so"};
static struct gorgon_debug_ns ns = {.id = 1, .interp = 0, .object_count = 2};
static struct gorgon_debug_object objects[2];
struct gorgon_debug_root gorgon_debug_root = {GORGON_DEBUG_MAGIC, GORGON_DEBUG_VERSION, sizeof(gorgon_debug_root), 2, 0,
	sizeof(ns), sizeof(struct gorgon_debug_object), .ns_count = 1, .object_count = 2,
	.thread_size = sizeof(struct gorgon_debug_thread)};
#define AT(member) ((uintptr_t)&file.member - (uintptr_t)&file)
int main(void)
{
	struct symfile one;
	fill_symfile(&one, "fa", 0x10010, 8);
	file.ehdr = one.ehdr;
	file.ehdr.e_shoff = AT(shdr);
	file.shdr[1] = one.shdr[1];
	file.shdr[2] = one.shdr[2];
	file.shdr[1].sh_offset = AT(sym);
	file.shdr[1].sh_size = sizeof(file.sym);
	file.shdr[2].sh_offset = AT(names);
	file.sym[1] = file.sym[2] = one.sym[1];
	file.sym[2].st_name = 4;
	file.sym[2].st_value = 0x20010;
	snprintf(file.names + 1, 15, "fa%cfb", 0);
	for (int i = 0; i < 2; i++)
		objects[i] = (struct gorgon_debug_object){.next = i ? 0 : (uintptr_t)&objects[1],
			.prev = i ? (uintptr_t)&objects[0] : 0, .ns = (uintptr_t)&ns, .path = (uintptr_t)paths[i], .path_size = 13,
			.bias = 0x10000 * (i + 1), .start = 0x10000 * (i + 1), .end = 0x10000 * (i + 1) + 0x1000,
			.symfile = (uintptr_t)&file, .symfile_size = sizeof(file)};
	ns.object_head = (uintptr_t)&objects[0];
	ns.object_tail = (uintptr_t)&objects[1];
	gorgon_debug_root.ns_head = gorgon_debug_root.ns_tail = (uintptr_t)&ns;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""

# A registry that takes its time to be read.
LARGE = """
#include <debug_root.h>
#include <stdio.h>
#include <unistd.h>
#define COUNT 400000
static struct gorgon_debug_ns ns = {.id = 1, .interp = 0, .object_count = COUNT};
static struct gorgon_debug_object objects[COUNT];
static char path[300] = "/no/such/file";
struct gorgon_debug_root gorgon_debug_root = {GORGON_DEBUG_MAGIC, GORGON_DEBUG_VERSION, sizeof(gorgon_debug_root), 2, 0,
	sizeof(ns), sizeof(struct gorgon_debug_object), .ns_count = 1, .object_count = COUNT,
	.thread_size = sizeof(struct gorgon_debug_thread)};
int main(void)
{
	for (int i = 0; i < COUNT; i++)
		objects[i] = (struct gorgon_debug_object){.next = i + 1 < COUNT ? (uintptr_t)&objects[i + 1] : 0,
			.prev = i ? (uintptr_t)&objects[i - 1] : 0, .ns = (uintptr_t)&ns, .path = (uintptr_t)path,
			.path_size = sizeof(path) - 1, .start = (i + 1) * 4096ul, .end = (i + 2) * 4096ul};
	for (int i = 13; i < (int)sizeof(path) - 1; i++)
		path[i] = 'e';
	ns.object_head = (uintptr_t)&objects[0];
	ns.object_tail = (uintptr_t)&objects[COUNT - 1];
	gorgon_debug_root.ns_head = gorgon_debug_root.ns_tail = (uintptr_t)&ns;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""

# Registers what the system has loaded, as another loader would with libjitreg alone.
JITREG = """
#define _GNU_SOURCE
#include <jitreg.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int add(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct jitreg_image image = {.size = sizeof(image), .path = info->dlpi_name, .fd = -1, .bias = info->dlpi_addr,
		.start = info->dlpi_addr};
	struct jitreg_entry *entry;
	if (!strstr(info->dlpi_name, "libm.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			image.end = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz + 4095) & -4096ul;
	return jitreg_register(&image, &entry) ?: 1;
}
int main(void)
{
	double (*volatile function)(double) = cbrt;
	if (dl_iterate_phdr(add, NULL) != 1)
		return 1;
	printf("ready %p\\n", (void *)function);
	fflush(stdout);
	pause();
	return 0;
}
"""

# Loads and unloads a private object all the time.
RESTLESS = f"""
import _ctypes, os
print("ready", flush=True)
name = "{harness.DYNLOAD}/_decimal{harness.EXT_SUFFIX}"
while True:
    _ctypes.dlclose(_ctypes.dlopen(name))
"""


def at_a_terminal(*words, **env):
    """(exit status, what a terminal shows that has both outputs)"""
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    leader, terminal = pty.openpty()
    process = subprocess.Popen([harness.SYMDUMP, *map(str, words)], stdin=subprocess.DEVNULL, stdout=terminal,
                               stderr=terminal, env={**environment, "TERM": "xterm", **env})
    os.close(terminal)
    output = b""
    with contextlib.suppress(OSError):  # so ends a terminal that nobody has open any more
        while part := os.read(leader, 65536):
            output += part
    os.close(leader)
    return process.wait(), output.decode().replace("\r\n", "\n")


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = session.Scene()
        cls.addClassCleanup(cls.scene.close)
        cls.pid = cls.scene.host.pid

    def test_table_lists_interpreters_and_objects(self):
        text = session.output(self.pid)
        count = len(session.objects(self.scene.live))
        self.assertTrue(text.startswith(f"{self.pid}: interpreters: 3, private objects: {count}\n"))
        rows = re.findall(rf"^(\d)          {harness.VERSION}    (\d+) +(\d+) +live$", text, re.M)
        self.assertEqual([(int(n), int(objects), int(thread)) for n, objects, thread in rows],
                         [(ns["interpreter"], len(ns["objects"]), ns["thread"])
                          for ns in self.scene.live["namespaces"]])
        for ns in self.scene.live["namespaces"]:
            o = ns["objects"][0]
            self.assertIn(f"\ninterp {ns['interpreter']}   {o['path']}\n           {o['start']}-{o['end']}  "
                          f"bias {o['bias']}  symfile {o['symfile']['address']}+{o['symfile']['size']:#x}\n"
                          f"           build-id {o['build_id']}  debug info: {o['debug']['path']}\n", text)

    def test_addresses_elsewhere(self):
        system = next(m for m in self.scene.mappings if m.executable and m.path.endswith("/libc.so.6"))
        result = session.symdump(self.pid, "--addr", hex(system.start), "1")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, rf"^{system.start:#x}  system  libc\.so\.6\S*( .*)?\n0x1  in no loaded file\n$")

    def test_extract_writes_symfiles_that_are_in_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "symfiles")
            names = session.output(self.pid, "--extract", target).splitlines()
            found = session.objects(self.scene.live)
            # Objects of one interpreter may have a symfile together: it has the name of the first.
            found = list({o["symfile"]["address"]: (interp, o) for interp, o in reversed(found)}.values())[::-1]
            self.assertEqual(len(names), len(found))
            self.assertEqual(sorted(names), sorted(os.path.join(target, name) for name in os.listdir(target)))
            with open(f"/proc/{self.pid}/mem", "rb", 0) as memory:
                for name, (interp, o) in zip(names, found):
                    self.assertRegex(os.path.basename(name), rf"^interp-{interp}\.\d+\.[\w.+-]+\.symfile$")
                    memory.seek(int(o["symfile"]["address"], 16))
                    with open(name, "rb") as file:
                        self.assertEqual(file.read(), memory.read(o["symfile"]["size"]), name)
            again = session.symdump(self.pid, "--extract", target)
            self.assertEqual((again.returncode, again.stderr), (3, f"gorgon-symdump: {names[0]}: File exists\n"))

    def test_extract_follows_no_link(self):
        with tempfile.TemporaryDirectory() as folder:
            outside = os.path.join(folder, "outside")
            inside = os.path.join(folder, "inside")
            os.mkdir(inside)
            os.symlink(outside, os.path.join(inside, f"interp-0.0.{harness.SONAME}.symfile"))
            self.assertEqual(session.symdump(self.pid, "--extract", inside).returncode, 3)
            self.assertFalse(os.path.exists(outside))

    def test_perf_map_has_every_copy_of_a_function(self):
        rows = re.findall(rf"^(\w+) (\w+) PyList_Append \[{harness.SONAME_RE} interp (\d)\]$",
                          session.output(self.pid, "--perf-map"), re.M)
        self.assertEqual({int(interp): int(address, 16) for address, _, interp in rows}, self.scene.addresses)
        self.assertTrue(all(int(size, 16) for _, size, _ in rows))

    def test_json_of_names_with_quotes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'a "b" \\c\\ \u00e4.so')
            shutil.copy(f"{harness.DYNLOAD}/_queue{harness.EXT_SUFFIX}", path)
            code = f"import _ctypes, time; _ctypes.dlopen({path!r}); print('ready', flush=True); time.sleep(600)"
            with harness.Background(harness.HOST, "-n", 1, code, until="ready") as host:
                self.assertEqual(session.dump(host.pid)["namespaces"][0]["objects"][-1]["path"], path)

    def test_a_symbol_that_nobody_has(self):
        for words in (["--find", "no_such_name"], ["--symbols", "no_such_*"]):
            result = session.symdump(self.pid, *words)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (1, "", ""))

    def test_mistakes_get_one_clear_line(self):
        with tempfile.NamedTemporaryFile("w") as text:
            text.write("no core")
            text.flush()
            for words, status, message in (
                    ([], 2, "PID or CORE expected (gorgon-symdump --help)"),
                    ([self.pid, "--what"], 2, "--what: no such option, or its value is missing (gorgon-symdump --help)"),
                    (["-xh", self.pid], 2, "-x: no such option, or its value is missing (gorgon-symdump --help)"),
                    (["-x", self.pid], 2, "-x: no such option, or its value is missing (gorgon-symdump --help)"),
                    ([self.pid, "--find"], 2, "--find: no such option, or its value is missing (gorgon-symdump --help)"),
                    ([self.pid, "--stacks", "--gdb"], 2, "--gdb: one of these at a time (gorgon-symdump --help)"),
                    ([self.pid, "--gdb", "--json"], 2, "--json: only alone or with --stacks or --top (gorgon-symdump --help)"),
                    ([self.pid, "--addr"], 2, "--addr: an address expected (gorgon-symdump --help)"),
                    ([self.pid, "--addr", "PyList"], 2, "--addr PyList: expected a number, as 0x7f0012345678"),
                    ([self.pid, "12"], 2, "12: one PID or CORE expected (gorgon-symdump --help)"),
                    (["0"], 3, "0: no process can have this number"),
                    (["4194999"], 3, "process 4194999: there is none with this number"),
                    (["/no/core"], 3, "/no/core: No such file or directory"),
                    (["/dev/null"], 3, "/dev/null: neither a process id nor a core file (ELF64, little-endian)"),
                    ([text.name], 3, f"{text.name}: neither a process id nor a core file (ELF64, little-endian)"),
                    ([harness.HOST], 3, f"{harness.HOST}: neither a process id nor a core file (ELF64, little-endian)"),
                    ([self.pid, "--sysroot", "/no/folder"], 3, "--sysroot /no/folder: No such file or directory")):
                with self.subTest(words):
                    result = session.symdump(*words)
                    self.assertEqual((result.returncode, result.stdout, result.stderr),
                                     (status, "", f"gorgon-symdump: {message}\n"))

    def test_help_names_every_option(self):
        text = session.output("--help")
        for option in ("addr", "find", "symbols", "stacks", "check", "extract", "gdb", "lldb", "perf-map", "json",
                       "sysroot", "version"):
            self.assertIn(f"--{option}", text)
        self.assertRegex(session.output("--version"), r"^gorgon-symdump \d+\.\d+\.\d+(-\w+)?\n$")

    def test_colours_are_for_a_terminal(self):
        plain = session.output(self.pid)
        self.assertNotIn("\033", plain)
        status, coloured = at_a_terminal(self.pid)
        self.assertEqual(status, 0)
        self.assertIn(f"\033[1mNum        Python  Objects  Thread   State\033[0m\n\033[36m0        \033[0m  {harness.VERSION}", coloured)
        self.assertEqual(coloured.count("\033[36minterp 2 "), len(self.scene.live["namespaces"][2]["objects"]))
        self.assertEqual(re.sub(r"\033\[\d*m", "", coloured), plain)
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertEqual(at_a_terminal(self.pid, **env), (0, plain))
        self.assertIn("\033[36m", at_a_terminal(self.pid, NO_COLOR="")[1])
        address = hex(self.scene.addresses[1])
        self.assertIn("  \033[36minterp 1\033[0m  libpython", at_a_terminal(self.pid, "--addr", address)[1])
        self.assertEqual(json.loads(at_a_terminal(self.pid, "--json")[1])["namespaces"], self.scene.live["namespaces"])

    def test_memory_is_read_another_way_when_a_call_is_forbidden(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "forbid")
            made = subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=FORBID, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            traced = harness.run(program, shutil.which("true"))
            self.assertEqual(traced.returncode, 0, traced)
            for words in (["--json"], ["--check"], ["--find", "PyList_Append"], ["--stacks"]):
                result = harness.run(program, harness.SYMDUMP, self.pid, *words)
                self.assertEqual((result.returncode, result.stderr, result.stdout),
                                 (0, "", session.output(self.pid, *words)))

    def test_a_first_mapping_that_cannot_be_read_hides_nothing(self):
        """As a library's that was unloaded in the meantime. Here the file has no page at the mapping's place."""
        code = ("import ctypes, tempfile, time; file = tempfile.TemporaryFile(); mmap = ctypes.CDLL(None).mmap; "
                "mmap.restype, mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]; "
                "assert mmap(0x100000, 4096, 1, 0x12, file.fileno(), 0) == 0x100000; print('ready', flush=True); time.sleep(600)")
        with harness.Background(harness.HOST, "-n", 1, code, until="ready") as host:
            result = session.symdump(host.pid)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^interp 0 .*/libpython3")

    def test_somebody_elses_process_is_refused_in_one_line(self):
        pid, options = (self.pid, {"user": 65534}) if os.geteuid() == 0 else (1, {})
        with tempfile.TemporaryDirectory() as folder:  # the build may lie where another user may not look
            os.chmod(folder, 0o755)
            result = harness.run(shutil.copy(harness.SYMDUMP, folder), pid, **options)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertRegex(result.stderr, rf"^gorgon-symdump: process {pid}: [^\n]*(Permission denied|somebody else)[^\n]*\n$")

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([harness.SYMDUMP, str(self.pid)], stdout=full, stderr=subprocess.PIPE, text=True,
                                    check=False)
        self.assertEqual((result.returncode, result.stderr), (3, "gorgon-symdump: output: No space left on device\n"))


class OtherTargets(unittest.TestCase):
    @harness.needs_templates
    def test_copies_of_a_template(self):
        with harness.Background(harness.HOST, "-n", "2", "-t", "import json", "import time; print('ready', flush=True); time.sleep(600)",
                                until="(?s)(ready.*){2}") as host:
            text, found = session.output(host.pid), session.dump(host.pid)
        self.assertEqual(re.findall(r"^(\d) +3\.\d+ +\d+ +\d+ +(live.*)$", text, re.M),
                         [("4", "live"), ("5", "live, copy of template: import json")])
        self.assertEqual([ns["copy_of"] for ns in found["namespaces"]], [None, "template: import json"])

    def test_plain_jit_list(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "jit")
            made = subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=PLAIN_JIT, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                snapshot = session.dump(process.pid)
                self.assertEqual((snapshot["source"], snapshot["namespaces"], len(snapshot["objects"])), ("jit", [], 1))
                address = int(process.output.split()[1], 16)
                o = snapshot["objects"][0]
                self.assertEqual((o["path"], int(o["start"], 16), int(o["end"], 16)), (None, address - 16, address + 16))
                # Control characters of a name do not reach the terminal.
                self.assertEqual(session.output(process.pid, "--addr", hex(address + 4)),
                                 f"{address + 4:#x}  jit  jit@{o['symfile']['address']}!jitted?[1m+0x4\n")
                self.assertIn("consistent: 0 namespaces, 1 objects", session.output(process.pid, "--check"))

    def test_lines_of_plain_jit_list(self):
        with tempfile.TemporaryDirectory() as folder:
            program, file = os.path.join(folder, "jit"), os.path.join(folder, "generated.o")
            made = subprocess.run(["gcc", "-x", "c", "-", "-o", program], input=JIT_WITH_LINES, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            # LLVM writes no .debug_aranges, so gorgon-symdump has to search for the unit that has an address.
            for options, removed in ((["-gdwarf-4"], []), (["-gdwarf-5"], []),
                                     (["-gdwarf-5"], [".debug_aranges", ".rela.debug_aranges"])):
                with self.subTest(options=options, removed=removed):
                    source = os.path.join(folder, "generated.c")
                    with open(source, "w") as text:
                        text.write(GENERATED)
                    harness.run("gcc", "-O1", *options, "-c", source, "-o", file).check_returncode()
                    harness.run("objcopy", *(f"--remove-section={name}" for name in removed), file).check_returncode()
                    decoded = re.findall(r"^generated\.c +(\d+) +(0x\w+|0) ",
                                         harness.run("objdump", "--dwarf=decodedline", file).stdout, re.M)
                    rows = {int(offset, 16): int(line) for line, offset in decoded}
                    self.assertGreater(len(set(rows.values())), 3)
                    with harness.Background(program, file, until="ready") as process:
                        start = int(process.output.split()[1], 16)
                        found = session.output(process.pid, "--find", "generated")
                        self.assertRegex(found, rf"^{start:#x} .*!generated\+0x0  generated\.c:{rows[0]}\n$")
                        end = max(rows)
                        lines = session.output(process.pid, "--addr", *(hex(start + offset) for offset in rows if offset < end))
                    self.assertEqual([int(n) for n in re.findall(r"  generated\.c:(\d+)$", lines, re.M)],
                                     [line for offset, line in rows.items() if offset < end], lines)

    def test_generated_code_of_private_compilers(self):
        """Beside the registry there is what compilers in two interpreters have registered and not taken back."""
        code = harness.compiled_code("libjit_direct.so", wait=600)
        with harness.Background(harness.HOST, "-n", 2, code, until=r"(?s)(ready.*){2}", asleep=2) as process:
            addresses = {f"{name}_{i}": address for name in ("again", "compiled")
                         for i, address in harness.compiled_addresses(process.output, name).items()}
            self.assertEqual(len(addresses), 4)
            snapshot = session.dump(process.pid)
            self.assertEqual((snapshot["source"], [o["path"] for o in snapshot["objects"]]), ("gorgon", [None] * 4))
            for name, address in addresses.items():
                self.assertRegex(session.output(process.pid, "--addr", hex(address)),
                                 rf"^{address:#x}  jit  jit@0x\w+!{name}\+0x0\n$")
            named = re.findall(r" (\w+) \[jit\]$", session.output(process.pid, "--perf-map"), re.M)
            self.assertEqual(sorted(named), sorted(addresses))
            count = len(session.objects(snapshot))
            self.assertTrue(session.output(process.pid).startswith(
                f"{process.pid}: interpreters: 2, private objects: {count}\n"))
            self.assertIn(f"consistent: 2 namespaces, {count + 4} objects", session.output(process.pid, "--check"))

    @harness.needs_python_lines
    def test_python_lines(self):
        """Modules that debuggers are told of together have others between them."""
        code = "import numpy.linalg, shop, time\nprint('ready', flush=True)\ntime.sleep(600)\n"
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "shop.py"), "w") as file:
                file.write("def price(n):\n    return n\n")
            with harness.Background(harness.GORGON, "run", "-n", 2, "--python-lines=on", "-c", f"import sys\nsys.path.insert(0, {folder!r})\n{code}",
                                    until=r"(?s)(ready.*){2}", asleep=2) as process:
                self.assertIn("consistent: 2 namespaces", session.output(process.pid, "--check"))

    def test_llvm(self):
        """Generated code has names and lines, and stacks go through it: by its unwind data, or without it as far as
        possible."""
        lli = next((path for path in map(shutil.which, ("lli-19", "lli-16", "lli-14", "lli")) if path), None)
        if not lli:
            self.skipTest("lli is not installed")
        generated = r"!\w*pause.*\n#1 +\w+  jit  jit@0x\w+!generated\+0x\w+  generated\.x:12\n"
        for program, behind in ((LLVM, r"#2 +\w+  jit  jit@0x\w+!main\+0x\w+\n(#\d+ .*\n)*#\d+ +\w+  system  lli\S*!main\+0x"),
                                (LLVM.replace(") !dbg !4", ") nounwind !dbg !4").replace("@main() {", "@main() nounwind {"),
                                 r"\(cut off: this generated code has no unwind data\)\n")):
            with self.subTest(behind), tempfile.TemporaryDirectory() as folder:
                source = os.path.join(folder, "generated.ll")
                with open(source, "w") as file:
                    file.write(program)
                with harness.Background(lli, source, until="") as process:
                    session.wait_until(lambda: "!generated" in session.symdump(process.pid, "--stacks").stdout)
                    self.assertRegex(session.output(process.pid, "--find", "generated"),
                                     r"  jit  jit@0x\w+!generated\+0x0  generated\.x:10\n$")
                    stack = session.output(process.pid, "--stacks")
                    self.assertRegex(stack, generated + behind)
                    self.assertRegex(session.output(process.pid, "--gdb"), r"\n# left out: generated code at 0x\w+\n$")
                    harness.run("gcore", "-o", os.path.join(folder, "core"), process.pid).check_returncode()
                    self.assertEqual(session.output(os.path.join(folder, f"core.{process.pid}"), "--stacks"), stack)

    def test_libjitreg_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "jitreg")
            made = subprocess.run(["gcc", "-x", "c", "-", f"-I{harness.ROOT}/jitreg", f"-L{harness.BUILD}", "-ljitreg",
                                   "-lm", f"-Wl,-rpath,{harness.BUILD}", "-Wl,--no-as-needed", "-o", program],
                                  input=JITREG, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                snapshot = session.dump(process.pid)
                self.assertEqual((snapshot["source"], snapshot["namespaces"], len(snapshot["objects"])),
                                 ("jitreg", [], 1))
                libm = [m for m in session.mappings(process.pid) if m.path.endswith("/libm.so.6")]
                o = snapshot["objects"][0]
                self.assertEqual((o["path"], int(o["start"], 16), int(o["bias"], 16)),
                                 (libm[0].path, libm[0].start, libm[0].start))
                self.assertGreaterEqual(int(o["end"], 16), libm[-1].end)
                address = process.output.split()[1]
                self.assertRegex(session.output(process.pid, "--addr", address),
                                 rf"^{address}  jit  libm\.so\.6!cbrt\w*\+0x0")
                self.assertIn("consistent: 0 namespaces, 1 objects", session.output(process.pid, "--check"))

    @unittest.skipIf(harness.run("unshare", "--map-root-user", "--mount", "true").returncode, "unshare is not installed, or not allowed")
    def test_container(self):
        """A process with a file system of its own: its library is nowhere outside, nor is the debug file."""
        with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as mount:
            program = os.path.join(root, "inside")
            library = os.path.join(root, "only", "libonly.so")
            os.mkdir(os.path.dirname(library))
            made = subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-Wl,-soname,libonly.so", "-x", "c", "-", "-o", library],
                                  input="int only(int x)\n{\n\treturn x + 1;\n}\n", text=True, check=False)
            self.assertEqual(made.returncode, 0)
            text = JITREG.replace("#include <math.h>", "int only(int);").replace("libm.so", "libonly.so").replace(
                "double (*volatile function)(double) = cbrt;", "int (*volatile function)(int) = only;")
            made = subprocess.run(["gcc", "-x", "c", "-", f"-I{harness.ROOT}/jitreg", f"-L{harness.BUILD}", "-ljitreg",
                                   "-x", "none", library, "-Wl,-rpath,/only:/libs", "-o", program], input=text, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            # The debug file is found by build-id, in the container.
            build_id = re.search(r"Build ID: (\w+)", harness.run("readelf", "-n", library).stdout)[1]
            debug = os.path.join(root, "usr/lib/debug/.build-id", build_id[:2], f"{build_id[2:]}.debug")
            os.makedirs(os.path.dirname(debug))
            harness.run("objcopy", "--only-keep-debug", library, debug).check_returncode()
            harness.run("strip", library).check_returncode()
            listed = harness.run("ldd", program, env={"LD_LIBRARY_PATH": f"{harness.BUILD}:{os.path.dirname(library)}"}).stdout
            for path in re.findall(r"(/\S+) \(0x", listed):
                inside = root + (f"/libs/{os.path.basename(path)}" if path.startswith(harness.BUILD) else path)
                if "libonly" not in path:
                    os.makedirs(os.path.dirname(inside), exist_ok=True)
                    shutil.copy(path, inside)
            with harness.Background("unshare", "--map-root-user", "--mount", harness.PYTHON3, "-c", CONTAINER, root, mount,
                                    until="ready") as process:
                shutil.rmtree(os.path.dirname(library))
                address = process.output.split()[1]
                self.assertEqual([o["path"] for o in session.dump(process.pid)["objects"]], ["/only/libonly.so"])
                self.assertEqual(session.output(process.pid, "--addr", address),
                                 f"{address}  jit  libonly.so!only+0x0  <stdin>:2\n")
                self.assertIn("consistent: 0 namespaces, 1 objects", session.output(process.pid, "--check"))

    def test_statically_linked_and_stripped_host(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "host")
            made = harness.run("gcc", f"-I{harness.ROOT}/loader", f"{harness.ROOT}/tests/hosts/host.c",
                               f"{harness.BUILD}/libgorgon.a", f"{harness.BUILD}/libjitreg.a", "-s", "-rdynamic", "-lelf", "-lz",
                               "-lgcc_s", "-ldl", "-pthread", "-o", program)
            self.assertEqual(made.returncode, 0, made.stderr)
            code = "import time; print('ready', flush=True); time.sleep(600)"
            with harness.Background(program, "-n", "2", code, until=r"(?s)(ready.*){2}", asleep=2) as process:
                addresses = harness.host_addresses(process.output)
                found = re.findall(r"^(0x\w+) .*  interp (\d)  ",
                                   session.output(process.pid, "--find", "PyList_Append"), re.M)
                self.assertEqual({int(interp): int(address, 16) for address, interp in found}, addresses)

    def test_lists_that_never_settle_are_shown_and_said_to_be_inconsistent(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "stuck")
            made = subprocess.run(["gcc", "-x", "c", "-", f"-I{harness.ROOT}/loader/ns", "-o", program], input=STUCK,
                                  text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                result = session.symdump(process.pid, "--json")
                self.assertEqual((result.returncode, result.stderr),
                                 (0, f"gorgon-symdump: {process.pid}: not consistent: its lists changed while they were "
                                  "read\n"))
                snapshot = json.loads(result.stdout)
                self.assertEqual((snapshot["consistent"], [ns["interpreter"] for ns in snapshot["namespaces"]]),
                                 (False, [7]))
                result = session.symdump(process.pid, "--check")
                self.assertEqual((result.returncode, result.stdout),
                                 (1, f"the lists changed while they were read\n{process.pid}: problems: 1\n"))

    def test_objects_that_have_a_symfile_together(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "packed")
            made = subprocess.run(["gcc", "-x", "c", "-", f"-I{harness.ROOT}/loader/ns", f"-I{harness.ROOT}/tests/symdump", "-o",
                                   program], input=PACKED, text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                gone = "".join(f"gorgon-symdump: /gone/lib{x}.so: no such file\n" for x in "ab")
                for words, text in (
                        (["--symbols"], "0x10010      8  interp 0  liba.so!fa+0x0\n0x20010      8  interp 0  libb.so!fb+0x0\n"),
                        (["--find", "fb"], "0x20010      8  interp 0  libb.so!fb+0x0\n"),
                        (["--perf-map"], "10010 8 fa [liba.so interp 0]\n20010 8 fb [libb.so interp 0]\n"),
                        (["--addr", "0x10011", "0x20012", "0x20030"],
                         "0x10011  interp 0  liba.so!fa+0x1\n0x20012  interp 0  libb.so!fb+0x2\n0x20030  interp 0  libb.so+0x20030\n")):
                    result = session.symdump(process.pid, *words)
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (0, text, gone), words)
                target = os.path.join(folder, "symfiles")
                self.assertEqual(session.output(process.pid, "--extract", target),
                                 f"{target}/interp-0.0.liba.so.symfile\n")

    def test_progress_of_what_takes_long_is_for_a_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "large")
            made = subprocess.run(["gcc", "-O1", "-x", "c", "-", f"-I{harness.ROOT}/loader/ns", "-o", program], input=LARGE,
                                  text=True, check=False)
            self.assertEqual(made.returncode, 0)
            with harness.Background(program, until="ready") as process:
                status, output = at_a_terminal(process.pid, "--addr", "1")
                done = [int(n) for n in re.findall(r"\r\033\[Kgorgon-symdump: objects: (\d+) of 400000", output)]
                self.assertTrue(done)
                self.assertEqual(done, sorted(set(done)))
                # The line of progress is removed before the answer.
                self.assertTrue(output.endswith("\r\033[K0x1  in no loaded file\n"), output[-200:])
                result = session.symdump(process.pid, "--addr", "1")
                self.assertEqual((status, result.returncode, result.stdout, result.stderr),
                                 (1, 1, "0x1  in no loaded file\n", ""))

    def test_no_descriptors_is_no_answer(self):
        """When a file cannot be opened, the output says that something is missing."""
        with tempfile.TemporaryDirectory() as folder, session.start_host(folder) as host:
            for count in range(5, 13):
                limits = f"ulimit -n {count}; exec"
                result = harness.run("sh", "-c", f'{limits} "$0" "$@"', harness.SYMDUMP, host.pid, "--stacks")
                self.assertEqual(result.returncode, 3, (count, result))
                self.assertRegex(result.stderr, "(?m): Too many open files$", count)
            result = session.symdump(host.pid, "--stacks")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            # The usual limit of descriptors, which a shell sets, is raised.
            result = harness.run("sh", "-c", 'ulimit -S -n 8; exec "$0" "$@"', harness.SYMDUMP, host.pid, "--stacks")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_program_without_any_list(self):
        with harness.Background("sh", "-c", "echo ready; sleep 600; true", until="ready") as process:
            result = session.symdump(process.pid)
            self.assertEqual((result.returncode, result.stderr),
                             (3, f"gorgon-symdump: {process.pid}: none of its files has gorgon_debug_root or "
                              "__jit_debug_descriptor\n"))

    @harness.thorough
    def test_process_that_loads_and_unloads_without_pause(self):
        """Each snapshot is whole, or says that it is not, and none is wrong: what stays is always there and the same,
        and what comes and goes is there completely or not at all."""
        consistent = 0
        seen = set()
        with tempfile.TemporaryDirectory() as folder:
            with session.start_host(folder, RESTLESS, asleep=0) as host:
                maps = session.mappings(host.pid)
                files = {}  # the files that are always there, by interpreter
                staying = None
                for _ in range(1000):
                    result = session.symdump(host.pid, "--json")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    snapshot = json.loads(result.stdout)
                    if not snapshot["consistent"]:
                        self.assertIn("not consistent", result.stderr)
                        continue
                    consistent += 1
                    self.assertEqual((snapshot["problems"], result.stderr), ([], ""))
                    self.assertEqual([ns["interpreter"] for ns in snapshot["namespaces"]], EVERY)
                    restless = [[o for o in ns["objects"] if re.search(r"/(_decimal|libmpdec)\.", o["path"])]
                                for ns in snapshot["namespaces"]]
                    seen |= {len(group) for group in restless}
                    for ns, group in zip(snapshot["namespaces"], restless):
                        ns["objects"] = [o for o in ns["objects"] if o not in group]
                        for o in group:
                            start, end, bias = (int(o[name], 16) for name in ("start", "end", "bias"))
                            # It is listed before debuggers hear of it, and still when they have dropped it.
                            self.assertEqual(o["symfile"] is None, o["build_id"] is None)
                            if o["symfile"]:
                                file = (o["build_id"], o["debug"])
                                self.assertEqual(files.setdefault(o["path"], file), file)
                            self.assertEqual((start - bias, end - bias), session.pages(os.path.realpath(o["path"])))
                    staying = staying or snapshot["namespaces"]
                    self.assertEqual(snapshot["namespaces"], staying)
        for ns in staying:
            self.assertEqual(os.path.basename(ns["objects"][0]["path"]), harness.SONAME)
            for o in ns["objects"]:
                self.assertIn((int(o["start"], 16), os.path.realpath(o["path"])), {(m.start, m.path) for m in maps})
        self.assertGreater(consistent, 500)
        self.assertGreater(len(seen), 1)  # the list did change


@harness.needs_gdb
class Scripts(unittest.TestCase):
    """--gdb and --lldb on a core, in a debugger without scripts, which does not see the JIT list."""

    @classmethod
    def setUpClass(cls):
        cls.scene = session.Scene()
        cls.addClassCleanup(cls.scene.close)
        cls.threads = {ns["thread"]: ns["interpreter"] for ns in cls.scene.live["namespaces"]}
        cls.live = harness.gdb(["thread apply all -s bt"], options=["-p", str(cls.scene.host.pid)])
        if harness.LLDB:
            cls.live_lldb = harness.lldb([f"process attach -p {cls.scene.host.pid}", "gorgon symbols all",
                                          "thread backtrace all", "detach"], script=True)
        cls.cores = {"gcore": cls.scene.gcore()}
        if session.kernel_writes_cores_into_files():
            cls.cores["kernel"] = cls.scene.kernel_core()

    @staticmethod
    def functions(output):
        """{LWP: functions, innermost first}."""
        parts = re.split(r"^Thread \d+ \(.*?LWP (\d+)\).*\n", output, flags=re.M)
        return {int(lwp): re.findall(r"^#\d+\s+(?:0x[0-9a-f]+ in )?(\S+)", text, re.M)
                for lwp, text in zip(parts[1::2], parts[2::2])}

    def from_core(self, core, script):
        # Without the symbols of libjitreg gdb finds no JIT list.
        return harness.gdb([f"file {harness.HOST}", "set auto-solib-add off", f"core-file {core}", "sharedlibrary libc",
                            "sharedlibrary libgorgon", *([f"source {script}"] if script else []), "info files", "thread apply all -s bt"])

    def test_gdb_script_gives_the_live_backtrace(self):
        live = self.functions(self.live)
        self.assertTrue(set(self.threads) <= set(live))
        for name, core in self.cores.items():
            with self.subTest(name), tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
                script.write(session.output(core, "--gdb"))
                script.flush()
                bare = self.functions(self.from_core(core, None))
                loaded = self.functions(self.from_core(core, script.name))
                for lwp in self.threads:
                    self.assertNotIn("time_sleep", bare[lwp])
                    self.assertIn("time_sleep", loaded[lwp])
                    self.assertEqual(loaded[lwp], live[lwp])

    @staticmethod
    def lldb_frames(output):
        """{interpreter: [(library, function, place)]} of the last backtraces, innermost first."""
        found = {}
        for part in re.split(r"^[* ]+thread #\d+.*\n", output, flags=re.M)[1:]:
            frames = re.findall(r"^[* ]+frame #\d+: 0x\w+ ([^`\n]+)`([^( ]+)[^\n]*?(?: at (\S+:\d+):\d+)?$", part, re.M)
            interp = re.search(r" \[interp (\d)\]`", part)
            if interp:
                found[int(interp[1])] = frames
        return found

    @harness.needs_lldb
    def test_lldb_script_gives_the_backtrace_of_the_live_session_with_lines(self):
        live = self.lldb_frames(self.live_lldb)
        self.assertEqual(sorted(live), EVERY, self.live_lldb)
        core = self.cores["gcore"]
        with tempfile.NamedTemporaryFile("w", suffix=".lldb") as script:
            script.write(session.output(core, "--lldb"))
            script.flush()
            output = harness.lldb(["settings set plugin.jit-loader.gdb.enable off",
                                   f"target create {harness.HOST} -c {core}",
                                   f"command source -s true {script.name}", "thread backtrace all"])
        for interp, frames in self.lldb_frames(output).items():
            # In a core read by this script, lldb before version 21 ends a stack at a function that the compiler has split. In the live
            # session the stack goes on, because "gorgon symbols" gives lldb other debug files (split_functions.py).
            self.assertEqual(frames, live[interp] if harness.lldb_version() >= 21 else live[interp][:len(frames)])
            library = f"{harness.SONAME} [interp {interp}]"
            place = next(place for name, function, place in frames if (name, function) == (library, "time_sleep"))
            self.assertRegex(place, r"^timemodule\.c:\d+$")
        self.assertEqual(sorted(self.lldb_frames(output)), EVERY, output)


if __name__ == "__main__":
    unittest.main()
