/* SPDX-License-Identifier: MIT */
/* Functions of the host as callables of Python. See function.c. */
#ifndef GORGON_PYTHON_FUNCTION_H
#define GORGON_PYTHON_FUNCTION_H

#include "python/api.h"

/* What thunks call: the callable, and the end of its capsule. */
PyObject *gorgon_function_call(PyObject *self, PyObject *args, PyObject *kwargs,
			       struct gorgon_interp *interp);
void gorgon_function_free(PyObject *capsule, struct gorgon_interp *interp);

/* No Python of the interpreter runs any more: free the functions that it has not freed. */
void gorgon_functions_end(struct gorgon_interp *interp);

#endif
