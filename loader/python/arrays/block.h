/* SPDX-License-Identifier: MIT */
/* Counted memory of the host. See block.c. */
#ifndef GORGON_PYTHON_BLOCK_H
#define GORGON_PYTHON_BLOCK_H

#include "python/calls/link.h"
#include "placement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_charge;
struct gorgon_error;

struct gorgon_block {
	struct gorgon_link link; /* for the user's list; see data_handler.c */
	size_t count;		 /* of holders; atomic */
	char *data;
	size_t size;   /* of data, in bytes */
	size_t capacity; /* bytes that there are for data; 0: memory of another owner */
	/* from the start of the allocation to data, 2^30 at most; 0: memory of another owner */
	uint32_t offset;
	bool counted;  /* an interpreter has allocated it, and those that hold it are charged */
	size_t mapped; /* bytes from mmap(); 0: from malloc() */
	struct gorgon_charge *charges; /* see charges.c */
	uint64_t mark;
};

/* New memory, held once; NULL: no memory. */
struct gorgon_block *gorgon_block_create(size_t size, bool zeroed);
/* Make a block over memory of another owner. @destroy, if not NULL, is called when nobody holds it
 * any more. */
struct gorgon_block *gorgon_block_wrap(void *data, size_t size,
				       void (*destroy)(void *ctx, void *data), void *ctx);

/* New memory, zeroed, with a placement; errors as of gorgon_placement_map(). It must not be
 * resized. */
struct gorgon_error *gorgon_block_create_placed(size_t size,
						const struct gorgon_placement *placement,
						struct gorgon_block **ret);

void gorgon_block_hold(struct gorgon_block *block);
/* The last holder frees the block, on any thread. NULL is ignored. */
void gorgon_block_release(struct gorgon_block *block);

/* Change the size of @block, whose data may move. The caller is its only holder, and its memory has
 * no other owner. NULL: there is no memory, and @block is as it was. Otherwise the caller holds the
 * result and no longer @block. */
struct gorgon_block *gorgon_block_resize(struct gorgon_block *block, size_t size);

/* Ask the system for huge pages where they fit. From this size on numpy's own handler does so, too.
 */
#define GORGON_BLOCK_HUGE_PAGES_MIN (4u << 20) /* bytes */
void gorgon_block_use_huge_pages(struct gorgon_block *block);
/* New memory that is written to at once, on huge pages if it is large: fewer faults of pages.
 * NULL: no memory. */
struct gorgon_block *gorgon_block_create_for_copy(size_t size);

/* Find the block whose data begin at @data. Bytes in front of @data are read, so it must be the
 * beginning of some allocation. NULL: there is no block. */
struct gorgon_block *gorgon_block_of(void *data);

#endif
