// SPDX-License-Identifier: MIT
/*
 * How the entries of DWARF are laid out.
 *
 * An entry begins with the code of an abbreviation, which lists names and forms of its attributes;
 * the form says how a value is written. So what is not of interest can be passed over, often in one
 * step. A file may be damaged: reads stay inside of the section, and what is not known (a form, a
 * version) is -EOPNOTSUPP.
 *
 * Specification: DWARF 5 section 7.5; DWARF 4 for older forms.
 */
#include "abbrevs.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

/* Names and forms have standard numbers below this, and a few of GNU's above. */
#define NUMBER_MAX 0xffff

/* ---- units -------------------------------------------------------------------------- */

int jitreg_unit_header_read(const struct jitreg_dwarf *dwarf, struct jitreg_cursor *c,
			    struct jitreg_unit_header *ret)
{
	const uint8_t *start = dwarf->sections[JITREG_DWARF_INFO].bytes;
	uint64_t address_size;

	*ret = (struct jitreg_unit_header){.off = (uint64_t)(c->at - start), .type = DW_UT_compile};
	ret->offset_size = jitreg_cursor_length(c);
	ret->version = (unsigned)jitreg_cursor_number(c, 2);
	if (c->bad)
		return -ENOEXEC;
	if (ret->version < 2 || ret->version > 5)
		return -EOPNOTSUPP;
	if (ret->version == 5) {
		ret->type = (unsigned)jitreg_cursor_number(c, 1);
		address_size = jitreg_cursor_number(c, 1);
		ret->abbrevs_off = (uint64_t)(c->at - start);
		ret->abbrevs = jitreg_cursor_number(c, ret->offset_size);
	} else {
		ret->abbrevs_off = (uint64_t)(c->at - start);
		ret->abbrevs = jitreg_cursor_number(c, ret->offset_size);
		address_size = jitreg_cursor_number(c, 1);
	}
	if (ret->type == DW_UT_type || ret->type == DW_UT_split_type)
		jitreg_cursor_skip(c, 8 + ret->offset_size); // signature, place of the type
	else if (ret->type == DW_UT_skeleton || ret->type == DW_UT_split_compile)
		jitreg_cursor_skip(c, 8); // number of the other file
	ret->root = (uint64_t)(c->at - start);
	ret->end = (uint64_t)(c->end - start);
	if (c->bad)
		return -ENOEXEC;
	return address_size == JITREG_ADDRESS_SIZE ? 0 : -EOPNOTSUPP;
}

/* ---- forms -------------------------------------------------------------------------- */

/* Bytes of a value, with offsets of four bytes; -1: it varies; -2: unknown. */
static int form_size(uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_ref_addr:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_string:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return -1;
	}
	return -2;
}

bool jitreg_form_is_known(uint64_t form)
{
	return form_size(form) != -2;
}

unsigned jitreg_form_number_size(uint64_t form, unsigned version, unsigned offset_size)
{
	int size = form_size(form);

	switch (form) {
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return offset_size;
	case DW_FORM_ref_addr:
		return version < 3 ? JITREG_ADDRESS_SIZE : offset_size;
	}
	return size > 0 && size <= 8 ? (unsigned)size : 0;
}

void jitreg_form_skip_varying(struct jitreg_cursor *c, uint64_t form, uint64_t *number)
{
	switch (form) {
	case DW_FORM_block1:
		jitreg_cursor_skip(c, jitreg_cursor_number(c, 1));
		break;
	case DW_FORM_block2:
		jitreg_cursor_skip(c, jitreg_cursor_number(c, 2));
		break;
	case DW_FORM_block4:
		jitreg_cursor_skip(c, jitreg_cursor_number(c, 4));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		jitreg_cursor_skip(c, jitreg_cursor_uleb(c));
		break;
	case DW_FORM_data16:
		jitreg_cursor_skip(c, 16);
		break;
	case DW_FORM_sdata:
		*number = (uint64_t)jitreg_cursor_sleb(c);
		break;
	default:
		*number = jitreg_cursor_uleb(c);
	}
}

void jitreg_form_skip(struct jitreg_cursor *c, uint64_t form, unsigned version,
		      unsigned offset_size)
{
	unsigned size = jitreg_form_number_size(form, version, offset_size);
	uint64_t number;

	if (size)
		jitreg_cursor_skip(c, size);
	else if (form == DW_FORM_string)
		jitreg_cursor_text(c);
	else if (form != DW_FORM_implicit_const && form != DW_FORM_flag_present)
		jitreg_form_skip_varying(c, form, &number);
}

/* ---- abbreviations ------------------------------------------------------------------ */

static bool is_list(uint64_t name, uint64_t form)
{
	return name == DW_AT_location && (form == DW_FORM_loclistx || form == DW_FORM_sec_offset ||
					  form == DW_FORM_data4);
}

static bool is_debug_sup(uint64_t form)
{
	return form == DW_FORM_strp_sup || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

/* One abbreviation's names and forms, up to two zeros. */
static int read_attributes(struct jitreg_abbrev_table *table, struct jitreg_abbrev *abbrev,
			   struct jitreg_cursor *c)
{
	abbrev->first = (uint32_t)table->attribute_count;
	for (;;) {
		uint64_t name = jitreg_cursor_uleb(c), form = jitreg_cursor_uleb(c);
		int64_t constant = form == DW_FORM_implicit_const ? jitreg_cursor_sleb(c) : 0;
		int size = form_size(form);
		struct jitreg_attribute *added;

		if (c->bad)
			return -ENOEXEC;
		if (!name && !form)
			return 0;
		if (size == -2 || name > NUMBER_MAX)
			return -EOPNOTSUPP;
		added = jitreg_add(&table->attributes, &table->attribute_count, sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = (struct jitreg_attribute){(uint16_t)name, (uint16_t)form, constant};
		abbrev->count++;
		abbrev->size = size < 0 || abbrev->size < 0 ? -1 : abbrev->size + size;
		table->has_lists |= is_list(name, form);
		table->has_debug_sup |= is_debug_sup(form);
	}
}

static int read_table(struct jitreg_abbrev_table *table)
{
	const struct jitreg_dwarf_section *section = &table->dwarf->sections[JITREG_DWARF_ABBREV];
	struct jitreg_cursor c = jitreg_cursor_open(section->bytes, section->size, table->off);
	uint64_t code;
	int r;

	while ((code = jitreg_cursor_uleb(&c)) && !c.bad) {
		struct jitreg_abbrev *added;
		uint64_t tag = jitreg_cursor_uleb(&c);

		if (table->count && table->items[table->count - 1].code >= code)
			// the codes do not ascend: to look for one among all would take too long
			return -EOPNOTSUPP;
		added = jitreg_add(&table->items, &table->count, sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = (struct jitreg_abbrev){
			.code = code, .tag = tag > NUMBER_MAX ? NUMBER_MAX : (uint16_t)tag};
		jitreg_cursor_skip(&c, 1); // whether there are entries inside
		r = read_attributes(table, added, &c);
		if (r)
			return r;
	}
	return c.bad ? -ENOEXEC : 0;
}

int jitreg_abbrevs_find(struct jitreg_abbrev_table **tables, const struct jitreg_dwarf *dwarf,
			uint64_t off, const struct jitreg_abbrev_table **ret)
{
	struct jitreg_abbrev_table *table = *tables;

	while (table && (table->dwarf != dwarf || table->off != off))
		table = table->next;
	if (!table) {
		int r;

		table = calloc(1, sizeof(*table));
		if (!table)
			return -ENOMEM;
		table->dwarf = dwarf;
		table->off = off;
		table->next = *tables;
		*tables = table;
		r = read_table(table);
		if (r)
			return r;
	}
	*ret = table;
	return 0;
}

static int by_code(const void *key, const void *item)
{
	const uint64_t *code = key;
	const struct jitreg_abbrev *abbrev = item;

	return *code < abbrev->code ? -1 : *code > abbrev->code;
}

/* Compilers number them from 1. */
const struct jitreg_abbrev *jitreg_abbrevs_get(const struct jitreg_abbrev_table *table,
					       uint64_t code)
{
	if (code - 1 < table->count && table->items[code - 1].code == code)
		return &table->items[code - 1];
	return table->count
		       ? bsearch(&code, table->items, table->count, sizeof(*table->items), by_code)
		       : NULL;
}

void jitreg_abbrevs_destroy(struct jitreg_abbrev_table *tables)
{
	while (tables) {
		struct jitreg_abbrev_table *table = tables;

		tables = table->next;
		free(table->items);
		free(table->attributes);
		free(table);
	}
}
