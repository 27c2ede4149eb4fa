/* SPDX-License-Identifier: MIT */
/* Finding every address in the DWARF of a file. Internal to jitreg. See fixups.c. */
#ifndef JITREG_FIXUPS_H
#define JITREG_FIXUPS_H

#include "dwarf_sections.h"

/**
 * Fill in the sites of all sections.
 *
 * @param      object  The file that the sections are from.
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval -EOPNOTSUPP  split DWARF, a supplementary file, something unknown; no libdwarf
 * @retval -ENOEXEC     malformed
 * @retval -ENOMEM
 */
int jitreg_fixups_find(const struct jitreg_object *object, struct jitreg_dwarf *dwarf,
		       const char **reason);

#endif
