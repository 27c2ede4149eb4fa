/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The line table of a unit. Internal to jitreg. See line_table.c.
 */
#ifndef JITREG_LINE_TABLE_H
#define JITREG_LINE_TABLE_H

#include "entries.h"

/** A source file, as a table describes it. Texts are in the sections of DWARF. */
struct jitreg_source {
	const char *folder; /**< Relative to the unit's folder; "": the unit's folder itself. */
	const char *name;
};

struct jitreg_line_row {
	uint64_t address;
	uint32_t source; /**< In the table's sources. */
	uint32_t line;
	bool is_statement;
	bool is_end; /**< The row ends a sequence: its address is the first behind the sequence. */
};

/** Rows with ascending addresses, the last of which is an end. */
struct jitreg_sequence {
	size_t first, count;
};

struct jitreg_line_table {
	struct jitreg_source *sources;
	size_t source_count;
	struct jitreg_line_row *rows;
	size_t row_count;
	struct jitreg_sequence *sequences; /**< Sorted by their first address. */
	size_t sequence_count;
};

/** What the header of a table says of its program. */
struct jitreg_line_header {
	unsigned version, offset_size;
	uint8_t unit_size, line_range, opcode_base; /**< minimum_instruction_length first */
	int8_t line_base;
	bool is_statement;
	uint8_t lengths[256]; /**< How many operands each opcode has. */
};

/**
 * Read the header of the table at the cursor. Afterwards the cursor is at the table's program and
 * ends with it.
 *
 * @param[out] names  A cursor at the folders and files of the header.
 *
 * @retval -EOPNOTSUPP  an unknown version
 * @retval -ENOEXEC     damaged
 */
int jitreg_line_header_read(struct jitreg_cursor *c, struct jitreg_line_header *ret,
			    struct jitreg_cursor *names);

/**
 * Read the line table of a unit that has one.
 *
 * @param      with_rows  False: read the sources only.
 * @param      room       How many bytes may be read of all tables together; what is read here is
 *                        subtracted.
 * @param[out] ret        To be released in any case.
 *
 * @retval -EOPNOTSUPP  an unknown version or form
 * @retval -ENOEXEC     damaged
 * @retval -ENOMEM
 */
int jitreg_line_table_read(const struct jitreg_cu *unit, bool with_rows, uint64_t *room,
			   struct jitreg_line_table *ret);

void jitreg_line_table_deinit(struct jitreg_line_table *table);

#endif
