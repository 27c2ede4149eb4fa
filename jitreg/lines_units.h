/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Functions and rows of a library, and writing them as DWARF. Internal to jitreg's lines. See
 * lines_units.c.
 */
#ifndef JITREG_LINES_UNITS_H
#define JITREG_LINES_UNITS_H

#include "lines.h"

#define JITREG_LINES_NO_SOURCE UINT32_MAX

/** A source file. There is one structure for it, however many line tables have the file. */
struct jitreg_lines_source {
	const char *unit_folder, *folder, *name;
	uint32_t unit;   /**< The writer's: the last unit that has the file, */
	uint32_t number; /**< and the file's number there. */
};

struct jitreg_lines_row {
	uint64_t address;
	uint32_t file, line; /**< @a file is an index of a source file. */
	bool is_statement;
};

/** A part of a function. */
struct jitreg_lines_piece {
	const struct jitreg_function *function;
	uint64_t start, end;
	uint32_t file; /**< Of its declaration, or JITREG_LINES_NO_SOURCE. */
	bool is_cold, is_alias;
	size_t first_row, row_count;
};

/** What was found in a library. */
struct jitreg_lines_found {
	const struct jitreg_names *symbols; /**< Sorted by address, or NULL. */
	struct jitreg_lines_piece *pieces;  /**< Sorted by address. */
	size_t piece_count;
	struct jitreg_lines_source *files;
	size_t file_count;
	struct jitreg_lines_row *rows;
	size_t row_count;
};

/** Write all of it to @p ret, which is empty. 0 or -ENOMEM. */
int jitreg_lines_write_units(const struct jitreg_lines_found *found, struct jitreg_lines *ret);

#endif
