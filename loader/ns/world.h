/* SPDX-License-Identifier: MIT */
/* The libraries that the system's linker has loaded, seen as a whole. See world.c. */
#ifndef GORGON_NS_WORLD_H
#define GORGON_NS_WORLD_H

#include "image/symbol.h"

/* How many libraries it has ever loaded and unloaded: the same libraries are there as long as both
 * stay as they are. */
struct gorgon_world {
	uint64_t added, removed;
};

struct gorgon_world gorgon_world_now(void);

/*
 * Whether what the system answers for a name is the same as long as the world is, whichever of its
 * libraries becomes global meanwhile. @addr is what it answers now, not of a thread-local variable;
 * NULL: nothing.
 */
bool gorgon_world_is_settled(const struct gorgon_symbol_query *query, const void *addr);

#endif
