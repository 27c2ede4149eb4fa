/* SPDX-License-Identifier: MIT */
/* Exceptions and results for functions of the module `gorgon`. See raise.c. */
#ifndef GORGON_PYTHON_RAISE_H
#define GORGON_PYTHON_RAISE_H

#include "python/api.h"

/* Raise an error of the library as an exception, and release the error; returns NULL. */
PyObject *gorgon_raise(struct gorgon_interp *interp, struct gorgon_error *err);
/* Raise the exception for memory that cannot be shared in place; returns NULL. */
void *gorgon_raise_not_shareable(struct gorgon_interp *interp);
/* None, for a function to return. */
PyObject *gorgon_none(struct gorgon_interp *interp);
/* Find an attribute. NULL without an exception: there is none; NULL with an exception: another
 * failure. */
PyObject *gorgon_find_attribute(struct gorgon_interp *interp, PyObject *object, const char *name);

#endif
