/* SPDX-License-Identifier: MIT */
/**
 * @file
 * One symfile for several objects that are at fixed distances. Internal to jitreg.
 */
#ifndef JITREG_PACK_H
#define JITREG_PACK_H

#include "members.h"

/**
 * Find or build the model of a pack (packs.c). Give it back with jitreg_model_release(); its
 * symfiles are made and destroyed like others, with the group's address as the bias.
 *
 * @param members     Sorted by address, of models that can be packed.
 * @param with_lines  LLDB is to have functions and lines in the symfiles (relocated_lines.c), so
 *                    unwind data has an entry for each function.
 * @retval 0, -ENOMEM, or the errno of a file that could not be read
 */
int jitreg_pack_acquire(const struct jitreg_member *members, size_t count, bool with_lines,
			struct jitreg_model **ret);

/** Build a pack (pack.c) that is in no cache and does not hold its members' models. Parameters
 * and errors as above. */
int jitreg_pack_create(const struct jitreg_member *members, size_t count, bool with_lines,
		       struct jitreg_model **ret);

#endif
