/* SPDX-License-Identifier: MIT */
/* What several debug files have in common, in a file of its own. Internal to jitreg. */
#ifndef JITREG_SUPPLEMENT_H
#define JITREG_SUPPLEMENT_H

#include "dwarf_sections.h"

/**
 * Put the supplementary file that @p object names behind its DWARF.
 *
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval -ENOENT  it is not there
 * @retval -errno   as for jitreg_dwarf_read() and jitreg_fixups_move()
 */
int jitreg_supplement_append(const struct jitreg_object *object, struct jitreg_dwarf *dwarf,
			     const char **reason);

/** Open the supplementary file that @p object names. -ENOENT: it names none, or that is not there; -ENOMEM. */
int jitreg_supplement_open(const struct jitreg_object *object, struct jitreg_object **ret);

#endif
