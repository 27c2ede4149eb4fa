// SPDX-License-Identifier: MIT
// What it costs to tell debuggers about copies of a library while none is attached.
//
//	registering LIBRARY COUNT
//
// Prints nanoseconds per copy for loading LIBRARY into a namespace, for registering and for
// unregistering it, and the bytes of memory that each registered copy needs. COUNT copies
// are registered at made-up addresses: nobody looks there, and so many mappings a process
// cannot have everywhere.

#define _GNU_SOURCE
#include <gorgon.h>
#include <jitreg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOADS 20

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

// Memory of this process; what it shares with others counts in part.
static double memory(void)
{
	FILE *in = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	double size = 0;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "Pss: %lf", &size) == 1)
			break;
	if (in)
		fclose(in);
	return size * 1024;
}

static void load(const char *library)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = GORGON_DEBUG_OFF};
	struct gorgon_object *object;
	struct gorgon_ns *ns;
	struct gorgon_error *err = gorgon_ns_create(&opts, &ns);

	if (!err)
		err = gorgon_object_open(ns, library, 0, &object);
	if (err) {
		fprintf(stderr, "registering: %s\n", gorgon_error_message(err));
		exit(3);
	}
}

static struct jitreg_entry *enter(const char *library, long number)
{
	uint64_t bias = UINT64_C(0x100000000000) + (uint64_t)number * 0x10000000;
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = library,
		.fd = -1,
		.bias = bias,
		.start = bias,
		.end = bias + 0x10000000,
	};
	struct jitreg_entry *entry;
	int err = jitreg_register(&image, &entry);

	if (err) {
		fprintf(stderr, "registering: %s: %s\n", library, strerror(-err));
		exit(3);
	}
	return entry;
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;
	struct jitreg_entry **entries = calloc((size_t)count + 1, sizeof(*entries));
	double loaded, registered, unregistered, used;

	if (count < 1 || !entries) {
		fputs("usage: registering LIBRARY COUNT\n", stderr);
		return 2;
	}
	load(argv[1]); // what only the first one does
	loaded = -now();
	for (int i = 0; i < LOADS; i++)
		load(argv[1]);
	loaded += now();
	entries[count] = enter(argv[1], count);
	memset(entries, 1, (size_t)count * sizeof(*entries)); // no memory of ours comes in between
	used = -memory();
	registered = -now();
	for (long i = 0; i < count; i++)
		entries[i] = enter(argv[1], i);
	registered += now();
	used += memory();
	unregistered = -now();
	for (long i = 0; i < count; i++)
		jitreg_unregister(entries[i]);
	unregistered += now();
	jitreg_unregister(entries[count]);
	printf("%.0f %.0f %.0f %.0f\n", loaded / LOADS, registered / (double)count,
	       unregistered / (double)count, used / (double)count);
	free(entries);
	return 0;
}
