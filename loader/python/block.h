/* SPDX-License-Identifier: MIT */
/* Counted memory of the host. See block.c. */
#ifndef GORGON_PYTHON_BLOCK_H
#define GORGON_PYTHON_BLOCK_H

#include "placement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_error;

struct gorgon_link {
	struct gorgon_link *prev, *next;
};

struct gorgon_block {
	struct gorgon_link link; /* the user's: whose it is; see data_handler.c */
	size_t count;		 /* of holders; atomic */
	char *data;
	size_t size;   /* of data, in bytes */
	size_t capacity; /* what @size was at first: so far it may grow; 0: memory of somebody else */
	size_t offset; /* of data from what malloc() or mmap() gave; 0: they are somebody else's */
	size_t mapped; /* bytes from mmap(); 0: from malloc() */
	uint64_t mark;
};

/* New memory, held once; NULL: no memory. */
struct gorgon_block *gorgon_block_create(size_t size, bool zeroed);
/* Over memory of somebody else, who is told by @destroy (may be NULL) when nobody holds it. */
struct gorgon_block *gorgon_block_wrap(void *data, size_t size,
				       void (*destroy)(void *ctx, void *data), void *ctx);

/* New memory, zeroed, in its place; errors as gorgon_placement_map() has them. It must not be resized. */
struct gorgon_error *gorgon_block_create_placed(size_t size, const struct gorgon_placement *placement,
						struct gorgon_block **ret);

void gorgon_block_hold(struct gorgon_block *block);
/* The last one frees, in whichever thread. NULL is ignored. */
void gorgon_block_release(struct gorgon_block *block);

/* Another size for a block; its data may move. Those of a block that others hold, too, are
 * copied for them to keep the old. NULL: no memory, and @block is as it was. Otherwise what
 * the caller held is the result and no longer @block. */
struct gorgon_block *gorgon_block_resize(struct gorgon_block *block, size_t size);

/* Ask the system for huge pages where they fit. */
void gorgon_block_use_huge_pages(struct gorgon_block *block);

/* The block of the first byte of memory that gorgon_block_create() made: for callers who know
 * that it is (what lies before it is read). NULL: it does not look like one. */
struct gorgon_block *gorgon_block_of(void *data);

#endif
