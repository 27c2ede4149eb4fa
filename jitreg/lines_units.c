// SPDX-License-Identifier: MIT
/*
 * DWARF with functions and lines only: what a debugger can be given of hundreds of copies.
 *
 * The full DWARF of an optimised libpython costs GDB seconds and 80 MB a copy, most of it for
 * types, variables and inlined calls. The DWARF that this file writes takes a tenth of the time and
 * of the memory. It has:
 *
 *     unit         up to FUNCTIONS_MAX functions that lie side by side. GDB reads units whole: with
 *                  small units it reads little for a breakpoint by file and line. Functions of a
 *                  unit lie side by side, because GDB looks an address up by the stretch of the
 *                  unit that it lies in
 *     function     name, declaration, one stretch of addresses
 *     module       in Rust a function is in its modules (rust_path.c); each function has module
 *                  entries of its own
 *     its type     is not known, like the type of a function without debug information: so GDB
 *                  refuses a call without a cast instead of assuming that the function returns
 *                  nothing. GDB looks types of this kind up by name, and finds no type with this
 *                  name
 *     X.cold       code that the compiler has moved away from X is a function of its own, without
 *                  which LLDB does not unwind it
 *     line table   rows that say something new; neither columns nor views
 *     [locations]  a unit of optimised code has a variable "-", a name that nobody types, with a
 *                  list of locations. From that GDB knows that arguments are right at a function's
 *                  first instruction, and stops there as with the full DWARF
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
#include "lines_units.h"

#include "file/leb128.h"
#include "rust_path.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 32
/* A unit has functions of a single source file if it gets at least this many. */
#define FUNCTIONS_MIN 8
/* A gap of at most this many bytes between functions is padding. */
#define GAP_MAX 32

/* Parameters of line programs. */
#define LINE_BASE   (-5)
#define LINE_RANGE  14
#define OPCODE_BASE 13

struct unit_writer {
	const struct jitreg_lines_found *found;
	struct jitreg_lines *ret;
	uint32_t unit;         // number of the unit that is being written, from 1
	uint64_t unknown_type; // offset of the unknown type in the unit
	struct jitreg_bytes folders, names, program; // of the unit's line table
	uint64_t folder_count, name_count;
	int error;
};

static void put(struct unit_writer *b, struct jitreg_bytes *to, const void *bytes, size_t size)
{
	if (jitreg_bytes_append(to, bytes, size) == UINT32_MAX)
		b->error = -ENOMEM;
}

static void put_number(struct unit_writer *b, struct jitreg_bytes *to, uint64_t number, size_t size)
{
	put(b, to, &number, size); // little-endian
}

static void put_byte(struct unit_writer *b, struct jitreg_bytes *to, unsigned byte)
{
	put_number(b, to, byte, 1);
}

static void put_text(struct unit_writer *b, struct jitreg_bytes *to, const char *text)
{
	put(b, to, text, strlen(text) + 1);
}

static void put_uleb(struct unit_writer *b, struct jitreg_bytes *to, uint64_t number)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put(b, to, bytes, jitreg_put_uleb(bytes, number));
}

static void put_sleb(struct unit_writer *b, struct jitreg_bytes *to, int64_t number)
{
	uint8_t bytes[JITREG_LEB128_MAX];

	put(b, to, bytes, jitreg_put_sleb(bytes, number));
}

static void put_site(struct unit_writer *b, enum jitreg_lines_index section, unsigned kind,
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

static const struct jitreg_cu *source_unit(const struct jitreg_lines_piece *piece)
{
	return piece->function->declared ? piece->function->declared : piece->function->unit;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* Folders in a line table are numbered from 1 here; number 0 is the folder of the unit. */
static uint64_t add_folder(struct unit_writer *b, const char *unit_folder,
			   const struct jitreg_lines_source *file)
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
static uint64_t use_file(struct unit_writer *b, const char *unit_folder, uint32_t number)
{
	struct jitreg_lines_source *file = &b->found->files[number];

	if (file->unit != b->unit) {
		uint64_t folder = add_folder(b, unit_folder, file);

		file->unit = b->unit;
		file->number = (uint32_t)b->name_count++;
		put_text(b, &b->names, file->name);
		put_uleb(b, &b->names, folder);
	}
	return file->number;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * The file that a unit is named after, or JITREG_LINES_NO_SOURCE: it was not found. That is the
 * file that was compiled or, where a unit has nothing of that file, the file of its first function:
 * GDB reads each unit with the name of the file in which somebody sets a breakpoint, and most code
 * of a C++ library is from headers.
 */
static uint32_t find_own_file(const struct unit_writer *b, const struct jitreg_lines_piece *pieces,
			      size_t count)
{
	const char *name = base_name(or_empty(source_unit(pieces)->name));
	uint32_t first = JITREG_LINES_NO_SOURCE;

	for (const struct jitreg_lines_piece *piece = pieces; piece < pieces + count; piece++) {
		const struct jitreg_lines_row *rows = b->found->rows + piece->first_row;

		if (piece->file != JITREG_LINES_NO_SOURCE) {
			if (!strcmp(b->found->files[piece->file].name, name))
				return piece->file;
			if (first == JITREG_LINES_NO_SOURCE)
				first = piece->file;
		}
		for (size_t i = 0; i < piece->row_count; i++)
			if (!strcmp(b->found->files[rows[i].file].name, name))
				return rows[i].file;
	}
	return first;
}

/* Write the name of a unit. @own: what find_own_file() has found. */
static void put_unit_name(struct unit_writer *b, const char *folder, const struct jitreg_cu *unit,
			  uint32_t own)
{
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_INFO];
	const char *path = or_empty(unit->name);
	const struct jitreg_lines_source *file;

	if (own == JITREG_LINES_NO_SOURCE ||
	    !strcmp(b->found->files[own].name, base_name(path))) {
		put_text(b, to, path);
		return;
	}
	file = &b->found->files[own];
	if (*file->folder != '/' && strcmp(file->unit_folder, folder) != 0) {
		put(b, to, file->unit_folder, strlen(file->unit_folder));
		put_byte(b, to, '/');
	}
	if (*file->folder) {
		put(b, to, file->folder, strlen(file->folder));
		put_byte(b, to, '/');
	}
	put_text(b, to, file->name);
}

/* Give the file that a unit is named after the numbers 0 and 1: a line program begins in file 1. */
static void use_own_file(struct unit_writer *b, const char *folder, const struct jitreg_cu *unit,
			 uint32_t own)
{
	struct jitreg_bytes twice = {0};

	if (own == JITREG_LINES_NO_SOURCE) {
		const char *path = or_empty(unit->name), *name = base_name(path);
		char *its = name > path ? strndup(path, (size_t)(name - path - 1)) : strdup("");

		// The file is not among those that were found: its folder's name is freed below.
		if (!its) {
			b->error = -ENOMEM;
			return;
		}
		put_text(b, &b->names, name);
		put_uleb(b, &b->names,
			 add_folder(b, folder,
				    &(struct jitreg_lines_source){folder, its, name, 0, 0}));
		free(its);
	} else {
		use_file(b, folder, own);
		b->found->files[own].number = 1;
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

static void put_row(struct unit_writer *b, struct program *p, const struct jitreg_lines_row *row,
		    uint64_t file)
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

static void end_sequence(struct unit_writer *b, struct program *p)
{
	if (!p->is_open)
		return;
	put_byte(b, &b->program, DW_LNS_advance_pc);
	put_uleb(b, &b->program, p->end - p->address);
	put(b, &b->program, (const uint8_t[]){0, 1, DW_LNE_end_sequence}, 3);
	p->is_open = false;
}

/*
 * Begin a sequence. Where its address lies in the section is known only when the header has been
 * written. Until then @places keeps where the address lies in the program.
 */
static void begin_sequence(struct unit_writer *b, struct program *p, uint64_t address,
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

static void put_program(struct unit_writer *b, const char *folder,
			const struct jitreg_lines_piece *pieces, size_t count,
			struct jitreg_bytes *places)
{
	struct program p = {0};

	for (size_t i = 0; i < count && !b->error; i++) {
		const struct jitreg_lines_row *rows = b->found->rows + pieces[i].first_row;

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
static void put_line_table(struct unit_writer *b, const char *folder,
			   const struct jitreg_lines_piece *pieces, size_t count)
{
	static const uint8_t numbers[] = {
		1, 1, 1, (uint8_t)LINE_BASE, LINE_RANGE, OPCODE_BASE, 0, 1, 1, 1, 1, 0, 0, 0, 1,
		0, 0, 1};
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
static void put_producer(struct unit_writer *b, struct jitreg_bytes *to, const char *producer)
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
static const char *find_linkage_name(const struct unit_writer *b,
				     const struct jitreg_lines_piece *piece, size_t *size)
{
	const char *text = piece->function->linkage_name, *end;
	const struct jitreg_name *name;

	*size = text ? strlen(text) : 0;
	if (text || !b->found->symbols || !is_cplusplus(source_unit(piece)->language))
		return text;
	name = bsearch(&piece->start, b->found->symbols->items, b->found->symbols->count,
		       sizeof(*name), by_vaddr);
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
static size_t begin_modules(struct unit_writer *b, const struct jitreg_lines_piece *piece,
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

static void put_function(struct unit_writer *b, const char *folder,
			 const struct jitreg_lines_piece *piece)
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
	put_uleb(b, to,
		 piece->file == JITREG_LINES_NO_SOURCE ? 0 : use_file(b, folder, piece->file));
	put_uleb(b, to, f->line);
	put_byte(b, to, f->external && !piece->is_cold);
	put_uleb(b, to, b->unknown_type);
	put_site(b, JITREG_LINES_INFO, JITREG_LINES_ADDRESS, piece->start);
	put_number(b, to, piece->end - piece->start, 4);
	while (module_count--)
		put_byte(b, to, 0);
}

static void put_arange(struct unit_writer *b, uint64_t unit, uint64_t start, uint64_t size)
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

static void put_unit(struct unit_writer *b, const struct jitreg_lines_piece *pieces, size_t count)
{
	struct jitreg_bytes *to = &b->ret->sections[JITREG_LINES_INFO];
	const struct jitreg_cu *unit = pieces->function->unit;
	const char *folder = or_empty(unit->folder);
	uint64_t size = pieces[count - 1].end - pieces->start;
	uint32_t own = find_own_file(b, pieces, count);
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
	put_unit_name(b, folder, source_unit(pieces), own);
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
	use_own_file(b, folder, source_unit(pieces), own);
	for (size_t i = 0; i < count && !b->error; i++)
		put_function(b, folder, &pieces[i]);
	put_byte(b, to, 0);
	set_length(to, start);
	put_line_table(b, folder, pieces, count);
}

/* Whether two functions can be in the same unit. */
static bool belong_together(const struct jitreg_lines_piece *first,
			    const struct jitreg_lines_piece *piece, size_t count)
{
	const struct jitreg_cu *x = source_unit(first), *y = source_unit(piece);

	return (count < FUNCTIONS_MAX || piece->is_alias) && x->language == y->language &&
	       !strcmp(or_empty(first->function->unit->folder),
		       or_empty(piece->function->unit->folder)) &&
	       first->function->unit->has_lists == piece->function->unit->has_lists &&
	       (count < FUNCTIONS_MIN || !strcmp(or_empty(x->name), or_empty(y->name)));
}

int jitreg_lines_write_units(const struct jitreg_lines_found *found, struct jitreg_lines *ret)
{
	struct unit_writer b = {.found = found, .ret = ret};

	for (size_t i = 0, count; !b.error && i < found->piece_count; i += count) {
		for (count = 1; i + count < found->piece_count; count++)
			if (!belong_together(&found->pieces[i], &found->pieces[i + count], count))
				break;
		put_unit(&b, &found->pieces[i], count);
	}
	jitreg_bytes_deinit(&b.folders);
	jitreg_bytes_deinit(&b.names);
	jitreg_bytes_deinit(&b.program);
	return b.error;
}
