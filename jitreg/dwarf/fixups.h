/* SPDX-License-Identifier: MIT */
/* Finding every address in the DWARF of a file. Internal to jitreg. See fixups.c. */
#ifndef JITREG_FIXUPS_H
#define JITREG_FIXUPS_H

#include "file/dwarf_sections.h"

/**
 * Fill in the sites of all sections. References to a section of a supplementary file become references behind the end
 * of this file's section, where the supplementary file's section will be.
 *
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval -EOPNOTSUPP  split DWARF, something unknown
 * @retval -ENOEXEC     malformed
 * @retval -ENOMEM
 */
int jitreg_fixups_find(struct jitreg_dwarf *dwarf, const char **reason);

/**
 * Prepare a supplementary file for following @p front: references inside of it are moved by
 * the sizes of the sections of @p front. It fails as jitreg_fixups_find() does.
 */
int jitreg_fixups_move(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *front,
		       const char **reason);

#endif
