/* SPDX-License-Identifier: MIT */
/* Objects give up mappings. See relax.c. */
#ifndef GORGON_LOAD_RELAX_H
#define GORGON_LOAD_RELAX_H

struct gorgon_object;

/* @object was mapped and protected: count, and give up protection near the limit.
 * The lock is held. */
void gorgon_relax_if_scarce(struct gorgon_object *object);

#endif
