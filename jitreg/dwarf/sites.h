/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Where addresses are in DWARF's tables, lists and expressions. Internal to jitreg; see
 * sites.c. Functions return 0, -ENOMEM, or with the reason set -ENOEXEC (malformed) or
 * -EOPNOTSUPP (unknown). An attribute is given by the offset of its value among the entries, and its form.
 */
#ifndef JITREG_SITES_H
#define JITREG_SITES_H

#include "file/abbrevs.h"

/** What must be known of a unit to read its lists. */
struct jitreg_unit {
	unsigned version;
	unsigned offset_size; /**< 4 or 8 */
	/** The unit's base address is 0: entries of version 4 lists are addresses, not offsets. */
	bool absolute;
	uint64_t loclists_base, rnglists_base;
};

struct jitreg_sites {
	struct jitreg_dwarf *dwarf;
	const char *reason;
	uint64_t expression_room; /**< How many more bytes of expressions are read. */
	enum jitreg_dwarf_index index; /**< The section whose entries are read, */
	struct jitreg_unit unit;       /**< and the unit that they belong to. */
};

/** Set the reason. Returns @p error. */
int jitreg_sites_fail(struct jitreg_sites *sites, int error, const char *reason);

/** Note the address at @p off. A value that stands for "the linker has left this out" is skipped. */
int jitreg_sites_add(struct jitreg_sites *sites, uint64_t off);

/** Note the addresses in the expression that an attribute has as a block, length first. */
int jitreg_sites_add_expression(struct jitreg_sites *sites, uint64_t off, uint64_t form);

/** Note the addresses in the list of locations, or of ranges, that an attribute refers to. */
int jitreg_sites_add_list(struct jitreg_sites *sites, uint64_t off, uint64_t form, bool is_location);

/** Note the addresses in the line table that an attribute refers to. */
int jitreg_sites_add_lines(struct jitreg_sites *sites, uint64_t off, uint64_t form);

/** Note all addresses in .debug_aranges and .debug_addr. */
int jitreg_sites_add_tables(struct jitreg_sites *sites);

/** Add to the offset at @p off, which has the unit's offset size. */
int jitreg_sites_shift(struct jitreg_sites *sites, uint64_t off, uint64_t distance);

/**
 * In the table of abbreviations at @p off: replace forms that lead to a supplementary file by
 * forms that lead to the same place in this file.
 */
int jitreg_sites_adopt_forms(struct jitreg_sites *sites, uint64_t off);

/** Whether the line table that an attribute refers to has no offsets to other sections. */
int jitreg_sites_check_lines(struct jitreg_sites *sites, uint64_t off, uint64_t form);

/** Whether the headers of .debug_loclists and .debug_rnglists are as they should be. */
int jitreg_sites_check_lists(struct jitreg_sites *sites);

/** Read an attribute that is a number: an address, an offset, an index. */
int jitreg_sites_read_value(struct jitreg_sites *sites, uint64_t off, uint64_t form, uint64_t *ret);

#endif
