// SPDX-License-Identifier: MIT
/*
 * Reading the DWARF sections of a file, and writing them to another one.
 *
 * libelf inflates what is compressed (zlib, and zstd where it was built with it) and
 * refuses a size that no compression reaches, so that a small hostile file does not ask
 * for all memory. libdwarf then reads what is inflated: by itself it takes sections that
 * are compressed very well for damaged ones, and does not know zstd.
 *
 * Specification: gABI chapter 4, "Compression Header".
 */
#define _GNU_SOURCE 1
#include "dwarf_sections.h"

#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const names[JITREG_DWARF_COUNT] = {
	[JITREG_DWARF_INFO] = ".debug_info",
	[JITREG_DWARF_TYPES] = ".debug_types",
	[JITREG_DWARF_ABBREV] = ".debug_abbrev",
	[JITREG_DWARF_LINE] = ".debug_line",
	[JITREG_DWARF_LINE_STR] = ".debug_line_str",
	[JITREG_DWARF_STR] = ".debug_str",
	[JITREG_DWARF_STR_OFFSETS] = ".debug_str_offsets",
	[JITREG_DWARF_ADDR] = ".debug_addr",
	[JITREG_DWARF_ARANGES] = ".debug_aranges",
	[JITREG_DWARF_LOC] = ".debug_loc",
	[JITREG_DWARF_LOCLISTS] = ".debug_loclists",
	[JITREG_DWARF_RANGES] = ".debug_ranges",
	[JITREG_DWARF_RNGLISTS] = ".debug_rnglists",
	[JITREG_DWARF_MACRO] = ".debug_macro",
	[JITREG_DWARF_NAMES] = ".debug_names",
};

const char *jitreg_dwarf_section_name(enum jitreg_dwarf_index index)
{
	return names[index];
}

/* Which one is it? ".zdebug_info" is how binutils once named a compressed one. */
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
		return 0; // of two with one name the first counts, as for debuggers
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

int jitreg_dwarf_append(struct jitreg_dwarf *dwarf, const struct jitreg_dwarf *from,
			enum jitreg_dwarf_index index)
{
	struct jitreg_dwarf_section *section = &dwarf->sections[index];
	const struct jitreg_dwarf_section *more = &from->sections[index];
	uint8_t *grown;

	if (!more->size)
		return 0;
	grown = realloc(section->bytes, section->size + more->size);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + section->size, more->bytes, more->size);
	section->bytes = grown;
	section->size += more->size;
	return 0;
}

/* The null section, those of DWARF, the names. */
#define SHDR_MAX (JITREG_DWARF_COUNT + 2)

struct output {
	int fd, flags;
	struct stat st;
	uint64_t at;
	Elf64_Shdr shdrs[SHDR_MAX];
	size_t count;
	char section_names[512];
	size_t names_size;
};

static int write_at(const struct output *out, uint64_t at, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	struct rlimit limit;

	// Where a process may not write as much, it gets a signal that ends it.
	if (!getrlimit(RLIMIT_FSIZE, &limit) && at + size > limit.rlim_cur)
		return -EFBIG;
	while (size) {
		ssize_t n;

		if (!jitreg_fd_is(out->fd, out->flags, &out->st)) // not into somebody else's
			return -EBADF;
		n = pwrite(out->fd, from, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		from += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_section(struct output *out, uint32_t type, const char *name, const void *bytes,
			 size_t size)
{
	int r = write_at(out, out->at, bytes, size);

	out->shdrs[out->count++] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)out->names_size,
		.sh_type = type,
		.sh_offset = out->at,
		.sh_size = size,
		.sh_addralign = 1,
	};
	out->names_size += strlen(name) + 1;
	out->at += size;
	return r;
}

/* libdwarf does not like empty sections, so what the file does not have is left out. */
static int write_sections(struct output *out, const struct jitreg_dwarf *dwarf)
{
	static const char last[] = ".shstrtab";
	char *name = out->section_names + 1;
	int r = 0;

	out->count = out->names_size = 1;
	out->at = sizeof(Elf64_Ehdr) + sizeof(out->shdrs);
	for (size_t i = 0; !r && i < JITREG_DWARF_COUNT; i++) {
		const struct jitreg_dwarf_section *section = &dwarf->sections[i];

		if (!section->bytes)
			continue;
		name = stpcpy(name, names[i]) + 1;
		r = write_section(out, SHT_PROGBITS, names[i], section->bytes, section->size);
	}
	strcpy(name, last);
	return r ? r
		 : write_section(out, SHT_STRTAB, last, out->section_names,
				 out->names_size + sizeof(last));
}

static int write_headers(const struct output *out)
{
	const Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, JITREG_HOST_DATA,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = JITREG_HOST_MACHINE,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)out->count,
		.e_shstrndx = (Elf64_Half)(out->count - 1),
	};
	int r = write_at(out, 0, &ehdr, sizeof(ehdr));

	return r ? r : write_at(out, sizeof(ehdr), out->shdrs, sizeof(out->shdrs));
}

int jitreg_dwarf_write(const struct jitreg_dwarf *dwarf)
{
	struct output out = {.fd = memfd_create("jitreg-dwarf", MFD_CLOEXEC)};
	int r;

	if (out.fd < 0)
		return -errno;
	out.flags = fcntl(out.fd, F_GETFL);
	if (fstat(out.fd, &out.st) || out.st.st_nlink || out.st.st_size)
		return -EBADF; // somebody else's by now
	r = write_sections(&out, dwarf);
	if (!r)
		r = write_headers(&out);
	if (!r)
		return out.fd;
	if (jitreg_fd_is(out.fd, out.flags, &out.st))
		close(out.fd);
	return r;
}

void jitreg_dwarf_drop(struct jitreg_dwarf *dwarf, enum jitreg_dwarf_index index)
{
	struct jitreg_dwarf_section *section = &dwarf->sections[index];

	free(section->bytes);
	free(section->sites);
	free(section->seen);
	*section = (struct jitreg_dwarf_section){0};
}

void jitreg_dwarf_destroy(struct jitreg_dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < JITREG_DWARF_COUNT; i++)
		jitreg_dwarf_drop(dwarf, i);
	free(dwarf);
}
