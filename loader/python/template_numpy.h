/* SPDX-License-Identifier: MIT */
/* What numpy knows by addresses. See template_numpy.c. */
#ifndef GORGON_PYTHON_TEMPLATE_NUMPY_H
#define GORGON_PYTHON_TEMPLATE_NUMPY_H

#include "interp.h"

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

#endif
