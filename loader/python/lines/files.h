/* SPDX-License-Identifier: MIT */
/* Which files are a library's. Used by lines/files.c and lines/strings.c. */
#ifndef GORGON_PYTHON_LINES_FILES_H
#define GORGON_PYTHON_LINES_FILES_H

#include <stdbool.h>
#include <string.h>

/* The paths of installed packages have this: their folder is site-packages or dist-packages. */
#define GORGON_LINES_PACKAGES "-packages/"

/* Whether a file is of the standard library, or of a package that is installed. */
static inline bool gorgon_lines_is_library(const char *path)
{
	return strstr(path, "/lib/python3") || strstr(path, GORGON_LINES_PACKAGES);
}

#endif
