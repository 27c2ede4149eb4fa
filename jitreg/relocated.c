// SPDX-License-Identifier: MIT
/*
 * A symfile with DWARF inside, written from the symfile without.
 *
 * LLDB does not move the DWARF of another file to where a copy is. It does take DWARF from the
 * symfile when every address in it is final. So each copy that LLDB is told of has its lines inside
 * (relocated_lines.c):
 *
 *     ELF header | section headers | program headers | contents of the small symfile | DWARF |
 *     names
 *
 * The sections of the small symfile keep their numbers, to which symbols refer. Its dummy
 * .debug_info becomes the real .debug_info; the headers of the other sections of DWARF follow
 * behind the last header, and the table of section names moves to the end, because it grows.
 * Writing takes a memcpy() and an addition for each address: lines_sections.c has noted where
 * addresses are.
 */
#include "relocated.h"

#include "arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	const uint8_t *from; // the small symfile
	const struct jitreg_dwarf *dwarf;
	uint64_t bias;
	Elf64_Ehdr ehdr;
	Elf64_Shdr *shdrs; // of the small symfile, then of the DWARF without .debug_info
	size_t old_count, count, info; // info: number of .debug_info
	uint8_t *to; // NULL: only measure
	uint64_t at;
};

static const char *name_at(const struct writer *w, size_t section)
{
	return (const char *)w->from + w->shdrs[w->ehdr.e_shstrndx].sh_offset +
	       w->shdrs[section].sh_name;
}

/* This library has made the symfile, so its tables are as they should be. */
static int read_symfile(struct writer *w)
{
	size_t dwarf_count = 0;

	memcpy(&w->ehdr, w->from, sizeof(w->ehdr));
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		dwarf_count += w->dwarf->sections[i].bytes != NULL;
	w->old_count = w->ehdr.e_shnum;
	w->count = w->old_count + dwarf_count - 1;
	w->shdrs = calloc(w->count, sizeof(*w->shdrs));
	if (!w->shdrs)
		return -ENOMEM;
	memcpy(w->shdrs, w->from + w->ehdr.e_shoff, w->old_count * sizeof(*w->shdrs));
	for (size_t i = 1; i < w->old_count; i++) {
		if (!strcmp(name_at(w, i), ".debug_info"))
			w->info = i;
	}
	return w->info && w->count < SHN_LORESERVE ? 0 : -ENOEXEC;
}

static void dwarf_append(struct writer *w, const void *bytes, size_t size)
{
	if (w->to)
		memcpy(w->to + w->at, bytes, size);
	w->at += size;
}

static void dwarf_align(struct writer *w, uint64_t alignment)
{
	if (alignment > 1)
		w->at = (w->at + alignment - 1) & -alignment;
}

/* Append the contents of the small symfile's sections, except the two sections that are replaced.
 */
static void append_old_sections(struct writer *w)
{
	for (size_t i = 1; i < w->old_count; i++) {
		Elf64_Shdr *shdr = &w->shdrs[i];
		const uint8_t *contents = w->from + shdr->sh_offset;

		if (shdr->sh_type == SHT_NOBITS || i == w->info || i == w->ehdr.e_shstrndx)
			continue;
		dwarf_align(w, shdr->sh_addralign);
		shdr->sh_offset = w->at;
		dwarf_append(w, contents, shdr->sh_size);
	}
}

static void add_bias(const struct jitreg_dwarf_section *section, uint8_t *bytes, uint64_t bias)
{
	for (size_t i = 0; i < section->site_count; i++) {
		uint64_t addr;

		memcpy(&addr, bytes + section->sites[i], sizeof(addr));
		addr += bias;
		memcpy(bytes + section->sites[i], &addr, sizeof(addr));
	}
}

static void append_dwarf(struct writer *w)
{
	size_t next = w->old_count;

	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++) {
		const struct jitreg_dwarf_section *section = &w->dwarf->sections[i];

		if (!section->bytes)
			continue;
		w->shdrs[i == JITREG_DWARF_INFO ? w->info : next++] = (Elf64_Shdr){
			.sh_type = SHT_PROGBITS,
			.sh_offset = w->at,
			.sh_size = section->size,
			.sh_addralign = 1,
		};
		dwarf_append(w, section->bytes, section->size);
		if (w->to)
			add_bias(section, w->to + w->at - section->size, w->bias);
	}
}

/* Append the old names, which the old headers refer to, and behind them the new names. */
static void append_names(struct writer *w, const Elf64_Shdr *old_names)
{
	Elf64_Shdr *shdr = &w->shdrs[w->ehdr.e_shstrndx];
	size_t next = w->old_count;

	shdr->sh_offset = w->at;
	dwarf_append(w, w->from + old_names->sh_offset, old_names->sh_size);
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++) {
		const char *name = jitreg_dwarf_section_name(i);

		if (!w->dwarf->sections[i].bytes)
			continue;
		w->shdrs[i == JITREG_DWARF_INFO ? w->info : next++].sh_name =
			(Elf64_Word)(w->at - shdr->sh_offset);
		dwarf_append(w, name, strlen(name) + 1);
	}
	shdr->sh_size = w->at - shdr->sh_offset;
}

/* Called once to measure and once to write; both calls come to the same offsets. */
static int write_symfile(struct writer *w)
{
	Elf64_Shdr old_names;
	uint64_t segments;
	int r = read_symfile(w);

	if (r)
		return r;
	old_names = w->shdrs[w->ehdr.e_shstrndx];
	w->at = segments = sizeof(w->ehdr) + w->count * sizeof(*w->shdrs);
	// Only packs have program headers.
	dwarf_append(w, w->from + w->ehdr.e_phoff, w->ehdr.e_phnum * sizeof(Elf64_Phdr));
	append_old_sections(w);
	append_dwarf(w);
	append_names(w, &old_names);
	if (!w->to)
		return 0;
	w->ehdr.e_shoff = sizeof(w->ehdr);
	w->ehdr.e_phoff = w->ehdr.e_phnum ? segments : 0;
	w->ehdr.e_shnum = (Elf64_Half)w->count;
	memcpy(w->to, &w->ehdr, sizeof(w->ehdr));
	memcpy(w->to + sizeof(w->ehdr), w->shdrs, w->count * sizeof(*w->shdrs));
	return 0;
}

static int relocated_write(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias,
			   void *to, size_t *size)
{
	struct writer w = {.from = symfile, .dwarf = dwarf, .bias = bias, .to = to};
	int r = write_symfile(&w);

	free(w.shdrs);
	if (!r)
		*size = w.at;
	return r;
}

int jitreg_relocated_create(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias,
			    struct jitreg_relocated *ret)
{
	struct jitreg_relocated made;
	int r = relocated_write(symfile, dwarf, bias, NULL, &made.size);

	if (r)
		return r;
	made.bytes = jitreg_arena_alloc(made.size);
	if (!made.bytes)
		return -ENOMEM;
	r = relocated_write(symfile, dwarf, bias, made.bytes, &made.size);
	if (!r)
		r = jitreg_arena_protect(made.bytes, made.size, PROT_READ);
	if (r)
		jitreg_relocated_destroy(&made);
	else
		*ret = made;
	return r;
}

void jitreg_relocated_destroy(struct jitreg_relocated *relocated)
{
	if (!relocated->bytes)
		return;
	jitreg_arena_free(relocated->bytes, relocated->size);
	relocated->bytes = NULL;
}
