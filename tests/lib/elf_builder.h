/* SPDX-License-Identifier: MIT */
/*
 * Small ELF shared objects from a description, and a way to damage any field of them.
 *
 * elf_build() lays out a file that is right in all its parts:
 *
 *	off    vaddr
 *	0      0        R    ELF header, program headers, hash tables, symbols, strings,
 *	                     versions, relocations
 *	0x1000 0x11000  RX   16 bytes of code per function: returns 1, 2, 3, ...
 *	0x2000 0x22000  RW   dynamic section, arrays of functions, TLS image, data
 *	       0x23000  RW   zero-filled memory, not in the file
 *
 * Segments share no page of 64 KiB, so that kernels with such pages can map the file, too.
 *
 * Tests then change one field of it by part, entry and offset; the rest stays right,
 * so that the error they expect can have no other cause.
 */
#ifndef TESTS_ELF_BUILDER_H
#define TESTS_ELF_BUILDER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ELF_BUILDER_ALIGN = 0x10000, /* of segments; an offset in the file is the vaddr modulo this */
	ELF_BUILDER_TEXT = 0x11000,  /* vaddr of code; function n is at + 16 * n */
	ELF_BUILDER_RW = 0x22000,    /* vaddr of the dynamic section */
	ELF_BUILDER_DATA = 0x22800,  /* vaddr of 0x400 bytes of data */
	ELF_BUILDER_TLS = 0x22c00,   /* vaddr of the TLS image */
	ELF_BUILDER_BSS = 0x23000,   /* vaddr of 0x1000 bytes of zeros */
	ELF_BUILDER_FUNCTIONS = 16,
};

struct elf_builder_symbol {
	const char *name;
	uint8_t info;	     /* ELF64_ST_INFO(); 0: a global function */
	uint8_t other;	     /* visibility */
	bool undefined;
	uint64_t value, size;
	uint16_t version;    /* index as in .gnu.version; 0: 1, "global" */
};

/* Zeroed members mean none. Lists of pointers and symbols end with a NULL (name). */
struct elf_builder {
	const char *soname;
	const char *const *needed;
	const char *runpath;
	const struct elf_builder_symbol *symbols; /* in file order; undefined ones first */
	const Elf64_Rela *rela, *jmprel;
	size_t rela_count, jmprel_count;
	const uint64_t *relr;
	size_t relr_count;
	bool no_gnu_hash, sysv_hash;
	const char *verdef;	   /* one defined version, index 2 */
	const char *verneed_file;  /* one needed version, index 3 */
	const char *verneed_name;
	size_t init_count, fini_count; /* entries; they run functions 0, 1, ... */
	uint64_t tls_file_size, tls_mem_size, tls_align;
	bool relro;
	const Elf64_Dyn *extra;	   /* further dynamic entries */
	size_t extra_count;
};

enum elf_part {
	ELF_EHDR,
	ELF_PHDR,
	ELF_DYN,
	ELF_SYM,
	ELF_STR,
	ELF_GNU_HASH,
	ELF_SYSV_HASH,
	ELF_VERSYM,
	ELF_VERDEF,
	ELF_VERDAUX,
	ELF_VERNEED,
	ELF_VERNAUX,
	ELF_RELA,
	ELF_JMPREL,
	ELF_RELR,
	ELF_PART_COUNT,
};

struct elf_file {
	uint8_t *data;
	size_t size;
	struct {
		size_t off, count, entry_size;
	} part[ELF_PART_COUNT];
};

/* Build a file; to be released with elf_file_deinit(). Aborts when it does not fit. */
struct elf_file elf_build(const struct elf_builder *builder);
void elf_file_deinit(struct elf_file *file);

/* Write @size bytes of @value at @offset in entry @index of @part. */
void elf_set(struct elf_file *file, enum elf_part part, size_t index, size_t offset, size_t size,
	     uint64_t value);

/* Index of the first program header of a type, of the first dynamic entry with a tag.
 * Aborts when there is none. */
size_t elf_phdr_index(const struct elf_file *file, uint32_t type);
size_t elf_dyn_index(const struct elf_file *file, int64_t tag);

/* One damage: a row of a table. @index is a type or tag where that is how entries are
 * known: PHDR() and DYN() rows. */
struct elf_change {
	enum elf_part part;
	bool by_key;
	int64_t index;
	size_t offset, size;
	uint64_t value;
};

#define FIELD(part, index, type, member, value)                                                    \
	{                                                                                          \
		part, false, index, offsetof(type, member), sizeof(((type *)0)->member), value     \
	}
#define EHDR(member, value)	   FIELD(ELF_EHDR, 0, Elf64_Ehdr, member, value)
#define IDENT(byte, value)	   {ELF_EHDR, false, 0, byte, 1, value}
#define LOAD(n, member, value)	   FIELD(ELF_PHDR, n, Elf64_Phdr, member, value)
#define PHDR(type, member, value)                                                                  \
	{                                                                                          \
		ELF_PHDR, true, type, offsetof(Elf64_Phdr, member),                                \
			sizeof(((Elf64_Phdr *)0)->member), value                                   \
	}
#define DYN(tag, value)		   {ELF_DYN, true, tag, 8, 8, value}
#define DYN_TAG(tag, value)	   {ELF_DYN, true, tag, 0, 8, value}
#define WORD(part, index, value)   {part, false, index, 0, 4, value}

void elf_apply(struct elf_file *file, const struct elf_change *change);

#endif
