/* SPDX-License-Identifier: MIT */
/* Memory of private code inside its namespace's zone. See zone_heap.c. */
#ifndef GORGON_PROCESS_ZONE_HEAP_H
#define GORGON_PROCESS_ZONE_HEAP_H

#include "process/part.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Offsets in a zone: libraries are below, then blocks of malloc(), then what is mapped. */
#define GORGON_ZONE_BLOCKS UINT64_C(0x80000000)
#define GORGON_ZONE_MAPS   UINT64_C(0xc0000000)
#define GORGON_ZONE_END    UINT64_C(0xfff00000)

struct gorgon_usage;
struct gorgon_zone_heap;

extern const struct gorgon_part gorgon_zone_heap_part;

/* The runs of a template get the same answers, so that their libraries do the same. */
struct gorgon_zone_seed {
	unsigned char random[64]; /* the first random bytes */
	time_t time; /* what time() says when a run begins; 0: it says what the clock says */
};

/* From now on what private code of @ns allocates and maps lies in its zone, at an offset that
 * depends on what it has allocated before and on nothing else. @seed may be NULL.
 * gorgon_malloc_begin_zone() calls it before anything is loaded. It returns false where the
 * namespace has no zone. */
bool gorgon_zone_heap_begin(struct gorgon_ns *ns, const struct gorgon_zone_seed *seed);
/* From now on it gets memory as other namespaces do, but may give back what is there. */
void gorgon_zone_heap_close(struct gorgon_ns *ns);
/* Throw away all that has been allocated and mapped in the zone, and map so many bytes for blocks
 * in its place, which are zeros. False: no memory. */
bool gorgon_zone_heap_reset(struct gorgon_ns *ns, uint64_t size);
/* Map something behind the blocks, at an offset of the zone; zeros. False: no memory. */
bool gorgon_zone_heap_place(struct gorgon_ns *ns, uint64_t offset, uint64_t size);

/* Where the blocks end: an offset in the zone. */
uint64_t gorgon_zone_heap_end(const struct gorgon_zone_heap *heap);
/* The block that an address is in, which may have been freed; 0: none. @caller: an address in what
 * has asked for it, or 0. Takes a while. */
uint64_t gorgon_zone_heap_block_at(const struct gorgon_zone_heap *heap, uint64_t addr, size_t *size,
				   uint64_t *caller);

/* The first block that another namespace's heap has not at the same offset: an offset in the zone,
 * or 0: none. @in_other: only the other one has a block there. */
uint64_t gorgon_zone_heap_difference(const struct gorgon_zone_heap *heap,
				     const struct gorgon_zone_heap *other, bool *in_other);

/* While memory is allocated here: a thread of the namespace ends. @heap may be NULL. */
void gorgon_zone_heap_note_thread(struct gorgon_zone_heap *heap, uint64_t thread);
/* Whether a thread that has ended was called so by pthread_self(). */
bool gorgon_zone_heap_knew_thread(const struct gorgon_zone_heap *heap, uint64_t thread);

/* So that the blocks of the forked child are whole. @heap may be NULL. */
void gorgon_zone_heap_before_fork(struct gorgon_zone_heap *heap);
void gorgon_zone_heap_after_fork(struct gorgon_zone_heap *heap);

/* Whether memory is allocated here. @heap may be NULL. */
bool gorgon_zone_heap_is_open(const struct gorgon_zone_heap *heap);
/* Whether a block of malloc() is from here. @heap may be NULL. */
bool gorgon_zone_heap_owns(const struct gorgon_zone_heap *heap, const void *p);
/* The zeros of a new block; NULL: no memory, and errno is set. @caller: where the call returns
 * to. */
void *gorgon_zone_heap_alloc(struct gorgon_zone_heap *heap, size_t alignment, size_t size,
			     const void *caller);
/* Zeros in the zone; without @heap a block of calloc(3). */
void *gorgon_zone_heap_zeros(struct gorgon_zone_heap *heap, size_t size);
void gorgon_zone_heap_free(struct gorgon_zone_heap *heap, void *p);
size_t gorgon_zone_heap_usable(const void *p);
/* realloc(3) of a block: whether it can stay where it is; otherwise its bytes go to @to, which is
 * NULL if there is no memory or @size is 0. Returns what realloc() does. */
bool gorgon_zone_heap_fits(const void *p, size_t size);
void *gorgon_zone_heap_move(struct gorgon_zone_heap *heap, void *p, size_t size, void *to);

#endif
