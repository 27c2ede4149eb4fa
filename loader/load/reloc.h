/* SPDX-License-Identifier: MIT */
#ifndef GORGON_LOAD_RELOC_H
#define GORGON_LOAD_RELOC_H

#include "ns/ns.h"

/*
 * Relocate a mapped object. @local: closure of the group's root, breadth first.
 * Objects that it depends on are relocated already where the graph has no cycle.
 * The lock is held. On failure the object's memory is to be thrown away.
 */
struct gorgon_error *gorgon_relocate(struct gorgon_object *object,
				     struct gorgon_object *const *local, size_t local_count);

/*
 * What that left: references to static TLS of private objects, when all of the group
 * are relocated. Makes static blocks where there are none. As above otherwise.
 */
struct gorgon_error *gorgon_relocate_static_tls(struct gorgon_object *object,
						struct gorgon_object *const *local,
						size_t local_count);

#endif
