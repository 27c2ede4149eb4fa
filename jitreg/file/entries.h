/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The functions in a file's DWARF. Internal to jitreg. See entries.c.
 */
#ifndef JITREG_ENTRIES_H
#define JITREG_ENTRIES_H

#include "abbrevs.h"

/** How many parts a function can have: compilers move code apart that is seldom used. */
#define JITREG_PARTS_MAX 8

/** A unit of .debug_info. */
struct jitreg_cu {
	const struct jitreg_dwarf *dwarf; /**< The file that it is in. */
	uint64_t off, end;                /**< In .debug_info. */
	uint64_t root;                    /**< Where its first entry is. */
	unsigned version, offset_size;
	const struct jitreg_abbrev_table *abbrevs;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t low_pc;                  /**< What its lists count from. */
	uint64_t lines;                   /**< Its line table, or UINT64_MAX. */
	uint64_t language;
	const char *name, *folder, *producer; /**< In a section; NULL: it has none. */
	bool has_lists;                   /**< Variables have lists of locations: it was optimised. */
};

struct jitreg_part {
	uint64_t start, end;
};

/** A function with code. Texts are in the sections. */
struct jitreg_function {
	const struct jitreg_cu *unit;     /**< Whose line table has its rows. */
	const struct jitreg_cu *declared; /**< Whose line table has the file that it is declared in. */
	const char *name, *linkage_name;  /**< The second may be NULL. */
	uint64_t file, line;              /**< Of its declaration. 0: not known. */
	bool external;
	unsigned part_count;
	struct jitreg_part parts[JITREG_PARTS_MAX]; /**< It begins in the first one. */
};

struct jitreg_entries {
	struct jitreg_function *functions;
	size_t function_count, function_capacity;
	struct jitreg_cu *units; /**< Those of the supplementary file come last. */
	size_t unit_count, unit_capacity;
	size_t own_count; /**< Units of the file itself. */
	struct jitreg_abbrev_table *tables;
};

/**
 * Find the functions in a file's DWARF.
 *
 * @param      supplement  What dwz has moved to another file, or NULL.
 * @param      text        Code outside of it is no code: a linker has left it out, or it is damaged.
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
 * @param[out] text    Its text, or NULL: it has none.
 * @param[out] number  Otherwise.
 */
int jitreg_entries_read_form(const struct jitreg_cu *unit, uint64_t form, struct jitreg_cursor *cursor,
			     const char **text, uint64_t *number);

#endif
