/* SPDX-License-Identifier: MIT */
/* Plain values across the border. See value.c. */
#ifndef GORGON_PYTHON_VALUE_H
#define GORGON_PYTHON_VALUE_H

#include "api.h"

/* A new Python object for a value, or an error. @what names it in errors. The GIL is held,
 * here and below. */
struct gorgon_error *gorgon_value_to_python(struct gorgon_interp *interp,
					    const struct gorgon_value *value, const char *what,
					    PyObject **ret);
/* The opposite; to be given back with gorgon_value_deinit(). */
struct gorgon_error *gorgon_value_from_python(struct gorgon_interp *interp, PyObject *object,
					      const char *what, struct gorgon_value *ret);
/* Without Python: a copy, under the same limits. */
struct gorgon_error *gorgon_value_copy(const struct gorgon_value *value, const char *what,
				       struct gorgon_value *ret);

#endif
