// SPDX-License-Identifier: MIT
/*
 * This file makes copies of debug files in which the names of the GDB JIT interface are missing.
 *
 * A library may define `__jit_debug_register_code` and `__jit_debug_descriptor` itself: libpython
 * does from CPython 3.15.2 on. If GDB was referred to the debug file of such a library, it would
 * look for both at the wrong addresses (file/debuginfo.c). GDB takes the two names from `.symtab`
 * only. So Gorgon refers GDB to a copy of the file, in which the two symbols have no name. The
 * process that needs the copy first makes it; later processes find it in the cache (cache.c). It
 * has:
 *
 *     .symtab          as in the file, but for the two names
 *     .gorgon.key      which state of which file this is a copy of
 *     other sections   as in the file: with the same numbers, which other sections refer to, and compressed if they are
 *                      compressed in the file. Sections with the contents of a program or library
 *                      have no contents here.
 *     segments         PT_LOAD as in the file, without contents: libdw compares their addresses with those of the library
 *
 * GDB reads the copy in place of the file.
 */
#define _GNU_SOURCE 1
#include "debug_copy.h"

#include "cache.h"
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cache has room for four files of this size. */
#define SIZE_MAX_COPIED (INT64_C(128) << 20)

struct copy {
	const struct jitreg_object *from;
	struct jitreg_writer file;
	Elf64_Sym *symbols; // what becomes the contents of .symtab
	uint64_t copied;    // bytes of all sections so far
	char *key;
	size_t key_size;
};

/* Copy the table of symbols to c->symbols, and remove the names of the two symbols of the interface
 * there. */
static int copy_symbols(struct copy *c, const GElf_Shdr *shdr, const Elf_Data *data)
{
	size_t count = data->d_size / sizeof(*c->symbols);

	if (c->symbols || shdr->sh_entsize != sizeof(*c->symbols))
		return -ENOEXEC;
	c->symbols = malloc(data->d_size + 1);
	if (!c->symbols)
		return -ENOMEM;
	memcpy(c->symbols, data->d_buf, data->d_size);
	for (size_t i = 0; i < count; i++) {
		const char *text = elf_strptr(c->from->elf, shdr->sh_link, c->symbols[i].st_name);

		if (text && jitreg_names_is_registrar(text))
			c->symbols[i].st_name = 0;
	}
	return 0;
}

/* A file with its own debug information has the contents of the program, too, which debuggers do
 * not need here. Notes have the build-id. */
static bool has_contents(const GElf_Shdr *shdr)
{
	return shdr->sh_type != SHT_NOBITS && shdr->sh_size &&
	       (!(shdr->sh_flags & SHF_ALLOC) || shdr->sh_type == SHT_NOTE);
}

/* The name is looked for from the folder of the file on, which is not that of the copy. */
static bool is_relative_link(const char *name, const Elf_Data *data)
{
	return !strcmp(name, ".gnu_debugaltlink") &&
	       (!data->d_size || *(const char *)data->d_buf != '/');
}

static int copy_section(struct copy *c, Elf_Scn *scn)
{
	const Elf_Data *data = NULL;
	const void *bytes = NULL;
	const char *name;
	GElf_Shdr shdr;
	int r;

	if (!gelf_getshdr(scn, &shdr) ||
	    !(name = elf_strptr(c->from->elf, c->from->shstrndx, shdr.sh_name)) ||
	    shdr.sh_addralign & (shdr.sh_addralign - 1))
		return -ENOEXEC;
	shdr.sh_addralign = shdr.sh_addralign ?: 1;
	if (has_contents(&shdr)) {
		data = elf_rawdata(scn, NULL);
		if (!data || data->d_size != shdr.sh_size || shdr.sh_addralign > JITREG_MAX_ALIGN ||
		    (c->copied += shdr.sh_size) > (uint64_t)c->from->st.st_size)
			// sections that overlap, for instance, would make a copy of any size
			return -ENOEXEC;
		if (is_relative_link(name, data))
			return -EOPNOTSUPP;
		bytes = data->d_buf;
	} else if (shdr.sh_type != SHT_NULL) {
		shdr.sh_type = SHT_NOBITS;
	} else {
		shdr.sh_size = 0;
	}
	if (shdr.sh_type == SHT_SYMTAB) {
		r = copy_symbols(c, &shdr, data);
		if (r)
			return r;
		bytes = c->symbols;
	}
	return jitreg_writer_add(&c->file, name, &shdr, bytes, ELF_T_BYTE) ? 0 : -ENOMEM;
}

static int copy_segments(struct copy *c)
{
	size_t count, kept = 0;
	GElf_Phdr *phdrs;
	int r = 0;

	if (elf_getphdrnum(c->from->elf, &count) || count >= PN_XNUM)
		return -ENOEXEC;
	phdrs = calloc(count + 1, sizeof(*phdrs));
	if (!phdrs)
		return -ENOMEM;
	for (size_t i = 0; !r && i < count; i++) {
		if (!gelf_getphdr(c->from->elf, (int)i, &phdrs[kept]))
			r = -ENOEXEC;
		phdrs[kept].p_offset = phdrs[kept].p_filesz = 0;
		kept += phdrs[kept].p_type == PT_LOAD;
	}
	if (!r && kept)
		r = jitreg_writer_set_segments(&c->file, phdrs, kept);
	free(phdrs);
	return r;
}

static int copy_build(void *ctx, uint8_t **bytes, size_t *size)
{
	struct copy *c = ctx;
	GElf_Shdr key = {.sh_type = SHT_PROGBITS, .sh_addralign = 1, .sh_size = c->key_size};
	int r = jitreg_writer_begin(&c->file, ET_DYN, &c->from->ehdr);
	size_t private_size;
	Elf_Scn *scn = NULL;

	while (!r && (scn = elf_nextscn(c->from->elf, scn)))
		r = copy_section(c, scn);
	if (!r)
		r = copy_segments(c);
	if (!r && !jitreg_object_is_intact(c->from))
		r = -EAGAIN; // what was read may be another file's
	if (!r && !jitreg_writer_add(&c->file, JITREG_CACHE_KEY, &key, c->key, ELF_T_BYTE))
		r = -ENOMEM;
	return r ? r : jitreg_writer_finish(&c->file, NULL, &private_size, bytes, size);
}

static int make_key(struct copy *c)
{
	const struct stat *st = &c->from->st;
	FILE *out = open_memstream(&c->key, &c->key_size);

	if (!out)
		return -ENOMEM;
	fprintf(out, "copy 3\n%jd %jd.%09ld %s\n", (intmax_t)st->st_size,
		(intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, c->from->path);
	return fclose(out) ? -ENOMEM : 0;
}

static int find_file(struct copy *c, struct jitreg_companion *ret, uint32_t *crc)
{
	struct jitreg_cached file;
	int r = make_key(c);

	if (!r)
		r = jitreg_cache_find(c->key, c->key_size, NULL, JITREG_CACHE_DEBUG, copy_build, c,
				      false, &file);
	if (r)
		return r;
	*crc = JITREG_CACHE_CRC;
	jitreg_cached_take(&file, ret);
	return 0;
}

int jitreg_debug_copy_find(const struct jitreg_object *from, struct jitreg_companion *ret,
			   uint32_t *crc)
{
	struct copy c = {.from = from};
	int r = from->st.st_size > SIZE_MAX_COPIED ? -EFBIG : find_file(&c, ret, crc);

	jitreg_writer_deinit(&c.file);
	free(c.symbols);
	free(c.key);
	return r;
}
