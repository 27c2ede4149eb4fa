// SPDX-License-Identifier: MIT
// The strategies that make the libraries of an interpreter private, and the first of them.
//
// loader   the loader of this library maps and relocates them itself (../elf); everything
//	    else in the documentation speaks of it
// dlmopen  the system's linker loads them into a link namespace (dlmopen.c)
// copy     the system's linker loads copies of their files under other names (copy.c)
//
// Whoever uses an interpreter sees a namespace with objects in all of them: its lock,
// signals, locale and thunks, its entry for debuggers.

#define _GNU_SOURCE
#include "isolate.h"
#include "linked.h"

#include <stdio.h>

static struct gorgon_error *loader_check(const struct gorgon_ns_opts *opts)
{
	(void)opts;
	return NULL;
}

static struct gorgon_error *loader_open(struct gorgon_ns *ns, const char *path,
					struct gorgon_object **ret)
{
	return gorgon_object_open(ns, path, GORGON_OPEN_GLOBAL, ret);
}

// Objects go with their namespace.
static struct gorgon_error *loader_close(struct gorgon_ns *ns)
{
	(void)ns;
	return NULL;
}

static void loader_enter(struct gorgon_ns *ns)
{
	(void)ns;
}

// Not all streams: a thread of the host that waits for input holds the lock of its own.
static void loader_flush(struct gorgon_ns *ns)
{
	(void)ns;
	fflush(stdout);
}

static const struct gorgon_isolation loader = {
	.name = "loader",
	.counts_memory = true,
	.check = loader_check,
	.open = loader_open,
	.close = loader_close,
	.enter = loader_enter,
	.flush = loader_flush,
};

const struct gorgon_isolation *gorgon_isolation_find(enum gorgon_isolate isolate)
{
	static const struct gorgon_isolation *const list[] = {
		[GORGON_ISOLATE_LOADER] = &loader,
		[GORGON_ISOLATE_DLMOPEN] = &gorgon_isolation_dlmopen,
		[GORGON_ISOLATE_COPY] = &gorgon_isolation_copy,
	};

	return (size_t)isolate < sizeof(list) / sizeof(*list) ? list[isolate] : NULL;
}
