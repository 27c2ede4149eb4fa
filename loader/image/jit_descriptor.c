// SPDX-License-Identifier: MIT
// Where a file has a JIT descriptor of its own: a variable __jit_debug_descriptor, exported or in
// .symtab. Not handled: a stripped object with a hidden pair, where nothing says where it is.
//
// Specification: GDB manual, "JIT Compilation Interface".

#include "jit_descriptor.h"
#include "image.h"
#include "symbol.h"

#include <gelf.h>
#include <string.h>
#include <sys/mman.h>

#define DESCRIPTOR_NAME "__jit_debug_descriptor"
#define DESCRIPTOR_SIZE GORGON_JIT_DESCRIPTOR_SIZE

static uint64_t checked_place(const struct gorgon_image *image, const Elf64_Sym *sym)
{
	const struct gorgon_segment *segment;

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT || sym->st_shndx == SHN_UNDEF ||
	    sym->st_size != DESCRIPTOR_SIZE || sym->st_value % 8)
		return 0;
	segment = gorgon_image_segment(image, sym->st_value, DESCRIPTOR_SIZE);
	return segment && segment->prot & PROT_WRITE ? sym->st_value : 0;
}

static uint64_t find_in_symtab(const struct gorgon_image *image, Elf_Scn *scn,
			       const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	uint64_t ret = 0;
	GElf_Sym sym;

	for (int i = 0; data && !ret && gelf_getsym(data, i, &sym); i++) {
		const char *name;

		if (sym.st_size != DESCRIPTOR_SIZE)
			continue;
		name = elf_strptr(image->elf, shdr->sh_link, sym.st_name);
		if (name && !strcmp(name, DESCRIPTOR_NAME))
			ret = checked_place(image, &sym);
	}
	return ret;
}

// A file without usable section headers has no .symtab: that is no error.
static uint64_t find_descriptor(const struct gorgon_image *image)
{
	struct gorgon_symbol_query query = gorgon_symbol_query(DESCRIPTOR_NAME, NULL);
	const Elf64_Sym *exported = gorgon_symbol_find(image, &query);
	GElf_Shdr shdr;
	uint64_t ret = 0;

	if (exported)
		return checked_place(image, exported);
	for (Elf_Scn *scn = NULL; !ret && (scn = elf_nextscn(image->elf, scn));)
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB)
			ret = find_in_symtab(image, scn, &shdr);
	return ret;
}

uint64_t gorgon_jit_descriptor(struct gorgon_image *image)
{
	if (!image->jit_descriptor_known) {
		image->jit_descriptor_vaddr = find_descriptor(image);
		image->jit_descriptor_known = true;
	}
	return image->jit_descriptor_vaddr;
}
