// SPDX-License-Identifier: MIT
// What a further copy of a library costs, in one of several ways.
//
//	loading [-k] [-o PLUGIN] WAY LIBRARY FIRST COPY...
//
// WAY is dlopen (of each COPY, a file), dlmopen, copy (our strategy), loader, or quiet: our loader,
// which then tells debuggers nothing. LIBRARY is loaded and stays; then each COPY is loaded and
// unloaded in turn: the ways that need no file of its own load LIBRARY so many times. FIRST is a
// library that has to be there, in each private world, too, or "-". -k: the copies stay. -o: the
// host opens the plug-in before each copy is loaded, and closes it before the next.
//
// Prints a line for each copy: processor time, time of the wall (ns) and page faults of loading;
// the same of unloading; bytes of private dirty memory while it was there; whether it could be
// unloaded.

#define _GNU_SOURCE
#include "isolate/isolate.h"
#include "measure.h"

#include <dlfcn.h>
#include <gorgon.h>
#include <link.h>
#include <stdbool.h>

// One private world, and the library in it.
struct world {
	struct gorgon_ns *ns;
	struct gorgon_object *object;
	void *handle;
	Lmid_t lmid;
};

static const char *plugin; // or NULL
static const char *first;  // a library that has to be there, or NULL
static bool keeps;
static const char *way;

// The system's linker has loaded and unloaded something between two copies.
static void use_plugin(void)
{
	static void *handle;

	if (handle)
		dlclose(handle);
	if (plugin && !(handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL))) {
		fprintf(stderr, "loading: %s\n", dlerror());
		exit(3);
	}
}

static bool is(const char *name)
{
	return !strcmp(way, name);
}

static void fail(const char *what)
{
	fprintf(stderr, "loading: %s\n", what);
	exit(3);
}

static void check(struct gorgon_error *err)
{
	if (err)
		fail(gorgon_error_message(err));
}

static void *check_handle(void *handle)
{
	if (!handle)
		fail(dlerror());
	return handle;
}

// The library is private, whatever the policy says of it.
static void create_ns(struct world *world, const char *library)
{
	const char *slash = strrchr(library, '/');
	const char *patterns[] = {slash ? slash + 1 : library, NULL};
	struct gorgon_ns_opts opts = {
		.size = sizeof(opts),
		.keep_private = patterns,
		.debug = is("loader") ? GORGON_DEBUG_AUTO : GORGON_DEBUG_OFF,
	};

	check(gorgon_ns_create(&opts, &world->ns));
}

// Loads what has to be there before the library itself.
static void begin(struct world *world, const char *library)
{
	world->lmid = is("dlmopen") ? LM_ID_NEWLM : LM_ID_BASE;
	if (!first)
		return;
	if (is("dlopen")) {
		check_handle(dlopen(first, RTLD_NOW | RTLD_GLOBAL));
	} else if (is("dlmopen")) {
		world->handle = check_handle(dlmopen(LM_ID_NEWLM, first, RTLD_NOW));
		dlinfo(world->handle, RTLD_DI_LMID, &world->lmid);
	} else {
		create_ns(world, library);
		check(gorgon_object_open(world->ns, first, &(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts), .flags = GORGON_OPEN_GLOBAL}, &world->object));
	}
}

static void load(struct world *world, const char *library)
{
	if (is("dlopen")) {
		world->handle = check_handle(dlopen(library, RTLD_NOW | RTLD_LOCAL));
	} else if (is("dlmopen")) {
		world->handle = check_handle(dlmopen(world->lmid, library, RTLD_NOW));
	} else {
		if (!first)
			create_ns(world, library);
		check(is("copy") ? gorgon_isolation_find(GORGON_ISOLATE_COPY)->open(world->ns, library, &world->object)
				 : gorgon_object_open(world->ns, library, NULL, &world->object));
	}
}

static void unload(struct world *world)
{
	if (is("dlopen") || is("dlmopen")) {
		dlclose(world->handle);
		return;
	}
	if (first) {
		gorgon_object_close(world->object);
		return;
	}
	if (is("copy"))
		check(gorgon_isolation_find(GORGON_ISOLATE_COPY)->close(world->ns));
	check(gorgon_ns_destroy(world->ns));
	world->ns = NULL;
}

struct search {
	const char *library;
	bool found;
};

static bool look(void *ctx, struct gorgon_object *object)
{
	struct search *search = ctx;
	struct gorgon_object_info info;

	gorgon_object_get_info(object, &info);
	search->found |= !strcmp(info.path, search->library);
	return !search->found;
}

// Whether the library cannot be unloaded: DF_1_NODELETE, or a GNU_UNIQUE definition in use.
static bool stays(const struct world *world, const char *library)
{
	struct search search = {library, false};
	void *handle = NULL;

	if (world->ns)
		gorgon_ns_for_each_object(world->ns, look, &search);
	else if (is("dlopen"))
		handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	else if (is("dlmopen") && first)
		handle = dlmopen(world->lmid, library, RTLD_NOW | RTLD_NOLOAD);
	if (handle)
		dlclose(handle);
	return search.found || handle;
}

static void measure(const char *library)
{
	struct world world = {0};
	struct used before, loaded, unloaded;
	double memory;

	use_plugin();
	begin(&world, library);
	memory = keeps ? 0 : bench_private_dirty(); // looks at every page
	before = bench_used();
	load(&world, library);
	loaded = bench_since(&before, 1);
	memory = keeps ? 0 : bench_private_dirty() - memory;
	before = bench_used();
	if (!keeps)
		unload(&world);
	unloaded = bench_since(&before, 1);
	printf("%.0f %.0f %.0f %.0f %.0f %.0f %.0f %d\n", loaded.cpu, loaded.wall, loaded.faults, unloaded.cpu,
	       unloaded.wall, unloaded.faults, memory, stays(&world, library));
	if (world.ns && !keeps)
		check(gorgon_ns_destroy(world.ns));
}

int main(int argc, char **argv)
{
	struct world kept = {0};

	keeps = argc > 1 && !strcmp(argv[1], "-k");
	argc -= keeps;
	argv += keeps;
	if (argc > 2 && !strcmp(argv[1], "-o")) {
		plugin = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 5) {
		fputs("usage: loading [-k] [-o PLUGIN] WAY LIBRARY FIRST COPY...\n", stderr);
		return 2;
	}
	way = argv[1];
	first = strcmp(argv[3], "-") ? argv[3] : NULL;
	if (!is("dlopen") && !is("dlmopen") && !is("copy") && !is("loader") && !is("quiet"))
		fail("no such way");
	begin(&kept, argv[2]);
	load(&kept, argv[2]);
	for (int i = 4; i < argc; i++)
		measure(is("dlopen") ? argv[i] : argv[2]);
	fflush(stdout);
	if (keeps)
		_Exit(0); // the end of the copies is not measured
	return 0;
}
