/* SPDX-License-Identifier: MIT */
/* The smallest symfile with a name in it, for tests of its readers. */
#ifndef GORGON_TESTS_SYMFILE_H
#define GORGON_TESTS_SYMFILE_H

#include <elf.h>
#include <stddef.h>
#include <stdio.h>

struct symfile {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr[3];
	Elf64_Sym sym[2];
	char names[16];
};

static inline void fill_symfile(struct symfile *file, const char *name, uint64_t addr, uint64_t size)
{
	*file = (struct symfile){
		.ehdr =
			{
				.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
					    EV_CURRENT},
				.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_shoff = offsetof(struct symfile, shdr),
				.e_ehsize = sizeof(Elf64_Ehdr),
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 3,
			},
		.shdr[1] =
			{
				.sh_type = SHT_SYMTAB,
				.sh_offset = offsetof(struct symfile, sym),
				.sh_size = sizeof(file->sym),
				.sh_link = 2,
				.sh_entsize = sizeof(Elf64_Sym),
			},
		.shdr[2] =
			{
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct symfile, names),
				.sh_size = sizeof(file->names),
			},
		.sym[1] =
			{
				.st_name = 1,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = 1,
				.st_value = addr,
				.st_size = size,
			},
	};
	snprintf(file->names + 1, sizeof(file->names) - 1, "%s", name);
}

#endif
