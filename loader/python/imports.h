/* SPDX-License-Identifier: MIT */
/* Imports that use the compiled files that other interpreters have read. See imports.c. */
#ifndef GORGON_PYTHON_IMPORTS_H
#define GORGON_PYTHON_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

struct gorgon_imports;
struct gorgon_interp;
struct gorgon_thunk;

/* Fill in the thunk of the function that Python gets. */
void gorgon_imports_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
/*
 * Give importlib's loader its other method, after Python has started, with the GIL. Where that
 * cannot be done imports are as they were: a Python whose importlib is another one, `-v`, file
 * names that are not UTF-8.
 */
void gorgon_imports_begin(struct gorgon_interp *interp);
/* Bytes of struct gorgon_imports. */
size_t gorgon_imports_size(void);
/* A copy of @from, which may be NULL. False: no memory. */
bool gorgon_imports_copy(const struct gorgon_imports *from, struct gorgon_imports **ret);
/* Adapt a copy to another interpreter: @move returns where an object or a thunk of the first
 * interpreter is in the other one. */
void gorgon_imports_move(struct gorgon_imports *imports, void *(*move)(void *ctx, void *addr),
			 void *ctx);
/* After Python's end. NULL is ignored. */
void gorgon_imports_destroy(struct gorgon_imports *imports);

#endif
