/* SPDX-License-Identifier: MIT */
/* The life of a namespace. See namespace.c. */
#ifndef GORGON_DL_NAMESPACE_H
#define GORGON_DL_NAMESPACE_H

#include "gorgon.h"

struct gorgon_thunk;

/* What is done once in a process, before its first namespace. Any thread, at any time. */
void gorgon_ns_init(void);

/*
 * As gorgon_ns_create(); puts the caller's thunks into the namespace's page besides, where
 * gorgon_interpose_thunk() finds them. Their contexts must outlive the namespace.
 */
struct gorgon_error *gorgon_ns_create_with(const struct gorgon_ns_opts *opts,
					   const struct gorgon_thunk *thunks, size_t thunk_count,
					   struct gorgon_ns **ret);

/* Wait, for half a second at most, until all threads have ended that the namespace's code has
 * started. Threads of an interpreter that are in blocking calls are woken up. GORGON_ERROR_BUSY:
 * some live on. The lock is held, and released while this waits. */
struct gorgon_error *gorgon_ns_wait_for_threads(struct gorgon_ns *ns);

/* A program has ended with @status. If it has descriptors of its own, this function calls what was
 * registered for the end, and waits for the program's threads as gorgon_ns_wait_for_threads() does.
 * Of any program it writes what C code has printed so far. */
void gorgon_ns_end_program(struct gorgon_ns *ns, int status);

#endif
