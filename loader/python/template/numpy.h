/* SPDX-License-Identifier: MIT */
/* What numpy knows by addresses. See template/numpy.c. */
#ifndef GORGON_PYTHON_TEMPLATE_NUMPY_H
#define GORGON_PYTHON_TEMPLATE_NUMPY_H

#include "python/calls/interp.h"

/* numpy's functions: their type, NULL if the interpreter has not imported numpy, and their size. */
struct gorgon_ufuncs {
	void *type;
	size_t size;
};

/* With the GIL. */
struct gorgon_ufuncs gorgon_numpy_find(struct gorgon_interp *interp);
/* Empty the cache of one of them. */
void gorgon_numpy_forget(const struct gorgon_interp *interp, const struct gorgon_ufuncs *ufuncs,
			 const char *ufunc);

/* The length of the keys of a table of numpy's 2.4 and later, or 0: the block is none. */
unsigned gorgon_numpy_keys_of(const void *block, uint64_t block_size);
/* The bytes of a table. */
uint64_t gorgon_numpy_size_of(const void *block, unsigned length);
/* Put its entries in order, where their keys have other addresses. False: no memory. */
bool gorgon_numpy_rehash(void *block, unsigned length);

#endif
