// SPDX-License-Identifier: MIT
// Registers COUNT copies of LIBRARY at made-up addresses and takes them back, ROUNDS times.
//
//	registrar_host LIBRARY COUNT ROUNDS [SIZE]
//
// With SIZE, debuggers are told of groups of so many copies, each with one symfile and one event.
//
// After each step it prints what it needs in memory and raises SIGUSR1, where debuggers stop
// without a breakpoint, which they would look at again with every copy.

#define _GNU_SOURCE
#include "../../jitreg/jitreg.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long memory(void)
{
	FILE *in = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	long size = -1;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "Private_Dirty: %ld", &size) == 1)
			break;
	if (in)
		fclose(in);
	return size;
}

static void step(const char *name)
{
	printf("step %s count %zu memory %ld\n", name, jitreg_count(), memory());
	fflush(stdout);
	raise(SIGUSR1);
}

static void check(const char *what, long number, int err)
{
	if (!err)
		return;
	printf("%s %ld: %s\n", what, number, strerror(-err));
	exit(3);
}

static uint64_t address(long number)
{
	return UINT64_C(0x100000000000) + (uint64_t)number * 0x1000000;
}

static struct jitreg_entry *enter(const char *library, long number, struct jitreg_group *group)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = library,
		.fd = -1,
		.flags = group ? JITREG_NAMES_ONLY | JITREG_DEFER : 0,
		.bias = address(number),
		.start = address(number),
		.end = address(number + 1),
		.group = group,
	};
	struct jitreg_entry *entry;

	check("copy", number, jitreg_register(&image, &entry));
	return entry;
}

static void enter_all(const char *library, long count, long size, struct jitreg_entry **entries,
		      struct jitreg_group **groups)
{
	for (long i = 0; i < count; i++) {
		if (size && i % size == 0)
			check("group", i / size, jitreg_group_create(address(i), &groups[i / size]));
		entries[i] = enter(library, i, size ? groups[i / size] : NULL);
		if (size && (i + 1 == count || (i + 1) % size == 0))
			check("list", i / size, jitreg_group_list(groups[i / size]));
	}
}

static void leave_all(long count, long size, struct jitreg_entry **entries, struct jitreg_group **groups)
{
	for (long i = 0; i < count; i++) {
		if (size && i % size == 0)
			jitreg_group_close(groups[i / size]);
		jitreg_unregister(entries[i]);
		if (size && (i + 1 == count || (i + 1) % size == 0))
			jitreg_group_destroy(groups[i / size]);
	}
}

int main(int argc, char **argv)
{
	bool enough = argc == 4 || argc == 5;
	long count = enough ? atol(argv[2]) : 0, rounds = enough ? atol(argv[3]) : 0, size = argc == 5 ? atol(argv[4]) : 0;
	struct jitreg_entry **entries = calloc((size_t)count + 1, sizeof(*entries));
	struct jitreg_group **groups = calloc((size_t)count + 1, sizeof(*groups));

	if (count < 1 || size < 0 || !entries || !groups) {
		fputs("usage: registrar_host LIBRARY COUNT ROUNDS [SIZE]\n", stderr);
		return 2;
	}
	signal(SIGUSR1, SIG_IGN);
	memset(entries, 1, (size_t)count * sizeof(*entries)); // their memory counts from the start
	memset(groups, 1, (size_t)count * sizeof(*groups));
	for (long round = 0; round < rounds; round++) {
		enter_all(argv[1], count, size, entries, groups);
		step("registered");
		leave_all(count, size, entries, groups);
		step("unregistered");
	}
	free(entries);
	free(groups);
	return 0;
}
