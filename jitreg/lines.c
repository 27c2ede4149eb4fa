// SPDX-License-Identifier: MIT
/*
 * DWARF with functions and lines only: what a debugger can be given of hundreds of copies.
 *
 * The full DWARF of an optimised libpython costs GDB seconds and 80 MB a copy, most of it for
 * types, variables and inlined calls. What is made here takes a tenth of that:
 *
 *     unit         up to FUNCTIONS_MAX functions that lie side by side. GDB reads units whole: with small
 *                  units it reads little for a breakpoint by file and line. Functions of a unit lie side by side,
 *                  because GDB looks an address up by the stretch of the unit that it lies in
 *     function     name, declaration, one stretch of addresses
 *     module       in Rust a function is in its modules (rust_path.c); each function has module entries of its own
 *     its type     is not known, like the type of a function without debug information: so GDB refuses a call without
 *                  a cast instead of assuming that the function returns nothing. GDB looks types of
 *                  this kind up by name, and finds no type with this name
 *     X.cold       code that the compiler has moved away from X is a function of its own, without
 *                  which LLDB does not unwind it
 *     line table   rows that say something new; neither columns nor views
 *     [locations]  a unit of optimised code has a variable "-", a name that nobody types, with a list of
 *                  locations. From that GDB knows that arguments are right at a function's first
 *                  instruction, and stops there as with the full DWARF
 *
 * There are no inlined calls: a step into an inlined call shows its lines, but "finish" does not
 * end there.
 *
 * Each text is where it is used, and the table of abbreviations is constant: so the sections of
 * several libraries can be put behind each other (lines_sections.c).
 *
 * Specification: DWARF 5 sections 3.1, 3.3, 6.1.2, 6.2, 7.5.
 */
#define _GNU_SOURCE 1
#include "lines.h"

#include "file/leb128.h"
#include "file/line_table.h"
#include "rust_path.h"

#include <errno.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 32
/* A unit has functions of a single source file if it gets at least this many. */
#define FUNCTIONS_MIN 8
/* How many rows at a function's start are kept in any case: the second row says where the arguments
 * are in place. */
#define FIRST_ROWS 3
/* A gap of at most this many bytes between functions is padding. */
#define GAP_MAX 32
#define NO_SOURCE UINT32_MAX

/* Parameters of line programs. */
#define LINE_BASE   (-5)
#define LINE_RANGE  14
#define OPCODE_BASE 13

/* A source file. There is one structure for it, however many line tables have the file. */
struct file {
	const char *unit_folder, *folder, *name;
	uint32_t unit; // the last unit that has the file,
	uint32_t number; // and the file's number there
};

struct row {
	uint64_t address;
	uint32_t file, line;
	bool is_statement;
};

/* A part of a function. */
struct piece {
	const struct jitreg_function *function;
	uint64_t start, end;
	uint32_t file; // of its declaration, or NO_SOURCE
	bool is_cold, is_alias;
	size_t first_row, row_count;
};

/* The line table of one or more units, as far as it was read. */
struct table {
	const struct jitreg_dwarf *dwarf;
	uint64_t off;
	struct jitreg_line_table sources;
	struct table *next;
};

struct builder {
	struct jitreg_lines *ret;
	struct jitreg_entries entries;
	const struct jitreg_names *symbols; // sorted by address, or NULL
	struct piece *pieces;
	size_t piece_count;
	struct file *files;
	size_t file_count, file_capacity;
	uint32_t *buckets; // indexes of files, plus 1
	size_t bucket_count;
	struct row *rows;
	size_t row_count, row_capacity;
	struct table *tables;
	uint64_t room; // how many more bytes of line tables are read
	uint32_t unit; // number of the unit that is being written, from 1
	uint64_t unknown_type; // offset of the unknown type in the unit
	struct jitreg_bytes folders, names, program; // of the unit's line table
	uint64_t folder_count, name_count;
	int error;
};

/* ---- source files ------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static size_t find_bucket(const struct builder *b, const struct file *file)
{
	uint64_t hash = hash_text(
		hash_text(hash_text(UINT64_C(0xcbf29ce484222325), file->unit_folder), file->folder),
		file->name);
	size_t i = hash % b->bucket_count;

	for (; b->buckets[i]; i = (i + 1) % b->bucket_count) {
		const struct file *other = &b->files[b->buckets[i] - 1];

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
	for (size_t i = 0; i < b->file_count; i++)
		grown[find_bucket(b, &b->files[i])] = (uint32_t)i + 1;
	return 0;
}

/* The index of a source file in b->files, or NO_SOURCE with b->error set. */
static uint32_t lines_intern(struct builder *b, const char *unit_folder, const char *folder,
			     const char *name)
{
	struct file file = {unit_folder ? unit_folder : "", folder, name, 0, 0}, *grown;
	size_t bucket;

	if (b->file_count * 2 >= b->bucket_count && grow_buckets(b))
		goto fail;
	bucket = find_bucket(b, &file);
	if (b->buckets[bucket])
		return b->buckets[bucket] - 1;
	grown = b->file_count < UINT32_MAX / 2
			? jitreg_grow(b->files, b->file_count, &b->file_capacity, sizeof(*grown))
			: NULL;
	if (!grown)
		goto fail;
	b->files = grown;
	b->files[b->file_count++] = file;
	b->buckets[bucket] = (uint32_t)b->file_count;
	return (uint32_t)b->file_count - 1;
fail:
	b->error = -ENOMEM;
	return NO_SOURCE;
}

static uint32_t intern_source(struct builder *b, const char *folder,
			      const struct jitreg_line_table *table, uint64_t source)
{
	if (source >= table->source_count || !*table->sources[source].name)
		return NO_SOURCE;
	return lines_intern(b, folder, table->sources[source].folder, table->sources[source].name);
}

/* The file that a function is declared in. NO_SOURCE: b->error is set, or a damaged table has no
 * such file. */
static uint32_t find_declaration(struct builder *b, const struct jitreg_function *function)
{
	const struct jitreg_cu *unit = function->declared;
	struct table *table = b->tables;
	const char *folder;

	if (!unit || unit->lines == UINT64_MAX)
		return NO_SOURCE;
	while (table && (table->dwarf != unit->dwarf || table->off != unit->lines))
		table = table->next;
	if (!table) {
		table = calloc(1, sizeof(*table));
		if (!table) {
			b->error = -ENOMEM;
			return NO_SOURCE;
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
	return b->error ? NO_SOURCE : intern_source(b, folder, &table->sources, function->file);
}

/* ---- functions and their rows ------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

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

	for (size_t i = 0; i < b->piece_count; i++) {
		struct piece *piece = &b->pieces[i];
		const struct piece *last = kept ? &b->pieces[kept - 1] : NULL;

		piece->is_alias = last && last->start == piece->start && last->end == piece->end;
		if (!last || piece->start >= last->end || piece->is_alias)
			b->pieces[kept++] = *piece;
	}
	b->piece_count = kept;
}

static int find_pieces(struct builder *b)
{
	const struct jitreg_entries *e = &b->entries;
	size_t count = 0;

	for (size_t i = 0; i < e->function_count; i++)
		count += e->functions[i].part_count;
	b->pieces = calloc(count + 1, sizeof(*b->pieces));
	if (!b->pieces)
		return -ENOMEM;
	for (size_t i = 0; i < e->function_count; i++) {
		const struct jitreg_function *f = &e->functions[i];

		for (unsigned j = 0; j < f->part_count && f->unit->lines != UINT64_MAX; j++)
			b->pieces[b->piece_count++] = (struct piece){
				f, f->parts[j].start, f->parts[j].end, NO_SOURCE, j > 0, false, 0,
				0};
	}
	qsort(b->pieces, b->piece_count, sizeof(*b->pieces), by_address);
	drop_overlaps(b);
	for (size_t i = 0; !b->error && i < b->piece_count; i++)
		b->pieces[i].file = find_declaration(b, b->pieces[i].function);
	return b->error;
}

static int add_row(struct builder *b, const struct row *row)
{
	struct row *grown = jitreg_grow(b->rows, b->row_count, &b->row_capacity, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	b->rows = grown;
	b->rows[b->row_count++] = *row;
	return 0;
}

/* The table whose rows are looked up. @files has an index into b->files for each of its source
 * files. */
struct lookup {
	const struct jitreg_cu *unit;
	struct jitreg_line_table table;
	uint32_t *files;
};

static uint32_t find_file(struct builder *b, const struct lookup *l, uint32_t source)
{
	if (source >= l->table.source_count)
		return NO_SOURCE;
	if (l->files[source] == NO_SOURCE)
		l->files[source] = intern_source(b, l->unit->folder, &l->table, source);
	return l->files[source];
}

/* Whether a row tells a debugger something. */
static bool is_wanted(const struct builder *b, const struct piece *piece,
		      const struct jitreg_line_row *row, const struct row *new)
{
	const struct row *last;
	size_t before = b->row_count - piece->first_row;

	// The row begins no statement, and the next row has the same address: debuggers use it
	// neither for a breakpoint nor to look an address up.
	if (!row->is_statement && !row[1].is_end && row[1].address == row->address)
		return false;
	if (before < FIRST_ROWS)
		return true;
	last = &b->rows[b->row_count - 1];
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

static int add_rows_from(struct builder *b, struct piece *piece, const struct lookup *l,
			 const struct jitreg_sequence *sequence)
{
	const struct jitreg_line_row *rows = l->table.rows + sequence->first;
	int r = 0;

	for (size_t i = find_first_row(rows, sequence->count, piece->start);
	     !r && !rows[i].is_end && rows[i].address < piece->end; i++) {
		struct row new = {rows[i].address, find_file(b, l, rows[i].source), rows[i].line,
				  rows[i].is_statement};

		if (new.address < piece->start)
			new.address = piece->start;
		if (b->error)
			return b->error;
		if (new.file != NO_SOURCE && is_wanted(b, piece, &rows[i], &new))
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

static int add_rows(struct builder *b, struct piece *piece, const struct lookup *l)
{
	const struct jitreg_line_table *table = &l->table;
	int r = 0;

	piece->first_row = b->row_count;
	for (size_t i = find_sequence(table, piece->start); !r && i < table->sequence_count; i++) {
		const struct jitreg_sequence *s = &table->sequences[i];

		if (table->rows[s->first].address >= piece->end)
			break;
		// The last row is the sequence's end. A sequence that ends before this code is
		// passed over.
		if (table->rows[s->first + s->count - 1].address > piece->start &&
		    (b->row_count == piece->first_row ||
		     table->rows[s->first].address >= b->rows[b->row_count - 1].address))
			r = add_rows_from(b, piece, l, s);
	}
	piece->row_count = b->row_count - piece->first_row;
	return r;
}

static int by_table(const void *a, const void *b)
{
	const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;

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
		ret->files[i] = NO_SOURCE;
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
	struct piece **sorted = calloc(b->piece_count + 1, sizeof(*sorted));
	struct lookup l = {0};
	int r = sorted ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < b->piece_count; i++)
		sorted[i] = &b->pieces[i];
	if (!r)
		qsort(sorted, b->piece_count, sizeof(*sorted), by_table);
	for (size_t i = 0; !r && i < b->piece_count; i++) {
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

/* ---- writing ------------------------------------------------------------------------ */

static void put(struct builder *b, struct jitreg_bytes *to, const void *bytes, size_t size)
{
	if (jitreg_bytes_append(to, bytes, size) == UINT32_MAX)
		b->error = -ENOMEM;
}

static void put_number(struct builder *b, struct jitreg_bytes *to, uint64_t number, size_t size)
{
	put(b, to, &number, size); // little-endian
}

static void put_byte(struct builder *b, struct jitreg_bytes *to, unsigned byte)
{
	put_number(b, to, byte, 1);
}

static void put_text(struct builder *b, struct jitreg_bytes *to, const char *text)
{
	put(b, to, text, strlen(text) + 1);
}

static void put_uleb(struct builder *b, struct jitreg_bytes *to, uint64_t number)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put(b, to, bytes, jitreg_put_uleb(bytes, number));
}

static void put_sleb(struct builder *b, struct jitreg_bytes *to, int64_t number)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put(b, to, bytes, jitreg_put_sleb(bytes, number));
}

static void put_site(struct builder *b, enum jitreg_lines_index section, unsigned kind,
		     uint64_t value)
{
	struct jitreg_bytes *to = &b->ret->sections[section];
	struct jitreg_lines_site site = {(uint16_t)section, (uint16_t)kind, (uint32_t)to->size};

	put(b, &b->ret->sites, &site, sizeof(site));
	put_number(b, to, value, kind == JITREG_LINES_ADDRESS ? 8 : 4);
}

/* Fill in a length, which is known at the end only. */
static void set_length(struct jitreg_bytes *bytes, size_t start)
{
	uint32_t length = (uint32_t)(bytes->size - start - 4);

	if (bytes->size >= start + 4)
		memcpy(bytes->data + start, &length, sizeof(length));
}

static const struct jitreg_cu *source_unit(const struct piece *piece)
{
	return piece->function->declared ? piece->function->declared : piece->function->unit;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* Folders in a line table are numbered from 1 here; number 0 is the folder of the unit. */
static uint64_t add_folder(struct builder *b, const char *unit_folder, const struct file *file)
{
	bool is_elsewhere = *file->folder != '/' && strcmp(file->unit_folder, unit_folder) != 0;
	const char *at = (const char *)b->folders.data, *end = at + b->folders.size;
	char *path = NULL;
	uint64_t number = 1;

	if (!*file->folder && !is_elsewhere)
		return 0;
	if (is_elsewhere) {
		path = malloc(strlen(file->unit_folder) + strlen(file->folder) + 2);
		if (!path) {
			b->error = -ENOMEM;
			return 0;
		}
		stpcpy(stpcpy(stpcpy(path, file->unit_folder), *file->folder ? "/" : ""),
		       file->folder);
	}
	for (; at < end && strcmp(at, path ? path : file->folder) != 0; at += strlen(at) + 1)
		number++;
	if (at == end) {
		put_text(b, &b->folders, path ? path : file->folder);
		b->folder_count++;
	}
	free(path);
	return number;
}

/* The number of a file in the line table that is written. */
static uint64_t use_file(struct builder *b, const char *unit_folder, uint32_t number)
{
	struct file *file = &b->files[number];

	if (file->unit != b->unit) {
		uint64_t folder = add_folder(b, unit_folder, file);

		file->unit = b->unit;
		file->number = (uint32_t)b->name_count++;
		put_text(b, &b->names, file->name);
		put_uleb(b, &b->names, folder);
	}
	return file->number;
}

/* Give the unit's own source file the numbers 0 and 1: a line program begins in file 1. */
static void use_own_file(struct builder *b, const struct piece *first)
{
	const struct jitreg_cu *unit = source_unit(first);
	const char *folder = or_empty(first->function->unit->folder), *path = or_empty(unit->name);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct jitreg_bytes twice = {0};
	uint32_t number = first->file;

	if (number == NO_SOURCE || strcmp(b->files[number].name, name) != 0) {
		char *own = slash ? strndup(path, (size_t)(slash - path)) : strdup("");

		// The file is not put into b->files, because the name of its folder is freed below.
		if (!own) {
			b->error = -ENOMEM;
			return;
		}
		put_text(b, &b->names, name);
		put_uleb(b, &b->names,
			 add_folder(b, folder, &(struct file){folder, own, name, 0, 0}));
		free(own);
		b->name_count = 1;
	} else {
		use_file(b, folder, number);
		b->files[number].number = 1;
	}
	put(b, &twice, b->names.data, b->names.size);
	put(b, &b->names, twice.data, twice.size);
	jitreg_bytes_deinit(&twice);
	b->name_count = 2;
}

/* State of a line program. */
struct program {
	uint64_t address, end;
	uint32_t line;
	uint64_t file;
	bool is_statement, is_open;
};

static void put_row(struct builder *b, struct program *p, const struct row *row, uint64_t file)
{
	struct jitreg_bytes *to = &b->program;
	int64_t lines = (int64_t)row->line - p->line;
	uint64_t distance = row->address - p->address, op;

	if (file != p->file) {
		put_byte(b, to, DW_LNS_set_file);
		put_uleb(b, to, file);
	}
	if (row->is_statement != p->is_statement)
		put_byte(b, to, DW_LNS_negate_stmt);
	if (lines < LINE_BASE || lines >= LINE_BASE + LINE_RANGE) {
		put_byte(b, to, DW_LNS_advance_line);
		put_sleb(b, to, lines);
		lines = 0;
	}
	if (distance > (255 - OPCODE_BASE) / LINE_RANGE) {
		put_byte(b, to, DW_LNS_advance_pc);
		put_uleb(b, to, distance);
		distance = 0;
	}
	op = (uint64_t)(lines - LINE_BASE) + LINE_RANGE * distance + OPCODE_BASE;
	if (op > 255) {
		put_byte(b, to, DW_LNS_advance_pc);
		put_uleb(b, to, distance);
		op -= LINE_RANGE * distance;
	}
	put_byte(b, to, (unsigned)op);
	p->address = row->address;
	p->line = row->line;
	p->file = file;
	p->is_statement = row->is_statement;
}

static void end_sequence(struct builder *b, struct program *p)
{
	if (!p->is_open)
		return;
	put_byte(b, &b->program, DW_LNS_advance_pc);
	put_uleb(b, &b->program, p->end - p->address);
	put(b, &b->program, (const uint8_t[]){0, 1, DW_LNE_end_sequence}, 3);
	p->is_open = false;
}

/*
 * Begin a sequence. The place of its address in the section is known only when the header has been
 * written; until then its place in the program is kept in @places.
 */
static void begin_sequence(struct builder *b, struct program *p, uint64_t address,
			   struct jitreg_bytes *places)
{
	uint32_t place;

	put(b, &b->program, (const uint8_t[]){0, 9, DW_LNE_set_address}, 3);
	place = (uint32_t)b->program.size;
	put(b, places, &place, sizeof(place));
	put_number(b, &b->program, address, 8);
	*p = (struct program){
		.address = address, .line = 1, .file = 1, .is_statement = true, .is_open = true};
}

static void put_program(struct builder *b, const char *folder, const struct piece *pieces,
			size_t count, struct jitreg_bytes *places)
{
	struct program p = {0};

	for (size_t i = 0; i < count && !b->error; i++) {
		const struct row *rows = b->rows + pieces[i].first_row;

		if (!pieces[i].row_count)
			continue;
		if (p.is_open && rows->address - p.end >= GAP_MAX)
			end_sequence(b, &p);
		if (!p.is_open)
			begin_sequence(b, &p, rows->address, places);
		for (size_t j = 0; j < pieces[i].row_count; j++)
			put_row(b, &p, &rows[j], use_file(b, folder, rows[j].file));
		p.end = pieces[i].end;
	}
	end_sequence(b, &p);
}

/* Write a unit's line table. The files that its functions refer to must have numbers by then. */
static void put_line_table(struct builder *b, const char *folder, const struct piece *pieces,
			   size_t count)
{
	static const uint8_t numbers[] = {1, 1, 1, (uint8_t)LINE_BASE, LINE_RANGE, OPCODE_BASE,
					  0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_LINE], places = {0};
	size_t start = to->size, head;

	put_program(b, folder, pieces, count, &places);
	put_number(b, to, 0, 4);
	// Version, sizes of addresses and of segment selectors.
	put(b, to, (const uint8_t[]){5, 0, 8, 0}, 4);
	head = to->size;
	put_number(b, to, 0, 4);
	put(b, to, numbers, sizeof(numbers));
	put(b, to, (const uint8_t[]){1, DW_LNCT_path, DW_FORM_string}, 3);
	put_uleb(b, to, b->folder_count + 1);
	put_text(b, to, folder);
	put(b, to, b->folders.data, b->folders.size);
	put(b, to,
	    (const uint8_t[]){2, DW_LNCT_path, DW_FORM_string, DW_LNCT_directory_index,
			      DW_FORM_udata},
	    5);
	put_uleb(b, to, b->name_count);
	put(b, to, b->names.data, b->names.size);
	set_length(to, head);
	for (size_t i = 0; i < places.size / sizeof(uint32_t); i++) {
		struct jitreg_lines_site site = {JITREG_LINES_LINE, JITREG_LINES_ADDRESS,
						 (uint32_t)to->size +
							 ((const uint32_t *)places.data)[i]};

		put(b, &b->ret->sites, &site, sizeof(site));
	}
	put(b, to, b->program.data, b->program.size);
	set_length(to, start);
	jitreg_bytes_deinit(&places);
}

/* Write the compiler's name without its options, which can be many. GDB looks at name and version
 * only. */
static void put_producer(struct builder *b, struct jitreg_bytes *to, const char *producer)
{
	const char *options = strstr(producer, " -");

	put(b, to, producer, options ? (size_t)(options - producer) : strlen(producer));
	put_byte(b, to, 0);
}

static bool is_cplusplus(uint64_t language)
{
	return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
	       language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
	       language == 0x2b /* C++17 */ || language == 0x2c; /* C++20, later than DWARF 5 */
}

static int by_vaddr(const void *key, const void *item)
{
	const uint64_t *address = key;
	const struct jitreg_name *name = item;

	return *address < name->vaddr ? -1 : *address > name->vaddr;
}

/*
 * The name by which the linker knows a C++ function. There are no entries of namespaces and classes
 * in this DWARF, so debuggers learn of these from the name. The library's DWARF has the name for
 * external functions only. For static functions the name is taken from the symbol table, without
 * the suffix that the compiler adds for copies (.isra.0).
 */
static const char *find_linkage_name(const struct builder *b, const struct piece *piece,
				     size_t *size)
{
	const char *text = piece->function->linkage_name, *end;
	const struct jitreg_name *name;

	*size = text ? strlen(text) : 0;
	if (text || !b->symbols || !is_cplusplus(source_unit(piece)->language))
		return text;
	name = bsearch(&piece->start, b->symbols->items, b->symbols->count, sizeof(*name),
		       by_vaddr);
	if (!name)
		return NULL;
	end = memchr(name->text, '.', name->text_size);
	*size = end ? (size_t)(end - name->text) : name->text_size;
	return *size ? name->text : NULL;
}

/*
 * Begin the entries of a Rust function's modules. The function returns how many modules there are,
 * and sets @name to the Rust function's own name. (In C++ a debugger learns of namespaces and
 * classes from the linkage name.)
 */
static size_t begin_modules(struct builder *b, const struct piece *piece,
			    char path[static JITREG_RUST_PATH_MAX], const char **name)
{
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_INFO];
	const char *linkage_name = piece->function->linkage_name;
	size_t count = 0;

	*name = piece->function->name;
	if (linkage_name && source_unit(piece)->language == DW_LANG_Rust)
		count = jitreg_rust_path(linkage_name, path);
	if (!count)
		return 0;
	*name = path;
	for (size_t i = 0; i < count - 1; i++) {
		put_byte(b, to, JITREG_LINES_ABBREV_MODULE);
		put_text(b, to, *name);
		*name += strlen(*name) + 1;
	}
	return count - 1;
}

static void put_function(struct builder *b, const char *folder, const struct piece *piece)
{
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_INFO];
	const struct jitreg_function *f = piece->function;
	char path[JITREG_RUST_PATH_MAX];
	size_t linkage_size = 0;
	const char *linkage_name =
			   piece->is_cold ? NULL : find_linkage_name(b, piece, &linkage_size),
		   *name;
	size_t module_count = begin_modules(b, piece, path, &name);

	put_byte(b, to,
		 linkage_name ? JITREG_LINES_ABBREV_LINKED_FUNCTION : JITREG_LINES_ABBREV_FUNCTION);
	if (linkage_name) {
		put(b, to, linkage_name, linkage_size);
		put_byte(b, to, 0);
	}
	put(b, to, name, strlen(name));
	put_text(b, to, piece->is_cold ? ".cold" : "");
	put_uleb(b, to, piece->file == NO_SOURCE ? 0 : use_file(b, folder, piece->file));
	put_uleb(b, to, f->line);
	put_byte(b, to, f->external && !piece->is_cold);
	put_uleb(b, to, b->unknown_type);
	put_site(b, JITREG_LINES_INFO, JITREG_LINES_ADDRESS, piece->start);
	put_number(b, to, piece->end - piece->start, 4);
	while (module_count--)
		put_byte(b, to, 0);
}

static void put_arange(struct builder *b, uint64_t unit, uint64_t start, uint64_t size)
{
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_ARANGES];

	put_number(b, to, 12 + 2 * 16, 4); // the size of the rest: the header, a stretch, the end
	put_number(b, to, 2, 2);
	put_site(b, JITREG_LINES_ARANGES, JITREG_LINES_INFO, unit);
	put_number(b, to, 8, 6); // sizes of addresses and of segment selectors, padding
	put_site(b, JITREG_LINES_ARANGES, JITREG_LINES_ADDRESS, start);
	put_number(b, to, size, 8);
	put(b, to, (const uint8_t[16]){0}, 16);
}

static void put_unit(struct builder *b, const struct piece *pieces, size_t count)
{
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_INFO];
	const struct jitreg_cu *unit = pieces->function->unit;
	const char *folder = or_empty(unit->folder);
	uint64_t size = pieces[count - 1].end - pieces->start;
	size_t start = to->size;

	b->unit++;
	b->folders.size = b->names.size = b->program.size = 0;
	b->folder_count = b->name_count = 0;
	put_arange(b, start, pieces->start, size);
	put_number(b, to, 0, 4);
	put(b, to, (const uint8_t[]){5, 0, DW_UT_compile, 8}, 4);
	put_number(b, to, 0, 4); // the abbreviations
	put_byte(b, to, JITREG_LINES_ABBREV_UNIT);
	put_producer(b, to, or_empty(unit->producer));
	put_uleb(b, to, source_unit(pieces)->language);
	put_text(b, to, or_empty(source_unit(pieces)->name));
	put_text(b, to, folder);
	put_site(b, JITREG_LINES_INFO, JITREG_LINES_LINE, b->ret->sections[JITREG_LINES_LINE].size);
	put_site(b, JITREG_LINES_INFO, JITREG_LINES_ADDRESS, pieces->start);
	put_number(b, to, size, 8);
	if (unit->has_lists) {
		put_byte(b, to, JITREG_LINES_ABBREV_LOCATION);
		put_text(b, to, "-");
		put_number(b, to, JITREG_LINES_EMPTY_LIST, 4);
	}
	b->unknown_type = to->size - start;
	put_byte(b, to, JITREG_LINES_ABBREV_UNKNOWN_TYPE);
	put_text(b, to, "<unknown return type>");
	use_own_file(b, pieces);
	for (size_t i = 0; i < count && !b->error; i++)
		put_function(b, folder, &pieces[i]);
	put_byte(b, to, 0);
	set_length(to, start);
	put_line_table(b, folder, pieces, count);
}

/* Whether two functions can be in the same unit. */
static bool belong_together(const struct piece *first, const struct piece *piece, size_t count)
{
	const struct jitreg_cu *x = source_unit(first), *y = source_unit(piece);

	return (count < FUNCTIONS_MAX || piece->is_alias) && x->language == y->language &&
	       !strcmp(or_empty(first->function->unit->folder),
		       or_empty(piece->function->unit->folder)) &&
	       first->function->unit->has_lists == piece->function->unit->has_lists &&
	       (count < FUNCTIONS_MIN || !strcmp(or_empty(x->name), or_empty(y->name)));
}

static int write_units(struct builder *b)
{
	for (size_t i = 0, count; !b->error && i < b->piece_count; i += count) {
		for (count = 1; i + count < b->piece_count; count++)
			if (!belong_together(&b->pieces[i], &b->pieces[i + count], count))
				break;
		put_unit(b, &b->pieces[i], count);
	}
	return b->error;
}

static void lines_deinit(struct builder *b)
{
	while (b->tables) {
		struct table *table = b->tables;

		b->tables = table->next;
		jitreg_line_table_deinit(&table->sources);
		free(table);
	}
	jitreg_entries_deinit(&b->entries);
	free(b->pieces);
	free(b->files);
	free(b->buckets);
	free(b->rows);
	jitreg_bytes_deinit(&b->folders);
	jitreg_bytes_deinit(&b->names);
	jitreg_bytes_deinit(&b->program);
}

int jitreg_lines_make(const struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *supplement,
		      const struct jitreg_names *names, const struct jitreg_part *text,
		      struct jitreg_lines *ret)
{
	struct builder b = {.ret = ret, .symbols = names};
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
		r = write_units(&b);
	lines_deinit(&b);
	return r;
}
