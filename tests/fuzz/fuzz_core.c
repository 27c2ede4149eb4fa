// SPDX-License-Identifier: MIT
// A core file, and the lists in it: the registry, libjitreg's list and a plain JIT list,
// whose heads are at the addresses below. Then the outputs that open no file.

#include "fuzz.h"

#include "../../tools/symdump/symdump.h"

#include <unistd.h>

enum {
	ROOT = 0x10000,
	JITREG = 0x10100,
	DESCRIPTORS = 0x10200, // libjitreg's, and a plain one
};

static void print(struct target *target, struct snapshot *snapshot)
{
	int (*const outputs[])(struct dump *) = {print_table, print_json,     print_gdb,
						 print_lldb,  print_perf_map, print_find,
						 check,       print_addresses};
	char *const addresses[] = {"0x20010", "0x30010"};
	struct dump dump = {.target = *target,
			    .snapshot = *snapshot,
			    .pattern = "f",
			    .addresses = addresses,
			    .address_count = 2};

	dump.locations = locations_create(&dump.target, &dump.snapshot);
	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)
		outputs[i](&dump);
	locations_destroy(dump.locations);
}

static void read_lists(struct target *target, unsigned flags)
{
	uint64_t root[] = {ROOT}, jitreg[] = {JITREG},
		 descriptors[] = {DESCRIPTORS, DESCRIPTORS + 0x20};
	const struct heads heads = {.roots = root,
				    .jitregs = jitreg,
				    .descriptors = descriptors,
				    .root_count = 1,
				    .jitreg_count = 1,
				    .descriptor_count = 2};
	struct snapshot snapshot = {0};
	bool found = snapshot_read_root(target, ROOT, flags, &snapshot);

	if (jitlist_read(target, &heads, found, flags, &snapshot) || found) {
		snapshot_index(&snapshot);
		print(target, &snapshot);
	}
	snapshot_deinit(&snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problems problems = {0};
	struct target target;
	char name[32];
	int fd = fuzz_file(data, size, name);

	if (target_open(&target, name, fuzz_no_files(), &problems)) {
		// Symfiles are read either with the lists, or when a name in one of them is asked for.
		read_lists(&target, size % 2 ? SNAPSHOT_CHECKS
					     : SNAPSHOT_SYMFILES | SNAPSHOT_CHECKS | SNAPSHOT_ANYWAY);
	}
	target_close(&target);
	problems_deinit(&problems);
	close(fd);
	return 0;
}
