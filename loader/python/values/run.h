/* SPDX-License-Identifier: MIT */
/* Calls of Python functions with plain values. See run.c. The GIL is held for all that takes Python
 * objects. */
#ifndef GORGON_PYTHON_RUN_H
#define GORGON_PYTHON_RUN_H

#include "python/api.h"

/* Get an attribute of @object, or an attribute of an attribute: names separated by dots. Releases
 * @object. */
struct gorgon_error *gorgon_run_get_attribute(struct gorgon_interp *interp, PyObject *object,
					      const char *names, PyObject **ret);
/* Refuse arguments of the wrong kind. @what names the function that is called. Needs no GIL. */
struct gorgon_error *gorgon_run_check(const char *what, const struct gorgon_value *args,
				      const struct gorgon_value *kwargs);
/* Call @function with arguments that have been checked. */
struct gorgon_error *gorgon_run_call(struct gorgon_interp *interp, PyObject *function,
				     const struct gorgon_value *args,
				     const struct gorgon_value *kwargs, PyObject **ret);

#endif
