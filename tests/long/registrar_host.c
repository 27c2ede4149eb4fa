// SPDX-License-Identifier: MIT
// Registers COUNT copies of LIBRARY at made-up addresses and takes them back, ROUNDS times.
//
//	registrar_host LIBRARY COUNT ROUNDS
//
// After each step it prints what it needs in memory and raises SIGUSR1, where debuggers stop
// without a breakpoint, which they would look at again with every copy.

#define _GNU_SOURCE
#include "../../jitreg/jitreg.h"

#include <signal.h>
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

static struct jitreg_entry *enter(const char *library, long number)
{
	uint64_t bias = UINT64_C(0x100000000000) + (uint64_t)number * 0x1000000;
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = library,
		.fd = -1,
		.bias = bias,
		.start = bias,
		.end = bias + 0x1000000,
	};
	struct jitreg_entry *entry;
	int err = jitreg_register(&image, &entry);

	if (err) {
		printf("copy %ld: %s\n", number, strerror(-err));
		exit(3);
	}
	return entry;
}

int main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[2]) : 0, rounds = argc == 4 ? atol(argv[3]) : 0;
	struct jitreg_entry **entries = calloc((size_t)count + 1, sizeof(*entries));

	if (count < 1 || !entries) {
		fputs("usage: registrar_host LIBRARY COUNT ROUNDS\n", stderr);
		return 2;
	}
	signal(SIGUSR1, SIG_IGN);
	memset(entries, 1, (size_t)count * sizeof(*entries)); // its memory counts from the start
	for (long round = 0; round < rounds; round++) {
		for (long i = 0; i < count; i++)
			entries[i] = enter(argv[1], i);
		step("registered");
		for (long i = 0; i < count; i++)
			jitreg_unregister(entries[i]);
		step("unregistered");
	}
	free(entries);
	return 0;
}
