/* SPDX-License-Identifier: MIT */
/* Symfiles with functions and lines inside, for LLDB. Internal to jitreg. See relocated_lines.c. */
#ifndef JITREG_RELOCATED_LINES_H
#define JITREG_RELOCATED_LINES_H

#include "relocated.h"

/**
 * Make the symfile of a copy, or of a pack, with functions and lines from the symfile without.
 *
 * @param model  What @p symfile is made from.
 * @retval -ENODATA  no library in it has debug information
 * @retval -ENOMEM
 */
int jitreg_relocated_lines_create(struct jitreg_model *model, const void *symfile,
				  uint64_t bias, struct jitreg_relocated *ret);

#endif
