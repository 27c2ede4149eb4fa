/* SPDX-License-Identifier: MIT */
/* Where the memory of an array is. See placement.c. */
#ifndef GORGON_PYTHON_PLACEMENT_H
#define GORGON_PYTHON_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gorgon_error;

#define GORGON_PLACEMENT_ALIGN	   64 /* of all blocks */
#define GORGON_PLACEMENT_ALIGN_MAX (UINT64_C(1) << 30)

struct gorgon_placement {
	size_t alignment;    /* of the data: a power of two; GORGON_PLACEMENT_ALIGN if it is less */
	uint64_t numa_nodes; /* bit 0 for node 0; 0: the process's policy */
	bool huge_pages;     /* if the system has huge pages */
	bool locked;	     /* resident from the beginning, and never on a swap device */
};

/* Whether an alignment is a power of two, GORGON_PLACEMENT_ALIGN_MAX at most. */
bool gorgon_placement_can_align(size_t alignment);

/* Whether memory of this size has to be a mapping of its own, because a property of pages is asked
 * for. */
bool gorgon_placement_needs_pages(const struct gorgon_placement *placement, size_t size);

bool gorgon_placement_is_same(const struct gorgon_placement *a, const struct gorgon_placement *b);

/* A mapping, whose bytes are zero. */
struct gorgon_pages {
	char *base;
	size_t size;
	char *data; /* in it, aligned */
};

/*
 * Map memory for @size bytes of data with at least @room bytes before them. GORGON_ERROR_NOMEM;
 * GORGON_ERROR_UNSUPPORTED: the kernel has no NUMA policies; GORGON_ERROR_ARGUMENT: none of the
 * nodes is one that this process may use; GORGON_ERROR_OS: the memory must not be locked.
 */
struct gorgon_error *gorgon_placement_map(const struct gorgon_placement *placement, size_t size,
					  size_t room, struct gorgon_pages *ret);

#endif
