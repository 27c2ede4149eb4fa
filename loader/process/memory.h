/* SPDX-License-Identifier: MIT */
/* Anonymous memory that private code has mapped. See memory.c. */
#ifndef GORGON_PROCESS_MEMORY_H
#define GORGON_PROCESS_MEMORY_H

#include "part.h"

struct gorgon_memory;

extern const struct gorgon_part gorgon_memory_part;

/* Unmap what the namespace's code has mapped and not unmapped; after its destructors. */
void gorgon_memory_release(struct gorgon_memory *memory);

#endif
