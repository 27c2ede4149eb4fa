/* SPDX-License-Identifier: MIT */
/* The life of a namespace. See namespace.c. */
#ifndef GORGON_DL_NAMESPACE_H
#define GORGON_DL_NAMESPACE_H

#include "gorgon.h"

struct gorgon_thunk;

/*
 * gorgon_ns_create() with thunks of the caller's in the namespace's page; reach them
 * with gorgon_interpose_thunk(). Their contexts must outlive the namespace.
 */
struct gorgon_error *gorgon_ns_create_with(const struct gorgon_ns_opts *opts,
					   const struct gorgon_thunk *thunks, size_t thunk_count,
					   struct gorgon_ns **ret);

/* Wait a while until the threads have ended that the namespace's code has started. GORGON_ERROR_BUSY:
 * some live on. The lock is held. */
struct gorgon_error *gorgon_ns_wait_for_threads(struct gorgon_ns *ns);

#endif
