/* SPDX-License-Identifier: MIT */
/* What functions of the module `gorgon` have in common. See raise.c. */
#ifndef GORGON_PYTHON_RAISE_H
#define GORGON_PYTHON_RAISE_H

#include "api.h"

/* An error of the library, which is given back, as an exception; returns NULL. */
PyObject *gorgon_raise(struct gorgon_interp *interp, struct gorgon_error *err);
/* The exception for memory that is not to be shared in place; returns NULL. */
void *gorgon_raise_not_shareable(struct gorgon_interp *interp);
/* None, for a function to return. */
PyObject *gorgon_none(struct gorgon_interp *interp);
/* An attribute; NULL without an exception when there is none, with one after other failures. */
PyObject *gorgon_find_attribute(struct gorgon_interp *interp, PyObject *object, const char *name);

#endif
