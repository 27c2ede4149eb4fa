// SPDX-License-Identifier: MIT
/*
 * Object files that others have made: accepted when they are whole, refused when they could lead a debugger astray.
 */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../jitreg/descriptor.h"
#include "../jitreg/machine/machine.h"
#include "jitreg_util.h"

/* A file as a compiler would write it. */
struct symfile {
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdrs[4]; // none, .text, .symtab, .strtab
	Elf64_Sym symbols[2];
	char strings[32];
};

enum { TEXT = 1, SYMTAB, STRTAB };

#define CODE_AT UINT64_C(0x7f0012340000)

static struct symfile good_file(void)
{
	struct symfile ret = {
		.ehdr = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1},
			 .e_type = ET_REL,
			 .e_machine = JITREG_HOST_MACHINE,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shoff = offsetof(struct symfile, shdrs),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = STRTAB},
		.symbols = {[1] = {.st_name = 23, .st_shndx = TEXT, .st_size = 64,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}},
		.strings = "\0.text\0.symtab\0.strtab\0made",
	};

	ret.shdrs[TEXT] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOBITS, .sh_addr = CODE_AT,
				       .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = 64};
	ret.shdrs[SYMTAB] = (Elf64_Shdr){.sh_name = 7, .sh_type = SHT_SYMTAB, .sh_link = STRTAB,
					 .sh_offset = offsetof(struct symfile, symbols),
					 .sh_size = sizeof(ret.symbols),
					 .sh_entsize = sizeof(Elf64_Sym), .sh_info = 1};
	ret.shdrs[STRTAB] = (Elf64_Shdr){.sh_name = 15, .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct symfile, strings),
					 .sh_size = sizeof(ret.strings)};
	return ret;
}

static void register_symfile_good_is_copied_and_told(void **state)
{
	struct symfile file = good_file(), kept = file;
	const struct jit_code_entry *last;
	struct jitreg_entry *entry;
	struct jitreg_info info;
	size_t before = jitreg_count();

	(void)state;
	assert_int_equal(jitreg_register_symfile(&file, sizeof(file), &entry), 0);
	memset(&file, 0, sizeof(file));
	assert_int_equal(jitreg_count(), before + 1);
	jitreg_entry_get_info(entry, &info);
	assert_int_equal(info.symfile_size, sizeof(kept));
	assert_memory_equal(info.symfile, &kept, sizeof(kept));
	assert_true(info.start == CODE_AT && info.end == CODE_AT + 64);
	assert_null(info.debug_path);
	assert_null(info.build_id);
	for (last = __jit_debug_descriptor.first_entry; last->next_entry; last = last->next_entry)
		;
	assert_ptr_equal(last->symfile_addr, info.symfile);
	assert_int_equal(last->symfile_size, sizeof(kept));
	jitreg_unregister(entry);
	assert_int_equal(jitreg_count(), before);
}

static void register_symfile_without_addresses_has_an_empty_range(void **state)
{
	struct symfile file = good_file();
	struct jitreg_entry *entry;
	struct jitreg_info info;

	(void)state;
	file.shdrs[TEXT].sh_addr = 0;
	assert_int_equal(jitreg_register_symfile(&file, sizeof(file), &entry), 0);
	jitreg_entry_get_info(entry, &info);
	assert_true(!info.start && !info.end);
	jitreg_unregister(entry);
}

#define DAMAGES(X)                                                                                 \
	X(file.ehdr.e_ident[0] = 'x')                                                              \
	X(file.ehdr.e_ident[EI_CLASS] = ELFCLASS32)                                                \
	X(file.ehdr.e_ident[EI_DATA] = ELFDATA2MSB)                                                \
	X(file.ehdr.e_machine = JITREG_HOST_MACHINE == EM_X86_64 ? EM_AARCH64 : EM_X86_64)         \
	X(file.ehdr.e_shentsize = 32)                                                              \
	X(file.ehdr.e_shnum = 0)                                                                   \
	X(file.ehdr.e_shnum = 100)                                                                 \
	X(file.ehdr.e_shoff = UINT64_MAX - 8)                                                      \
	X(file.ehdr.e_shstrndx = 4)                                                                \
	X(file.ehdr.e_shstrndx = SYMTAB)                                                           \
	X(file.shdrs[TEXT].sh_name = 32)                                                           \
	X((file.shdrs[TEXT].sh_type = SHT_PROGBITS, file.shdrs[TEXT].sh_offset = sizeof(file)))    \
	X(file.shdrs[SYMTAB].sh_offset = UINT64_MAX - 8)                                           \
	X(file.shdrs[SYMTAB].sh_size = UINT64_MAX)                                                 \
	X(file.shdrs[SYMTAB].sh_entsize = 16)                                                      \
	X(file.shdrs[SYMTAB].sh_link = 4)                                                          \
	X(file.shdrs[SYMTAB].sh_link = TEXT)                                                       \
	X(file.shdrs[STRTAB].sh_size = 0)                                                          \
	X(file.shdrs[STRTAB].sh_size = sizeof(file))                                               \
	X(file.strings[31] = 'x')

static void register_symfile_damaged_is_refused(void **state)
{
	size_t before = jitreg_count(), bytes = util_symfile_bytes();

	(void)state;
#define TRY(damage)                                                                                \
	{                                                                                          \
		struct symfile file = good_file();                                                 \
		struct jitreg_entry *entry = NULL;                                                 \
                                                                                                   \
		damage;                                                                            \
		if (jitreg_register_symfile(&file, sizeof(file), &entry) != -ENOEXEC)              \
			fail_msg("%s was accepted", #damage);                                      \
		assert_null(entry);                                                                \
	}
	DAMAGES(TRY)
#undef TRY
	assert_int_equal(jitreg_count(), before);
	assert_int_equal(util_symfile_bytes(), bytes);
}

static void register_symfile_cut_short_is_refused(void **state)
{
	struct symfile file = good_file();

	(void)state;
	for (size_t size = 0; size < sizeof(file); size++) {
		// a block of its own, so that a memory checker sees a read behind its end
		void *cut = malloc(size + !size);
		struct jitreg_entry *entry;

		memcpy(cut, &file, size);
		assert_int_equal(jitreg_register_symfile(cut, size, &entry), -ENOEXEC);
		free(cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(register_symfile_good_is_copied_and_told),
		cmocka_unit_test(register_symfile_without_addresses_has_an_empty_range),
		cmocka_unit_test(register_symfile_damaged_is_refused),
		cmocka_unit_test(register_symfile_cut_short_is_refused),
	};

	return cmocka_run_group_tests_name("jitreg/foreign", tests, util_setup, NULL);
}
