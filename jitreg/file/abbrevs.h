/* SPDX-License-Identifier: MIT */
/**
 * @file How the entries of DWARF are laid out: headers of units, abbreviations, forms. Internal to
 * jitreg; see abbrevs.c.
 */
#ifndef JITREG_ABBREVS_H
#define JITREG_ABBREVS_H

#include "cursor.h"
#include "dwarf_sections.h"
#include "grow.h"

/** The size of addresses. DWARF with addresses of another size is not handled. */
#define JITREG_ADDRESS_SIZE 8

/** The header of a unit. */
struct jitreg_unit_header {
	uint64_t off, end;    /**< In its section. */
	uint64_t root;        /**< Where its first entry is. */
	uint64_t abbrevs;     /**< Where its abbreviations are. */
	uint64_t abbrevs_off; /**< Where the header says so. */
	unsigned version, offset_size;
	unsigned type; /**< DW_UT_compile and so on, before version 5, too. */
};

/**
 * Read the header at the cursor, which is in .debug_info. The cursor's end becomes the unit's.
 *
 * @retval -EOPNOTSUPP  not of version 2 to 5, or with addresses of another size
 * @retval -ENOEXEC     damaged
 */
int jitreg_unit_header_read(const struct jitreg_dwarf *dwarf, struct jitreg_cursor *c,
			    struct jitreg_unit_header *ret);

struct jitreg_attribute {
	uint16_t name, form;
	int64_t constant; /**< Of DW_FORM_implicit_const. */
};

struct jitreg_abbrev {
	uint64_t code;
	uint16_t tag;
	uint32_t first, count; /**< Attributes in the table. */
	/** How many bytes follow the code in an entry with offsets of four bytes; -1: that varies.
	 */
	int64_t size;
};

struct jitreg_abbrev_table {
	struct jitreg_abbrev_table *next;
	const struct jitreg_dwarf *dwarf;
	uint64_t off;
	struct jitreg_abbrev *items;
	size_t count;
	struct jitreg_attribute *attributes;
	size_t attribute_count;
	bool has_lists;      /**< Locations of variables. */
	bool has_debug_sup;  /**< References by way of .debug_sup. */
};

/**
 * Find the table at an offset among @p tables, or read it: several units of a file may use one.
 *
 * @retval -EOPNOTSUPP  an unknown form: where the next entry begins would be a guess
 * @retval -ENOEXEC     damaged
 * @retval -ENOMEM
 */
int jitreg_abbrevs_find(struct jitreg_abbrev_table **tables, const struct jitreg_dwarf *dwarf,
			uint64_t off, const struct jitreg_abbrev_table **ret);

/** The abbreviation that has the code, or NULL. */
const struct jitreg_abbrev *jitreg_abbrevs_get(const struct jitreg_abbrev_table *table,
					       uint64_t code);

void jitreg_abbrevs_destroy(struct jitreg_abbrev_table *tables);

/** Whether a value of this form can be read. */
bool jitreg_form_is_known(uint64_t form);

/** The size of a number of this form; 0: the form is not a number, or its size varies. */
unsigned jitreg_form_number_size(uint64_t form, unsigned version, unsigned offset_size);

/** Pass over a value of varying size that is no text. If the value is a number, it goes to @p
 * number. */
void jitreg_form_skip_varying(struct jitreg_cursor *c, uint64_t form, uint64_t *number);

/** Pass over any value. */
void jitreg_form_skip(struct jitreg_cursor *c, uint64_t form, unsigned version,
		      unsigned offset_size);

#endif
