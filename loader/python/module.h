/* SPDX-License-Identifier: MIT */
/* The built-in module `gorgon`. See module.c. */
#ifndef GORGON_PYTHON_MODULE_H
#define GORGON_PYTHON_MODULE_H

#include "interp.h"
#include "thunks.h"

struct _object; /* PyObject */
struct gorgon_thunk;

/* How to fill the thunks in. */
void gorgon_module_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
/* Announce the module to the copy's import system; before Python starts. */
struct gorgon_error *gorgon_module_add(struct gorgon_interp *interp);
/* Make the module `gorgon`, of a copy or of the process's own CPython. */
struct _object *gorgon_module_init(struct gorgon_interp *interp);

#endif
