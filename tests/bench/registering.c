// SPDX-License-Identifier: MIT
// What it costs to tell debuggers about copies of a library while none is attached.
//
//	registering LIBRARY COUNT
//	registering --pack SIZE LIBRARY COUNT
//
// Prints nanoseconds per copy for loading LIBRARY into a namespace, for registering and for unregistering it, and the
// bytes of memory that each registered copy needs. COUNT copies are registered at made-up addresses: nobody looks
// there, and not every process may have so many mappings.
//
// With --pack there are COUNT groups of SIZE copies, each of which is packed when it is complete. Only the pack of
// the first group is built; the others find it. The time for registering includes that.

#define _GNU_SOURCE
#include <gorgon.h>
#include <jitreg.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOADS 20
// What one library takes at most.
#define LIBRARY_SIZE UINT64_C(0x1000000)

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
		err = gorgon_object_open(ns, library, NULL, &object);
	if (err) {
		fprintf(stderr, "registering: %s\n", gorgon_error_message(err));
		exit(3);
	}
}

static void check(int err, const char *library)
{
	if (!err)
		return;
	fprintf(stderr, "registering: %s: %s\n", library, strerror(-err));
	exit(3);
}

static struct jitreg_entry *enter(const char *library, uint64_t bias, struct jitreg_group *group)
{
	struct jitreg_image image = {
		.size = sizeof(image),
		.path = library,
		.fd = -1,
		.flags = group ? JITREG_NAMES_ONLY : 0,
		.bias = bias,
		.start = bias,
		.end = bias + LIBRARY_SIZE,
		.group = group,
	};
	struct jitreg_entry *entry;

	check(jitreg_register(&image, &entry), library);
	return entry;
}

// What is registered at once: a copy, or a group of them that is packed.
struct unit {
	struct jitreg_group *group;
	struct jitreg_entry **entries;
};

static void enter_unit(struct unit *unit, const char *library, long number, long size)
{
	uint64_t base = UINT64_C(0x100000000000) + ((uint64_t)number << 32);

	if (size > 1)
		check(jitreg_group_create(base, &unit->group), library);
	for (long i = 0; i < size; i++)
		unit->entries[i] = enter(library, base + (uint64_t)(i + 1) * LIBRARY_SIZE, unit->group);
	if (unit->group)
		check(jitreg_group_pack(unit->group), library);
}

static void leave_unit(struct unit *unit, long size)
{
	if (unit->group)
		jitreg_group_close(unit->group);
	for (long i = 0; i < size; i++)
		jitreg_unregister(unit->entries[i]);
	jitreg_group_destroy(unit->group);
}

// All of this memory has been written to, so that later no new pages of it count.
static struct unit *create_units(long count, long size)
{
	struct unit *units = malloc((size_t)count * sizeof(*units));
	struct jitreg_entry **entries = malloc((size_t)(count * size) * sizeof(*entries));

	if (!units || !entries) {
		fputs("registering: no memory\n", stderr);
		exit(3);
	}
	memset(entries, 1, (size_t)(count * size) * sizeof(*entries));
	for (long i = 0; i < count; i++)
		units[i] = (struct unit){.entries = entries + i * size};
	return units;
}

static void measure(const char *library, long count, long size, double loaded)
{
	struct unit *units = create_units(count + 1, size);
	double items = (double)(count * size), registered, unregistered, used;

	enter_unit(&units[count], library, count, size);
	used = -memory();
	registered = -now();
	for (long i = 0; i < count; i++)
		enter_unit(&units[i], library, i, size);
	registered += now();
	used += memory();
	unregistered = -now();
	for (long i = 0; i < count; i++)
		leave_unit(&units[i], size);
	unregistered += now();
	leave_unit(&units[count], size);
	printf("%.0f %.0f %.0f %.0f\n", loaded, registered / items, unregistered / items, used / items);
	free(units->entries);
	free(units);
}

int main(int argc, char **argv)
{
	bool pack = argc == 5 && !strcmp(argv[1], "--pack");
	long size = pack ? atol(argv[2]) : 1, count = argc == 3 || pack ? atol(argv[argc - 1]) : 0;
	const char *library = argv[argc - 2];
	double loaded;

	if (count < 1 || (pack && size < 2)) {
		fputs("usage: registering [--pack SIZE] LIBRARY COUNT\n", stderr);
		return 2;
	}
	load(library); // the first load does more than later ones
	loaded = -now();
	for (int i = 0; i < LOADS; i++)
		load(library);
	loaded += now();
	measure(library, count, size, loaded / LOADS);
	return 0;
}
