// SPDX-License-Identifier: MIT
/*
 * Functions and lines of a library, from its DWARF. lines_units.c says what is written of them.
 *
 * Specification: DWARF 5 sections 3.3, 6.2.
 */
#define _GNU_SOURCE 1
#include "lines_units.h"

#include "file/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many rows at a function's start are kept in any case: the second row says where the arguments
 * are in place. */
#define FIRST_ROWS 3

/* The line table of one or more units, as far as it was read. */
struct source_table {
	const struct jitreg_dwarf *dwarf;
	uint64_t off;
	struct jitreg_line_table sources;
	struct source_table *next;
};

struct builder {
	struct jitreg_lines_found found;
	struct jitreg_entries entries;
	uint32_t *buckets; // indexes of files, plus 1
	size_t bucket_count;
	struct source_table *tables;
	uint64_t room; // how many more bytes of line tables are read
	int error;
};

/* ---- source files ------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static size_t find_bucket(const struct builder *b, const struct jitreg_lines_source *file)
{
	uint64_t hash = hash_text(
		hash_text(hash_text(UINT64_C(0xcbf29ce484222325), file->unit_folder), file->folder),
		file->name);
	size_t i = hash % b->bucket_count;

	for (; b->buckets[i]; i = (i + 1) % b->bucket_count) {
		const struct jitreg_lines_source *other = &b->found.files[b->buckets[i] - 1];

		if (!strcmp(other->name, file->name) && !strcmp(other->folder, file->folder) &&
		    !strcmp(other->unit_folder, file->unit_folder))
			break;
	}
	return i;
}

static int grow_buckets(struct builder *b)
{
	size_t count = b->bucket_count * 2 + 256;
	uint32_t *grown = calloc(count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	free(b->buckets);
	b->buckets = grown;
	b->bucket_count = count;
	for (size_t i = 0; i < b->found.file_count; i++)
		grown[find_bucket(b, &b->found.files[i])] = (uint32_t)i + 1;
	return 0;
}

/* The index of a source file in b->found.files, or JITREG_LINES_NO_SOURCE with b->error set. */
static uint32_t lines_intern(struct builder *b, const char *unit_folder, const char *folder,
			     const char *name)
{
	struct jitreg_lines_source file = {unit_folder ? unit_folder : "", folder, name, 0, 0},
				   *added;
	size_t bucket;

	if (b->found.file_count * 2 >= b->bucket_count && grow_buckets(b))
		goto fail;
	bucket = find_bucket(b, &file);
	if (b->buckets[bucket])
		return b->buckets[bucket] - 1;
	added = b->found.file_count < UINT32_MAX / 2
			? jitreg_add(&b->found.files, &b->found.file_count, sizeof(*added))
			: NULL;
	if (!added)
		goto fail;
	*added = file;
	b->buckets[bucket] = (uint32_t)b->found.file_count;
	return (uint32_t)b->found.file_count - 1;
fail:
	b->error = -ENOMEM;
	return JITREG_LINES_NO_SOURCE;
}

static uint32_t intern_source(struct builder *b, const char *folder,
			      const struct jitreg_line_table *table, uint64_t source)
{
	if (source >= table->source_count || !*table->sources[source].name)
		return JITREG_LINES_NO_SOURCE;
	return lines_intern(b, folder, table->sources[source].folder, table->sources[source].name);
}

/* The file that a function is declared in. JITREG_LINES_NO_SOURCE: b->error is set, or a damaged
 * table has no such file. */
static uint32_t find_declaration(struct builder *b, const struct jitreg_function *function)
{
	const struct jitreg_cu *unit = function->declared;
	struct source_table *table = b->tables;
	const char *folder;

	if (!unit || unit->lines == UINT64_MAX)
		return JITREG_LINES_NO_SOURCE;
	while (table && (table->dwarf != unit->dwarf || table->off != unit->lines))
		table = table->next;
	if (!table) {
		table = calloc(1, sizeof(*table));
		if (!table) {
			b->error = -ENOMEM;
			return JITREG_LINES_NO_SOURCE;
		}
		table->dwarf = unit->dwarf;
		table->off = unit->lines;
		table->next = b->tables;
		b->tables = table;
		b->error = jitreg_line_table_read(unit, false, &b->room, &table->sources);
	}
	// A relative folder leads nowhere. With link-time optimisation the unit that has the code
	// has the right folder.
	folder = unit->folder && *unit->folder == '/' ? unit->folder : function->unit->folder;
	return b->error ? JITREG_LINES_NO_SOURCE
			: intern_source(b, folder, &table->sources, function->file);
}

/* ---- functions and their rows ------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct jitreg_lines_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Functions may share a body, but otherwise each address belongs to a single function. */
static void drop_overlaps(struct builder *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->found.piece_count; i++) {
		struct jitreg_lines_piece *piece = &b->found.pieces[i];
		const struct jitreg_lines_piece *last = kept ? &b->found.pieces[kept - 1] : NULL;

		piece->is_alias = last && last->start == piece->start && last->end == piece->end;
		if (!last || piece->start >= last->end || piece->is_alias)
			b->found.pieces[kept++] = *piece;
	}
	b->found.piece_count = kept;
}

static int find_pieces(struct builder *b)
{
	const struct jitreg_entries *e = &b->entries;
	size_t count = 0;

	for (size_t i = 0; i < e->function_count; i++)
		count += e->functions[i].part_count;
	b->found.pieces = calloc(count + 1, sizeof(*b->found.pieces));
	if (!b->found.pieces)
		return -ENOMEM;
	for (size_t i = 0; i < e->function_count; i++) {
		const struct jitreg_function *f = &e->functions[i];

		for (unsigned j = 0; j < f->part_count && f->unit->lines != UINT64_MAX; j++)
			b->found.pieces[b->found.piece_count++] =
				(struct jitreg_lines_piece){f,
							    f->parts[j].start,
							    f->parts[j].end,
							    JITREG_LINES_NO_SOURCE,
							    j > 0,
							    false,
							    0,
							    0};
	}
	qsort(b->found.pieces, b->found.piece_count, sizeof(*b->found.pieces), by_address);
	drop_overlaps(b);
	for (size_t i = 0; !b->error && i < b->found.piece_count; i++)
		b->found.pieces[i].file = find_declaration(b, b->found.pieces[i].function);
	return b->error;
}

static int add_row(struct builder *b, const struct jitreg_lines_row *row)
{
	struct jitreg_lines_row *added =
		jitreg_add(&b->found.rows, &b->found.row_count, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *row;
	return 0;
}

/* The table whose rows are looked up. @files has an index into b->found.files for each of its
 * source files. */
struct lookup {
	const struct jitreg_cu *unit;
	struct jitreg_line_table table;
	uint32_t *files;
};

static uint32_t find_file(struct builder *b, const struct lookup *l, uint32_t source)
{
	if (source >= l->table.source_count)
		return JITREG_LINES_NO_SOURCE;
	if (l->files[source] == JITREG_LINES_NO_SOURCE)
		l->files[source] = intern_source(b, l->unit->folder, &l->table, source);
	return l->files[source];
}

/* Whether a row tells a debugger something. */
static bool is_wanted(const struct builder *b, const struct jitreg_lines_piece *piece,
		      const struct jitreg_line_row *row, const struct jitreg_lines_row *new)
{
	const struct jitreg_lines_row *last;
	size_t before = b->found.row_count - piece->first_row;

	// The row begins no statement, and the next row has the same address: debuggers use it
	// neither for a breakpoint nor to look an address up.
	if (!row->is_statement && !row[1].is_end && row[1].address == row->address)
		return false;
	if (before < FIRST_ROWS)
		return true;
	last = &b->found.rows[b->found.row_count - 1];
	return last->file != new->file || last->line != new->line ||
	       (new->is_statement && !last->is_statement);
}

/* The row that covers the start of a piece, or else the first row behind it. */
static size_t find_first_row(const struct jitreg_line_row *rows, size_t count, uint64_t start)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low && (low == count || rows[low].address > start) ? low - 1 : low;
}

static int add_rows_from(struct builder *b, struct jitreg_lines_piece *piece,
			 const struct lookup *l, const struct jitreg_sequence *sequence)
{
	const struct jitreg_line_row *rows = l->table.rows + sequence->first;
	int r = 0;

	for (size_t i = find_first_row(rows, sequence->count, piece->start);
	     !r && !rows[i].is_end && rows[i].address < piece->end; i++) {
		struct jitreg_lines_row new = {rows[i].address, find_file(b, l, rows[i].source),
					       rows[i].line, rows[i].is_statement};

		if (new.address < piece->start)
			new.address = piece->start;
		if (b->error)
			return b->error;
		if (new.file != JITREG_LINES_NO_SOURCE && is_wanted(b, piece, &rows[i], &new))
			r = add_row(b, &new);
	}
	return r;
}

/* The last sequence that begins at or before an address, or else the first sequence. */
static size_t find_sequence(const struct jitreg_line_table *table, uint64_t address)
{
	size_t low = 0, high = table->sequence_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->rows[table->sequences[middle].first].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

static int add_rows(struct builder *b, struct jitreg_lines_piece *piece, const struct lookup *l)
{
	const struct jitreg_line_table *table = &l->table;
	int r = 0;

	piece->first_row = b->found.row_count;
	for (size_t i = find_sequence(table, piece->start); !r && i < table->sequence_count; i++) {
		const struct jitreg_sequence *s = &table->sequences[i];

		if (table->rows[s->first].address >= piece->end)
			break;
		// The last row is the sequence's end. A sequence that ends before this code is
		// passed over.
		if (table->rows[s->first + s->count - 1].address > piece->start &&
		    (b->found.row_count == piece->first_row ||
		     table->rows[s->first].address >=
			     b->found.rows[b->found.row_count - 1].address))
			r = add_rows_from(b, piece, l, s);
	}
	piece->row_count = b->found.row_count - piece->first_row;
	return r;
}

static int by_table(const void *a, const void *b)
{
	const struct jitreg_lines_piece *x = *(struct jitreg_lines_piece *const *)a,
					*y = *(struct jitreg_lines_piece *const *)b;

	if (x->function->unit->lines != y->function->unit->lines)
		return x->function->unit->lines < y->function->unit->lines ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int open_lookup(struct builder *b, const struct jitreg_cu *unit, struct lookup *ret)
{
	int r = jitreg_line_table_read(unit, true, &b->room, &ret->table);

	ret->unit = unit;
	ret->files = NULL;
	if (r)
		return r;
	ret->files = malloc((ret->table.source_count + 1) * sizeof(*ret->files));
	if (!ret->files)
		return -ENOMEM;
	for (size_t i = 0; i < ret->table.source_count; i++)
		ret->files[i] = JITREG_LINES_NO_SOURCE;
	return 0;
}

static void close_lookup(struct lookup *l)
{
	jitreg_line_table_deinit(&l->table);
	free(l->files);
	l->files = NULL;
}

/* Tables are read one after another, because they are large. */
static int find_rows(struct builder *b)
{
	struct jitreg_lines_piece **sorted = calloc(b->found.piece_count + 1, sizeof(*sorted));
	struct lookup l = {0};
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < b->found.piece_count; i++)
		sorted[i] = &b->found.pieces[i];
	if (!r)
		qsort(sorted, b->found.piece_count, sizeof(*sorted), by_table);
	for (size_t i = 0; !r && i < b->found.piece_count; i++) {
		const struct jitreg_cu *unit = sorted[i]->function->unit;

		if (!l.unit || l.unit->lines != unit->lines) {
			close_lookup(&l);
			r = open_lookup(b, unit, &l);
		}
		if (!r && !sorted[i]->is_alias)
			r = add_rows(b, sorted[i], &l);
	}
	close_lookup(&l);
	free(sorted);
	return r;
}

static void lines_deinit(struct builder *b)
{
	while (b->tables) {
		struct source_table *table = b->tables;

		b->tables = table->next;
		jitreg_line_table_deinit(&table->sources);
		free(table);
	}
	jitreg_entries_deinit(&b->entries);
	free(b->found.pieces);
	free(b->found.files);
	free(b->buckets);
	free(b->found.rows);
}

int jitreg_lines_make(const struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *supplement,
		      const struct jitreg_names *names, const struct jitreg_part *text,
		      struct jitreg_lines *ret)
{
	struct builder b = {.found.symbols = names};
	int r;

	*ret = (struct jitreg_lines){0};
	// Several units may share a line table, which is read for each of them; a damaged file
	// could have it read without end.
	b.room = 4 * (uint64_t)dwarf->sections[JITREG_DWARF_LINE].size;
	if (supplement)
		b.room += 4 * (uint64_t)supplement->sections[JITREG_DWARF_LINE].size;
	r = jitreg_entries_find(dwarf, supplement, text, &b.entries);
	if (!r)
		r = find_pieces(&b);
	if (!r)
		r = find_rows(&b);
	if (!r)
		r = jitreg_lines_write_units(&b.found, ret);
	lines_deinit(&b);
	return r;
}
