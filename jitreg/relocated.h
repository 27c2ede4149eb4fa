/* SPDX-License-Identifier: MIT */
/* Symfiles with all DWARF inside, for LLDB. Internal to jitreg. See relocated.c. */
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
 * Share what a thread has made outside the lock: when two threads have made the same DWARF, what the first thread has
 * made stays, and the other is destroyed.
 *
 * @param slot   A member of a template.
 * @param dwarf  NULL: only look.
 * @return what the slot has.
 */
const struct jitreg_dwarf *jitreg_relocated_share(struct jitreg_dwarf **slot, struct jitreg_dwarf *dwarf);

/**
 * Find the DWARF of the template's file, once.
 *
 * @param[out] ret     Belongs to the template.
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval -ENODATA  there is no DWARF
 * @retval -ESTALE   another file has the name by now
 * @retval -errno    as for jitreg_dwarf_read_all()
 */
int jitreg_relocated_find_dwarf(struct jitreg_template *template, const struct jitreg_dwarf **ret,
				const char **reason);

/**
 * Make the symfile of one copy with DWARF from the symfile without.
 *
 * @retval -errno  as for jitreg_dwarf_write_symfile()
 */
int jitreg_relocated_create(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias,
			    struct jitreg_relocated *ret);

void jitreg_relocated_destroy(struct jitreg_relocated *relocated);

#endif
