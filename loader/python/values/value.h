/* SPDX-License-Identifier: MIT */
/* Plain values between the host and an interpreter. See value.c. */
#ifndef GORGON_PYTHON_VALUE_H
#define GORGON_PYTHON_VALUE_H

#include "python/api.h"

/* Make a Python object of a value. @what names the value in errors. The GIL is held, here and
 * below. */
struct gorgon_error *gorgon_value_to_python(struct gorgon_interp *interp,
					    const struct gorgon_value *value, const char *what,
					    PyObject **ret);
/* Make a value of a Python object, to be released with gorgon_value_deinit(). Arrays are copied. */
struct gorgon_error *gorgon_value_from_python(struct gorgon_interp *interp, PyObject *object,
					      const char *what, struct gorgon_value *ret);
/* The same, of a result: the caller's reference to @object is given up, and arrays that nothing
 * else refers to then cross without a copy (given.c). */
struct gorgon_error *gorgon_value_take(struct gorgon_interp *interp, PyObject *object,
				       const char *what, struct gorgon_value *ret);
/* A value of the arguments of a call from Python, a tuple or a dict. What is no plain value is
 * held for the host, as GORGON_VALUE_OBJECT. */
struct gorgon_error *gorgon_value_of_arguments(struct gorgon_interp *interp, PyObject *object,
					       const char *what, struct gorgon_value *ret);
/* Copy a value, under the same limits. Needs no Python. */
struct gorgon_error *gorgon_value_copy(const struct gorgon_value *value, const char *what,
				       struct gorgon_value *ret);

#endif
