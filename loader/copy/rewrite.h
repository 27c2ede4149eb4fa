/* SPDX-License-Identifier: MIT */
/* A shared object under another name, that needs libraries of other names. See rewrite.c. */
#ifndef GORGON_COPY_REWRITE_H
#define GORGON_COPY_REWRITE_H

#include "gorgon.h"

/* A library's name, and the name to put in its place. */
struct gorgon_rewrite_name {
	const char *from, *to;
};

/* Zeroed members change nothing. Names are not empty. */
struct gorgon_rewrite_opts {
	const char *soname; /* DT_SONAME */
	/* Wherever the file names a library that it needs: DT_NEEDED, DT_AUXILIARY, DT_FILTER,
	 * and the versions that it needs of it. Names that it does not mention are ignored.
	 * Ends with a NULL `from`. */
	const struct gorgon_rewrite_name *replace;
	/* Libraries that the copy needs, before the libraries that the file needs already. A
	 * library that the file needs (after replacement) is not added again. NULL-terminated. */
	const char *const *add;
	const char *runpath; /* DT_RUNPATH; takes the place of a DT_RPATH, too */
};

/*
 * Write a changed copy of the shared object @from to the new file @to (mode 0600).
 *
 * Besides the errors of gorgon_object_open() up to mapping: GORGON_ERROR_OS when @to exists or
 * cannot be written, GORGON_ERROR_UNSUPPORTED for a prelinked file, GORGON_ERROR_ARGUMENT for an
 * empty name. A failure leaves no new file. Any thread may call; takes the loader's lock.
 */
GORGON_MUST_CHECK struct gorgon_error *gorgon_rewrite(const char *from, const char *to,
						      const struct gorgon_rewrite_opts *opts);

#endif
