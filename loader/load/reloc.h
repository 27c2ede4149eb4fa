/* SPDX-License-Identifier: MIT */
#ifndef GORGON_LOAD_RELOC_H
#define GORGON_LOAD_RELOC_H

#include "scope.h"

/*
 * Relocate a mapped object. Objects that it depends on are relocated already where the graph has no cycle.
 * The lock is held. On failure the object's memory is to be thrown away.
 */
struct gorgon_error *gorgon_relocate(struct gorgon_object *object,
				     const struct gorgon_scope *scope);

/*
 * What that left: references to static TLS of private objects, when all of the group
 * are relocated. Makes static blocks where there are none. As above otherwise.
 */
struct gorgon_error *gorgon_relocate_static_tls(struct gorgon_object *object,
						const struct gorgon_scope *scope);

#endif
