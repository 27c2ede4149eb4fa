/* SPDX-License-Identifier: MIT */
/* Imports that use what other interpreters have found out of files. See imports.c. */
#ifndef GORGON_PYTHON_IMPORTS_H
#define GORGON_PYTHON_IMPORTS_H

struct gorgon_interp;
struct gorgon_thunk;

/* Fill in the thunks of the functions that Python gets. */
void gorgon_imports_thunks(struct gorgon_interp *interp, struct gorgon_thunk *list);
/*
 * Give importlib's classes their other methods, after Python has started, with the GIL. Where that
 * cannot be done imports are as they were: a Python whose importlib is another one, `-v`, file
 * names that are not UTF-8.
 */
void gorgon_imports_begin(struct gorgon_interp *interp);
/* Free what it needs, after Python's end. */
void gorgon_imports_free(struct gorgon_interp *interp);

#endif
