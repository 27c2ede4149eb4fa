/* SPDX-License-Identifier: MIT */
/* Python code that another process asks an interpreter to run. See remote.c. */
#ifndef GORGON_PYTHON_REMOTE_H
#define GORGON_PYTHON_REMOTE_H

#include "interp.h"

/* Python is up: from now on the interpreter takes requests, unless the process takes none, or its
 * isolation cannot. */
void gorgon_remote_prepare(struct gorgon_interp *interp);

#endif
