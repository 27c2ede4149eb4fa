/* SPDX-License-Identifier: MIT */
/* Processes that a program inside an interpreter starts. See children.c. */
#ifndef GORGON_PYTHON_CHILDREN_H
#define GORGON_PYTHON_CHILDREN_H

#include "python/api.h"

#include <stdbool.h>

/* Let these processes find a module `gorgon`, at the end of this interpreter's sys.path. The
 * GIL is held. False: an exception is set. */
bool gorgon_children_add_path(struct gorgon_interp *interp);

#endif
