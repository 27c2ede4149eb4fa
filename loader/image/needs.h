/* SPDX-License-Identifier: MIT */
/* What an executable says of the libraries that it needs. See needs.c. */
#ifndef GORGON_IMAGE_NEEDS_H
#define GORGON_IMAGE_NEEDS_H

#include "gorgon.h"

#include <stdbool.h>

/*
 * The first DT_NEEDED of the file that @matches, and its DT_RUNPATH or else DT_RPATH. Both are
 * malloc()ed, or NULL when the file does not have them. Errors: GORGON_ERROR_OS,
 * GORGON_ERROR_FORMAT, GORGON_ERROR_MACHINE, GORGON_ERROR_NOMEM.
 */
struct gorgon_error *gorgon_needs_find(const char *path, bool (*matches)(const char *name),
				       char **name, char **search_path);

#endif
