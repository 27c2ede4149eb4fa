// SPDX-License-Identifier: MIT
// Mutations that know ELF: a field gets another value, most often the value of another field or a value at an edge.
// The field is in a header, in the dynamic section, or in a table to which one of these leads. Every third mutation
// is left to libFuzzer.

#include "fuzz.h"

#include <elf.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint64_t state;

static uint64_t next(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

// An array of entries with the same fields.
struct table {
	uint64_t at, size;
	const uint8_t *fields; // sizes of the fields; 0 ends the list
	unsigned entry;
};

static const uint8_t ehdr[] = {1, 1, 1, 1, 1, 1, 1, 1, 8, 2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2, 0};
static const uint8_t phdr[] = {4, 4, 8, 8, 8, 8, 8, 8, 0};
static const uint8_t shdr[] = {4, 4, 8, 8, 8, 8, 4, 4, 8, 8, 0};
static const uint8_t dyn[] = {8, 8, 0};
static const uint8_t sym[] = {4, 1, 1, 2, 8, 8, 0};
static const uint8_t rela[] = {8, 4, 4, 8, 0};
static const uint8_t words[] = {4, 0};
static const uint8_t halves[] = {2, 0};
static const uint8_t longs[] = {8, 0};
static const uint8_t bytes[] = {1, 0};

static const uint8_t *fields_of(uint32_t type)
{
	switch (type) {
	case SHT_DYNAMIC:
		return dyn;
	case SHT_SYMTAB:
	case SHT_DYNSYM:
		return sym;
	case SHT_RELA:
		return rela;
	case SHT_HASH:
	case SHT_GNU_HASH:
	case SHT_NOTE:
		return words;
	case SHT_GNU_verdef:
	case SHT_GNU_verneed:
	case SHT_GNU_versym:
		return halves;
	case SHT_INIT_ARRAY:
	case SHT_FINI_ARRAY:
	case 19: // SHT_RELR
		return longs;
	default:
		return bytes;
	}
}

static struct table table_of(uint64_t at, uint64_t size, const uint8_t *fields)
{
	struct table ret = {at, size, fields, 0};

	for (const uint8_t *f = fields; *f; f++)
		ret.entry += *f;
	return ret;
}

static struct table choose(const uint8_t *data, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr section;

	memcpy(&header, data, sizeof(header));
	switch (next(8)) {
	case 0:
		return table_of(0, sizeof(header), ehdr);
	case 1:
	case 2:
		return table_of(header.e_phoff, (uint64_t)header.e_phnum * sizeof(segment), phdr);
	case 3:
		return table_of(header.e_shoff, (uint64_t)header.e_shnum * sizeof(section), shdr);
	case 4: // the dynamic section
		for (unsigned i = 0; i < header.e_phnum && header.e_phoff <= size &&
				     header.e_phoff + (i + 1) * sizeof(segment) <= size; i++) {
			memcpy(&segment, data + header.e_phoff + i * sizeof(segment), sizeof(segment));
			if (segment.p_type == PT_DYNAMIC)
				return table_of(segment.p_offset, segment.p_filesz, dyn);
		}
		break;
	default: // a table that a section has
		if (header.e_shnum && header.e_shoff <= size) {
			uint64_t at = header.e_shoff + next(header.e_shnum) * sizeof(section);

			if (at <= size && size - at >= sizeof(section)) {
				memcpy(&section, data + at, sizeof(section));
				return table_of(section.sh_offset, section.sh_size, fields_of(section.sh_type));
			}
		}
	}
	return table_of(0, size, longs);
}

static uint64_t value(const uint8_t *data, size_t size, uint64_t old)
{
	uint64_t ret;

	switch (next(8)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
		return UINT64_MAX - next(32);
	case 3:
		return next(32);
	case 4:
		return UINT64_C(1) << next(64);
	case 5:
		return size - next(64);
	case 6:
		return old ^ UINT64_C(1) << next(64);
	default: // the value of another field
		memcpy(&ret, data + next(size / 8) * 8, sizeof(ret));
		return ret;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	state = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	if (size < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG) || !next(3))
		return LLVMFuzzerMutate(data, size, max_size);
	for (uint64_t changes = 1 + next(3); changes--;) {
		struct table table = choose(data, size);
		uint64_t at, old = 0, new;
		const uint8_t *field = table.fields;

		if (table.at >= size)
			continue;
		if (table.size > size - table.at)
			table.size = size - table.at;
		if (table.size < table.entry)
			continue;
		at = table.at + next(table.size / table.entry) * table.entry;
		for (uint64_t skip = next(strlen((const char *)table.fields)); skip--; field++)
			at += *field;
		memcpy(&old, data + at, *field);
		new = value(data, size, old);
		memcpy(data + at, &new, *field);
	}
	return size;
}
