// SPDX-License-Identifier: MIT
// The two strategies that make the libraries of an interpreter private, and the table of the first.
//
// loader  the loader of this library maps and relocates them itself (../load); documents that name
//	   no strategy are about this one, the default
// copy    the system's linker loads copies of their files under other names (copy.c)
//
// Under either strategy an interpreter has a namespace with objects, signals, a locale, thunks and
// an entry for debuggers.

#define _GNU_SOURCE
#include "isolate.h"
#include "linked.h"

static struct gorgon_error *loader_check(const struct gorgon_ns_opts *opts)
{
	(void)opts;
	return NULL;
}

static struct gorgon_error *loader_open(struct gorgon_ns *ns, const char *path,
					struct gorgon_object **ret)
{
	return gorgon_object_open(
		ns, path,
		&(struct gorgon_open_opts){.size = sizeof(struct gorgon_open_opts),
					   .flags = GORGON_OPEN_GLOBAL},
		ret);
}

// There is nothing to do: objects go with their namespace.
static struct gorgon_error *loader_close(struct gorgon_ns *ns)
{
	(void)ns;
	return NULL;
}

static const struct gorgon_isolation loader = {
	.name = "loader",
	.counts_memory = true,
	.check = loader_check,
	.open = loader_open,
	.close = loader_close,
};

const struct gorgon_isolation *gorgon_isolation_find(enum gorgon_isolate isolate)
{
	static const struct gorgon_isolation *const list[] = {
		[GORGON_ISOLATE_LOADER] = &loader,
		[GORGON_ISOLATE_COPY] = &gorgon_isolation_copy,
	};

	return (size_t)isolate < sizeof(list) / sizeof(*list) ? list[isolate] : NULL;
}
