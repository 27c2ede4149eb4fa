// SPDX-License-Identifier: MIT
/*
 * The functions in a file's DWARF: name, place of declaration, code.
 *
 * Entries are read one after the other as they lie in .debug_info; that they are a tree does not
 * matter, since a function says itself what it is and refers to its declaration. What is not a
 * function is passed over (abbrevs.c).
 *
 * An entry with code often has no name: an inlined function or a method refers to another entry,
 * which can be in another unit (link-time optimisation), or in a supplementary file (dwz).
 *
 * What is not known (a form, a version) is -EOPNOTSUPP for the whole file: where the next entry
 * begins would be a guess. Not handled: split DWARF, .debug_sup of DWARF 5, types' own sections
 * (which have no code).
 *
 * Specification: DWARF 5 chapters 2, 3.3 and 7.5; DWARF 4 for older forms.
 */
#include "entries.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

/* How many references are followed from the entry of a function. */
#define REFERENCES_MAX 8

/* What an attribute says. */
struct value {
	uint64_t number;
	const char *text;
	bool in_supplement; // the number is an offset there
};

/* Those attributes of a function or of a unit that are used here. */
struct entry {
	const char *name, *linkage_name, *folder, *producer;
	uint64_t low, high, ranges, file, line, language, lines, origin;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	bool has_low, has_high, has_ranges, has_lines, external, high_is_address, has_origin;
	bool origin_in_supplement, ranges_is_index, is_split;
};

struct finder {
	struct jitreg_entries *ret;
	const struct jitreg_dwarf *supplement;
	struct jitreg_part text;
};

/* ---- values ------------------------------------------------------------------------- */

static const char *text_at(const struct jitreg_dwarf *dwarf, enum jitreg_dwarf_index index,
			   uint64_t off)
{
	const struct jitreg_dwarf_section *section = dwarf ? &dwarf->sections[index] : NULL;
	struct jitreg_cursor c = jitreg_cursor_open(section ? section->bytes : NULL,
						    section ? section->size : 0, off);

	return jitreg_cursor_text(&c);
}

static uint64_t number_at(const struct jitreg_dwarf *dwarf, enum jitreg_dwarf_index index,
			  uint64_t base, uint64_t number, unsigned size)
{
	const struct jitreg_dwarf_section *section = &dwarf->sections[index];
	struct jitreg_cursor c;

	if (number > section->size)
		return UINT64_MAX;
	c = jitreg_cursor_open(section->bytes, section->size, base + number * size);
	number = jitreg_cursor_number(&c, size);
	return c.bad ? UINT64_MAX : number;
}

static const char *indexed_text(const struct jitreg_cu *unit, uint64_t number)
{
	uint64_t off = number_at(unit->dwarf, JITREG_DWARF_STR_OFFSETS, unit->str_offsets_base,
				 number, unit->offset_size);

	return text_at(unit->dwarf, JITREG_DWARF_STR, off);
}

static uint64_t indexed_address(const struct jitreg_cu *unit, uint64_t number)
{
	return number_at(unit->dwarf, JITREG_DWARF_ADDR, unit->addr_base, number,
			 JITREG_ADDRESS_SIZE);
}

/* Read the value at the cursor, which stands behind the value afterwards. */
static struct value read_value(const struct jitreg_cu *unit, const struct jitreg_dwarf *supplement,
			       uint64_t form, int64_t constant, struct jitreg_cursor *c)
{
	struct value v = {.number = (uint64_t)constant};
	unsigned size = jitreg_form_number_size(form, unit->version, unit->offset_size);

	if (form == DW_FORM_string) {
		v.text = jitreg_cursor_text(c);
		return v;
	}
	if (form == DW_FORM_flag_present)
		v.number = 1;
	else if (size)
		v.number = jitreg_cursor_number(c, size);
	else if (form != DW_FORM_implicit_const)
		jitreg_form_skip_varying(c, form, &v.number);
	switch (form) {
	case DW_FORM_strp:
		v.text = text_at(unit->dwarf, JITREG_DWARF_STR, v.number);
		break;
	case DW_FORM_line_strp:
		v.text = text_at(unit->dwarf, JITREG_DWARF_LINE_STR, v.number);
		break;
	case DW_FORM_GNU_strp_alt:
		v.text = text_at(supplement, JITREG_DWARF_STR, v.number);
		break;
	case DW_FORM_strx:
	case DW_FORM_strx1 ... DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		v.text = indexed_text(unit, v.number);
		break;
	case DW_FORM_addrx:
	case DW_FORM_addrx1 ... DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		v.number = indexed_address(unit, v.number);
		break;
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		v.number += unit->off;
		break;
	case DW_FORM_GNU_ref_alt:
		v.in_supplement = true;
		break;
	}
	return v;
}

int jitreg_entries_read_form(const struct jitreg_cu *unit, uint64_t form,
			     struct jitreg_cursor *cursor, const char **text, uint64_t *number)
{
	struct value v;

	if (!jitreg_form_is_known(form) || form == DW_FORM_implicit_const)
		return -EOPNOTSUPP;
	v = read_value(unit, NULL, form, 0, cursor);
	*text = v.text;
	*number = v.number;
	return cursor->bad ? -ENOEXEC : 0;
}

/* ---- entries ------------------------------------------------------------------------ */

static bool is_address(uint64_t form)
{
	return form == DW_FORM_addr || form == DW_FORM_addrx ||
	       (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) || form == DW_FORM_GNU_addr_index;
}

static void entries_note(struct entry *e, const struct jitreg_attribute *a, const struct value *v)
{
	switch (a->name) {
	case DW_AT_name:
		e->name = v->text;
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		e->linkage_name = v->text;
		break;
	case DW_AT_comp_dir:
		e->folder = v->text;
		break;
	case DW_AT_producer:
		e->producer = v->text;
		break;
	case DW_AT_language:
		e->language = v->number;
		break;
	case DW_AT_stmt_list:
		e->lines = v->number;
		e->has_lines = true;
		break;
	case DW_AT_low_pc:
		e->low = v->number;
		e->has_low = true;
		break;
	case DW_AT_high_pc:
		e->high = v->number;
		e->has_high = true;
		e->high_is_address = is_address(a->form);
		break;
	case DW_AT_ranges:
		e->ranges = v->number;
		e->has_ranges = true;
		e->ranges_is_index = a->form == DW_FORM_rnglistx;
		break;
	case DW_AT_decl_file:
		e->file = v->number;
		break;
	case DW_AT_decl_line:
		e->line = v->number;
		break;
	case DW_AT_external:
		e->external = v->number;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		e->has_origin = a->form != DW_FORM_ref_sig8;
		e->origin = v->number;
		e->origin_in_supplement = v->in_supplement;
		break;
	case DW_AT_str_offsets_base:
		e->str_offsets_base = v->number;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		e->addr_base = v->number;
		break;
	case DW_AT_rnglists_base:
		e->rnglists_base = v->number;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		e->is_split = true;
		break;
	}
}

/* Read the attributes of an entry. The cursor is behind the entry's number of the abbreviation. */
static void read_entry(const struct finder *f, const struct jitreg_cu *unit,
		       const struct jitreg_abbrev *abbrev, struct jitreg_cursor *c,
		       struct entry *ret)
{
	*ret = (struct entry){0};
	for (uint32_t i = 0; i < abbrev->count; i++) {
		const struct jitreg_attribute *a = &unit->abbrevs->attributes[abbrev->first + i];
		struct value v = read_value(unit, f->supplement, a->form, a->constant, c);

		entries_note(ret, a, &v);
	}
}

static void skip_entry(const struct jitreg_cu *unit, const struct jitreg_abbrev *abbrev,
		       struct jitreg_cursor *c)
{
	if (abbrev->size >= 0 && unit->offset_size == 4 && unit->version > 2) {
		jitreg_cursor_skip(c, (uint64_t)abbrev->size);
		return;
	}
	for (uint32_t i = 0; i < abbrev->count; i++)
		jitreg_form_skip(c, unit->abbrevs->attributes[abbrev->first + i].form,
				 unit->version, unit->offset_size);
}

static int by_place(const void *key, const void *item)
{
	const uint64_t *off = key;
	const struct jitreg_cu *unit = item;

	return *off < unit->off ? -1 : *off >= unit->end;
}

static const struct jitreg_cu *find_unit(const struct finder *f, bool in_supplement, uint64_t off)
{
	const struct jitreg_entries *e = f->ret;
	size_t first = in_supplement ? e->own_count : 0;
	size_t count = in_supplement ? e->unit_count - e->own_count : e->own_count;

	return count ? bsearch(&off, e->units + first, count, sizeof(*e->units), by_place) : NULL;
}

/* Read the entry at an offset. False: there is none. */
static bool read_entry_at(const struct finder *f, const struct jitreg_cu *unit, uint64_t off,
			  struct entry *ret)
{
	const struct jitreg_dwarf_section *section = &unit->dwarf->sections[JITREG_DWARF_INFO];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, unit->end, off);
	const struct jitreg_abbrev *abbrev;

	if (off < unit->root)
		return false;
	abbrev = jitreg_abbrevs_get(unit->abbrevs, jitreg_cursor_uleb(&c));
	if (!abbrev)
		return false;
	read_entry(f, unit, abbrev, &c, ret);
	return !c.bad;
}

/* ---- a function --------------------------------------------------------------------- */

static void add_part(const struct finder *f, struct jitreg_function *function, uint64_t start,
		     uint64_t end)
{
	if (start >= f->text.start && start < end && end <= f->text.end &&
	    end - start <= UINT32_MAX && function->part_count < JITREG_PARTS_MAX)
		function->parts[function->part_count++] = (struct jitreg_part){start, end};
}

static void add_list_4(const struct finder *f, const struct jitreg_cu *unit, uint64_t off,
		       struct jitreg_function *function)
{
	const struct jitreg_dwarf_section *section = &unit->dwarf->sections[JITREG_DWARF_RANGES];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, section->size, off);
	uint64_t base = unit->low_pc;

	while (!c.bad && function->part_count < JITREG_PARTS_MAX) {
		uint64_t start = jitreg_cursor_number(&c, JITREG_ADDRESS_SIZE);
		uint64_t end = jitreg_cursor_number(&c, JITREG_ADDRESS_SIZE);

		if (c.bad || (!start && !end))
			break;
		if (start == UINT64_MAX)
			base = end;
		else
			add_part(f, function, base + start, base + end);
	}
}

static void add_list_5(const struct finder *f, const struct jitreg_cu *unit, uint64_t off,
		       struct jitreg_function *function)
{
	const struct jitreg_dwarf_section *section = &unit->dwarf->sections[JITREG_DWARF_RNGLISTS];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, section->size, off);
	uint64_t base = unit->low_pc, start, kind;

	while (!c.bad && function->part_count < JITREG_PARTS_MAX &&
	       (kind = jitreg_cursor_number(&c, 1))) {
		switch (kind) {
		case DW_RLE_base_addressx:
			base = indexed_address(unit, jitreg_cursor_uleb(&c));
			break;
		case DW_RLE_startx_endx:
			start = indexed_address(unit, jitreg_cursor_uleb(&c));
			add_part(f, function, start, indexed_address(unit, jitreg_cursor_uleb(&c)));
			break;
		case DW_RLE_startx_length:
			start = indexed_address(unit, jitreg_cursor_uleb(&c));
			add_part(f, function, start, start + jitreg_cursor_uleb(&c));
			break;
		case DW_RLE_offset_pair:
			start = base + jitreg_cursor_uleb(&c);
			add_part(f, function, start, base + jitreg_cursor_uleb(&c));
			break;
		case DW_RLE_base_address:
			base = jitreg_cursor_number(&c, JITREG_ADDRESS_SIZE);
			break;
		case DW_RLE_start_end:
			start = jitreg_cursor_number(&c, JITREG_ADDRESS_SIZE);
			add_part(f, function, start, jitreg_cursor_number(&c, JITREG_ADDRESS_SIZE));
			break;
		case DW_RLE_start_length:
			start = jitreg_cursor_number(&c, JITREG_ADDRESS_SIZE);
			add_part(f, function, start, start + jitreg_cursor_uleb(&c));
			break;
		default:
			return;
		}
	}
}

static void add_code(const struct finder *f, const struct jitreg_cu *unit, const struct entry *e,
		     struct jitreg_function *function)
{
	uint64_t off = e->ranges;

	if (!e->has_ranges) {
		if (e->has_low && e->has_high)
			add_part(f, function, e->low,
				 e->high_is_address ? e->high : e->low + e->high);
		return;
	}
	if (e->ranges_is_index)
		off = unit->rnglists_base + number_at(unit->dwarf, JITREG_DWARF_RNGLISTS,
						      unit->rnglists_base, off, unit->offset_size);
	if (unit->version < 5)
		add_list_4(f, unit, off, function);
	else
		add_list_5(f, unit, off, function);
}

/* Take what an entry says unless an entry that refers to this entry has said it. */
static void add_words(const struct jitreg_cu *unit, const struct entry *e,
		      struct jitreg_function *function)
{
	if (!function->name)
		function->name = e->name;
	if (!function->linkage_name)
		function->linkage_name = e->linkage_name;
	if (!function->line)
		function->line = e->line;
	if (!function->declared && e->file) {
		function->file = e->file;
		function->declared = unit;
	}
	function->external |= e->external;
}

static int add_function(struct finder *f, const struct jitreg_cu *unit, const struct entry *first)
{
	struct jitreg_entries *to = f->ret;
	struct jitreg_function function = {.unit = unit}, *added;
	struct entry e = *first;

	add_code(f, unit, first, &function);
	add_words(unit, &e, &function);
	for (unsigned i = 0; function.part_count && e.has_origin && i < REFERENCES_MAX; i++) {
		unit = find_unit(f, e.origin_in_supplement || unit->dwarf == f->supplement,
				 e.origin);
		if (!unit || !read_entry_at(f, unit, e.origin, &e))
			break;
		add_words(unit, &e, &function);
	}
	if (!function.part_count || !function.name || !*function.name)
		return 0;
	added = jitreg_add(&to->functions, &to->function_count, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = function;
	return 0;
}

/* ---- units -------------------------------------------------------------------------- */

static int add_functions_of(struct finder *f, const struct jitreg_cu *unit)
{
	const struct jitreg_dwarf_section *section = &unit->dwarf->sections[JITREG_DWARF_INFO];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, unit->end, unit->root);
	struct entry e;
	int r = 0;

	while (!r && jitreg_cursor_more(&c)) {
		uint64_t code = jitreg_cursor_uleb(&c);
		const struct jitreg_abbrev *abbrev =
			code ? jitreg_abbrevs_get(unit->abbrevs, code) : NULL;

		if (!code)
			continue;
		if (!abbrev)
			return -ENOEXEC;
		if (abbrev->tag != DW_TAG_subprogram) {
			skip_entry(unit, abbrev, &c);
			continue;
		}
		read_entry(f, unit, abbrev, &c, &e);
		if (!c.bad && (e.has_low || e.has_ranges))
			r = add_function(f, unit, &e);
	}
	return r ? r : c.bad ? -ENOEXEC : 0;
}

/*
 * Read the first entry of a unit. In version 5 it has the bases that indexes count from; without a
 * base the first table of the section is meant.
 */
static void read_root(struct finder *f, struct jitreg_cu *unit, struct entry *ret)
{
	uint64_t head = unit->offset_size == 8 ? 16 : 8;

	unit->str_offsets_base = unit->addr_base = head;
	unit->rnglists_base = head + 4;
	if (!read_entry_at(f, unit, unit->root, ret))
		*ret = (struct entry){0};
	if (ret->str_offsets_base)
		unit->str_offsets_base = ret->str_offsets_base;
	if (ret->addr_base)
		unit->addr_base = ret->addr_base;
	if (ret->rnglists_base)
		unit->rnglists_base = ret->rnglists_base;
}

static int learn_unit(struct finder *f, struct jitreg_cu *unit)
{
	struct entry e;

	read_root(f, unit, &e);
	// again, with the bases, which may come after the names and addresses that need them
	read_root(f, unit, &e);
	if (e.is_split)
		return -EOPNOTSUPP;
	unit->low_pc = e.has_low ? e.low : 0;
	unit->lines = e.has_lines ? e.lines : UINT64_MAX;
	unit->language = e.language;
	unit->name = e.name;
	unit->folder = e.folder;
	unit->producer = e.producer;
	unit->has_lists = unit->abbrevs->has_lists;
	return 0;
}

/* Read the header at the cursor. *is_wanted: whether the unit has functions. */
static int read_header(struct finder *f, const struct jitreg_dwarf *dwarf, struct jitreg_cursor *c,
		       struct jitreg_cu *ret, bool *is_wanted)
{
	struct jitreg_unit_header header;
	int r = jitreg_unit_header_read(dwarf, c, &header);

	if (r)
		return r;
	*is_wanted = header.type == DW_UT_compile || header.type == DW_UT_partial;
	*ret = (struct jitreg_cu){
		.dwarf = dwarf,
		.off = header.off,
		.end = header.end,
		.root = header.root,
		.version = header.version,
		.offset_size = header.offset_size,
		.lines = UINT64_MAX,
	};
	if (!*is_wanted)
		return header.type == DW_UT_type ? 0 : -EOPNOTSUPP;
	r = jitreg_abbrevs_find(&f->ret->tables, dwarf, header.abbrevs, &ret->abbrevs);
	return r ? r : ret->abbrevs->has_debug_sup ? -EOPNOTSUPP : 0;
}

static int add_units(struct finder *f, const struct jitreg_dwarf *dwarf)
{
	const struct jitreg_dwarf_section *section = &dwarf->sections[JITREG_DWARF_INFO];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, section->size, 0);
	struct jitreg_entries *to = f->ret;
	int r = 0;

	while (!r && jitreg_cursor_more(&c)) {
		struct jitreg_cursor inside = c;
		struct jitreg_cu unit, *added;
		bool is_wanted;

		r = read_header(f, dwarf, &inside, &unit, &is_wanted);
		c.at = inside.end;
		if (r || !is_wanted)
			continue;
		added = jitreg_add(&to->units, &to->unit_count, sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = unit;
	}
	return r;
}

int jitreg_entries_find(const struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *supplement,
			const struct jitreg_part *text, struct jitreg_entries *ret)
{
	struct finder f = {.ret = ret, .supplement = supplement, .text = *text};
	int r;

	*ret = (struct jitreg_entries){0};
	r = add_units(&f, dwarf);
	ret->own_count = ret->unit_count;
	if (!r && supplement)
		r = add_units(&f, supplement);
	for (size_t i = 0; !r && i < ret->unit_count; i++)
		r = learn_unit(&f, &ret->units[i]);
	for (size_t i = 0; !r && i < ret->own_count; i++)
		r = add_functions_of(&f, &ret->units[i]);
	return r;
}

void jitreg_entries_deinit(struct jitreg_entries *entries)
{
	jitreg_abbrevs_destroy(entries->tables);
	free(entries->functions);
	free(entries->units);
	*entries = (struct jitreg_entries){0};
}
