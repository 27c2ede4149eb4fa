// SPDX-License-Identifier: MIT
/*
 * Finding every address in the DWARF of a file, so that a copy of the file gets its own
 * by adding its load bias.
 *
 *     .debug_info, .debug_types   DW_FORM_addr; DW_OP_addr in expressions
 *     .debug_loc(lists)           from the attributes that refer to them: bases, starts and
 *     .debug_ranges, _rnglists    ends, and the expressions of locations
 *     .debug_line                 DW_LNE_set_address, from DW_AT_stmt_list
 *     .debug_addr, _aranges       every entry
 *
 * libdwarf reads units, abbreviations and entries, and says where the value of each
 * attribute is. sites.c reads what the values refer to. libdwarf inflates sections for
 * itself: it can be given sections in memory, but in 2021's version crashes over them once
 * it has opened a file.
 *
 * Refused: split DWARF, whose addresses are partly in files that nobody has named, and
 * files that refer to a supplementary file (dwz), which LLDB does not follow.
 *
 * Specification: DWARF 5 chapters 2, 3 and 7; DWARF 4 for the older forms.
 */
#include "fixups.h"

#include "debuginfo.h"
#include "load_libdwarf.h"
#include "sites.h"

#include <errno.h>
#include <libdwarf/dwarf.h>
#include <stdlib.h>

/* Entries inside entries. C++ reaches a few dozen; each level takes some stack. */
#define DEPTH_MAX 512

struct search {
	const struct jitreg_libdwarf *lib;
	Dwarf_Debug dbg;
	struct jitreg_sites sites;
	enum jitreg_dwarf_index index; // the section with the entries
	struct jitreg_unit unit;
	uint64_t entries_left; // as many as there are bytes: a damaged tree comes to an end
};

struct attribute {
	Dwarf_Half name, form;
	Dwarf_Off off; // of its value in the section
	enum Dwarf_Form_Class class;
};

/* ---- entries ------------------------------------------------------------------------ */

static int fail(struct search *s, int error, const char *reason)
{
	s->sites.reason = reason;
	return error;
}

static int fail_libdwarf(struct search *s, Dwarf_Error error)
{
	jitreg_libdwarf_drop_error(s->lib, s->dbg, error);
	return fail(s, -ENOEXEC, "libdwarf cannot read an entry of the debug information");
}

static int read_attribute(struct search *s, Dwarf_Die die, Dwarf_Attribute from,
			  struct attribute *ret)
{
	Dwarf_Error error = NULL;

	if (s->lib->dwarf_whatattr(from, &ret->name, &error) != DW_DLV_OK ||
	    s->lib->dwarf_whatform(from, &ret->form, &error) != DW_DLV_OK ||
	    s->lib->dwarf_attr_offset(die, from, &ret->off, &error) != DW_DLV_OK)
		return fail_libdwarf(s, error);
	ret->class = s->lib->dwarf_get_form_class((Dwarf_Half)s->unit.version, ret->name,
						  (Dwarf_Half)s->unit.offset_size, ret->form);
	return 0;
}

/* Before version 4 expressions are blocks, as some constants are. */
static bool is_expression(const struct search *s, const struct attribute *attribute)
{
	if (attribute->class == DW_FORM_CLASS_EXPRLOC)
		return true;
	if (attribute->class != DW_FORM_CLASS_BLOCK || s->unit.version > 3)
		return false;
	switch (attribute->name) {
	case DW_AT_location:
	case DW_AT_data_member_location:
	case DW_AT_data_location:
	case DW_AT_frame_base:
	case DW_AT_static_link:
	case DW_AT_vtable_elem_location:
	case DW_AT_GNU_call_site_value:
	case DW_AT_GNU_call_site_data_value:
	case DW_AT_GNU_call_site_target:
		return true;
	}
	return false;
}

static bool is_supplementary(Dwarf_Half form)
{
	return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt ||
	       form == DW_FORM_strp_sup || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

static int add_attribute(struct search *s, const struct attribute *attribute)
{
	if (is_supplementary(attribute->form))
		return fail(s, -EOPNOTSUPP,
			    "the debug information refers to a supplementary file (dwz)");
	if (attribute->form == DW_FORM_addr)
		return jitreg_sites_add(&s->sites, s->index, attribute->off);
	if (attribute->name == DW_AT_GNU_locviews) // beside a list, and none itself
		return 0;
	if (is_expression(s, attribute))
		return jitreg_sites_add_expression(&s->sites, &s->unit, s->index, attribute->off,
						   attribute->form);
	switch (attribute->class) {
	case DW_FORM_CLASS_LOCLIST:
	case DW_FORM_CLASS_LOCLISTPTR:
		return jitreg_sites_add_locations(&s->sites, &s->unit, s->index, attribute->off,
						  attribute->form);
	case DW_FORM_CLASS_RNGLIST:
	case DW_FORM_CLASS_RANGELISTPTR:
		return jitreg_sites_add_ranges(&s->sites, &s->unit, s->index, attribute->off,
					       attribute->form);
	case DW_FORM_CLASS_LINEPTR:
		return jitreg_sites_add_lines(&s->sites, &s->unit, s->index, attribute->off,
					      attribute->form);
	default:
		return 0;
	}
}

/* Call for each attribute of an entry. */
static int for_each_attribute(struct search *s, Dwarf_Die die,
			      int (*call)(struct search *s, const struct attribute *attribute))
{
	Dwarf_Attribute *list;
	Dwarf_Error error = NULL;
	struct attribute attribute;
	Dwarf_Signed count;
	int r = s->lib->dwarf_attrlist(die, &list, &count, &error);

	if (r == DW_DLV_NO_ENTRY)
		return 0;
	if (r != DW_DLV_OK)
		return fail_libdwarf(s, error);
	r = 0;
	for (Dwarf_Signed i = 0; i < count; i++) {
		if (!r)
			r = read_attribute(s, die, list[i], &attribute);
		if (!r)
			r = call(s, &attribute);
		s->lib->dwarf_dealloc(s->dbg, list[i], DW_DLA_ATTR);
	}
	s->lib->dwarf_dealloc(s->dbg, list, DW_DLA_LIST);
	return r;
}

/* An entry, those inside of it, and those beside it. Drops @die. */
static int add_entries(struct search *s, Dwarf_Die die, unsigned depth)
{
	Dwarf_Error error = NULL;
	Dwarf_Die next = NULL;
	int r, found = DW_DLV_OK;

	if (depth > DEPTH_MAX) {
		s->lib->dwarf_dealloc(s->dbg, die, DW_DLA_DIE);
		return fail(s, -ENOEXEC, "entries of the debug information are nested too deeply");
	}
	while (found == DW_DLV_OK) {
		r = s->entries_left-- ? for_each_attribute(s, die, add_attribute)
				      : fail(s, -ENOEXEC, "the debug information runs in circles");
		if (!r)
			found = s->lib->dwarf_child(die, &next, &error);
		if (!r && found == DW_DLV_OK)
			r = add_entries(s, next, depth + 1);
		if (!r && found != DW_DLV_ERROR)
			found = s->lib->dwarf_siblingof_b(
				s->dbg, die, s->index == JITREG_DWARF_INFO, &next, &error);
		s->lib->dwarf_dealloc(s->dbg, die, DW_DLA_DIE);
		if (r)
			return r;
		die = next;
	}
	return found == DW_DLV_ERROR ? fail_libdwarf(s, error) : 0;
}

/* ---- units -------------------------------------------------------------------------- */

static int read_unit_attribute(struct search *s, const struct attribute *attribute)
{
	uint64_t *to, low_pc;
	int r;

	switch (attribute->name) {
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return fail(s, -EOPNOTSUPP, "the debug information is split (.dwo files)");
	case DW_AT_low_pc:
		to = &low_pc;
		break;
	case DW_AT_loclists_base:
		to = &s->unit.loclists_base;
		break;
	case DW_AT_rnglists_base:
		to = &s->unit.rnglists_base;
		break;
	default:
		return 0;
	}
	if (attribute->form == DW_FORM_addrx || attribute->form >= DW_FORM_addrx1)
		return 0; // version 5: the base matters to version 4 lists only
	r = jitreg_sites_read_value(&s->sites, &s->unit, s->index, attribute->off, attribute->form,
				    to);
	if (!r && to == &low_pc)
		s->unit.absolute = !low_pc;
	return r;
}

static int add_unit(struct search *s)
{
	Dwarf_Error error = NULL;
	Dwarf_Die die;
	int r = s->lib->dwarf_siblingof_b(s->dbg, NULL, s->index == JITREG_DWARF_INFO, &die,
					  &error);

	if (r == DW_DLV_NO_ENTRY)
		return 0;
	if (r != DW_DLV_OK)
		return fail_libdwarf(s, error);
	r = for_each_attribute(s, die, read_unit_attribute);
	if (!r)
		return add_entries(s, die, 0);
	s->lib->dwarf_dealloc(s->dbg, die, DW_DLA_DIE);
	return r;
}

/* All units of .debug_info, or those that .debug_types has in version 4. */
static int add_units(struct search *s, enum jitreg_dwarf_index index)
{
	Dwarf_Half version, address_size, offset_size, extension_size, type;
	Dwarf_Unsigned header_size, type_offset, next;
	Dwarf_Error error = NULL;
	Dwarf_Sig8 signature;
	Dwarf_Off abbrev;
	int r;

	s->index = index;
	s->entries_left = s->sites.dwarf->sections[index].size;
	for (;;) {
		r = s->lib->dwarf_next_cu_header_d(s->dbg, index == JITREG_DWARF_INFO, &header_size,
						   &version, &abbrev, &address_size, &offset_size,
						   &extension_size, &signature, &type_offset,
						   &next, &type, &error);
		if (r == DW_DLV_NO_ENTRY)
			return 0;
		if (r != DW_DLV_OK)
			return fail_libdwarf(s, error);
		if (address_size != 8)
			return fail(s, -EOPNOTSUPP, "addresses of DWARF do not have eight bytes");
		s->unit = (struct jitreg_unit){
			.version = version, .offset_size = offset_size, .absolute = true};
		r = add_unit(s);
		if (r)
			return r;
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Ascending, each once: several attributes may refer to one list. */
static void sort_sites(struct jitreg_dwarf_section *section)
{
	size_t kept = 0;

	if (section->site_count)
		qsort(section->sites, section->site_count, sizeof(*section->sites), compare);
	for (size_t i = 0; i < section->site_count; i++) {
		if (!kept || section->sites[i] != section->sites[kept - 1])
			section->sites[kept++] = section->sites[i];
	}
	section->site_count = kept;
	free(section->seen);
	section->seen = NULL;
}

static int search(struct search *s)
{
	int r = add_units(s, JITREG_DWARF_INFO);

	if (!r && s->sites.dwarf->sections[JITREG_DWARF_TYPES].bytes)
		r = add_units(s, JITREG_DWARF_TYPES);
	if (!r)
		r = jitreg_sites_add_aranges(&s->sites);
	if (!r)
		r = jitreg_sites_add_addresses(&s->sites);
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		sort_sites(&s->sites.dwarf->sections[i]);
	return r;
}

int jitreg_fixups_find(const struct jitreg_object *object, struct jitreg_dwarf *dwarf,
		       const char **reason)
{
	struct search s = {.sites = {.dwarf = dwarf, .reason = "no memory"}};
	int r;

	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		s.sites.expression_room += dwarf->sections[i].size;
	s.lib = jitreg_libdwarf_get();
	if (!s.lib) {
		*reason = JITREG_LIBDWARF_SONAME " could not be loaded";
		return -EOPNOTSUPP;
	}
	r = jitreg_sites_check_lists(&s.sites); // before libdwarf does, see debuginfo.c
	if (!r) {
		s.dbg = jitreg_debuginfo_open(s.lib, object);
		r = s.dbg ? search(&s)
			  : fail(&s, -ENOEXEC, "libdwarf cannot read the debug information");
	}
	if (s.dbg)
		s.lib->dwarf_finish(s.dbg, NULL);
	*reason = s.sites.reason;
	return r;
}
