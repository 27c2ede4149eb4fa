/* SPDX-License-Identifier: MIT */
/* The locks of importlib, and interrupts. See import_locks.c. */
#ifndef GORGON_PYTHON_IMPORT_LOCKS_H
#define GORGON_PYTHON_IMPORT_LOCKS_H

#include "interp.h"

struct gorgon_thunk;

/* Have importlib tell when a thread holds one of its locks, if it is as we know it. With the GIL.
 * */
void gorgon_import_locks_begin(struct gorgon_interp *interp);

/* Fill in the thunks of its functions (GORGON_THUNK_LOCKS and those behind it). */
void gorgon_import_locks_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
void gorgon_import_locks_free(struct gorgon_interp *interp);

#endif
