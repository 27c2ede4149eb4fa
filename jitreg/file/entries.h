/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The functions in a file's DWARF. Internal to jitreg. See entries.c.
 */
#ifndef JITREG_ENTRIES_H
#define JITREG_ENTRIES_H

#include "abbrevs.h"

/** How many parts a function can have: compilers move code that is seldom used away from the rest.
 */
#define JITREG_PARTS_MAX 8

/** A unit of .debug_info. */
struct jitreg_cu {
	const struct jitreg_dwarf *dwarf; /**< The DWARF that it is in. */
	uint64_t off, end;                /**< In .debug_info. */
	uint64_t root;                    /**< Where its first entry is. */
	unsigned version, offset_size;
	const struct jitreg_abbrev_table *abbrevs;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t low_pc;                  /**< What its lists count from. */
	uint64_t lines;                   /**< Its line table, or UINT64_MAX. */
	uint64_t language;
	const char *name, *folder, *producer; /**< In a section, or NULL. */
	/** Variables have lists of locations: the unit was optimised. */
	bool has_lists;
};

struct jitreg_part {
	uint64_t start, end;
};

/** A function with code. Texts are in the sections. */
struct jitreg_function {
	const struct jitreg_cu *unit;     /**< The unit whose line table has the function's rows. */
	/** The unit whose line table has the file of the declaration. */
	const struct jitreg_cu *declared;
	const char *name, *linkage_name;  /**< The second may be NULL. */
	uint64_t file, line;              /**< Of its declaration. 0: not known. */
	bool external;
	unsigned part_count;
	struct jitreg_part parts[JITREG_PARTS_MAX]; /**< The function begins in the first part. */
};

struct jitreg_entries {
	struct jitreg_function *functions;
	size_t function_count;
	struct jitreg_cu *units; /**< The supplementary file's units come last. */
	size_t unit_count;
	size_t own_count; /**< Units of the file itself. */
	struct jitreg_abbrev_table *tables;
};

/**
 * Find the functions in a file's DWARF.
 *
 * @param      supplement  What dwz has moved to another file, or NULL.
 * @param      text        Where code is. Functions elsewhere are left out: the linker has dropped
 *                         them, or the DWARF is damaged.
 * @param[out] ret         To be released in any case.
 *
 * @retval -EOPNOTSUPP  split DWARF, an unknown version or form
 * @retval -ENOEXEC     damaged
 * @retval -ENOMEM
 */
int jitreg_entries_find(const struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *supplement,
			const struct jitreg_part *text, struct jitreg_entries *ret);

void jitreg_entries_deinit(struct jitreg_entries *entries);

/**
 * Read a value of a line table's header, whose forms are those of entries.
 *
 * @param[out] text    The value if it is a text, otherwise NULL.
 * @param[out] number  The value if it is a number.
 */
int jitreg_entries_read_form(const struct jitreg_cu *unit, uint64_t form,
			     struct jitreg_cursor *cursor, const char **text, uint64_t *number);

#endif
