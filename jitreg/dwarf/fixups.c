// SPDX-License-Identifier: MIT
/*
 * Finding every address in the DWARF of a file, so that adding the load bias to each gives the
 * DWARF of a copy of the file.
 *
 *     .debug_info, .debug_types   DW_FORM_addr; DW_OP_addr in expressions
 *     .debug_loc(lists)           from the attributes that refer to them: bases, starts and
 *     .debug_ranges, _rnglists    ends, and the expressions of locations
 *     .debug_line                 DW_LNE_set_address, from DW_AT_stmt_list
 *     .debug_addr, _aranges       every entry
 *
 * Entries are read one after the other, as abbreviations lay them out (abbrevs.c); that they are a
 * tree does not matter. sites.c reads what their values refer to.
 *
 * A supplementary file (dwz) has what several files have in common. LLDB refuses a file that refers
 * to a supplementary file, so the two are joined (read_all.c): sections of the supplement follow
 * those of the file, references to the supplement become references within the file, and references
 * inside of the supplement move by the sizes of the sections in front.
 *
 * Split DWARF is refused: some of its addresses are in other files.
 *
 * Specification: DWARF 5 chapters 2, 3 and 7; DWARF 4 for the older forms.
 */
#include "fixups.h"

#include "file/abbrevs.h"
#include "sites.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

struct search {
	struct jitreg_sites sites;
	struct jitreg_abbrev_table *tables;
	const struct jitreg_dwarf *front; // in a supplementary file: the DWARF that the file's DWARF will follow
};

/* What the value of an attribute is, as far as that matters here. */
enum class {
	CLASS_OTHER,
	CLASS_EXPRESSION,
	CLASS_LOCATIONS,
	CLASS_RANGES,
	CLASS_LINES,
};

struct attribute {
	uint16_t name, form;
	uint64_t off; // of its value in the section
	enum class class;
};

typedef int visit_fn(struct search *s, const struct attribute *attribute);

/* ---- entries ------------------------------------------------------------------------ */

/* Set the reason for an error that abbrevs.c has returned. */
static int fail_reading(struct search *s, int error)
{
	if (error == -EOPNOTSUPP)
		jitreg_sites_fail(&s->sites, error, "the debug information has entries of an unknown version or form, or "
						    "addresses that do not have eight bytes");
	else if (error == -ENOEXEC)
		jitreg_sites_fail(&s->sites, error, "an entry of the debug information cannot be read");
	return error;
}

/* Before version 4 expressions are blocks, as some constants are. */
static bool is_expression(const struct search *s, uint64_t name, uint64_t form)
{
	switch (form) {
	case DW_FORM_exprloc:
		return true;
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
		break;
	default:
		return false;
	}
	switch (name) {
	case DW_AT_location:
	case DW_AT_data_member_location:
	case DW_AT_data_location:
	case DW_AT_frame_base:
	case DW_AT_static_link:
	case DW_AT_vtable_elem_location:
	case DW_AT_GNU_call_site_value:
	case DW_AT_GNU_call_site_data_value:
	case DW_AT_GNU_call_site_target:
		return s->sites.unit.version < 4;
	}
	return false;
}

/* Whether a value is a place in another section. Before version 4 such values are numbers like others. */
static bool is_place(const struct search *s, uint64_t form)
{
	return form == DW_FORM_sec_offset ||
	       (s->sites.unit.version < 4 && form == (s->sites.unit.offset_size == 8 ? DW_FORM_data8 : DW_FORM_data4));
}

static enum class class_of(const struct search *s, uint64_t name, uint64_t form)
{
	if (is_expression(s, name, form))
		return CLASS_EXPRESSION;
	if (form == DW_FORM_loclistx)
		return CLASS_LOCATIONS;
	if (form == DW_FORM_rnglistx)
		return CLASS_RANGES;
	if (!is_place(s, form))
		return CLASS_OTHER;
	switch (name) {
	case DW_AT_location:
	case DW_AT_string_length:
	case DW_AT_return_addr:
	case DW_AT_frame_base:
	case DW_AT_segment:
	case DW_AT_static_link:
	case DW_AT_data_member_location:
	case DW_AT_use_location:
	case DW_AT_vtable_elem_location:
		return CLASS_LOCATIONS;
	case DW_AT_ranges:
	case DW_AT_start_scope:
		return CLASS_RANGES;
	case DW_AT_stmt_list:
		return CLASS_LINES;
	}
	return CLASS_OTHER;
}

/* Move a reference to the supplementary file, whose section will follow this file's section. */
static int add_supplementary(struct search *s, const struct attribute *attribute,
			     enum jitreg_dwarf_index to)
{
	s->sites.dwarf->supplemented = true;
	return jitreg_sites_shift(&s->sites, attribute->off, s->sites.dwarf->sections[to].size);
}

static int add_attribute(struct search *s, const struct attribute *attribute)
{
	switch (attribute->form) {
	case DW_FORM_GNU_ref_alt:
		return add_supplementary(s, attribute, JITREG_DWARF_INFO);
	case DW_FORM_GNU_strp_alt:
		return add_supplementary(s, attribute, JITREG_DWARF_STR);
	case DW_FORM_strp_sup:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return jitreg_sites_fail(&s->sites, -EOPNOTSUPP,
			    "the debug information refers to a supplementary file by .debug_sup");
	}
	if (attribute->form == DW_FORM_addr)
		return jitreg_sites_add(&s->sites, attribute->off);
	if (attribute->name == DW_AT_GNU_locviews) // an offset of view numbers, which are beside a list
		return 0;
	switch (attribute->class) {
	case CLASS_EXPRESSION:
		return jitreg_sites_add_expression(&s->sites, attribute->off, attribute->form);
	case CLASS_LOCATIONS:
	case CLASS_RANGES:
		return jitreg_sites_add_list(&s->sites, attribute->off, attribute->form,
					     attribute->class == CLASS_LOCATIONS);
	case CLASS_LINES:
		return jitreg_sites_add_lines(&s->sites, attribute->off, attribute->form);
	default:
		return 0;
	}
}

/* Whether a value refers to nothing outside of its unit. */
static bool is_self_contained(uint64_t form)
{
	switch (form) {
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_data16:
	case DW_FORM_exprloc:
	case DW_FORM_flag:
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_udata:
	case DW_FORM_sdata:
	case DW_FORM_string:
	case DW_FORM_udata:
		return true;
	}
	return false;
}

/* Move an attribute of a supplementary file, in which there are no addresses. */
static int move_attribute(struct search *s, const struct attribute *attribute)
{
	enum jitreg_dwarf_index to;
	int r;

	if (attribute->class == CLASS_LINES) {
		r = jitreg_sites_check_lines(&s->sites, attribute->off, attribute->form);
		if (r)
			return r;
		to = JITREG_DWARF_LINE;
	} else if (attribute->form == DW_FORM_strp) {
		to = JITREG_DWARF_STR;
	} else if (attribute->form == DW_FORM_line_strp) {
		to = JITREG_DWARF_LINE_STR;
	} else if (attribute->form == DW_FORM_ref_addr && s->sites.unit.version > 2) {
		to = JITREG_DWARF_INFO;
	} else if (is_self_contained(attribute->form)) {
		return 0;
	} else {
		return jitreg_sites_fail(&s->sites, -EOPNOTSUPP,
			    "the supplementary file has an attribute that belongs elsewhere");
	}
	return jitreg_sites_shift(&s->sites, attribute->off, s->front->sections[to].size);
}

/* Call for each attribute of the entry at the cursor, which stands behind the entry afterwards. */
static int for_each_attribute(struct search *s, const struct jitreg_abbrev_table *table,
			      const struct jitreg_abbrev *abbrev, struct jitreg_cursor *c, visit_fn *call)
{
	const uint8_t *start = s->sites.dwarf->sections[s->sites.index].bytes;

	for (uint32_t i = 0; i < abbrev->count; i++) {
		const struct jitreg_attribute *from = &table->attributes[abbrev->first + i];
		struct attribute attribute = {.name = from->name,
					      .form = from->form,
					      .off = (uint64_t)(c->at - start),
					      .class = class_of(s, from->name, from->form)};
		int r = call(s, &attribute);

		if (r)
			return r;
		jitreg_form_skip(c, from->form, s->sites.unit.version, s->sites.unit.offset_size);
		if (c->bad)
			return fail_reading(s, -ENOEXEC);
	}
	return 0;
}

/* Go through all entries from the cursor to the end of the unit. */
static int add_entries(struct search *s, const struct jitreg_abbrev_table *table, struct jitreg_cursor c)
{
	int r = 0;

	while (!r && jitreg_cursor_more(&c)) {
		uint64_t code = jitreg_cursor_uleb(&c);
		const struct jitreg_abbrev *abbrev = jitreg_abbrevs_get(table, code);

		if (c.bad || (code && !abbrev))
			return fail_reading(s, -ENOEXEC);
		if (code)
			r = for_each_attribute(s, table, abbrev, &c, s->front ? move_attribute : add_attribute);
	}
	return r;
}

/* ---- units -------------------------------------------------------------------------- */

static int read_unit_attribute(struct search *s, const struct attribute *attribute)
{
	uint64_t *to, low_pc;
	int r;

	switch (attribute->name) {
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return jitreg_sites_fail(&s->sites, -EOPNOTSUPP, "the debug information is split (.dwo files)");
	case DW_AT_low_pc:
		to = &low_pc;
		break;
	case DW_AT_loclists_base:
		to = &s->sites.unit.loclists_base;
		break;
	case DW_AT_rnglists_base:
		to = &s->sites.unit.rnglists_base;
		break;
	default:
		return 0;
	}
	if (attribute->form == DW_FORM_addrx || attribute->form >= DW_FORM_addrx1)
		return 0; // an index is of version 5, but only lists of version 4 need the base
	r = jitreg_sites_read_value(&s->sites, attribute->off, attribute->form, to);
	if (!r && to == &low_pc)
		s->sites.unit.absolute = !low_pc;
	return r;
}

/* Change the abbreviations of a unit for LLDB. Here they have been read already. */
static int add_header(struct search *s, const struct jitreg_unit_header *header)
{
	if (!s->front)
		return jitreg_sites_adopt_forms(&s->sites, header->abbrevs);
	return jitreg_sites_shift(&s->sites, header->abbrevs_off, s->front->sections[JITREG_DWARF_ABBREV].size);
}

/* The first entry is read before the others, because it says where lists are. */
static int add_unit(struct search *s, const struct jitreg_unit_header *header, struct jitreg_cursor c)
{
	const struct jitreg_abbrev_table *table;
	const struct jitreg_abbrev *abbrev;
	struct jitreg_cursor first = c;
	int r = jitreg_abbrevs_find(&s->tables, s->sites.dwarf, header->abbrevs, &table);

	if (r)
		return fail_reading(s, r);
	r = add_header(s, header);
	if (r)
		return r;
	abbrev = jitreg_abbrevs_get(table, jitreg_cursor_uleb(&first));
	if (abbrev)
		r = for_each_attribute(s, table, abbrev, &first, read_unit_attribute);
	return r ? r : add_entries(s, table, c);
}

/* Go through the units of .debug_info, or of .debug_types, where version 4 has types. */
static int add_units(struct search *s, enum jitreg_dwarf_index index)
{
	const struct jitreg_dwarf_section *section = &s->sites.dwarf->sections[index];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, section->size, 0);
	int r = 0;

	s->sites.index = index;
	while (!r && jitreg_cursor_more(&c)) {
		struct jitreg_cursor unit = c;
		struct jitreg_unit_header header;

		r = jitreg_unit_header_read(s->sites.dwarf, index, &unit, &header);
		if (r)
			return fail_reading(s, r);
		s->sites.unit = (struct jitreg_unit){
			.version = header.version, .offset_size = header.offset_size, .absolute = true};
		r = add_unit(s, &header, unit);
		c.at = unit.end;
	}
	return r;
}

static int fixups_compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/*
 * Sort the places and drop repetitions, which there are because several attributes may refer to one
 * list.
 */
static void sort_sites(struct jitreg_dwarf_section *section)
{
	size_t kept = 0;

	if (section->site_count)
		qsort(section->sites, section->site_count, sizeof(*section->sites), fixups_compare);
	for (size_t i = 0; i < section->site_count; i++) {
		if (!kept || section->sites[i] != section->sites[kept - 1])
			section->sites[kept++] = section->sites[i];
	}
	section->site_count = kept;
	free(section->seen);
	section->seen = NULL;
}

static int search_units(struct search *s)
{
	int r = add_units(s, JITREG_DWARF_INFO);

	if (r || s->front)
		return r;
	if (s->sites.dwarf->sections[JITREG_DWARF_TYPES].bytes)
		r = add_units(s, JITREG_DWARF_TYPES);
	if (!r)
		r = jitreg_sites_add_tables(&s->sites);
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		sort_sites(&s->sites.dwarf->sections[i]);
	return r;
}

static int fixups_search(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *front, const char **reason)
{
	struct search s = {.sites = {.dwarf = dwarf, .reason = "no memory"}, .front = front};
	int r;

	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		s.sites.expression_room += dwarf->sections[i].size;
	r = jitreg_sites_check_lists(&s.sites);
	if (!r)
		r = search_units(&s);
	jitreg_abbrevs_destroy(s.tables);
	*reason = s.sites.reason;
	return r;
}

int jitreg_fixups_find(struct jitreg_dwarf *dwarf, const char **reason)
{
	return fixups_search(dwarf, NULL, reason);
}

int jitreg_fixups_move(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *front,
		       const char **reason)
{
	return fixups_search(dwarf, front, reason);
}
