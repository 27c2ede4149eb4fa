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
/* Bytes of struct gorgon_import_locks. */
size_t gorgon_import_locks_size(void);
/* Make those of @interp, which has loaded the same, those of another interpreter, with addresses
 * that @move gives. */
void gorgon_import_locks_copy(const struct gorgon_import_locks *from, struct gorgon_interp *interp,
			      void *(*move)(void *ctx, void *addr), void *ctx);
void gorgon_import_locks_free(struct gorgon_interp *interp);

#endif
