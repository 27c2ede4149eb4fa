// SPDX-License-Identifier: MIT
/*
 * The line table of a unit: which file and line an address belongs to.
 *
 * Columns, views and discriminators are passed over. A row that differs from the row before in
 * nothing else is left out, as gdb does.
 *
 * Specification: DWARF 5 section 6.2.
 */
#define _GNU_SOURCE 1
#include "line_table.h"

#include <errno.h>
#include <dwarf.h>
#include <stdlib.h>

#define FORMATS_MAX 16

struct machine {
	struct jitreg_line_row row;
	bool discriminated; // since the line has changed
	uint64_t discriminator;
	size_t first; // row of the sequence
	bool descends;
};

static int add_source(struct jitreg_line_table *table, const char *folder, const char *name)
{
	struct jitreg_source *added =
		jitreg_add(&table->sources, &table->source_count, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = (struct jitreg_source){folder, name ? name : ""};
	return 0;
}

/* ---- the header --------------------------------------------------------------------- */

struct format {
	uint64_t content, form;
};

static int read_formats(struct jitreg_cursor *c, struct format *formats, size_t *count)
{
	*count = jitreg_cursor_number(c, 1);
	if (*count > FORMATS_MAX)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < *count; i++) {
		formats[i].content = jitreg_cursor_uleb(c);
		formats[i].form = jitreg_cursor_uleb(c);
	}
	return c->bad ? -ENOEXEC : 0;
}

/*
 * Read the folders or the files of a header of version 5; the formats say which values each of them
 * has. Each takes a byte at least, so a count that is too high ends with the header.
 */
static int read_names(const struct jitreg_cu *unit, struct jitreg_cursor *c,
		      const struct jitreg_line_table *folders, struct jitreg_line_table *ret)
{
	struct format formats[FORMATS_MAX];
	size_t format_count;
	uint64_t count;
	int r = read_formats(c, formats, &format_count);

	count = jitreg_cursor_uleb(c);
	for (uint64_t i = 0; !r && !c->bad && i < count; i++) {
		const char *name = NULL, *text;
		uint64_t folder = 0, number;

		if (!format_count || !jitreg_cursor_more(c))
			return -ENOEXEC;
		for (size_t j = 0; !r && j < format_count; j++) {
			r = jitreg_entries_read_form(unit, formats[j].form, c, &text, &number);
			if (formats[j].content == DW_LNCT_path)
				name = text;
			else if (formats[j].content == DW_LNCT_directory_index)
				folder = number;
		}
		if (!r)
			r = add_source(ret, folders && folder && folder < folders->source_count ?
						    folders->sources[folder].name : "", name);
	}
	return r ? r : c->bad ? -ENOEXEC : 0;
}

static int read_names_5(const struct jitreg_cu *unit, struct jitreg_cursor *c,
			struct jitreg_line_table *table)
{
	struct jitreg_line_table folders = {0};
	int r = read_names(unit, c, NULL, &folders);

	if (!r)
		r = read_names(unit, c, &folders, table);
	jitreg_line_table_deinit(&folders);
	return r;
}

/*
 * Before version 5 folders and files are numbered from 1; number 0 is the unit's own folder or
 * file.
 */
static int read_names_4(const struct jitreg_cu *unit, struct jitreg_cursor *c,
			struct jitreg_line_table *table)
{
	struct jitreg_line_table folders = {0};
	int r = add_source(&folders, "", "");
	const char *name;

	while (!r && (name = jitreg_cursor_text(c)) && *name)
		r = add_source(&folders, "", name);
	if (!r)
		r = add_source(table, "", unit->name);
	while (!r && (name = jitreg_cursor_text(c)) && *name) {
		uint64_t folder = jitreg_cursor_uleb(c);

		jitreg_cursor_uleb(c); // time
		jitreg_cursor_uleb(c); // size
		r = add_source(table,
			       folder < folders.source_count ? folders.sources[folder].name : "",
			       name);
	}
	jitreg_line_table_deinit(&folders);
	return r ? r : c->bad ? -ENOEXEC : 0;
}

static int read_numbers(struct jitreg_cursor *c, struct jitreg_line_header *h)
{
	h->unit_size = (uint8_t)jitreg_cursor_number(c, 1);
	if (h->version >= 4)
		jitreg_cursor_skip(c, 1); // operations per instruction
	h->is_statement = jitreg_cursor_number(c, 1);
	h->line_base = (int8_t)jitreg_cursor_number(c, 1);
	h->line_range = (uint8_t)jitreg_cursor_number(c, 1);
	h->opcode_base = (uint8_t)jitreg_cursor_number(c, 1);
	for (unsigned i = 1; i < h->opcode_base; i++)
		h->lengths[i] = (uint8_t)jitreg_cursor_number(c, 1);
	return c->bad || !h->line_range || !h->opcode_base ? -ENOEXEC : 0;
}

int jitreg_line_header_read(struct jitreg_cursor *c, struct jitreg_line_header *h,
			    struct jitreg_cursor *names)
{
	uint64_t size;

	*h = (struct jitreg_line_header){.offset_size = jitreg_cursor_length(c)};
	h->version = (unsigned)jitreg_cursor_number(c, 2);
	if (!c->bad && (h->version < 2 || h->version > 5))
		return -EOPNOTSUPP;
	if (h->version == 5)
		jitreg_cursor_skip(c, 2); // sizes of addresses and segment selectors
	size = jitreg_cursor_number(c, h->offset_size);
	*names = *c;
	jitreg_cursor_skip(c, size);
	if (c->bad)
		return -ENOEXEC;
	names->end = c->at;
	return read_numbers(names, h);
}

/* ---- the program -------------------------------------------------------------------- */

static bool says_nothing_new(const struct jitreg_line_table *t, const struct machine *m)
{
	const struct jitreg_line_row *last;

	if (!m->discriminated || t->row_count == m->first)
		return false;
	last = &t->rows[t->row_count - 1];
	return last->source == m->row.source && last->line == m->row.line &&
	       last->is_statement == m->row.is_statement;
}

static int add_row(struct jitreg_line_table *t, struct machine *m)
{
	struct jitreg_line_row *added = jitreg_add(&t->rows, &t->row_count, sizeof(*added));

	if (!added)
		return -ENOMEM;
	m->descends |= t->row_count - 1 > m->first && added[-1].address > m->row.address;
	*added = m->row;
	return 0;
}

static int line_table_emit(struct jitreg_line_table *t, struct machine *m)
{
	int r = says_nothing_new(t, m) ? 0 : add_row(t, m);

	m->discriminator = 0;
	return r;
}

static void begin_sequence(const struct jitreg_line_table *t, const struct jitreg_line_header *h,
			   struct machine *m)
{
	*m = (struct machine){.row = {.source = 1, .line = 1, .is_statement = h->is_statement},
			      .first = t->row_count};
}

/* A sequence whose addresses descend is damaged, and a sequence without rows has no lines: both are
 * left out. */
static int end_sequence(struct jitreg_line_table *t, const struct jitreg_line_header *h,
			struct machine *m)
{
	struct jitreg_sequence *added;
	int r;

	m->row.is_end = true;
	r = add_row(t, m);
	if (!r && !m->descends && t->row_count - m->first > 1) {
		added = jitreg_add(&t->sequences, &t->sequence_count, sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = (struct jitreg_sequence){m->first, t->row_count - m->first};
	}
	begin_sequence(t, h, m);
	return r;
}

static int run_extended(struct jitreg_line_table *t, const struct jitreg_line_header *h,
			struct machine *m, struct jitreg_cursor *c)
{
	uint64_t size = jitreg_cursor_uleb(c);
	struct jitreg_cursor inside = *c;

	jitreg_cursor_skip(c, size);
	if (c->bad || !size)
		return 0;
	inside.end = c->at;
	switch (jitreg_cursor_number(&inside, 1)) {
	case DW_LNE_end_sequence:
		return end_sequence(t, h, m);
	case DW_LNE_set_address:
		m->row.address =
			jitreg_cursor_number(&inside, size - 1 > 8 ? 8 : (unsigned)size - 1);
		break;
	case DW_LNE_set_discriminator:
		m->discriminator = jitreg_cursor_uleb(&inside);
		m->discriminated |= m->discriminator != 0;
		break;
	}
	return 0;
}

static void advance_line(struct machine *m, int64_t by)
{
	m->row.line += (uint32_t)by;
	if (by)
		m->discriminated = m->discriminator != 0;
}

static int run_standard(struct jitreg_line_table *t, const struct jitreg_line_header *h,
			struct machine *m, uint8_t op, struct jitreg_cursor *c)
{
	switch (op) {
	case DW_LNS_copy:
		return line_table_emit(t, m);
	case DW_LNS_advance_pc:
		m->row.address += jitreg_cursor_uleb(c) * h->unit_size;
		break;
	case DW_LNS_advance_line:
		advance_line(m, jitreg_cursor_sleb(c));
		break;
	case DW_LNS_set_file:
		m->row.source = (uint32_t)jitreg_cursor_uleb(c);
		break;
	case DW_LNS_negate_stmt:
		m->row.is_statement = !m->row.is_statement;
		break;
	case DW_LNS_const_add_pc:
		m->row.address += (uint64_t)((255 - h->opcode_base) / h->line_range) * h->unit_size;
		break;
	case DW_LNS_fixed_advance_pc:
		m->row.address += jitreg_cursor_number(c, 2);
		break;
	default:
		for (unsigned i = 0; i < h->lengths[op]; i++)
			jitreg_cursor_uleb(c);
	}
	return 0;
}

static int line_table_run(struct jitreg_line_table *t, const struct jitreg_line_header *h,
			  struct jitreg_cursor *c)
{
	struct machine m;
	int r = 0;

	begin_sequence(t, h, &m);
	while (!r && jitreg_cursor_more(c)) {
		uint8_t op = (uint8_t)jitreg_cursor_number(c, 1);

		if (op >= h->opcode_base) {
			op = (uint8_t)(op - h->opcode_base);
			m.row.address += (uint64_t)(op / h->line_range) * h->unit_size;
			advance_line(&m, h->line_base + op % h->line_range);
			r = line_table_emit(t, &m);
		} else if (op) {
			r = run_standard(t, h, &m, op, c);
		} else {
			r = run_extended(t, h, &m, c);
		}
	}
	return r ? r : c->bad ? -ENOEXEC : 0;
}

static int by_address(const void *a, const void *b, void *rows)
{
	const struct jitreg_line_row *x =
		(const struct jitreg_line_row *)rows + ((const struct jitreg_sequence *)a)->first;
	const struct jitreg_line_row *y =
		(const struct jitreg_line_row *)rows + ((const struct jitreg_sequence *)b)->first;

	return x->address < y->address ? -1 : x->address > y->address;
}

int jitreg_line_table_read(const struct jitreg_cu *unit, bool with_rows, uint64_t *room,
			   struct jitreg_line_table *ret)
{
	const struct jitreg_dwarf_section *section = &unit->dwarf->sections[JITREG_DWARF_LINE];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, section->size, unit->lines);
	struct jitreg_cursor whole = c;
	struct jitreg_line_header h;
	struct jitreg_cursor names;
	uint64_t size;
	int r;

	*ret = (struct jitreg_line_table){0};
	jitreg_cursor_length(&whole);
	size = whole.bad ? 0 : (uint64_t)(whole.end - whole.at);
	if (whole.bad || size > *room)
		return -ENOEXEC;
	*room -= size;
	r = jitreg_line_header_read(&c, &h, &names);
	if (!r)
		r = h.version < 5 ? read_names_4(unit, &names, ret)
				  : read_names_5(unit, &names, ret);
	if (!r && with_rows)
		r = line_table_run(ret, &h, &c);
	if (!r && ret->sequence_count)
		qsort_r(ret->sequences, ret->sequence_count, sizeof(*ret->sequences), by_address,
			ret->rows);
	return r;
}

void jitreg_line_table_deinit(struct jitreg_line_table *table)
{
	free(table->sources);
	free(table->rows);
	free(table->sequences);
	*table = (struct jitreg_line_table){0};
}
