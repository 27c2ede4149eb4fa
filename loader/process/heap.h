/* SPDX-License-Identifier: MIT */
/* What CPython has allocated. See heap.c. */
#ifndef GORGON_PROCESS_HEAP_H
#define GORGON_PROCESS_HEAP_H

#include "base/usage.h"

#include <pthread.h>
#include <stddef.h>

struct gorgon_ns;
struct gorgon_heap_block;

struct gorgon_heap {
	pthread_mutex_t lock; /* a leaf */
	struct gorgon_heap_block *blocks;
	struct gorgon_usage usage;
};

void gorgon_heap_init(struct gorgon_heap *heap);
/* Free all blocks; no code of the namespace runs any more. */
void gorgon_heap_release(struct gorgon_heap *heap);

/* Its lock around fork(). */
void gorgon_heap_before_fork(struct gorgon_heap *heap);
void gorgon_heap_after_fork(struct gorgon_heap *heap);

/* Whether a block, which must be alive, is libpython's. */
bool gorgon_heap_is_listed(const void *p);
/* realloc() and free() of such a block. */
void *gorgon_heap_resize(void *p, size_t size);
void gorgon_heap_free(void *p);

/* --- replacements (see replacements.c); malloc(3) ---------------------------------- */

/* For libpython. */
void *gorgon_heap_malloc(size_t size, struct gorgon_ns *ns);
void *gorgon_heap_calloc(size_t count, size_t size, struct gorgon_ns *ns);

#endif
