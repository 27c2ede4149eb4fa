/* SPDX-License-Identifier: MIT */
/* See lines/files.c. */
#ifndef GORGON_PYTHON_LINES_FILES_H
#define GORGON_PYTHON_LINES_FILES_H

#include <stdbool.h>
#include <string.h>

/* In the paths of folders of installed packages: site-packages, dist-packages. */
#define GORGON_LINES_PACKAGES "-packages/"

/* Whether a file is of the standard library, or of a package that is installed. */
static inline bool gorgon_lines_is_library(const char *path)
{
	return strstr(path, "/lib/python3") || strstr(path, GORGON_LINES_PACKAGES);
}

#endif
