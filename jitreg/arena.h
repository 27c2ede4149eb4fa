/* SPDX-License-Identifier: MIT */
/* Memory of symfiles. See arena.c. */
#ifndef JITREG_ARENA_H
#define JITREG_ARENA_H

#include <stddef.h>

/** Whole pages of zeros, readable and writable; NULL: no memory. Any thread. */
void *jitreg_arena_alloc(size_t size);

/** Make a block read-only. 0 or -ENOMEM; the block stays the caller's either way. */
int jitreg_arena_seal(void *block, size_t size);

/** Give a block back to the system. @p size as it was allocated. */
void jitreg_arena_free(void *block, size_t size);

#endif
