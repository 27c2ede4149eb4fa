// SPDX-License-Identifier: MIT
/*
 * Reading the DWARF sections of a file.
 *
 * libelf inflates what is compressed (zlib, and zstd where it was built with it) and
 * refuses a size that no compression reaches, so that a small hostile file does not ask
 * for all memory.
 *
 * Specification: gABI chapter 4, "Compression Header".
 */
#define _GNU_SOURCE 1
#include "dwarf_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[JITREG_DWARF_COUNT] = {
	[JITREG_DWARF_INFO] = ".debug_info",
	[JITREG_DWARF_ABBREV] = ".debug_abbrev",
	[JITREG_DWARF_LINE] = ".debug_line",
	[JITREG_DWARF_LINE_STR] = ".debug_line_str",
	[JITREG_DWARF_STR] = ".debug_str",
	[JITREG_DWARF_STR_OFFSETS] = ".debug_str_offsets",
	[JITREG_DWARF_ADDR] = ".debug_addr",
	[JITREG_DWARF_ARANGES] = ".debug_aranges",
	[JITREG_DWARF_LOCLISTS] = ".debug_loclists",
	[JITREG_DWARF_RANGES] = ".debug_ranges",
	[JITREG_DWARF_RNGLISTS] = ".debug_rnglists",
};

const char *jitreg_dwarf_section_name(enum jitreg_dwarf_index index)
{
	return names[index];
}

/* Which section has this name? A compressed .debug_info was called ".zdebug_info" by older
 * binutils. */
static int find_index(const char *name, bool *old_style)
{
	for (int i = 0; name && i < JITREG_DWARF_COUNT; i++) {
		*old_style = !strncmp(name, ".z", 2) && !strcmp(name + 2, names[i] + 1);
		if (*old_style || !strcmp(name, names[i]))
			return i;
	}
	return -1;
}

static int read_section(Elf_Scn *scn, bool old_style, struct jitreg_dwarf_section *section,
			const char **reason)
{
	Elf_Data *data;
	GElf_Shdr shdr;

	if (!gelf_getshdr(scn, &shdr))
		return -ENOEXEC;
	if ((old_style && elf_compress_gnu(scn, 0, 0) < 0) ||
	    (shdr.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)) {
		*reason = "a section of the debug information cannot be inflated by libelf";
		return -EOPNOTSUPP;
	}
	data = elf_rawdata(scn, NULL);
	if (!data || (data->d_size && !data->d_buf)) {
		*reason = "a section of the debug information cannot be read";
		return -ENOEXEC;
	}
	if (!data->d_size || section->bytes)
		return 0; // if two sections have one name, the first counts, as for debuggers
	section->bytes = malloc(data->d_size);
	if (!section->bytes)
		return -ENOMEM;
	memcpy(section->bytes, data->d_buf, data->d_size);
	section->size = data->d_size;
	return 0;
}

static int read_sections(const struct jitreg_object *object, unsigned wanted,
			 struct jitreg_dwarf *dwarf, const char **reason)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while ((scn = elf_nextscn(object->elf, scn))) {
		bool old_style;
		int index, r;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		index = find_index(elf_strptr(object->elf, object->shstrndx, shdr.sh_name),
				   &old_style);
		if (index < 0 || !(wanted & 1u << index))
			continue;
		r = read_section(scn, old_style, &dwarf->sections[index], reason);
		if (r)
			return r;
	}
	return 0;
}

int jitreg_dwarf_read(const struct jitreg_object *object, unsigned wanted,
		      struct jitreg_dwarf **ret, const char **reason)
{
	struct jitreg_dwarf *dwarf = calloc(1, sizeof(*dwarf));
	int r;

	*reason = "no memory";
	if (!dwarf)
		return -ENOMEM;
	r = read_sections(object, wanted, dwarf, reason);
	if (r) {
		jitreg_dwarf_destroy(dwarf);
		return r;
	}
	*ret = dwarf;
	return 0;
}

void jitreg_dwarf_destroy(struct jitreg_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++) {
		free(dwarf->sections[i].bytes);
		free(dwarf->sections[i].sites);
	}
	free(dwarf);
}
