/* SPDX-License-Identifier: MIT */
/* Loading: one transaction. See load.c. */
#ifndef GORGON_LOAD_LOAD_H
#define GORGON_LOAD_LOAD_H

#include "gorgon.h"

/*
 * Load @name and its dependencies, all or none. The caller holds the lock, which is
 * released while constructors run. @requester is the object whose search paths count,
 * or NULL. On success *@ret is the object, and its open_count is one higher.
 */
struct gorgon_error *gorgon_ns_load(struct gorgon_ns *ns, const char *name,
				    struct gorgon_object *requester,
				    const struct gorgon_open_opts *opts,
				    struct gorgon_object **ret);

#endif
