// SPDX-License-Identifier: MIT
/*
 * Symfiles that this library has not made: a JIT compiler wrote them for debuggers, and
 * jitreg_register_symfile() puts them into the list that debuggers read.
 *
 * The bytes are copied, because the compiler may change or free them at any moment, and
 * checked, because LLDB ends itself over a symfile that contradicts itself. The checks are
 * about what could lead a reader out of the file: offsets, sizes and names of sections, and
 * the tables that other sections refer to. The contents of sections are not checked.
 *
 * Specification: gABI chapter 4, "Sections".
 */
#include "arena.h"
#include "foreign.h"
#include "file/object.h"
#include "machine/machine.h"

#include <errno.h>
#include <string.h>

struct file {
	const uint8_t *bytes;
	uint64_t size;
	Elf64_Ehdr ehdr;
};

static Elf64_Shdr section_at(const struct file *file, uint32_t index)
{
	Elf64_Shdr ret;

	memcpy(&ret, file->bytes + file->ehdr.e_shoff + index * sizeof(ret), sizeof(ret));
	return ret;
}

static bool read_header(struct file *file)
{
	const Elf64_Ehdr *ehdr = &file->ehdr;

	if (file->size < sizeof(*ehdr))
		return false;
	memcpy(&file->ehdr, file->bytes, sizeof(*ehdr));
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) && ehdr->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr->e_ident[EI_DATA] == JITREG_DATA &&
	       ehdr->e_machine == JITREG_HOST_MACHINE && ehdr->e_shentsize == sizeof(Elf64_Shdr) &&
	       ehdr->e_shnum && ehdr->e_shstrndx < ehdr->e_shnum &&
	       jitreg_range_ok(ehdr->e_shoff, ehdr->e_shnum * sizeof(Elf64_Shdr), file->size);
}

/* Whether a section is a table of strings, the last of which ends within the table. */
static bool is_strings(const struct file *file, uint32_t index, uint64_t *size)
{
	Elf64_Shdr shdr;

	if (index >= file->ehdr.e_shnum)
		return false;
	shdr = section_at(file, index);
	*size = shdr.sh_size;
	return shdr.sh_type == SHT_STRTAB && shdr.sh_size &&
	       jitreg_range_ok(shdr.sh_offset, shdr.sh_size, file->size) &&
	       !file->bytes[shdr.sh_offset + shdr.sh_size - 1];
}

static bool is_good_section(const struct file *file, const Elf64_Shdr *shdr, uint64_t names_size)
{
	uint64_t size;

	if (shdr->sh_type == SHT_NULL)
		return true;
	if (shdr->sh_name >= names_size ||
	    (shdr->sh_type != SHT_NOBITS &&
	     !jitreg_range_ok(shdr->sh_offset, shdr->sh_size, file->size)))
		return false;
	return shdr->sh_type != SHT_SYMTAB || (shdr->sh_entsize == sizeof(Elf64_Sym) &&
					       is_strings(file, shdr->sh_link, &size));
}

/* Check the file, and find the range of its sections' addresses; 0 and 0 when no section has any.
 */
static bool read_sections(const struct file *file, uint64_t *start, uint64_t *end)
{
	uint64_t names_size;

	*start = UINT64_MAX;
	*end = 0;
	if (!is_strings(file, file->ehdr.e_shstrndx, &names_size))
		return false;
	for (uint32_t i = 0; i < file->ehdr.e_shnum; i++) {
		Elf64_Shdr shdr = section_at(file, i);

		if (!is_good_section(file, &shdr, names_size))
			return false;
		if (!(shdr.sh_flags & SHF_ALLOC) || !shdr.sh_size || !shdr.sh_addr ||
		    shdr.sh_addr + shdr.sh_size < shdr.sh_addr)
			continue;
		if (shdr.sh_addr < *start)
			*start = shdr.sh_addr;
		if (shdr.sh_addr + shdr.sh_size > *end)
			*end = shdr.sh_addr + shdr.sh_size;
	}
	if (!*end)
		*start = 0;
	return true;
}

int jitreg_foreign_copy(const void *symfile, uint64_t size, struct jitreg_debug_entry *ret)
{
	struct file file = {.size = size};
	uint64_t start, end;
	uint8_t *copy;
	int r = 0;

	if (!size)
		return -ENOEXEC;
	copy = jitreg_arena_alloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, symfile, size);
	file.bytes = copy; // the copy is checked, since debuggers read the copy
	if (!read_header(&file) || !read_sections(&file, &start, &end))
		r = -ENOEXEC;
	if (!r)
		r = jitreg_arena_protect(copy, size, PROT_READ);
	if (r) {
		jitreg_arena_free(copy, size);
		return r;
	}
	ret->base.symfile_addr = (const char *)copy;
	ret->base.symfile_size = size;
	ret->start = start;
	ret->end = end;
	return 0;
}

void jitreg_foreign_free(struct jitreg_debug_entry *entry)
{
	jitreg_arena_free((void *)(uintptr_t)entry->base.symfile_addr,
			  entry->base.symfile_size);
}
