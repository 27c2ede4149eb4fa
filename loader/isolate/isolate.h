/* SPDX-License-Identifier: MIT */
/* How the libraries of an interpreter are made private: the strategies. See isolate.c. */
#ifndef GORGON_ISOLATE_H
#define GORGON_ISOLATE_H

#include "gorgon.h"

struct gorgon_isolation {
	const char *name; /* as in `gorgon run --isolate` */
	bool counts_memory; /* knows how much an interpreter allocates, and so can limit it */

	/* Refuse options of a namespace that the strategy cannot obey. */
	struct gorgon_error *(*check)(const struct gorgon_ns_opts *opts);
	/* Load a libpython, the first of all objects, into an empty namespace. */
	struct gorgon_error *(*open)(struct gorgon_ns *ns, const char *path,
				     struct gorgon_object **ret);
	/* Undo open() and every dlopen() of private code since; gorgon_ns_destroy() follows. May
	 * be repeated after an error. */
	struct gorgon_error *(*close)(struct gorgon_ns *ns);
};

/* NULL: there is no strategy of that number. */
const struct gorgon_isolation *gorgon_isolation_find(enum gorgon_isolate isolate);

#endif
