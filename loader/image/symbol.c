// SPDX-License-Identifier: MIT
// Symbol look-up in one image: DT_GNU_HASH or DT_HASH, then the version.
//
// The tables are read from the view of the file, not from a copy in memory, and were validated by
// image_dynamic.c. So one set of pages serves every copy. Specification: gABI chapter 5, "Hash
// Table"; LSB, "Symbol Versioning"; the rules for base and hidden versions are ld.so's.

#include "symbol.h"

#include <string.h>

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

uint32_t gorgon_symbol_sysv_hash(const char *name)
{
	uint32_t hash = 0;

	for (; *name; name++) {
		uint32_t high;

		hash = (hash << 4) + (uint8_t)*name;
		high = hash & 0xf0000000;
		hash ^= high >> 24;
		hash &= ~high;
	}
	return hash;
}

static struct gorgon_symbol_query symbol_prepare(const char *name, const char *version,
						 const char *file)
{
	return (struct gorgon_symbol_query){
		.name = name,
		.version = version,
		.file = file,
		.gnu_hash = gnu_hash(name),
		.sysv_hash = gorgon_symbol_sysv_hash(name),
		.version_hash = version ? gorgon_symbol_sysv_hash(version) : 0,
	};
}

struct gorgon_symbol_query gorgon_symbol_query(const char *name, const char *version)
{
	struct gorgon_symbol_query ret = symbol_prepare(name, version, NULL);

	ret.by_name = true;
	return ret;
}

struct gorgon_symbol_query gorgon_symbol_query_of(const struct gorgon_image *image, uint32_t index)
{
	const char *name = image->strtab + image->symbols[index].st_name;
	uint32_t ndx = image->versym ? image->versym[index] & 0x7fff : 0;

	if (ndx <= VER_NDX_GLOBAL)
		return symbol_prepare(name, NULL, NULL);
	return symbol_prepare(name, image->versions[ndx].name, image->versions[ndx].file);
}

// Symbols of these types are code or data. A symbol of any other type (a section, a file, an
// unknown type) defines nothing, as for the system's linker.
#define DEFINITIONS                                                                                \
	(1u << STT_NOTYPE | 1u << STT_OBJECT | 1u << STT_FUNC | 1u << STT_COMMON | 1u << STT_TLS | \
	 1u << STT_GNU_IFUNC)

static bool is_definition(const Elf64_Sym *sym)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info), type = ELF64_ST_TYPE(sym->st_info);
	unsigned visibility = ELF64_ST_VISIBILITY(sym->st_other);

	if (!(DEFINITIONS >> type & 1) || sym->st_shndx == SHN_UNDEF ||
	    (!sym->st_value && type != STT_TLS && sym->st_shndx != SHN_ABS))
		return false;
	if (bind != STB_GLOBAL && bind != STB_WEAK && bind != STB_GNU_UNIQUE)
		return false;
	return visibility == STV_DEFAULT || visibility == STV_PROTECTED;
}

// Whether the definition's version answers the query's:
// - an image without versions answers any;
// - a query with a version takes that version or, unless it is dlvsym's, an unversioned
//   definition that is not hidden;
// - a query without one takes whatever is not hidden, the default version; with @oldest
//   only the first version that the image has defined, or none.
static bool version_matches(const struct gorgon_image *image, uint32_t index,
			    const struct gorgon_symbol_query *query, bool oldest)
{
	bool hidden;
	uint32_t ndx;

	if (!image->versym)
		return true;
	ndx = image->versym[index] & 0x7fff;
	hidden = image->versym[index] & 0x8000;
	if (!query->version)
		return oldest ? ndx <= VER_NDX_GLOBAL + 1 : !hidden;
	if (ndx <= VER_NDX_GLOBAL)
		return !hidden && !query->by_name;
	return image->versions[ndx].hash == query->version_hash &&
	       !strcmp(image->versions[ndx].name, query->version);
}

static const Elf64_Sym *symbol_check(const struct gorgon_image *image, uint32_t index,
				     const struct gorgon_symbol_query *query, bool oldest)
{
	const Elf64_Sym *sym = &image->symbols[index];

	if (strcmp(image->strtab + sym->st_name, query->name) || !is_definition(sym) ||
	    !version_matches(image, index, query, oldest))
		return NULL;
	return sym;
}

static const Elf64_Sym *find_gnu(const struct gorgon_image *image,
				 const struct gorgon_symbol_query *query, bool oldest)
{
	const struct gorgon_hash_gnu *hash = &image->gnu;
	uint32_t h = query->gnu_hash;
	uint64_t word = hash->bloom[(h / 64) & (hash->bloom_count - 1)];
	uint64_t mask = UINT64_C(1) << (h % 64) | UINT64_C(1) << ((h >> hash->bloom_shift) % 64);
	uint32_t index;

	if ((word & mask) != mask)
		return NULL;
	index = hash->buckets[h % hash->bucket_count];
	if (!index)
		return NULL;
	for (;; index++) {
		uint32_t chain = hash->chains[index - hash->symbol_offset];
		const Elf64_Sym *sym;

		if ((chain | 1) == (h | 1) && (sym = symbol_check(image, index, query, oldest)))
			return sym;
		if (chain & 1)
			return NULL;
	}
}

static const Elf64_Sym *find_sysv(const struct gorgon_image *image,
				  const struct gorgon_symbol_query *query, bool oldest)
{
	const struct gorgon_hash_sysv *hash = &image->sysv;
	uint32_t index = hash->buckets[query->sysv_hash % hash->bucket_count];

	// A chain that loops visits at most every symbol once.
	for (uint32_t steps = 0; index && steps < hash->chain_count; steps++) {
		const Elf64_Sym *sym = symbol_check(image, index, query, oldest);

		if (sym)
			return sym;
		index = hash->chains[index];
	}
	return NULL;
}

static const Elf64_Sym *symbol_find(const struct gorgon_image *image,
			     const struct gorgon_symbol_query *query, bool oldest)
{
	if (image->gnu.bucket_count)
		return image->gnu.chains ? find_gnu(image, query, oldest) : NULL;
	return find_sysv(image, query, oldest);
}

// A file that refers to a name without a version was linked before the library had
// versions, so it means the first of them.
const Elf64_Sym *gorgon_symbol_find(const struct gorgon_image *image,
				    const struct gorgon_symbol_query *query)
{
	const Elf64_Sym *sym = NULL;

	if (!query->version && !query->by_name && image->has_verdef)
		sym = symbol_find(image, query, true);
	return sym ?: symbol_find(image, query, false);
}

static bool can_name(const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	return ELF64_ST_BIND(sym->st_info) != STB_LOCAL && type != STT_TLS &&
	       sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS;
}

// As the system's dladdr: the innermost one, and one without a size only at its start.
const Elf64_Sym *gorgon_symbol_at(const struct gorgon_image *image, uint64_t vaddr)
{
	const Elf64_Sym *best = NULL;

	for (uint32_t i = 0; i < image->symbol_count; i++) {
		const Elf64_Sym *sym = &image->symbols[i];
		uint64_t off = vaddr - sym->st_value;

		if (!can_name(sym) || vaddr < sym->st_value || (off && off >= sym->st_size) ||
		    (best && best->st_value >= sym->st_value))
			continue;
		best = sym;
	}
	return best;
}
