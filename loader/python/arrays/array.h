/* SPDX-License-Identifier: MIT */
/* An array, inside the library. See array.c. */
#ifndef GORGON_PYTHON_ARRAY_H
#define GORGON_PYTHON_ARRAY_H

#include "gorgon.h"
#include "format.h"

struct gorgon_block;
struct gorgon_interp;

struct gorgon_array {
	size_t count; /* of holders; atomic */
	struct gorgon_block *block;
	char *data; /* the first item */
	bool writable;
	bool plain; /* a receiver gets a buffer, not an ndarray */
	struct gorgon_array *mask; /* held: the mask of a masked array of numpy's, or NULL */
	struct gorgon_array_layout layout; /* the array owns what it points to */
	struct gorgon_format format;	   /* of layout.format */
};

/* Make an array over memory of a block, which the array holds. @interp is where the block was
 * found, and may be NULL. */
struct gorgon_error *gorgon_array_create_in(struct gorgon_block *block, void *data,
					    const struct gorgon_array_layout *layout, bool writable,
					    struct gorgon_interp *interp,
					    struct gorgon_array **ret);
/* gorgon_array_share() by a program; NULL: by the host. GORGON_ERROR_NOMEM: its limit does not
 * allow its share, too. */
struct gorgon_error *gorgon_array_share_as(struct gorgon_interp *interp, struct gorgon_array *array,
					   const char *name);

#endif
