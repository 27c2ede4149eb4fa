/* SPDX-License-Identifier: MIT */
/**
 * @file
 * DWARF with functions and lines only. Internal to jitreg. See lines.c.
 */
#ifndef JITREG_LINES_H
#define JITREG_LINES_H

#include "file/entries.h"
#include "writer.h"

/** Part of the keys of all files of the cache with this DWARF: to be changed with what
 * lines_units.c writes. */
#define JITREG_LINES_VERSION "8"

/** The sections that are different in each library. */
enum jitreg_lines_index {
	JITREG_LINES_INFO,
	JITREG_LINES_LINE,
	JITREG_LINES_ARANGES,
	JITREG_LINES_COUNT
};

/** What is at a place: an address, or an offset in the section that has the number. */
#define JITREG_LINES_ADDRESS JITREG_LINES_COUNT

/** A place in a section whose value depends on where the sections or the library are. */
struct jitreg_lines_site {
	uint16_t section; /**< enum jitreg_lines_index */
	/** enum jitreg_lines_index of the section that an offset leads to, or JITREG_LINES_ADDRESS.
	 */
	uint16_t kind;
	uint32_t off;
};

/** Numbers of abbreviations. */
enum {
	JITREG_LINES_ABBREV_UNIT = 1,
	JITREG_LINES_ABBREV_LOCATION,
	JITREG_LINES_ABBREV_UNKNOWN_TYPE,
	JITREG_LINES_ABBREV_MODULE,
	JITREG_LINES_ABBREV_FUNCTION,
	JITREG_LINES_ABBREV_LINKED_FUNCTION,
};

/** Where the empty list of locations is, to which all units refer. */
#define JITREG_LINES_EMPTY_LIST 12

struct jitreg_lines {
	struct jitreg_bytes sections[JITREG_LINES_COUNT];
	struct jitreg_bytes sites; /**< Of struct jitreg_lines_site. */
};

/**
 * Make the lines of a library.
 *
 * @param      dwarf       All that jitreg_entries_find() and the line tables need.
 * @param      supplement  What dwz has moved to another file, or NULL.
 * @param      names       The file's symbols, sorted by address, or NULL: DWARF of C++ does not
 *                         tell what a static function of a namespace is called by the linker.
 * @param      text        Where the code of the library is, in its file.
 * @param[out] ret         To be released in any case. Empty when there are no functions with lines.
 *
 * @retval -EOPNOTSUPP, -ENOEXEC  DWARF that is not understood, or damaged
 * @retval -ENOMEM
 */
int jitreg_lines_make(const struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *supplement,
		      const struct jitreg_names *names, const struct jitreg_part *text,
		      struct jitreg_lines *ret);

/** Add the lines, and the sites, of a library whose addresses are @p delta higher than in its file.
 * 0 or -ENOMEM. */
int jitreg_lines_append(struct jitreg_lines *to, const struct jitreg_lines *from, uint64_t delta);

/** Whether each site lies within its section. */
bool jitreg_lines_are_sound(const struct jitreg_lines *lines);

/** Add the sections to a file, with the sections that are the same for all libraries. @p level is
 * zlib's (jitreg_writer_add_compressed()); 0: they are not compressed. */
int jitreg_lines_write(struct jitreg_writer *w, const struct jitreg_lines *lines, int level);

/**
 * Make the sections for a symfile, where a bias is added to each address.
 *
 * @param[in,out] lines  Their contents are moved to @p ret.
 * @param[out]    ret    Set on success only; release with jitreg_dwarf_destroy().
 * @retval -ENODATA  there are no lines
 * @retval -ENOMEM
 */
int jitreg_lines_make_dwarf(struct jitreg_lines *lines, struct jitreg_dwarf **ret);

/** ".debug_info" and so on. */
const char *jitreg_lines_section_name(enum jitreg_lines_index index);

void jitreg_lines_deinit(struct jitreg_lines *lines);

#endif
