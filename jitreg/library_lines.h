/* SPDX-License-Identifier: MIT */
/* The lines of a library, made once. See library_lines.c. Internal to jitreg. */
#ifndef JITREG_LIBRARY_LINES_H
#define JITREG_LIBRARY_LINES_H

#include "lines.h"
#include "symfile.h"

/**
 * Find or make the lines of a library. A library has no lines if it has no debug information, or
 * debug information that is not understood.
 *
 * @param[out] ret  To be released in any case.
 * @retval -ENOMEM
 */
int jitreg_library_lines_find(const struct jitreg_model *model, struct jitreg_lines *ret);

/** Make them, if there is a cache that can keep them. */
void jitreg_library_lines_keep(const struct jitreg_model *model);

#endif
