/* SPDX-License-Identifier: MIT */
/* Symfiles with DWARF inside, for LLDB. Internal to jitreg. See relocated.c. */
#ifndef JITREG_RELOCATED_H
#define JITREG_RELOCATED_H

#include "file/dwarf_sections.h"
#include "symfile.h"

/** A symfile in read-only anonymous memory. bytes is NULL if there is none. */
struct jitreg_relocated {
	void *bytes;
	size_t size;
};

/**
 * Make the symfile of one copy with DWARF from the symfile without.
 *
 * @retval -ENOEXEC  the symfile has no place for DWARF
 * @retval -ENOMEM
 */
int jitreg_relocated_create(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias,
			    struct jitreg_relocated *ret);

void jitreg_relocated_destroy(struct jitreg_relocated *relocated);

#endif
