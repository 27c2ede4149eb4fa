// SPDX-License-Identifier: MIT
/*
 * The sections of lines_units.c: put behind each other for several libraries, written to files, and
 * moved.
 *
 * What differs from place to place is addresses, and offsets between these sections; the sites say
 * where both are. The table of abbreviations is the same for all libraries.
 *
 * Specification: DWARF 5 sections 7.5.3, 7.29.
 */
#include "lines.h"

#include <errno.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* An abbreviation lists its number, its tag, whether entries of it have children, and pairs of an
 * attribute and its form. */
#define ABBREV(...) __VA_ARGS__, 0, 0

static const uint8_t abbreviations[] = {
	ABBREV(JITREG_LINES_ABBREV_UNIT, DW_TAG_compile_unit, DW_CHILDREN_yes, DW_AT_producer,
	       DW_FORM_string, DW_AT_language, DW_FORM_udata, DW_AT_name, DW_FORM_string,
	       DW_AT_comp_dir, DW_FORM_string, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc,
	       DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8),
	ABBREV(JITREG_LINES_ABBREV_LOCATION, DW_TAG_variable, DW_CHILDREN_no, DW_AT_name,
	       DW_FORM_string, DW_AT_location, DW_FORM_sec_offset),
	// A declaration is not in GDB's index. If this type were, GDB would read each unit of each
	// copy to find its definition.
	ABBREV(JITREG_LINES_ABBREV_UNKNOWN_TYPE, DW_TAG_unspecified_type, DW_CHILDREN_no,
	       DW_AT_name, DW_FORM_string, DW_AT_declaration, DW_FORM_flag_present),
	ABBREV(JITREG_LINES_ABBREV_MODULE, DW_TAG_namespace, DW_CHILDREN_yes, DW_AT_name,
	       DW_FORM_string),
	ABBREV(JITREG_LINES_ABBREV_FUNCTION, DW_TAG_subprogram, DW_CHILDREN_no, DW_AT_name,
	       DW_FORM_string, DW_AT_decl_file, DW_FORM_udata, DW_AT_decl_line, DW_FORM_udata,
	       DW_AT_external, DW_FORM_flag, DW_AT_type, DW_FORM_ref_udata, DW_AT_low_pc,
	       DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4),
	ABBREV(JITREG_LINES_ABBREV_LINKED_FUNCTION, DW_TAG_subprogram, DW_CHILDREN_no,
	       DW_AT_linkage_name, DW_FORM_string, DW_AT_name, DW_FORM_string, DW_AT_decl_file,
	       DW_FORM_udata, DW_AT_decl_line, DW_FORM_udata, DW_AT_external, DW_FORM_flag,
	       DW_AT_type, DW_FORM_ref_udata, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
	       DW_FORM_data4),
	0,
};

/* A list for all units: a header of version 5, and nothing in the list. */
static const uint8_t locations[] = {9, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0, DW_LLE_end_of_list};

const char *jitreg_lines_section_name(enum jitreg_lines_index index)
{
	static const char *const names[] = {".debug_info", ".debug_line", ".debug_aranges"};

	return names[index];
}

static size_t count_sites(const struct jitreg_lines *lines)
{
	return lines->sites.size / sizeof(struct jitreg_lines_site);
}

bool jitreg_lines_are_sound(const struct jitreg_lines *lines)
{
	const struct jitreg_lines_site *sites = (const struct jitreg_lines_site *)lines->sites.data;

	for (size_t i = 0; i < count_sites(lines); i++) {
		unsigned size = sites[i].kind == JITREG_LINES_ADDRESS ? 8 : 4;

		if (sites[i].section >= JITREG_LINES_COUNT ||
		    sites[i].kind > JITREG_LINES_ADDRESS ||
		    lines->sections[sites[i].section].size < size ||
		    sites[i].off > lines->sections[sites[i].section].size - size)
			return false;
	}
	return lines->sites.size % sizeof(*sites) == 0;
}

static void move_site(struct jitreg_lines *to, const size_t *before,
		      const struct jitreg_lines_site *site, uint64_t delta)
{
	uint8_t *at = to->sections[site->section].data + before[site->section] + site->off;
	bool is_address = site->kind == JITREG_LINES_ADDRESS;
	uint64_t value = 0;

	memcpy(&value, at, is_address ? 8 : 4);
	value += is_address ? delta : before[site->kind];
	memcpy(at, &value, is_address ? 8 : 4);
}

int jitreg_lines_append(struct jitreg_lines *to, const struct jitreg_lines *from, uint64_t delta)
{
	const struct jitreg_lines_site *sites = (const struct jitreg_lines_site *)from->sites.data;
	size_t before[JITREG_LINES_COUNT];

	for (size_t i = 0; i < JITREG_LINES_COUNT; i++) {
		before[i] = to->sections[i].size;
		if (jitreg_bytes_append(&to->sections[i], from->sections[i].data,
					from->sections[i].size) == UINT32_MAX)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count_sites(from); i++) {
		struct jitreg_lines_site site = sites[i];

		move_site(to, before, &site, delta);
		site.off += (uint32_t)before[site.section];
		if (jitreg_bytes_append(&to->sites, &site, sizeof(site)) == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

static int copy_section(struct jitreg_dwarf_section *to, const void *bytes, size_t size)
{
	to->bytes = malloc(size);
	if (!to->bytes)
		return -ENOMEM;
	memcpy(to->bytes, bytes, size);
	to->size = size;
	return 0;
}

/* Note the places of addresses. Offsets stay as they are. */
static int copy_sites(const struct jitreg_lines *lines, enum jitreg_lines_index index,
		      struct jitreg_dwarf_section *to)
{
	const struct jitreg_lines_site *sites = (const struct jitreg_lines_site *)lines->sites.data;

	to->sites = calloc(count_sites(lines) + 1, sizeof(*to->sites));
	if (!to->sites)
		return -ENOMEM;
	for (size_t i = 0; i < count_sites(lines); i++)
		if (sites[i].section == index && sites[i].kind == JITREG_LINES_ADDRESS)
			to->sites[to->site_count++] = sites[i].off;
	return 0;
}

int jitreg_lines_make_dwarf(struct jitreg_lines *lines, struct jitreg_dwarf **ret)
{
	static const enum jitreg_dwarf_index indexes[] = {JITREG_DWARF_INFO, JITREG_DWARF_LINE,
							  JITREG_DWARF_ARANGES};
	struct jitreg_dwarf *dwarf;
	int r = 0;

	if (!lines->sections[JITREG_LINES_INFO].size)
		return -ENODATA;
	dwarf = calloc(1, sizeof(*dwarf));
	if (!dwarf)
		return -ENOMEM;
	for (size_t i = 0; !r && i < JITREG_LINES_COUNT; i++) {
		struct jitreg_dwarf_section *to = &dwarf->sections[indexes[i]];

		to->bytes = lines->sections[i].data;
		to->size = lines->sections[i].size;
		lines->sections[i] = (struct jitreg_bytes){0};
		r = copy_sites(lines, i, to);
	}
	if (!r)
		r = copy_section(&dwarf->sections[JITREG_DWARF_ABBREV], abbreviations,
				 sizeof(abbreviations));
	if (!r)
		r = copy_section(&dwarf->sections[JITREG_DWARF_LOCLISTS], locations,
				 sizeof(locations));
	if (r)
		jitreg_dwarf_destroy(dwarf);
	else
		*ret = dwarf;
	return r;
}

static int write_section(struct jitreg_writer *w, const char *name, const void *bytes, size_t size,
			 int level)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 1, .sh_size = size};

	if (level)
		return jitreg_writer_add_compressed(w, name, &shdr, bytes, level);
	return jitreg_writer_add(w, name, &shdr, bytes, ELF_T_BYTE) ? 0 : -ENOMEM;
}

int jitreg_lines_write(struct jitreg_writer *w, const struct jitreg_lines *lines, int level)
{
	int r = 0;

	for (size_t i = 0; !r && i < JITREG_LINES_COUNT; i++)
		r = write_section(w, jitreg_lines_section_name(i), lines->sections[i].data,
				  lines->sections[i].size, level);
	if (!r)
		r = write_section(w, ".debug_abbrev", abbreviations, sizeof(abbreviations), 0);
	return r ? r : write_section(w, ".debug_loclists", locations, sizeof(locations), 0);
}

void jitreg_lines_deinit(struct jitreg_lines *lines)
{
	for (size_t i = 0; i < JITREG_LINES_COUNT; i++)
		jitreg_bytes_deinit(&lines->sections[i]);
	jitreg_bytes_deinit(&lines->sites);
}
