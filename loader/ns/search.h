/* SPDX-License-Identifier: MIT */
/* From a library's name to a file, as ld.so(8) says. See search.c. */
#ifndef GORGON_NS_SEARCH_H
#define GORGON_NS_SEARCH_H

#include "gorgon.h"

/* Who needs a library, as far as the search for it asks. */
struct gorgon_requester {
	const char *path;	    /* of its file */
	const char *rpath, *runpath; /* its DT_RPATH and DT_RUNPATH, or NULL */
	const struct gorgon_requester *loader; /* whose DT_NEEDED brought it in, or NULL */
};

/*
 * Find the file for @name. @requester is who needs it, or NULL for a
 * call from the host: its DT_RPATH, its ancestors', and its DT_RUNPATH count.
 * @ret is absolute and malloc()ed; a name with a slash is not checked for
 * existence. GORGON_ERROR_MISSING tells where was looked, GORGON_ERROR_OS why nobody could look.
 */
struct gorgon_error *gorgon_search(const char *name, const struct gorgon_requester *requester,
				   char **ret);

/* Find the file called @name in the directories of @path, a DT_RPATH or DT_RUNPATH of the file
 * @origin (or NULL). @ret is malloc()ed, or NULL when there is no such file. */
struct gorgon_error *gorgon_search_path(const char *path, const char *name, const char *origin,
					char **ret);

#endif
