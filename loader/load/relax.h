/* SPDX-License-Identifier: MIT */
/* Objects give up mappings. See relax.c. */
#ifndef GORGON_LOAD_RELAX_H
#define GORGON_LOAD_RELAX_H

struct gorgon_object;

/* Count @object, which has been mapped and protected; near the limit it gives up protection.
 * The caller holds the lock. */
void gorgon_relax_if_scarce(struct gorgon_object *object);

#endif
