/* SPDX-License-Identifier: MIT */
/* Exceptions of Python as errors. See exception.c. */
#ifndef GORGON_PYTHON_EXCEPTION_H
#define GORGON_PYTHON_EXCEPTION_H

#include "python/api.h"

/* Make an error of a Python error as PyErr_Fetch() gives it, and release that. With the GIL. */
struct gorgon_error *gorgon_exception_text(struct gorgon_interp *interp, PyObject *type,
					   PyObject *value, PyObject *traceback);

#endif
