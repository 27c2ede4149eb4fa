// SPDX-License-Identifier: MIT
/*
 * Would GDB recognize this file?
 *
 * GDB opens a file that a symfile refers to when it reads the symfile. If BFD, its library, does
 * not recognize the file ("can't read symbols: file format not recognized"), the error ends the
 * reading of the whole list: GDB then knows none of the objects behind this one. To recognize a
 * file BFD looks at every section's header, also of sections that GDB never uses, and at the
 * inflated length of compressed sections with DWARF. So this file does the same, and a symfile does
 * not refer to a file that fails: its object is described by its names.
 *
 * A little more is refused than BFD refuses (seen in GDB 13): sections beyond the file,
 * and lengths that no compression of the data can have, over which GDB stumbles later.
 *
 * Not checked: whether the data inflates to the length that the header states. The check would take
 * a tenth of a second for a libpython, and without it GDB at worst loses the DWARF of one file.
 *
 * Specification: gABI chapter 4, "Section Header", "Compression Header".
 */
#include "recognized.h"

#include <endian.h>
#include <string.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* How many bytes one byte of deflated data can stand for. */
#define ZLIB_RATIO_MAX 1032
/* The largest alignment that BFD accepts. */
#define ALIGN_MAX (UINT64_C(1) << 62)

static bool is_debug_name(const char *name)
{
	return !strncmp(name, ".debug_", strlen(".debug_")) ||
	       !strncmp(name, ".zdebug_", strlen(".zdebug_"));
}

/* Can a zlib stream of @packed bytes, which begins with @head, inflate to @size bytes? */
static bool is_zlib(const uint8_t head[2], uint64_t packed, uint64_t size)
{
	// method 8, and a checksum of the two bytes
	if ((head[0] & 15) != 8 || (head[0] << 8 | head[1]) % 31 != 0)
		return false;
	// data that cannot be made smaller is stored in blocks, with a few bytes for each block
	return size / ZLIB_RATIO_MAX <= packed && packed <= size + size / 8 + 64;
}

static bool is_sound_chdr(const struct jitreg_object *object, const GElf_Shdr *shdr)
{
	struct {
		Elf64_Chdr chdr;
		uint8_t data[2];
	} head;

	if (shdr->sh_size < sizeof(head.chdr) + sizeof(head.data) ||
	    jitreg_object_read(object, shdr->sh_offset, &head,
			       sizeof(head.chdr) + sizeof(head.data)))
		return false;
	if (head.chdr.ch_size > UINT32_MAX || head.chdr.ch_addralign & (head.chdr.ch_addralign - 1))
		return false;
	if (head.chdr.ch_type == ELFCOMPRESS_ZSTD)
		return true;
	return head.chdr.ch_type == ELFCOMPRESS_ZLIB &&
	       is_zlib(head.data, shdr->sh_size - sizeof(head.chdr), head.chdr.ch_size);
}

/*
 * The compression that binutils used to write: "ZLIB", then the length with its most significant
 * byte first. @must: a section with another beginning is not sound.
 */
static bool is_sound_old_style(const struct jitreg_object *object, const GElf_Shdr *shdr, bool must)
{
	uint8_t head[14];
	uint64_t size;

	if (shdr->sh_size < sizeof(head))
		return !must;
	if (jitreg_object_read(object, shdr->sh_offset, head, sizeof(head)))
		return false;
	if (memcmp(head, "ZLIB", 4) != 0)
		return !must;
	memcpy(&size, head + 4, sizeof(size));
	size = be64toh(size);
	return size <= UINT32_MAX && is_zlib(head + 12, shdr->sh_size - 12, size);
}

/*
 * BFD takes a section with DWARF for compressed in the old style if it begins with "ZLIB", except
 * .debug_str, where this may be a text.
 */
static bool is_sound_debug(const struct jitreg_object *object, const char *name,
			   const GElf_Shdr *shdr)
{
	if (shdr->sh_flags & SHF_COMPRESSED)
		return is_sound_chdr(object, shdr);
	return !strcmp(name, ".debug_str") || is_sound_old_style(object, shdr, name[1] == 'z');
}

static bool is_sound_table(const GElf_Shdr *shdr)
{
	switch (shdr->sh_type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
		return shdr->sh_entsize == sizeof(Elf64_Sym) &&
		       shdr->sh_info <= shdr->sh_size / sizeof(Elf64_Sym);
	case SHT_REL:
		return shdr->sh_entsize == sizeof(Elf64_Rel);
	case SHT_RELA:
		return shdr->sh_entsize == sizeof(Elf64_Rela);
	default:
		return true;
	}
}

static bool is_sound(const struct jitreg_object *object, const char *name, const GElf_Shdr *shdr)
{
	bool has_target = shdr->sh_type == SHT_REL || shdr->sh_type == SHT_RELA ||
			  shdr->sh_flags & SHF_INFO_LINK;

	if (!name || shdr->sh_link >= object->shdr_count ||
	    (has_target && shdr->sh_info >= object->shdr_count) || shdr->sh_addralign > ALIGN_MAX ||
	    !is_sound_table(shdr))
		return false;
	if (shdr->sh_type == SHT_NOBITS)
		return true;
	return jitreg_range_ok(shdr->sh_offset, shdr->sh_size, (uint64_t)object->st.st_size) &&
	       (!is_debug_name(name) || is_sound_debug(object, name, shdr));
}

bool jitreg_object_is_recognized(const struct jitreg_object *object)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	if (object->shstrndx == SHN_UNDEF)
		return false;
	while ((scn = elf_nextscn(object->elf, scn)))
		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_type != SHT_NULL &&
		     !is_sound(object, elf_strptr(object->elf, object->shstrndx, shdr.sh_name),
			       &shdr)))
			return false;
	return true;
}
