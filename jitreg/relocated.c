// SPDX-License-Identifier: MIT
/*
 * Symfiles with all DWARF inside: what gives LLDB lines, variables and types of a copy.
 *
 * LLDB does not move the DWARF of another file to where a copy is. It does take DWARF
 * from the symfile when every address in it is final. That costs as much memory as the
 * file has DWARF, in the process and again in LLDB, for each copy: so it is made for
 * chosen copies, and taken back.
 *
 *     ELF header | section headers | program headers | contents of the small symfile | DWARF | names
 *
 * The sections of the small symfile keep their numbers, to which symbols refer. Its dummy
 * .debug_info becomes the real one; its other sections of DWARF follow behind the last,
 * and the table of section names has a new place because of theirs.
 *
 * Per file the DWARF is read and its addresses found once (dwarf_sections.c, fixups.c), kept with
 * the template; a copy is a memcpy() and an addition for each address.
 */
#include "relocated.h"

#include "arena.h"
#include "debuginfo.h"
#include "descriptor.h"
#include "fixups.h"
#include "supplement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- per file ----------------------------------------------------------------------- */

static bool is_same_file(const struct jitreg_template *template, const struct stat *st)
{
	return st->st_dev == template->dev && st->st_ino == template->ino &&
	       st->st_size == template->file_size &&
	       st->st_mtim.tv_sec == template->mtime.tv_sec &&
	       st->st_mtim.tv_nsec == template->mtime.tv_nsec;
}

/* The file that has the DWARF, looked for again: it may have gone or changed meanwhile. */
static int open_debug_file(const struct jitreg_template *template, struct jitreg_object **ret,
			   const char **reason)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct jitreg_debug debug;
	int r = jitreg_object_open(template->path, -1, &object);

	*reason = "the library's file cannot be opened any more";
	if (r)
		return r;
	*reason = "the library's file has changed since it was registered";
	if (!is_same_file(template, &object->st))
		return -ESTALE;
	*reason = "no memory";
	r = jitreg_debuginfo_find(object, &debug, NULL);
	if (r)
		return r;
	if (debug.kind == JITREG_DEBUG_NAMES) {
		*reason = debug.reason;
		r = -ENODATA;
	} else {
		*reason = "the file with the debug information cannot be opened";
		r = jitreg_object_open(debug.path, -1, ret);
	}
	jitreg_debug_deinit(&debug);
	return r;
}

static int read_dwarf(const struct jitreg_template *template, struct jitreg_dwarf **ret,
		      const char **reason)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *file = NULL;
	struct jitreg_dwarf *dwarf;
	int r = open_debug_file(template, &file, reason);

	if (!r)
		r = jitreg_dwarf_read(file, JITREG_DWARF_ALL, &dwarf, reason);
	if (r)
		return r;
	*reason = "the file has no .debug_info";
	r = dwarf->sections[JITREG_DWARF_INFO].bytes ? jitreg_fixups_find(dwarf, reason)
						      : -ENODATA;
	if (!r && dwarf->supplemented)
		r = jitreg_supplement_append(file, dwarf, reason);
	if (r) {
		jitreg_dwarf_destroy(dwarf);
		return r;
	}
	*ret = dwarf;
	return 0;
}

/* Outside the lock, as templates are built: a thread that was faster wins. */
int jitreg_relocated_find_dwarf(struct jitreg_template *template, const struct jitreg_dwarf **ret,
				const char **reason)
{
	struct jitreg_dwarf *dwarf = NULL;
	int r;

	jitreg_lock();
	*ret = template->dwarf;
	jitreg_unlock();
	if (*ret)
		return 0;
	r = read_dwarf(template, &dwarf, reason);
	if (r)
		return r;
	jitreg_lock();
	if (!template->dwarf) {
		template->dwarf = dwarf;
		dwarf = NULL;
	}
	*ret = template->dwarf;
	jitreg_unlock();
	jitreg_dwarf_destroy(dwarf);
	return 0;
}

/* ---- per copy ----------------------------------------------------------------------- */

struct writer {
	const uint8_t *from; // the small symfile
	const struct jitreg_dwarf *dwarf;
	uint64_t bias;
	Elf64_Ehdr ehdr;
	Elf64_Shdr *shdrs; // those of the small symfile, then DWARF's without .debug_info
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

static void append(struct writer *w, const void *bytes, size_t size)
{
	if (w->to)
		memcpy(w->to + w->at, bytes, size);
	w->at += size;
}

static void align(struct writer *w, uint64_t alignment)
{
	if (alignment > 1)
		w->at = (w->at + alignment - 1) & -alignment;
}

/* Contents of the sections that the small symfile has, but those that are replaced. */
static void append_old_sections(struct writer *w)
{
	for (size_t i = 1; i < w->old_count; i++) {
		Elf64_Shdr *shdr = &w->shdrs[i];
		const uint8_t *contents = w->from + shdr->sh_offset;

		if (shdr->sh_type == SHT_NOBITS || i == w->info || i == w->ehdr.e_shstrndx)
			continue;
		align(w, shdr->sh_addralign);
		shdr->sh_offset = w->at;
		append(w, contents, shdr->sh_size);
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
		append(w, section->bytes, section->size);
		if (w->to)
			add_bias(section, w->to + w->at - section->size, w->bias);
	}
}

/* The old names, which the old headers refer to, and the new ones behind them. */
static void append_names(struct writer *w, const Elf64_Shdr *old_names)
{
	Elf64_Shdr *shdr = &w->shdrs[w->ehdr.e_shstrndx];
	size_t next = w->old_count;

	shdr->sh_offset = w->at;
	append(w, w->from + old_names->sh_offset, old_names->sh_size);
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++) {
		const char *name = jitreg_dwarf_section_name(i);

		if (!w->dwarf->sections[i].bytes)
			continue;
		w->shdrs[i == JITREG_DWARF_INFO ? w->info : next++].sh_name =
			(Elf64_Word)(w->at - shdr->sh_offset);
		append(w, name, strlen(name) + 1);
	}
	shdr->sh_size = w->at - shdr->sh_offset;
}

/* Once to measure and once to write: offsets come out the same. */
static int write_symfile(struct writer *w)
{
	Elf64_Shdr old_names;
	uint64_t segments;
	int r = read_symfile(w);

	if (r)
		return r;
	old_names = w->shdrs[w->ehdr.e_shstrndx];
	w->at = segments = sizeof(w->ehdr) + w->count * sizeof(*w->shdrs);
	append(w, w->from + w->ehdr.e_phoff, w->ehdr.e_phnum * sizeof(Elf64_Phdr)); // those of a pack
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

int jitreg_relocated_create(const void *symfile, const struct jitreg_dwarf *dwarf, uint64_t bias,
			    struct jitreg_relocated *ret)
{
	struct writer w = {.from = symfile, .dwarf = dwarf, .bias = bias};
	struct jitreg_relocated made;
	int r = write_symfile(&w);

	free(w.shdrs);
	w.shdrs = NULL;
	if (r)
		return r;
	made.size = w.at;
	jitreg_lock();
	made.bytes = jitreg_arena_alloc(made.size);
	jitreg_unlock();
	if (!made.bytes)
		return -ENOMEM;
	w.to = made.bytes;
	r = write_symfile(&w);
	free(w.shdrs);
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
	jitreg_lock();
	jitreg_arena_free(relocated->bytes, relocated->size);
	jitreg_unlock();
	relocated->bytes = NULL;
}
