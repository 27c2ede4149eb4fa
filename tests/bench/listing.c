// SPDX-License-Identifier: MIT
// What it costs to make objects known to the unwinder when there are many.
//
//	listing MODULE COUNT
//
// Prints nanoseconds per object: for loading MODULE into a namespace, and for listing and unlisting COUNT objects in
// the table of loader/ns/unwind.c. These objects are only addresses, because not every process may have so many
// mappings.

#define _GNU_SOURCE
#include "base/lock.h"
#include "ns/object.h"
#include "ns/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LOADS 100

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void load(const char *module)
{
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = GORGON_DEBUG_OFF};
	struct gorgon_object *object;
	struct gorgon_ns *ns;
	struct gorgon_error *err = gorgon_ns_create(&opts, &ns);

	if (!err)
		err = gorgon_object_open(ns, module, NULL, &object);
	if (err) {
		fprintf(stderr, "listing: %s\n", gorgon_error_message(err));
		exit(3);
	}
}

int main(int argc, char **argv)
{
	static struct gorgon_image image;
	long count = argc == 3 ? atol(argv[2]) : 0;
	struct gorgon_object *objects = calloc((size_t)count + 1, sizeof(*objects));
	double start, loaded, listed, unlisted;

	if (count < 1 || !objects) {
		fputs("usage: listing MODULE COUNT\n", stderr);
		return 2;
	}
	load(argv[1]); // the first load does more than later ones
	start = now();
	for (int i = 0; i < LOADS; i++)
		load(argv[1]);
	loaded = now();
	gorgon_lock();
	for (long i = 0; i < count; i++) {
		// The kernel gives addresses from the top down.
		objects[i].start = UINT64_C(0x700000000000) - (uint64_t)i * 0x100000;
		objects[i].end = objects[i].start + 0x80000;
		objects[i].image = &image;
		if (gorgon_unwind_register(&objects[i]))
			return 3;
	}
	listed = now();
	for (long i = 0; i < count; i++)
		gorgon_unwind_unregister(&objects[i]);
	unlisted = now();
	gorgon_unlock();
	printf("%.0f %.0f %.0f\n", (loaded - start) / LOADS, (listed - loaded) / (double)count,
	       (unlisted - listed) / (double)count);
	free(objects);
	return 0;
}
