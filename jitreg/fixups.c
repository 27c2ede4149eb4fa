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
 * attribute is. sites.c reads what the values refer to. libdwarf gets the sections by way
 * of a file in memory: it takes them from an interface, too, but in 2021's version crashes
 * over that once it has opened a file.
 *
 * A supplementary file (dwz) has what several files have in common. LLDB refuses a file that
 * refers to one, so both become one: sections of the supplement follow those of the file,
 * references to it become references within the file, and references inside of the
 * supplement move by as much as there is in front (supplement.c).
 *
 * Refused: split DWARF, whose addresses are partly in files that nobody has named.
 *
 * Specification: DWARF 5 chapters 2, 3 and 7; DWARF 4 for the older forms.
 */
#include "fixups.h"

#include "load_libdwarf.h"
#include "sites.h"

#include <errno.h>
#include <libdwarf/dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Entries inside entries. C++ reaches a few dozen; each level takes some stack. */
#define DEPTH_MAX 512

struct search {
	const struct jitreg_libdwarf *lib;
	Dwarf_Debug dbg;
	struct jitreg_sites sites;
	enum jitreg_dwarf_index index; // the section with the entries
	struct jitreg_unit unit;
	uint64_t entries_left; // as many as there are bytes: a damaged tree comes to an end
	const struct jitreg_dwarf *front; // of a supplementary file: what it is to follow
};

struct attribute {
	Dwarf_Half name, form;
	Dwarf_Off off; // of its value in the section
	enum Dwarf_Form_Class class;
};

typedef int visit_fn(struct search *s, const struct attribute *attribute);

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

/* To the supplementary file: that will follow what this file has. */
static int add_supplementary(struct search *s, const struct attribute *attribute,
			     enum jitreg_dwarf_index to)
{
	s->sites.dwarf->supplemented = true;
	return jitreg_sites_shift(&s->sites, &s->unit, s->index, attribute->off,
				  s->sites.dwarf->sections[to].size);
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
		return fail(s, -EOPNOTSUPP,
			    "the debug information refers to a supplementary file by .debug_sup");
	}
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

/* Does the value say all by itself, or refer to its own unit at most? */
static bool is_self_contained(Dwarf_Half form)
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

/* An attribute of a supplementary file, which has no addresses. */
static int move_attribute(struct search *s, const struct attribute *attribute)
{
	enum jitreg_dwarf_index to;
	int r;

	if (attribute->class == DW_FORM_CLASS_LINEPTR) {
		r = jitreg_sites_check_lines(&s->sites, &s->unit, s->index, attribute->off,
					     attribute->form);
		if (r)
			return r;
		to = JITREG_DWARF_LINE;
	} else if (attribute->form == DW_FORM_strp) {
		to = JITREG_DWARF_STR;
	} else if (attribute->form == DW_FORM_line_strp) {
		to = JITREG_DWARF_LINE_STR;
	} else if (attribute->form == DW_FORM_ref_addr && s->unit.version > 2) {
		to = JITREG_DWARF_INFO;
	} else if (is_self_contained(attribute->form)) {
		return 0;
	} else {
		return fail(s, -EOPNOTSUPP,
			    "the supplementary file has an attribute that belongs elsewhere");
	}
	return jitreg_sites_shift(&s->sites, &s->unit, s->index, attribute->off,
				  s->front->sections[to].size);
}

/* Call for each attribute of an entry. */
static int for_each_attribute(struct search *s, Dwarf_Die die, visit_fn *call)
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
		r = s->entries_left-- ? for_each_attribute(
						s, die, s->front ? move_attribute : add_attribute)
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

/* What the unit's header says: its place, and where its abbreviations are. */
static int add_header(struct search *s, uint64_t off, uint64_t abbrev)
{
	uint64_t length_size = s->unit.offset_size == 8 ? 12 : 4;
	uint64_t before = s->unit.version < 5 ? 2 : 4; // version, and kind and address size

	if (!s->front)
		return jitreg_sites_adopt_forms(&s->sites, abbrev);
	return jitreg_sites_shift(&s->sites, &s->unit, s->index, off + length_size + before,
				  s->front->sections[JITREG_DWARF_ABBREV].size);
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
	Dwarf_Unsigned header_size, type_offset, off, next = 0;
	Dwarf_Error error = NULL;
	Dwarf_Sig8 signature;
	Dwarf_Off abbrev;
	int r;

	s->index = index;
	s->entries_left = s->sites.dwarf->sections[index].size;
	for (;;) {
		off = next;
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
		r = add_header(s, off, abbrev);
		if (!r)
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

	if (r || s->front)
		return r;
	if (s->sites.dwarf->sections[JITREG_DWARF_TYPES].bytes)
		r = add_units(s, JITREG_DWARF_TYPES);
	if (!r)
		r = jitreg_sites_add_aranges(&s->sites);
	if (!r)
		r = jitreg_sites_add_addresses(&s->sites);
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		sort_sites(&s->sites.dwarf->sections[i]);
	return r;
}

static int open_and_search(struct search *s)
{
	Dwarf_Error error = NULL;
	char name[40];
	int fd = jitreg_dwarf_write(s->sites.dwarf), r;

	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/thread-self/fd/%d", fd);
	r = jitreg_libdwarf_open(s->lib, name, &s->dbg, &error);
	if (r == DW_DLV_OK) {
		r = search(s);
		jitreg_libdwarf_close(s->lib, s->dbg);
	} else {
		if (r == DW_DLV_ERROR)
			jitreg_libdwarf_drop_error(s->lib, s->dbg, error);
		r = fail(s, -ENOEXEC, "libdwarf cannot read the debug information");
	}
	close(fd);
	return r;
}

static int find(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *front, const char **reason)
{
	struct search s = {.sites = {.dwarf = dwarf, .reason = "no memory"}, .front = front};
	int r;

	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		s.sites.expression_room += dwarf->sections[i].size;
	s.lib = jitreg_libdwarf_get();
	if (!s.lib)
		r = fail(&s, -EOPNOTSUPP, JITREG_LIBDWARF_SONAME " could not be loaded");
	else if (!(r = jitreg_sites_check_lists(&s.sites))) // before libdwarf: debuginfo.c
		r = open_and_search(&s);
	*reason = s.sites.reason;
	return r;
}

int jitreg_fixups_find(struct jitreg_dwarf *dwarf, const char **reason)
{
	return find(dwarf, NULL, reason);
}

int jitreg_fixups_move(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *front,
		       const char **reason)
{
	return find(dwarf, front, reason);
}
