// SPDX-License-Identifier: MIT
// The reader of gorgon-symdump against targets that are damaged or lie.
//
// A core file is made here, with a registry of three namespaces of four objects each. The reader gets it with one
// field changed, for which the problem is known. Then it gets it with many fields changed at random: there must be an
// answer, and no crash, hang or stray write (SAN=address,undefined). The head of the lists is found as in any core:
// this program's own file defines gorgon_debug_root, and the core says that it is mapped.

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "../jitreg/descriptor.h"
#include "../tools/symdump/symdump.h"
#include "machine.h"
#include "symfile.h"

#define WORLD     UINT64_C(0x700000000000)
#define EXE       UINT64_C(0x500000000000)
#define LIBRARY   UINT64_C(0x600000000000)
#define STEP      UINT64_C(0x1000000)
#define NS_COUNT  3
#define PER_NS    4
#define COUNT     (NS_COUNT * PER_NS)
#define FILES     (COUNT + 2) // pieces of files that are mapped
#define THREADS   2
#define WITH_FILE 2 // index in a namespace

// Side by side, whatever else there is.
__attribute__((used)) struct {
	struct gorgon_debug_root root;
	struct jit_descriptor descriptor;
} heads;
extern __attribute__((alias("heads"))) struct gorgon_debug_root gorgon_debug_root;
__asm__(".globl __jit_debug_descriptor\n"
	".type __jit_debug_descriptor, @object\n"
	".set __jit_debug_descriptor, heads + 96\n"
	".size __jit_debug_descriptor, 24\n");
_Static_assert(offsetof(typeof(heads), descriptor) == 96, "as above");

// What lies at WORLD in the target.
struct world {
	struct gorgon_debug_ns ns[NS_COUNT];
	struct gorgon_debug_object object[COUNT];
	struct gorgon_debug_thread thread[THREADS];
	struct gorgon_debug_slot slot[THREADS];
	struct jit_code_entry entry[COUNT];
	struct symfile symfile[COUNT];
	char path[256], exe_path[256];
	uint8_t build_id[64];
};

// Packed: a note's contents follow its name, aligned to 4 bytes only.
struct __attribute__((packed)) note_file {
	Elf64_Nhdr header;
	char name[8];
	uint64_t count, page;
	uint64_t entry[FILES][3];
	char paths[FILES * 256];
};

struct __attribute__((packed)) note_thread {
	Elf64_Nhdr header;
	char name[8];
	struct elf_prstatus status;
};

struct __attribute__((packed)) note_process {
	Elf64_Nhdr header;
	char name[8];
	struct elf_prpsinfo info;
};

struct core {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[3];
	struct note_process process;
	struct note_thread thread;
	struct note_file file;
	struct gorgon_debug_root root;
	struct jit_descriptor descriptor; // behind it, as in this program
	struct world world;
};

static struct core good;
static char exe_path[256];
static char core_path[] = "/tmp/gorgon-test-core-XXXXXX";

static uint64_t world_addr(const void *member)
{
	return WORLD + (uint64_t)((const char *)member - (const char *)&good.world);
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(uint64_t *)ret = info->dlpi_addr;
	return 1; // the first is the program
}

static void fill_world(struct world *world)
{
	strcpy(world->path, "/no/such/folder/library.so");
	strcpy(world->exe_path, exe_path);
	memset(world->build_id, 0xab, sizeof(world->build_id));
	for (int n = 0; n < NS_COUNT; n++) {
		struct gorgon_debug_ns *ns = &world->ns[n];

		*ns = (struct gorgon_debug_ns){
			.next = n + 1 < NS_COUNT ? world_addr(ns + 1) : 0,
			.prev = n ? world_addr(ns - 1) : 0,
			.id = (uint64_t)n + 1,
			.interp = (uint32_t)n,
			.object_head = world_addr(&world->object[n * PER_NS]),
			.object_tail = world_addr(&world->object[n * PER_NS + PER_NS - 1]),
			.object_count = PER_NS,
			.python_minor = 11,
			.python_object = world_addr(&world->object[n * PER_NS]),
		};
	}
	for (int i = 0; i < COUNT; i++) {
		struct gorgon_debug_object *object = &world->object[i];
		uint64_t start = LIBRARY + (uint64_t)i * STEP;

		*object = (struct gorgon_debug_object){
			.next = i % PER_NS + 1 < PER_NS ? world_addr(object + 1) : 0,
			.prev = i % PER_NS ? world_addr(object - 1) : 0,
			.ns = world_addr(&world->ns[i / PER_NS]),
			.path = world_addr(world->path),
			.path_size = (uint32_t)strlen(world->path),
			.build_id = world_addr(world->build_id),
			.build_id_size = 20,
			.bias = start,
			.start = start,
			.end = start + STEP / 2,
			.symfile = world_addr(&world->symfile[i]),
			.symfile_size = sizeof(struct symfile),
		};
		fill_symfile(&world->symfile[i], "function", start + 64, 32);
		// One of each namespace has a file; the names of the others are in their symfiles.
		if (i % PER_NS == WITH_FILE) {
			object->path = world_addr(world->exe_path);
			object->path_size = (uint32_t)strlen(world->exe_path);
			object->build_id_size = 0;
		}
	}
}

static void fill_lists(struct world *world)
{
	for (int i = 0; i < THREADS; i++)
		world->thread[i] = (struct gorgon_debug_thread){
			.next = i + 1 < THREADS ? world_addr(&world->thread[i + 1]) : 0,
			.prev = i ? world_addr(&world->thread[i - 1]) : 0,
			.slots = world_addr(&world->slot[i]),
			.slot_count = 1,
			.tid = 100 + (uint64_t)i,
		};
	for (int i = 0; i < COUNT; i++)
		world->entry[i] = (struct jit_code_entry){
			.next_entry = i + 1 < COUNT ? (void *)world_addr(&world->entry[i + 1]) : NULL,
			.prev_entry = i ? (void *)world_addr(&world->entry[i - 1]) : NULL,
			.symfile_addr = (void *)world_addr(&world->symfile[i]),
			.symfile_size = sizeof(struct symfile),
		};
}

static void fill_file_note(struct note_file *note)
{
	char *path = note->paths;

	note->header = (Elf64_Nhdr){5, sizeof(*note) - offsetof(struct note_file, count), NT_FILE};
	strcpy(note->name, "CORE");
	note->count = FILES;
	note->page = 4096;
	// The program is mapped in two pieces, as a loaded file is.
	for (int i = 0; i < FILES; i++) {
		uint64_t start = i < 2 ? EXE + (uint64_t)i * note->page : LIBRARY + (uint64_t)(i - 2) * STEP;

		note->entry[i][0] = start;
		note->entry[i][1] = i ? start + STEP / 2 : EXE + note->page;
		note->entry[i][2] = i == 1;
		path = stpcpy(path, i > 1 && (i - 2) % PER_NS != WITH_FILE
					    ? "/no/such/folder/library.so"
					    : exe_path) +
		       1;
	}
}

static int set_up(void **state)
{
	ssize_t length = readlink("/proc/self/exe", exe_path, sizeof(exe_path) - 1);
	uint64_t bias = 0;
	int fd;

	(void)state;
	assert_true(length > 0);
	elf_version(EV_CURRENT);
	dl_iterate_phdr(find_bias, &bias);
	good.ehdr = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = TEST_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct core, phdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};
	good.phdr[0] = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_offset = offsetof(struct core, process),
		.p_filesz = sizeof(good.process) + sizeof(good.thread) + sizeof(good.file),
		.p_align = 4,
	};
	good.phdr[1] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_offset = offsetof(struct core, root),
		.p_vaddr = EXE + (uintptr_t)&gorgon_debug_root - bias,
		.p_filesz = sizeof(heads),
		.p_memsz = sizeof(heads),
	};
	good.phdr[2] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_offset = offsetof(struct core, world),
		.p_vaddr = WORLD,
		.p_filesz = sizeof(good.world),
		.p_memsz = sizeof(good.world),
	};
	good.process.header = (Elf64_Nhdr){5, sizeof(good.process.info), NT_PRPSINFO};
	strcpy(good.process.name, "CORE");
	good.process.info.pr_pid = 1;
	good.thread.header = (Elf64_Nhdr){5, sizeof(good.thread.status), NT_PRSTATUS};
	strcpy(good.thread.name, "CORE");
	good.thread.status.pr_pid = 1;
	good.thread.status.pr_reg[TEST_CORE_PC] = LIBRARY + 70;
	good.thread.status.pr_reg[TEST_CORE_SP] = WORLD;
	fill_file_note(&good.file);
	good.root = (struct gorgon_debug_root){
		.version = GORGON_DEBUG_VERSION,
		.size = sizeof(struct gorgon_debug_root),
		.sequence = 2,
		.ns_size = sizeof(struct gorgon_debug_ns),
		.object_size = sizeof(struct gorgon_debug_object),
		.thread_size = sizeof(struct gorgon_debug_thread),
		.ns_head = world_addr(&good.world.ns[0]),
		.ns_tail = world_addr(&good.world.ns[NS_COUNT - 1]),
		.ns_count = NS_COUNT,
		.object_count = COUNT,
		.thread_head = world_addr(&good.world.thread[0]),
		.thread_count = THREADS,
	};
	good.descriptor = (struct jit_descriptor){
		.version = 1,
		.first_entry = (void *)world_addr(&good.world.entry[0]),
	};
	memcpy(good.root.magic, GORGON_DEBUG_MAGIC, sizeof(good.root.magic));
	fill_world(&good.world);
	fill_lists(&good.world);
	fd = mkstemp(core_path);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(core_path);
}

static void write_core(const struct core *core)
{
	int fd = open(core_path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, core, sizeof(*core), 0), sizeof(*core));
	close(fd);
}

static bool has_line(const struct problems *problems, const char *text)
{
	for (size_t i = 0; i < problems->kept; i++)
		if (strstr(problems->lines[i], text))
			return true;
	return false;
}

// Reads @core; if @text, then one of its problems must contain it.
static void read_core(const struct core *core, const char *text, size_t objects)
{
	struct problems problems = {0};
	struct snapshot snapshot = {0};
	struct target target;

	write_core(core);
	assert_true(target_open(&target, core_path, NULL, &problems));
	snapshot_take(&target, SNAPSHOT_MAPPINGS | SNAPSHOT_SYMFILES | SNAPSHOT_CHECKS, &snapshot);
	if (text && !has_line(&snapshot.problems, text)) {
		for (size_t i = 0; i < snapshot.problems.kept; i++)
			print_error("%s\n", snapshot.problems.lines[i]);
		fail_msg("no problem says \"%s\"", text);
	}
	if (!text)
		assert_int_equal(snapshot.problems.count, 0);
	assert_int_equal(snapshot.object_count, objects);
	snapshot_deinit(&snapshot);
	target_close(&target);
	problems_deinit(&problems);
}

static void snapshot_of_sound_core_has_every_object(void **state)
{
	struct problems problems = {0};
	struct snapshot snapshot = {0};
	struct target target;
	char label[32];

	(void)state;
	read_core(&good, NULL, COUNT);
	assert_true(target_open(&target, core_path, NULL, &problems));
	assert_true(snapshot_take(&target, 0, &snapshot));
	assert_true(snapshot.consistent);
	assert_int_equal(snapshot.ns_count, NS_COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		const struct object *object = snapshot_find(&snapshot, LIBRARY + i * STEP + 10);

		assert_ptr_equal(object, &snapshot.objects[i]);
		assert_string_equal(object->path, i % PER_NS == WITH_FILE
							  ? exe_path
							  : "/no/such/folder/library.so");
		assert_int_equal(object->ns, i / PER_NS);
		assert_null(snapshot_find(&snapshot, object->end));
	}
	assert_string_equal(ns_label(&snapshot, 2, label), "interp 2");
	snapshot_deinit(&snapshot);
	target_close(&target);
}

// In an older process the entries end before the figures, and something else lies behind them.
static void snapshot_of_older_process_has_no_figures(void **state)
{
	struct problems problems = {0};
	struct snapshot snapshot = {0};
	struct target target;

	(void)state;
	for (int old = 0; old < 2; old++) {
		struct core core = good;

		core.world.ns[1].usage = 0x1234;
		core.world.ns[1].activity = 0x5678;
		if (old)
			core.root.ns_size = 96;
		write_core(&core);
		assert_true(target_open(&target, core_path, NULL, &problems));
		assert_true(snapshot_take(&target, 0, &snapshot));
		assert_int_equal(snapshot.ns_count, NS_COUNT);
		assert_int_equal(snapshot.namespaces[1].usage, old ? 0 : 0x1234);
		assert_int_equal(snapshot.namespaces[1].activity, old ? 0 : 0x5678);
		snapshot_deinit(&snapshot);
		target_close(&target);
	}
}

static void snapshot_of_core_in_mid_change_is_not_consistent(void **state)
{
	struct problems problems = {0};
	struct snapshot snapshot = {0};
	struct target target;
	struct core core = good;

	(void)state;
	core.root.sequence = 3;
	write_core(&core);
	assert_true(target_open(&target, core_path, NULL, &problems));
	assert_true(snapshot_take(&target, 0, &snapshot));
	assert_false(snapshot.consistent);
	assert_int_equal(snapshot.object_count, COUNT);
	snapshot_deinit(&snapshot);
	target_close(&target);
}

static void snapshot_of_damaged_field_says_what_is_wrong(void **state)
{
#define FIELD(member, value, text, objects)                                              \
	{                                                                                \
		offsetof(struct core, member), sizeof(good.member), value, text, objects \
	}
	const struct {
		size_t off, size;
		uint64_t value;
		const char *text;
		size_t objects;
	} cases[] = {
		// Without a registry there is still the JIT list.
		FIELD(root.magic, 1, "does not begin with GORGONDR", COUNT),
		FIELD(root.version, 2, "has version 2; this program knows version 1", COUNT),
		FIELD(root.object_size, 8, "object size is 8; 128 to 4096 expected", COUNT),
		FIELD(root.ns_size, UINT32_MAX, "namespace size is 4294967295; 96 to 4096 expected",
		      COUNT),
		FIELD(root.ns_count, 9, "the root counts 9 and 12", COUNT),
		FIELD(root.ns_head, 16, "a namespace at 0x10 cannot be read", 0),
		FIELD(root.ns_head, UINT64_MAX - 7,
		      "a namespace at 0xfffffffffffffff8 cannot be read", 0),
		FIELD(world.ns[2].next, WORLD,
		      "the list of namespaces leads to 0x700000000000 a second time", COUNT),
		FIELD(world.ns[1].prev, 8, "namespace 2: 'prev' is 0x8", COUNT),
		FIELD(world.ns[1].object_count, 5,
		      "interp 1: 4 objects in its list; 'object_count' is 5", COUNT),
		// Two namespaces with one list: every entry is read once.
		FIELD(world.ns[1].object_head, WORLD + offsetof(struct world, object),
		      "the list of objects leads to", COUNT - PER_NS),
		FIELD(world.object[5].next, 1, "interp 1: an object at 0x1 cannot be read",
		      COUNT - 2),
		FIELD(world.object[3].path_size, UINT32_MAX, "a name of 4294967295 bytes", COUNT),
		FIELD(world.object[3].path, 64, "a name of 26 bytes at 0x40: cannot be read",
		      COUNT),
		FIELD(world.object[3].build_id_size, 65,
		      "a build-id of 65 bytes; at most 64 expected", COUNT),
		FIELD(world.object[3].build_id, 64, "its build-id at 0x40 cannot be read", COUNT),
		FIELD(world.object[3].symfile, 64, "symfile at 0x40", COUNT),
		FIELD(world.object[3].symfile_size, UINT64_MAX, "bytes are too many", COUNT),
		FIELD(world.object[3].ns, 0, "'ns' 0x0", COUNT),
		FIELD(root.thread_head, 64, "a thread at 0x40 cannot be read", COUNT),
		FIELD(root.thread_head, WORLD, "the list of threads leads to 0x700000000000 a second time", COUNT),
		FIELD(root.thread_head, WORLD + 8, "threads in the list; the root counts 2", COUNT),
		FIELD(root.thread_head, 0, "0 threads in the list; the root counts 2", COUNT),
		FIELD(root.thread_size, 8, "thread size is 8; 48 to 4096 expected", COUNT),
		FIELD(world.thread[0].next, WORLD + 1, "at 0x700000000001: ", COUNT),
		FIELD(world.thread[1].prev, 0, "thread 101: 'prev' is 0x0", COUNT),
		FIELD(world.thread[1].tid, 0, "0 is no thread's number", COUNT),
		FIELD(world.thread[1].slots, 64, "thread 101: its 1 slots at 0x40 cannot be read", COUNT),
		FIELD(world.thread[1].slot_count, UINT64_C(1) << 60, "slots at", COUNT),
		FIELD(descriptor.version, 77, " has version 77; 1 expected", COUNT),
		FIELD(descriptor.version, 0, " has version 0; 1 expected", COUNT),
		FIELD(descriptor.first_entry, 64, "an entry at 0x40 cannot be read", COUNT),
		FIELD(world.entry[4].symfile_size, UINT64_C(1) << 60, " of 1152921504606846976 bytes is no ELF64 file",
		      COUNT),
		FIELD(world.entry[4].symfile_size, UINT64_MAX, "is no ELF64 file", COUNT),
		FIELD(world.entry[4].symfile_addr, 64, "its symfile 0x40 of", COUNT),
		FIELD(world.entry[4].prev_entry, 0, "'prev' is (nil)", COUNT),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct core core = good;

		memcpy((char *)&core + cases[i].off, &cases[i].value,
		       cases[i].size < 8 ? cases[i].size : 8);
		read_core(&core, cases[i].text, cases[i].objects);
	}
}

// The missing part may have had anything, so the reader must say that the core was cut off.
static void snapshot_of_core_that_was_cut_off_says_so(void **state)
{
	const struct {
		size_t size, objects;
		bool found;
	} cases[] = {
		{sizeof(good) - 1, COUNT, true},
		{offsetof(struct core, world.symfile), COUNT, true},
		{offsetof(struct core, world.object[5]), 5, true},
		{offsetof(struct core, root) + 8, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct problems problems = {0};
		struct snapshot snapshot = {0};
		struct target target;
		char text[100];

		write_core(&good);
		assert_int_equal(truncate(core_path, (off_t)cases[i].size), 0);
		snprintf(text, sizeof(text), "cut off: %zu bytes of it are missing", sizeof(good) - cases[i].size);
		assert_true(target_open(&target, core_path, NULL, &problems));
		assert_int_equal(snapshot_take(&target, SNAPSHOT_MAPPINGS, &snapshot), cases[i].found);
		assert_true(has_line(&snapshot.problems, text));
		assert_false(has_line(&snapshot.problems, "none of its files"));
		assert_int_equal(snapshot.object_count, cases[i].objects);
		snapshot_deinit(&snapshot);
		target_close(&target);
		problems_deinit(&problems);
	}
}

// Everything that the program can do with a target, to /dev/null.
static void do_everything(void)
{
	int (*const all[])(struct dump *) = {
		print_table, print_json,     print_symbols, print_find,      print_gdb,
		print_lldb,  print_perf_map, print_stacks,  print_addresses, check};
	char *const addresses[] = {"0x600000000046", "0x500000000040", "0x1"};
	struct problems problems = {0};
	struct dump dump = {.pattern = "f*", .addresses = addresses, .address_count = 3};

	if (target_open(&dump.target, core_path, NULL, &problems) &&
	    snapshot_take(&dump.target, SNAPSHOT_MAPPINGS | SNAPSHOT_SYMFILES | SNAPSHOT_CHECKS,
			  &dump.snapshot)) {
		dump.locations = locations_create(&dump.target, &dump.snapshot);
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			all[i](&dump);
		locations_destroy(dump.locations);
	}
	snapshot_deinit(&dump.snapshot);
	target_close(&dump.target);
	problems_deinit(&problems);
}

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
	// Vigna's xorshift64*: the numbers are the same everywhere.
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static void mutate(struct core *core)
{
	const uint64_t values[] = {
		0,
		1,
		8,
		0xff,
		0x7fffffff,
		UINT32_MAX,
		INT64_MAX,
		UINT64_MAX,
		UINT64_MAX - 7,
		WORLD,
		EXE,
		LIBRARY,
		world_addr(&good.world.object[next_random() % COUNT]),
		world_addr(&good.world.ns[next_random() % NS_COUNT]),
		world_addr(&good.world.symfile[next_random() % COUNT]),
		next_random(),
	};
	// Half of the changes are made where they matter most.
	const struct {
		size_t off, size;
	} parts[] = {
		{0, sizeof(*core)},
		{0, offsetof(struct core, process)},
		{offsetof(struct core, process),
		 sizeof(core->process) + sizeof(core->thread) + 400},
		{offsetof(struct core, root), sizeof(core->root)},
		{offsetof(struct core, world), offsetof(struct world, path)},
		{offsetof(struct core, world.symfile), sizeof(core->world.symfile)},
	};

	for (uint64_t n = 1 + next_random() % 4; n > 0; n--) {
		size_t p = next_random() % (sizeof(parts) / sizeof(*parts));
		size_t off = parts[p].off + next_random() % parts[p].size;
		uint64_t value = values[next_random() % (sizeof(values) / sizeof(*values))];
		size_t width = (size_t[]){1, 4, 8}[next_random() % 3];

		off = off / width * width;
		if (off + width <= sizeof(*core))
			memcpy((char *)core + off, &value, width);
	}
}

static void every_output_of_mutated_cores_ends(void **state)
{
	const char *wanted = getenv("GORGON_MUTATIONS");
	long count = wanted ? atol(wanted) : 2000;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), out, err;

	(void)state;
	fflush(stdout);
	out = dup(STDOUT_FILENO);
	err = dup(STDERR_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	for (long i = 0; i < count; i++) {
		struct core core = good;

		random_state = (uint64_t)i + 1;
		for (int warm = 0; warm < 8; warm++)
			next_random();
		mutate(&core);
		write_core(&core);
		do_everything();
	}
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(null);
}

static void clean_text_leaves_nothing_for_a_terminal(void **state)
{
	const char *const cases[][2] = {
		{"libfoo.so", "libfoo.so"},
		{"a\033[2Jb\n\t\x7f", "a?[2Jb???"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8d"},
		{"\xc2\x9b", "??"},           // a control of its own
		{"\xe2\x80\xae", "???"},      // turns the direction of writing
		{"\xc0\x80", "??"},           // too long for its code
		{"\xed\xa0\x80", "???"},      // half of a pair
		{"\xf4\x90\x80\x80", "????"}, // beyond the last
		{"end\xe2\x82", "end??"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *clean = clean_text(cases[i][0], strlen(cases[i][0]));

		assert_string_equal(clean, cases[i][1]);
		free(clean);
	}
}

static void address_set_add_twice_says_so(void **state)
{
	struct address_set set = {0};

	(void)state;
	assert_false(address_set_has(&set, 8));
	for (uint64_t i = 1; i <= 1000; i++)
		assert_true(address_set_add(&set, i * 8));
	for (uint64_t i = 1; i <= 1000; i++) {
		assert_true(address_set_has(&set, i * 8));
		assert_false(address_set_add(&set, i * 8));
		assert_false(address_set_has(&set, i * 8 + 1));
	}
	assert_false(address_set_add(&set, 0));
	address_set_deinit(&set);
}

static size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

// libdw looks for the names of a file that has none in the file with its debug information, and forgets that one when the first has
// lines of its own.
static void library_with_lines_of_its_own_opens_no_other_file(void **state)
{
	char folder[] = "/tmp/gorgon-symdump-XXXXXX", path[64], debug[64], command[512];
	struct target target = {.name = "test", .root = open("/", O_PATH | O_CLOEXEC), .memory = -1, .root_name = "/no/files"};
	size_t before = count_descriptors(), count;
	const struct symbol *symbols;
	struct library *library;
	int line = 0;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/own.so", folder);
	snprintf(debug, sizeof(debug), "%s/other.debug", folder);
	snprintf(command, sizeof(command),
		 "echo 'int only(void)\n{\n\treturn 7;\n}' | gcc -g -shared -fPIC -Wl,--build-id -x c - -o %s && "
		 "objcopy --only-keep-debug %s %s && objcopy --strip-all --keep-section='.debug_*' %s", path, path, debug, path);
	assert_int_equal(system(command), 0);
	library = library_create(&target, open(path, O_RDONLY | O_CLOEXEC), NULL, 0, path, debug);
	count = library_symbols(library, &symbols);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(symbols[i].name, "only"))
			assert_non_null(library_find_line(library, symbols[i].vaddr, true, &line));
	assert_int_equal(line, 2);
	library_destroy(library);
	assert_int_equal(count_descriptors(), before);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	close(target.root);
}

// dwfl_getthreads() of elfutils 0.188 loses 16 bytes when a core's notes are damaged.
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_text_leaves_nothing_for_a_terminal),
		cmocka_unit_test(address_set_add_twice_says_so),
		cmocka_unit_test(snapshot_of_sound_core_has_every_object),
		cmocka_unit_test(snapshot_of_older_process_has_no_figures),
		cmocka_unit_test(snapshot_of_core_in_mid_change_is_not_consistent),
		cmocka_unit_test(snapshot_of_damaged_field_says_what_is_wrong),
		cmocka_unit_test(snapshot_of_core_that_was_cut_off_says_so),
		cmocka_unit_test(every_output_of_mutated_cores_ends),
		cmocka_unit_test(library_with_lines_of_its_own_opens_no_other_file),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
