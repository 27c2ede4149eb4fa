/* SPDX-License-Identifier: MIT */
/* The built-in module `gorgon`. See module.c. */
#ifndef GORGON_PYTHON_MODULE_H
#define GORGON_PYTHON_MODULE_H

#include "python/calls/interp.h"
#include "python/calls/thunks.h"

struct gorgon_thunk;

/* Fill in the thunks of the module's functions, GORGON_MODULE_THUNKS of them. */
void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
/* Announce the module to the copy's import system; before Python starts. */
struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp);
/* Make the module `gorgon`, of a copy or of the process's own CPython. */
struct _object *gorgon_module_init(struct gorgon_interp *interp);
/* Give the module gorgon of a copy, if the template has imported it, the number of the copy. The
 * caller holds the GIL. False: a Python error is set. */
bool gorgon_module_renumber(struct gorgon_interp *interp);

#endif
