/* SPDX-License-Identifier: MIT */
/* Anonymous memory that private code has mapped. See memory.c. */
#ifndef GORGON_PROCESS_MEMORY_H
#define GORGON_PROCESS_MEMORY_H

#include "process/part.h"

#include <stdint.h>

struct gorgon_memory;

/* Call @fn with each range that the namespace's code has mapped, under a lock that is a leaf. */
void gorgon_memory_each(struct gorgon_memory *memory,
			void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

extern const struct gorgon_part gorgon_memory_part;

/* Unmap what the namespace's code has mapped and not unmapped; after its destructors. */
void gorgon_memory_release(struct gorgon_memory *memory);

#endif
