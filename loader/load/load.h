/* SPDX-License-Identifier: MIT */
/* Loading: one transaction. See load.c. */
#ifndef GORGON_LOAD_LOAD_H
#define GORGON_LOAD_LOAD_H

#include "gorgon.h"

/*
 * Load @name and its dependencies: the transaction. The lock is held on entry and
 * exit, and released while constructors run. @requester: whose search paths count,
 * or NULL. On success the object's open_count was raised.
 */
struct gorgon_error *gorgon_ns_load(struct gorgon_ns *ns, const char *name,
				    struct gorgon_object *requester,
				    const struct gorgon_open_opts *opts,
				    struct gorgon_object **ret);

#endif
