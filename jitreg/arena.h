/* SPDX-License-Identifier: MIT */
/* Memory of symfiles. See arena.c. */
#ifndef JITREG_ARENA_H
#define JITREG_ARENA_H

#include <stddef.h>
#include <sys/mman.h>

/** Whole pages of zeros, readable and writable; NULL: no memory. Caller holds jitreg_lock(). */
void *jitreg_arena_alloc(size_t size);

/** Set the protection (PROT_...) of the pages that these bytes of a block are on. 0 or -ENOMEM. */
int jitreg_arena_protect(void *bytes, size_t size, int protection);

/** Give a block of @p size bytes, as allocated, back to the system. Caller holds jitreg_lock(). */
void jitreg_arena_free(void *block, size_t size);

#endif
