/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The DWARF of one file in memory, inflated, with the places that hold addresses.
 * Internal to jitreg.
 */
#ifndef JITREG_DWARF_SECTIONS_H
#define JITREG_DWARF_SECTIONS_H

#include "object.h"

#include <stddef.h>
#include <stdint.h>

/** The sections that have functions and lines. */
enum jitreg_dwarf_index {
	/** In the symfile it takes the place of the dummy .debug_info (model.c). */
	JITREG_DWARF_INFO,
	JITREG_DWARF_ABBREV,
	JITREG_DWARF_LINE,
	JITREG_DWARF_LINE_STR,
	JITREG_DWARF_STR,
	JITREG_DWARF_STR_OFFSETS,
	JITREG_DWARF_ADDR,
	JITREG_DWARF_ARANGES,
	JITREG_DWARF_LOCLISTS,
	JITREG_DWARF_RANGES,
	JITREG_DWARF_RNGLISTS,
	JITREG_DWARF_COUNT
};

struct jitreg_dwarf_section {
	uint8_t *bytes; /**< NULL: the file has no such section. */
	size_t size;
	/** Offsets where the bias is added to eight bytes: see lines_sections.c. */
	uint64_t *sites;
	size_t site_count;
};

struct jitreg_dwarf {
	struct jitreg_dwarf_section sections[JITREG_DWARF_COUNT];
};

/** ".debug_info" and so on. */
const char *jitreg_dwarf_section_name(enum jitreg_dwarf_index index);

/**
 * Read and inflate sections of a file. Sections that the file does not have are left out.
 *
 * @param      wanted  A bit for each section (1 << enum jitreg_dwarf_index).
 * @param[out] ret     Set on success only; release with jitreg_dwarf_destroy().
 * @param[out] reason  Set on failure: one static line.
 *
 * @retval -EOPNOTSUPP  compressed in a way that libelf does not know
 * @retval -ENOEXEC     a section cannot be read
 * @retval -ENOMEM
 */
int jitreg_dwarf_read(const struct jitreg_object *object, unsigned wanted,
		      struct jitreg_dwarf **ret, const char **reason);

/** NULL is ignored. */
void jitreg_dwarf_destroy(struct jitreg_dwarf *dwarf);

#endif
