/* SPDX-License-Identifier: MIT */
/* An array, inside the library. See array.c. */
#ifndef GORGON_PYTHON_ARRAY_H
#define GORGON_PYTHON_ARRAY_H

#include "gorgon.h"
#include "format.h"

struct gorgon_block;

struct gorgon_array {
	size_t count; /* of holders; atomic */
	struct gorgon_block *block;
	char *data; /* the first item */
	bool writable;
	bool plain; /* whoever gets it sees a buffer, not an ndarray */
	struct gorgon_array *mask; /* held; of numpy's masked arrays, or NULL */
	struct gorgon_array_layout layout; /* what it points to is the array's */
	struct gorgon_format format;	   /* of layout.format */
};

/* Make an array over memory of a block, which the array holds. */
struct gorgon_error *gorgon_array_create_in(struct gorgon_block *block, void *data,
					    const struct gorgon_array_layout *layout, bool writable,
					    struct gorgon_array **ret);

#endif
