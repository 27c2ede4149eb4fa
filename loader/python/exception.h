/* SPDX-License-Identifier: MIT */
/* Exceptions of Python as errors. See exception.c. */
#ifndef GORGON_PYTHON_EXCEPTION_H
#define GORGON_PYTHON_EXCEPTION_H

#include "interp.h"

/* The exception that is set, which is cleared. The GIL is held. */
struct gorgon_error *gorgon_exception_take(struct gorgon_interp *interp);

#endif
