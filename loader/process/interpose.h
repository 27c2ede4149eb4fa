/* SPDX-License-Identifier: MIT */
/* Names that private code gets from us instead of from the system. See interpose.c. */
#ifndef GORGON_PROCESS_INTERPOSE_H
#define GORGON_PROCESS_INTERPOSE_H

#include "ns/ns.h"
#include "base/thunk.h"
#include "part.h"

/* The names of @parts, ended by NULL, in a table that namespaces can be given; it is never freed.
 * NULL: no memory. */
const struct gorgon_interposed *gorgon_interposed_create(const struct gorgon_part *const *parts);

/* Bind these names in @ns from now on, whose parts have their states already, and make its
 * thunks, with @count more behind them. */
struct gorgon_error *gorgon_interpose_init(struct gorgon_ns *ns,
					   const struct gorgon_interposed *interposed,
					   const struct gorgon_thunk *more, size_t count);

/* The callable address of thunk @index of @more. */
void *gorgon_interpose_thunk(const struct gorgon_ns *ns, size_t index);

/* Our address for @name when @object (NULL: dlsym) refers to it in this namespace, or NULL
 * when the system's is wanted. @provider: the host's for the load that is under way, or NULL. */
void *gorgon_interpose_find(const struct gorgon_ns *ns, const struct gorgon_object *object,
			    const struct gorgon_provider *provider, const char *name);

/* The same in two steps: which of our names it is, or NULL, in every namespace for which the same
 * names apply; and its address in this one. */
const struct gorgon_our_name *
gorgon_interpose_choose(const struct gorgon_ns *ns, const struct gorgon_object *object,
			const struct gorgon_provider *provider, const char *name);
void *gorgon_interpose_address(const struct gorgon_ns *ns, const struct gorgon_our_name *name);

/* gorgon_interpose_find() for a namespace that the system's linker has loaded: without the names
 * that only our loader can bind. */
void *gorgon_interpose_find_of_process(const struct gorgon_ns *ns, const char *name);

/* Our address for @name although the private @definer defines it, or NULL. */
void *gorgon_interpose_find_defined(const struct gorgon_ns *ns, const struct gorgon_object *definer,
				    const char *name);

/* Why a name of the namespace's table is ours; NULL for others. */
const char *gorgon_interpose_reason(const struct gorgon_ns *ns, const char *name);

#endif
