// SPDX-License-Identifier: MIT
// One process of the benchmark of C++ exceptions; run.py starts several and alternates.
//
//	throws MODULE [LIBGORGON COUNT]
//
// Has the system load MODULE (modules/throw.cc) and, given LIBGORGON, loads it into COUNT
// namespaces, too. Says who answers _dl_find_object(), then for each line
//
//	host K | private K
//
// how long K throws take, in nanoseconds of this thread's processor time.
//
// This program is not linked to libgorgon. A preloaded libgorgon stands before the system's unwinder, as in a host
// that is linked to it. After dlopen() it does not, and has to register each object with __register_frame().

#define _GNU_SOURCE
#include <gorgon.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int throw_fn(int value);

static void fail(const char *message)
{
	fprintf(stderr, "throws: %s\n", message);
	exit(3);
}

static void *find(void *library, const char *name)
{
	void *ret = dlsym(library, name);

	if (!ret)
		fail(dlerror());
	return ret;
}

static void *load_by_system(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		fail(dlerror());
	return handle;
}

// The function of the copy in the middle, which is neither the first nor the last entry of a table.
static throw_fn *load_privately(const char *libgorgon, const char *module, unsigned count)
{
	void *library = load_by_system(libgorgon);
	__typeof__(gorgon_ns_create) *ns_create = find(library, "gorgon_ns_create");
	__typeof__(gorgon_object_open) *object_open = find(library, "gorgon_object_open");
	__typeof__(gorgon_object_find_symbol) *find_symbol =
		find(library, "gorgon_object_find_symbol");
	__typeof__(gorgon_error_message) *message = find(library, "gorgon_error_message");
	struct gorgon_ns_opts opts = {.size = sizeof(opts), .debug = GORGON_DEBUG_OFF};
	throw_fn *ret = NULL;

	for (unsigned i = 0; i < count; i++) {
		struct gorgon_object *object;
		struct gorgon_ns *ns;
		struct gorgon_error *err = ns_create(&opts, &ns);

		if (err || (err = object_open(ns, module, 0, &object)))
			fail(message(err));
		if (i == count / 2)
			ret = (throw_fn *)find_symbol(object, "throw_inside", NULL);
	}
	return ret;
}

static int64_t measure(throw_fn *fn, int count)
{
	struct timespec start, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (int i = 0; i < count; i++)
		if (fn(i) != i + 1)
			fail("an exception was not caught where it should be");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (end.tv_sec - start.tv_sec) * INT64_C(1000000000) + end.tv_nsec - start.tv_nsec;
}

int main(int argc, char **argv)
{
	throw_fn *host, *private = NULL;
	char who[16];
	Dl_info info;
	int count;

	if (argc != 2 && argc != 4)
		fail("usage: throws MODULE [LIBGORGON COUNT]");
	host = (throw_fn *)find(load_by_system(argv[1]), "throw_inside");
	if (argc == 4)
		private = load_privately(argv[2], argv[1], (unsigned)atoi(argv[3]));
	if (!dladdr(find(RTLD_DEFAULT, "_dl_find_object"), &info))
		fail("who has _dl_find_object?");
	puts(info.dli_fname);
	fflush(stdout);
	while (scanf("%15s %d", who, &count) == 2) {
		throw_fn *fn = strcmp(who, "private") ? host : private;

		if (!fn)
			fail("no private copy");
		printf("%ld\n", (long)measure(fn, count));
		fflush(stdout);
	}
	return 0;
}
