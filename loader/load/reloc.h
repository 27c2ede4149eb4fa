/* SPDX-License-Identifier: MIT */
#ifndef GORGON_LOAD_RELOC_H
#define GORGON_LOAD_RELOC_H

#include "scope.h"

/*
 * Relocate a mapped object. The objects that it depends on have been relocated, except in a cycle
 * of dependencies. The caller holds the lock. On failure the object's memory is to be thrown away.
 */
struct gorgon_error *gorgon_relocate(struct gorgon_object *object,
				     const struct gorgon_scope *scope);

/*
 * Relocate what gorgon_relocate() has left: references to static TLS of private objects. It is
 * called when all objects of the load set are relocated, and makes static blocks where there are
 * none. The lock and failures are as above.
 */
struct gorgon_error *gorgon_relocate_static_tls(struct gorgon_object *object,
						const struct gorgon_scope *scope);

#endif
