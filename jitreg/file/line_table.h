/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The line table of a unit. Internal to jitreg. See line_table.c.
 */
#ifndef JITREG_LINE_TABLE_H
#define JITREG_LINE_TABLE_H

#include "entries.h"

/** A source file, as a table has it. Texts are in the sections. */
struct jitreg_source {
	const char *folder; /**< From the unit's folder; "": that one itself. */
	const char *name;
};

struct jitreg_line_row {
	uint64_t address;
	uint32_t source; /**< In the table's sources. */
	uint32_t line;
	bool is_statement;
	bool is_end; /**< Of a sequence: the address is the first behind it. */
};

/** Rows with ascending addresses, the last of which is an end. */
struct jitreg_sequence {
	size_t first, count;
};

struct jitreg_line_table {
	struct jitreg_source *sources;
	size_t source_count, source_capacity;
	struct jitreg_line_row *rows;
	size_t row_count, row_capacity;
	struct jitreg_sequence *sequences; /**< By their first address. */
	size_t sequence_count, sequence_capacity;
};

/** What the header of a table says of its program. */
struct jitreg_line_header {
	unsigned version, offset_size;
	uint8_t unit_size, line_range, opcode_base; /**< minimum_instruction_length first */
	int8_t line_base;
	bool is_statement;
	uint8_t lengths[256]; /**< Of operands, by opcode. */
};

/**
 * Read the header of the table at the cursor, which stands at the program afterwards and ends with it.
 *
 * @param[out] names  At the folders and files of the header.
 *
 * @retval -EOPNOTSUPP  an unknown version
 * @retval -ENOEXEC     damaged
 */
int jitreg_line_header_read(struct jitreg_cursor *c, struct jitreg_line_header *ret, struct jitreg_cursor *names);

/**
 * Read the line table of a unit that has one.
 *
 * @param      with_rows  Otherwise sources only.
 * @param      room       Bytes that may be read of all tables together; what was read is taken off.
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
