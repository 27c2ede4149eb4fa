/* SPDX-License-Identifier: MIT */
/* What CPython has allocated. See heap.c. */
#ifndef GORGON_PROCESS_HEAP_H
#define GORGON_PROCESS_HEAP_H

#include "process/part.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GORGON_HEAP_PAGE   4096 /* the smallest size of a page */
#define GORGON_HEAP_HEADER 32   /* bytes in front of a block */

struct gorgon_heap;

extern const struct gorgon_part gorgon_heap_part;

/* Before the first heap: choose what blocks are marked with. */
void gorgon_heap_init(void);

/* Hold the heap's lock around fork(). The child is the one that held it. */
void gorgon_heap_before_fork(struct gorgon_heap *heap);
void gorgon_heap_after_fork(struct gorgon_heap *heap);

extern uint64_t gorgon_heap_secret;

/* Whether a block is libpython's. The block must be alive. The eight bytes before a block of
 * libpython's are its mark, the lowest bit of which is no part of the comparison. */
__attribute__((no_sanitize("address", "thread"))) static inline bool
gorgon_heap_is_listed(const void *p)
{
	if (!((uintptr_t)p % GORGON_HEAP_PAGE))
		return false;
	return (((const uint64_t *)p)[-1] ^ ((uintptr_t)p - GORGON_HEAP_HEADER) ^
		gorgon_heap_secret) <= 1;
}

/* realloc() and free() of such a block. */
void *gorgon_heap_resize(void *p, size_t size);
void gorgon_heap_free(void *p);
/* How many bytes of a listed block are its user's. */
size_t gorgon_heap_usable_size(void *p);

/* malloc(3), calloc(3) and realloc(3) of libpython. */
void *gorgon_heap_malloc(size_t size, struct gorgon_heap *heap);
void *gorgon_heap_calloc(size_t count, size_t size, struct gorgon_heap *heap);
void *gorgon_heap_realloc(void *p, size_t size, struct gorgon_heap *heap);

#endif
