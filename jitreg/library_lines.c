// SPDX-License-Identifier: MIT
/*
 * The lines of a library, made once and kept in a file (cache.c) for all packs that contain the
 * library, because making them means to inflate and read some tens of megabytes of debug
 * information.
 *
 *     .debug_info, .debug_line, .debug_aranges ...   as lines.c makes them
 *     .gorgon.sites                                  places in these sections that are different in each copy
 *     .gorgon.key                                    which state of which files the lines are made from
 *
 * For a library without lines the file has the key alone, so that no process tries again.
 *
 * Debug information that is damaged gives no lines, nor does debug information of more than
 * DWARF_MAX bytes: reading it would take too long, and too much memory.
 */
#define _GNU_SOURCE 1
#include "library_lines.h"

#include "cache.h"
#include "file/debuginfo.h"
#include "file/supplement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DWARF_MAX (UINT64_C(256) << 20)
#define SITES     ".gorgon.sites"

/* The sections of DWARF that functions and lines are read from. */
#define WANTED                                                                                   \
	(1u << JITREG_DWARF_INFO | 1u << JITREG_DWARF_ABBREV | 1u << JITREG_DWARF_LINE |         \
	 1u << JITREG_DWARF_LINE_STR | 1u << JITREG_DWARF_STR | 1u << JITREG_DWARF_STR_OFFSETS | \
	 1u << JITREG_DWARF_ADDR | 1u << JITREG_DWARF_RANGES | 1u << JITREG_DWARF_RNGLISTS)

struct maker {
	const struct jitreg_model *model;
	struct jitreg_object *object; // the file with the debug information
	struct jitreg_dwarf *dwarf, *supplement;
	struct jitreg_names names; // of the object, sorted by address
	bool has_names; // the names have been looked for
	struct jitreg_lines lines;
	bool is_made; // the lines have been made
	char *key;
	size_t key_size;
};

/* NULL: there is no debug file, or another file has its name now. */
static struct jitreg_object *open_debug_file(const struct jitreg_model *t)
{
	struct jitreg_object *object = NULL;
	bool is_right;

	if (t->debug.kind != JITREG_DEBUG_SELF)
		object = jitreg_debuginfo_open_detached(&t->debug);
	else if (jitreg_object_open(t->path, -1, &object))
		return NULL;
	if (!object)
		return NULL;
	is_right = t->debug.kind == JITREG_DEBUG_SELF
			   ? jitreg_stat_is_same(&t->st, &object->st)
			   : t->debug.kind == JITREG_DEBUG_LINK ||
				     jitreg_debuginfo_is_of(object, &t->debug);
	if (is_right)
		return object;
	jitreg_object_close(object);
	return NULL;
}

/* How many bytes of DWARF a file has when they are inflated. */
static uint64_t dwarf_size(const struct jitreg_object *object)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((scn = elf_nextscn(object->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(object->elf, object->shstrndx, shdr.sh_name);
		if (!name || !strstr(name, "debug_"))
			continue;
		if (!(shdr.sh_flags & SHF_COMPRESSED))
			sum += shdr.sh_size < DWARF_MAX ? shdr.sh_size : DWARF_MAX;
		else if (gelf_getchdr(scn, &chdr))
			sum += chdr.ch_size < DWARF_MAX ? chdr.ch_size : DWARF_MAX;
	}
	return sum;
}

/* A supplementary file that is missing is no error: its functions are missing, too. */
static int read_supplement(struct maker *m)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *file = NULL;
	const char *reason;
	int r = jitreg_supplement_open(m->object, &file);

	if (r)
		return r == -ENOENT ? 0 : r;
	if (dwarf_size(file) > DWARF_MAX)
		return -EOPNOTSUPP;
	return jitreg_dwarf_read(file, WANTED, &m->supplement, &reason);
}

/* The code of a library in its file. */
static struct jitreg_part find_text(const struct jitreg_model *t)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)t->bytes;
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(t->bytes + ehdr->e_shoff);
	struct jitreg_part text = {UINT64_MAX, 0};

	for (size_t i = 1; i < ehdr->e_shnum; i++) {
		const Elf64_Shdr *shdr = &shdrs[i];

		if ((shdr->sh_flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_TLS)) !=
		    (SHF_ALLOC | SHF_EXECINSTR))
			continue;
		if (shdr->sh_addr < text.start)
			text.start = shdr->sh_addr;
		if (shdr->sh_addr + shdr->sh_size > text.end)
			text.end = shdr->sh_addr + shdr->sh_size;
	}
	return text;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct jitreg_name *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* No names where they cannot be read. Called once: the layout of an object is not read twice. */
static void read_names(struct maker *m)
{
	if (m->has_names)
		return;
	m->has_names = true;
	if (jitreg_object_read_layout(m->object) || jitreg_names_read(m->object, &m->names))
		m->names.count = 0;
	if (m->names.count)
		qsort(m->names.items, m->names.count, sizeof(*m->names.items), by_vaddr);
}

static int library_make(struct maker *m, struct jitreg_lines *ret)
{
	struct jitreg_part text = find_text(m->model);
	const char *reason;
	int r = dwarf_size(m->object) > DWARF_MAX
			? -EOPNOTSUPP
			: jitreg_dwarf_read(m->object, WANTED, &m->dwarf, &reason);

	if (!r)
		r = read_supplement(m);
	if (!r)
		read_names(m);
	if (!r && !jitreg_object_is_intact(m->object))
		r = -ENOEXEC; // it may be another file's
	if (!r)
		r = jitreg_lines_make(m->dwarf, m->supplement, &m->names, &text, ret);
	if (r == -ENOEXEC || r == -EOPNOTSUPP) { // the library has no lines
		jitreg_lines_deinit(ret);
		r = 0;
	}
	return r;
}

static int write_lines(struct jitreg_writer *w, const struct jitreg_lines *lines)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS,
			  .sh_addralign = _Alignof(struct jitreg_lines_site),
			  .sh_size = lines->sites.size};
	int r;

	if (!lines->sites.size)
		return 0;
	r = jitreg_lines_write(w, lines, 0);
	return r                                                                   ? r
	       : jitreg_writer_add(w, SITES, &shdr, lines->sites.data, ELF_T_BYTE) ? 0
										   : -ENOMEM;
}

static int library_build(void *ctx, uint8_t **bytes, size_t *size)
{
	struct maker *m = ctx;
	const Elf64_Ehdr *like = (const Elf64_Ehdr *)m->model->bytes;
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 1, .sh_size = m->key_size};
	struct jitreg_writer w = {0};
	size_t private_size;
	int r = library_make(m, &m->lines);

	m->is_made = !r;
	if (!r)
		r = jitreg_writer_begin(&w, ET_DYN, like);
	if (!r)
		r = write_lines(&w, &m->lines);
	if (!r && !jitreg_writer_add(&w, JITREG_CACHE_KEY, &shdr, m->key, ELF_T_BYTE))
		r = -ENOMEM;
	if (!r)
		r = jitreg_writer_finish(&w, NULL, &private_size, bytes, size);
	jitreg_writer_deinit(&w);
	return r;
}

static void print_file(FILE *out, const struct stat *st, const char *path)
{
	fprintf(out, "%jd %jd.%09ld %s\n", (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, path);
}

static int make_key(struct maker *m)
{
	const struct jitreg_model *t = m->model;
	FILE *out = open_memstream(&m->key, &m->key_size);

	if (!out)
		return -ENOMEM;
	fputs("lines " JITREG_LINES_VERSION "\n", out);
	for (size_t i = 0; i < t->debug.build_id_size; i++)
		fprintf(out, "%02x", t->debug.build_id[i]);
	fputc(' ', out);
	print_file(out, &t->st, t->path);
	print_file(out, &m->object->st, m->object->path);
	return fclose(out) ? -ENOMEM : 0;
}

/* The file of the cache has its checksum, so it is as this library has written it. */
static int read_section(const struct jitreg_cached *file, const char *name,
			struct jitreg_bytes *ret)
{
	const Elf64_Shdr *shdr = jitreg_file_section(file->bytes, name);

	if (!shdr || !jitreg_range_ok(shdr->sh_offset, shdr->sh_size, file->size))
		return 0;
	return jitreg_bytes_append(ret, file->bytes + shdr->sh_offset, shdr->sh_size) == UINT32_MAX
		       ? -ENOMEM
		       : 0;
}

static int read_lines(const struct jitreg_cached *file, struct jitreg_lines *ret)
{
	int r = read_section(file, SITES, &ret->sites);

	for (size_t i = 0; !r && i < JITREG_LINES_COUNT; i++)
		r = read_section(file, jitreg_lines_section_name(i), &ret->sections[i]);
	if (r || !jitreg_lines_are_sound(ret))
		jitreg_lines_deinit(ret);
	return r;
}

/* The lines that have been made are as good when the cache has no room for them. */
static int find_lines(struct maker *m, bool only_keep, struct jitreg_lines *ret)
{
	struct jitreg_cached file;
	int r = jitreg_cache_find(m->key, m->key_size, NULL, JITREG_CACHE_LINES, library_build, m,
				  true, &file);

	if (m->is_made) {
		*ret = m->lines;
		m->lines = (struct jitreg_lines){0};
		r = 0;
	} else if (!r) {
		r = read_lines(&file, ret);
	} else if (r != -ENOMEM && !only_keep) {
		r = library_make(m, ret); // there is no cache
	}
	jitreg_cached_deinit(&file);
	return r;
}

static int lines_find(const struct jitreg_model *model, bool only_keep,
		      struct jitreg_lines *ret)
{
	struct maker m = {.model = model};
	int r;

	*ret = (struct jitreg_lines){0};
	m.object = open_debug_file(model);
	if (!m.object)
		return 0;
	r = make_key(&m);
	if (!r)
		r = find_lines(&m, only_keep, ret);
	jitreg_dwarf_destroy(m.dwarf);
	jitreg_dwarf_destroy(m.supplement);
	jitreg_lines_deinit(&m.lines);
	jitreg_names_deinit(&m.names);
	jitreg_object_close(m.object);
	free(m.key);
	return r;
}

int jitreg_library_lines_find(const struct jitreg_model *model, struct jitreg_lines *ret)
{
	return lines_find(model, false, ret);
}

void jitreg_library_lines_keep(const struct jitreg_model *model)
{
	struct jitreg_lines lines;

	lines_find(model, true, &lines); // a failure will show when the lines are needed
	jitreg_lines_deinit(&lines);
}
