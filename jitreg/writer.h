/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Writing ELF files with libelf into memory. Internal to jitreg. See writer.c.
 *
 * Functions return 0 or -ENOMEM; buffers given to them are borrowed until
 * jitreg_writer_finish().
 */
#ifndef JITREG_WRITER_H
#define JITREG_WRITER_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that grow. */
struct jitreg_bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
};

/** Append; returns the offset, or UINT32_MAX: no memory, or more than 4 GiB. */
uint32_t jitreg_bytes_append(struct jitreg_bytes *bytes, const void *data, size_t size);

void jitreg_bytes_deinit(struct jitreg_bytes *bytes);

/** A symbol table that grows. Local symbols come first. */
struct jitreg_symtab {
	struct jitreg_bytes syms, strtab;
	size_t local_count; /**< The null symbol included. */
};

/** Append a symbol; @p text_size bytes of @p text become its name. */
int jitreg_symtab_append(struct jitreg_symtab *table, const char *text, size_t text_size,
			 const Elf64_Sym *sym);

void jitreg_symtab_deinit(struct jitreg_symtab *table);

/** How many compressed sections a file can have. */
#define JITREG_COMPRESSED_MAX 8

struct jitreg_writer {
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Shdr null;
	} read; /**< What libelf takes for the file that it reads. */
	Elf *elf;
	GElf_Ehdr ehdr;
	struct jitreg_bytes shstrtab;
	char *link;
	struct jitreg_bytes note;
	uint8_t *compressed[JITREG_COMPRESSED_MAX];
	size_t compressed_count;
};

/** Begin a file of @p type (ET_...) for the machine of @p like. To be released in any case. */
int jitreg_writer_begin(struct jitreg_writer *w, unsigned type, const GElf_Ehdr *like);

/** Add a section; NULL: no memory. @p data may be NULL for a section that has only a size. */
Elf_Scn *jitreg_writer_add(struct jitreg_writer *w, const char *name, const GElf_Shdr *shdr,
			   const void *data, Elf_Type type);

/** Give the file these program headers. */
int jitreg_writer_set_segments(struct jitreg_writer *w, const GElf_Phdr *phdrs, size_t count);

/**
 * Add a section that is compressed with zlib (gABI, SHF_COMPRESSED), or as it is when that makes
 * it no smaller. @p level is zlib's, from 1, fast, to 9, small.
 */
int jitreg_writer_add_compressed(struct jitreg_writer *w, const char *name, const GElf_Shdr *shdr,
				 const void *data, int level);

/** Add .strtab and .symtab. */
int jitreg_writer_add_symtab(struct jitreg_writer *w, struct jitreg_symtab *table);

/** Add .gnu_debuglink. */
int jitreg_writer_add_debuglink(struct jitreg_writer *w, const char *path, uint32_t crc);

/** Add .note.gnu.build-id. */
int jitreg_writer_add_build_id(struct jitreg_writer *w, const uint8_t *id, size_t size);

/** Add a .debug_info of zeros, which keeps LLDB from looking elsewhere (model.c). */
int jitreg_writer_add_dummy_debug_info(struct jitreg_writer *w);

/**
 * Add .shstrtab, lay the file out and put it together.
 *
 * @param      first         A section that comes before all others, or NULL.
 * @param[out] private_size  Bytes from the start to the end of headers and @p first.
 * @param[out] bytes         malloc()ed.
 */
int jitreg_writer_finish(struct jitreg_writer *w, const Elf_Scn *first, size_t *private_size,
			 uint8_t **bytes, size_t *size);

void jitreg_writer_deinit(struct jitreg_writer *w);

/** The largest alignment that a file in memory can have. Alignments are powers of two. */
#define JITREG_MAX_ALIGN 64

/**
 * Find the header of the first section called @p name in a file that jitreg_writer_finish() has
 * made; NULL: there is none. A library chooses the names of its sections, so in the symfile of a
 * library a name does not say what the section is; the functions below look at the type and flags
 * as well.
 */
const Elf64_Shdr *jitreg_file_section(const uint8_t *bytes, const char *name);

/** The table of symbols, which each symfile has. */
const Elf64_Shdr *jitreg_file_symtab(const uint8_t *bytes);

/** The section `.text` with a library's code, or NULL. */
const Elf64_Shdr *jitreg_file_text(const uint8_t *bytes);

/** The section `.eh_frame` with a library's unwind data, or NULL. */
const Elf64_Shdr *jitreg_file_frames(const uint8_t *bytes);

#endif
