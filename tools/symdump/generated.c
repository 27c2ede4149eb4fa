// SPDX-License-Identifier: MIT An object file for generated code, by which libdwfl unwinds code
// that has no file: one segment and the code's .eh_frame, at run-time addresses.
//
// LLVM registers a relocatable object. Its .eh_frame was relocated in the memory that it was loaded
// into, so it is read there. The .eh_frame of other symfiles is read from the symfile.

#define _GNU_SOURCE
#include "unwind.h"

#include <gelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EH_FRAME_MAX (16u << 20)

static const char names[] = "\0.eh_frame\0.shstrtab";

struct head {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[3]; // none, .eh_frame, .shstrtab
	char names[sizeof(names)];
};

static bool find_eh_frame(Elf *elf, GElf_Shdr *ret)
{
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, ret);) {
		const char *name = elf_strptr(elf, strings, ret->sh_name);

		if (name && !strcmp(name, ".eh_frame"))
			return ret->sh_flags & SHF_ALLOC && ret->sh_size &&
			       ret->sh_size <= EH_FRAME_MAX;
	}
	return false;
}

// Copies the section's bytes to @to.
static bool copy_eh_frame(const struct target *target, const struct object *object,
			  const GElf_Ehdr *ehdr, const GElf_Shdr *shdr, void *to)
{
	if (ehdr->e_type == ET_REL)
		return target_read(target, shdr->sh_addr, to, shdr->sh_size);
	if (shdr->sh_type == SHT_NOBITS || shdr->sh_offset > object->symfile_size ||
	    shdr->sh_size > object->symfile_size - shdr->sh_offset)
		return false;
	memcpy(to, object->symfile_data + shdr->sh_offset, shdr->sh_size);
	return true;
}

static void fill_head(struct head *head, const struct object *object, uint16_t machine,
		      const GElf_Shdr *eh_frame)
{
	*head = (struct head){
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = machine,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct head, phdr),
			 .e_shoff = offsetof(struct head, shdrs),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2},
		// The address in the file is the address in memory: a bias of 0.
		.phdr = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_vaddr = object->start,
			 .p_memsz = object->end - object->start,
			 .p_align = 1},
		.shdrs = {[1] = {.sh_name = 1,
				 .sh_type = SHT_PROGBITS,
				 .sh_flags = SHF_ALLOC,
				 .sh_addr = eh_frame->sh_addr,
				 .sh_offset = sizeof(*head),
				 .sh_size = eh_frame->sh_size,
				 .sh_addralign = 8},
			  [2] = {.sh_name = sizeof("\0.eh_frame"),
				 .sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct head, names),
				 .sh_size = sizeof(names),
				 .sh_addralign = 1}},
	};
	memcpy(head->names, names, sizeof(names));
}

Elf *generated_elf(const struct target *target, const struct object *object, void **data)
{
	Elf *elf = object->symfile_data
			   ? elf_memory((char *)object->symfile_data, object->symfile_size)
			   : NULL;
	struct head *head = NULL;
	GElf_Shdr eh_frame;
	GElf_Ehdr ehdr;
	bool found = false;

	if (elf && gelf_getehdr(elf, &ehdr) && find_eh_frame(elf, &eh_frame)) {
		head = zalloc(1, sizeof(*head) + eh_frame.sh_size);
		fill_head(head, object, ehdr.e_machine, &eh_frame);
		found = copy_eh_frame(target, object, &ehdr, &eh_frame, head + 1);
	}
	elf_end(elf);
	if (!found) {
		free(head);
		return NULL;
	}
	*data = head;
	return elf_memory((char *)head, sizeof(*head) + eh_frame.sh_size);
}
