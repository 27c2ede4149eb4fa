/* SPDX-License-Identifier: MIT */
/* Anonymous memory that private code has mapped. See memory.c. */
#ifndef GORGON_PROCESS_MEMORY_H
#define GORGON_PROCESS_MEMORY_H

#include "process/part.h"

#include <stdbool.h>
#include <stdint.h>

struct gorgon_memory;

/* Call @fn with each range that the namespace's code has mapped, under a lock that is a leaf. */
void gorgon_memory_each(struct gorgon_memory *memory,
			void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

/* From now on what the namespace's code maps, private and anonymous and anywhere, is in [start,
 * end), and never twice at the same address; with 0 it is anywhere again. */
void gorgon_memory_map_within(struct gorgon_memory *memory, uint64_t start, uint64_t end);
/* Map zeros for the namespace's code, at an address of whole pages. False: no memory, or something
 * is there. */
bool gorgon_memory_map_at(struct gorgon_memory *memory, uint64_t addr, uint64_t size);
/* Unmap what of [start, end) the namespace's code has mapped. */
void gorgon_memory_drop(struct gorgon_memory *memory, uint64_t start, uint64_t end);

extern const struct gorgon_part gorgon_memory_part;

/* Unmap what the namespace's code has mapped and not unmapped; after its destructors. */
void gorgon_memory_release(struct gorgon_memory *memory);

#endif
