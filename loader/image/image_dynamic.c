// SPDX-License-Identifier: MIT
// Validation, second half: what PT_DYNAMIC leads to (gABI chapter 5, "Dynamic
// Section"; the GNU version sections as in the LSB, "Symbol Versioning").
//
// The order matters: strings first, because symbols and versions name them; the
// hash tables next, because only they say how many symbols there are; versions and
// relocations last, because they index symbols.

#define _GNU_SOURCE
#include "image.h"
#include "base/error.h"
#include "image/arch.h"
#include "relr.h"
#include "symbol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Values of the dynamic entries by tag, as far as they are below DT_NUM, and the
// GNU and OS-specific ones that matter by name.
struct dynamic {
	uint64_t value[DT_NUM];
	bool present[DT_NUM];
	uint64_t gnu_hash, versym, verneed, verdef, verneed_count, verdef_count, flags_1;
	const Elf64_Dyn *entries;
	size_t count;
};

#define bad(image, ...)                                                                            \
	gorgon_error_prefix(gorgon_error_create(GORGON_ERROR_FORMAT, __VA_ARGS__), (image)->path)

// A table of @count entries: inside one segment of the file and aligned for direct use.
static const void *dynamic_table(const struct gorgon_image *image, uint64_t vaddr, uint64_t count,
				 size_t entry_size, size_t align)
{
	uint64_t size;

	if (vaddr % align || __builtin_mul_overflow(count, entry_size, &size))
		return NULL;
	return gorgon_image_at(image, vaddr, size);
}

static void set_gnu_tag(struct dynamic *dyn, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_GNU_HASH:
		dyn->gnu_hash = entry->d_un.d_val;
		break;
	case DT_VERSYM:
		dyn->versym = entry->d_un.d_val;
		break;
	case DT_VERNEED:
		dyn->verneed = entry->d_un.d_val;
		break;
	case DT_VERNEEDNUM:
		dyn->verneed_count = entry->d_un.d_val;
		break;
	case DT_VERDEF:
		dyn->verdef = entry->d_un.d_val;
		break;
	case DT_VERDEFNUM:
		dyn->verdef_count = entry->d_un.d_val;
		break;
	case DT_FLAGS_1:
		dyn->flags_1 = entry->d_un.d_val;
		break;
	default:
		break;
	}
}

static struct gorgon_error *read_entries(struct gorgon_image *image, struct dynamic *dyn,
					 uint64_t vaddr, uint64_t size)
{
	dyn->count = size / sizeof(Elf64_Dyn);
	dyn->entries = dynamic_table(image, vaddr, dyn->count, sizeof(Elf64_Dyn), 8);
	if (!dyn->entries)
		return bad(image, "PT_DYNAMIC: 0x%lx, size 0x%lx, is in no segment", vaddr, size);
	for (size_t i = 0; i < dyn->count; i++) {
		const Elf64_Dyn *entry = &dyn->entries[i];

		if (entry->d_tag == DT_NULL) {
			dyn->count = i;
			return NULL;
		}
		if (entry->d_tag > 0 && entry->d_tag < DT_NUM) {
			dyn->value[entry->d_tag] = entry->d_un.d_val;
			dyn->present[entry->d_tag] = true;
		}
		set_gnu_tag(dyn, entry);
	}
	return bad(image, "dynamic section: no DT_NULL within %zu entries", dyn->count);
}

static struct gorgon_error *read_flags(struct gorgon_image *image, const struct dynamic *dyn)
{
	uint64_t flags = dyn->value[DT_FLAGS];

	if (dyn->present[DT_TEXTREL] || flags & DF_TEXTREL)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: has text relocations (DT_TEXTREL); build it with -fPIC", image->path);
	if (dyn->flags_1 & DF_1_PIE)
		return gorgon_error_create(
			GORGON_ERROR_FORMAT,
			"%s: is a position-independent executable, expected a shared object",
			image->path);
	if (dyn->flags_1 & DF_1_NOOPEN)
		return gorgon_error_create(
			GORGON_ERROR_UNSUPPORTED,
			"%s: is marked as not to be loaded at run time (DF_1_NOOPEN)", image->path);
	image->symbolic = dyn->present[DT_SYMBOLIC] || flags & DF_SYMBOLIC;
	image->nodelete = dyn->flags_1 & DF_1_NODELETE;
	return NULL;
}

static struct gorgon_error *read_strings(struct gorgon_image *image, const struct dynamic *dyn)
{
	image->strtab_size = dyn->value[DT_STRSZ];
	image->strtab = dynamic_table(image, dyn->value[DT_STRTAB], image->strtab_size, 1, 1);
	if (!dyn->present[DT_STRTAB] || !image->strtab || !image->strtab_size ||
	    image->strtab[image->strtab_size - 1])
		return bad(image,
			   "DT_STRTAB: 0x%lx, size 0x%lx, is in no segment or not terminated",
			   dyn->value[DT_STRTAB], image->strtab_size);
	return NULL;
}

// A name by its offset, NULL when out of range.
static const char *dynamic_string(const struct gorgon_image *image, uint64_t off)
{
	return off < image->strtab_size ? image->strtab + off : NULL;
}

static struct gorgon_error *read_names(struct gorgon_image *image, const struct dynamic *dyn)
{
	image->needed = calloc(dyn->count + 1, sizeof(*image->needed));
	if (!image->needed)
		return &gorgon_error_nomem;
	for (size_t i = 0; i < dyn->count; i++) {
		const Elf64_Dyn *entry = &dyn->entries[i];
		const char *name = dynamic_string(image, entry->d_un.d_val);

		switch (entry->d_tag) {
		case DT_NEEDED:
			image->needed[image->needed_count++] = name;
			break;
		case DT_SONAME:
			image->soname = name;
			break;
		case DT_RPATH:
			image->rpath = name;
			break;
		case DT_RUNPATH:
			image->runpath = name;
			break;
		case DT_FILTER:
		case DT_AUXILIARY:
			image->filtee = name;
			break;
		default:
			continue;
		}
		if (!name)
			return bad(image,
				   "dynamic entry %zu: name at 0x%lx is outside of DT_STRTAB", i,
				   (unsigned long)entry->d_un.d_val);
	}
	return NULL;
}

// Header of DT_GNU_HASH: bucket count, index of the first hashed symbol, bloom
// words, bloom shift. The chains are as long as the last one says: its end bit.
static struct gorgon_error *read_gnu_hash(struct gorgon_image *image, uint64_t vaddr)
{
	struct gorgon_hash_gnu *hash = &image->gnu;
	const uint32_t *header = dynamic_table(image, vaddr, 4, 4, 8);
	uint64_t at = vaddr + 16;
	uint32_t last = 0;

	if (!header)
		return bad(image, "DT_GNU_HASH: 0x%lx is in no segment", vaddr);
	hash->bucket_count = header[0];
	hash->symbol_offset = header[1];
	hash->bloom_count = header[2];
	hash->bloom_shift = header[3];
	if (!hash->bucket_count || !hash->bloom_count ||
	    hash->bloom_count & (hash->bloom_count - 1) || hash->bloom_shift > 31)
		return bad(image, "DT_GNU_HASH: %u buckets, %u bloom words, shift %u",
			   hash->bucket_count, hash->bloom_count, hash->bloom_shift);
	hash->bloom = dynamic_table(image, at, hash->bloom_count, 8, 8);
	at += (uint64_t)hash->bloom_count * 8;
	hash->buckets = dynamic_table(image, at, hash->bucket_count, 4, 4);
	at += (uint64_t)hash->bucket_count * 4;
	if (!hash->bloom || !hash->buckets)
		return bad(image, "DT_GNU_HASH: %u buckets and %u bloom words leave the segment",
			   hash->bucket_count, hash->bloom_count);
	image->symbol_count = hash->symbol_offset;
	for (uint32_t i = 0; i < hash->bucket_count; i++) {
		if (hash->buckets[i] && hash->buckets[i] < hash->symbol_offset)
			return bad(image, "DT_GNU_HASH: bucket %u starts at symbol %u, before %u",
				   i, hash->buckets[i], hash->symbol_offset);
		if (hash->buckets[i] > last)
			last = hash->buckets[i];
	}
	if (!last)
		return NULL;
	for (;; last++) {
		const uint32_t *chain = dynamic_table(
			image, at + (uint64_t)(last - hash->symbol_offset) * 4, 1, 4, 4);

		if (!chain)
			return bad(image, "DT_GNU_HASH: chain of symbol %u leaves the segment",
				   last);
		if (*chain & 1)
			break;
	}
	image->symbol_count = last + 1;
	hash->chains = dynamic_table(image, at, image->symbol_count - hash->symbol_offset, 4, 4);
	return NULL;
}

static struct gorgon_error *read_sysv_hash(struct gorgon_image *image, uint64_t vaddr)
{
	struct gorgon_hash_sysv *hash = &image->sysv;
	const uint32_t *header = dynamic_table(image, vaddr, 2, 4, 4);

	if (!header)
		return bad(image, "DT_HASH: 0x%lx is in no segment", vaddr);
	hash->bucket_count = header[0];
	hash->chain_count = header[1];
	hash->buckets = dynamic_table(image, vaddr + 8, hash->bucket_count, 4, 4);
	hash->chains = dynamic_table(image, vaddr + 8 + (uint64_t)hash->bucket_count * 4,
				     hash->chain_count, 4, 4);
	if (!hash->buckets || !hash->chains || !hash->bucket_count)
		return bad(image, "DT_HASH: %u buckets and %u chains leave the segment",
			   hash->bucket_count, hash->chain_count);
	for (uint32_t i = 0; i < hash->bucket_count; i++)
		if (hash->buckets[i] >= hash->chain_count && hash->buckets[i])
			return bad(image, "DT_HASH: bucket %u names symbol %u of %u", i,
				   hash->buckets[i], hash->chain_count);
	for (uint32_t i = 0; i < hash->chain_count; i++)
		if (hash->chains[i] >= hash->chain_count)
			return bad(image, "DT_HASH: chain %u names symbol %u of %u", i,
				   hash->chains[i], hash->chain_count);
	image->symbol_count = hash->chain_count;
	return NULL;
}

static bool is_code(const struct gorgon_image *image, uint64_t vaddr)
{
	const struct gorgon_segment *seg = gorgon_image_segment(image, vaddr, 1);

	return seg && seg->prot & PROT_EXEC;
}

// An empty DT_GNU_HASH (the file exports nothing) does not say how many symbols there are. As many
// count as relocations refer to.
static void count_referenced(struct gorgon_image *image, uint64_t vaddr, uint64_t size)
{
	const Elf64_Rela *rela =
		dynamic_table(image, vaddr, size / sizeof(*rela), sizeof(*rela), 8);

	for (uint64_t i = 0; rela && i < size / sizeof(*rela); i++)
		if (ELF64_R_SYM(rela[i].r_info) >= image->symbol_count)
			image->symbol_count = (uint32_t)ELF64_R_SYM(rela[i].r_info) + 1;
}

// Values that are used without a look at the memory behind them: places in a block of
// thread-local storage, and resolvers that are called.
static struct gorgon_error *check_symbols(const struct gorgon_image *image)
{
	for (uint32_t i = 0; i < image->symbol_count; i++) {
		const Elf64_Sym *sym = &image->symbols[i];
		unsigned type = ELF64_ST_TYPE(sym->st_info);

		if (sym->st_name >= image->strtab_size)
			return bad(image, "symbol %u: name at 0x%x is outside of DT_STRTAB", i,
				   sym->st_name);
		if (sym->st_shndx == SHN_UNDEF)
			continue;
		if (type == STT_TLS && sym->st_value > image->tls.mem_size)
			return bad(image, "symbol %u: thread-local, at 0x%lx of a block of 0x%lx",
				   i, sym->st_value, image->tls.mem_size);
		if (type == STT_GNU_IFUNC && !is_code(image, sym->st_value))
			return bad(image,
				   "symbol %u: its resolver 0x%lx is in no executable segment", i,
				   sym->st_value);
	}
	return NULL;
}

static struct gorgon_error *read_symbols(struct gorgon_image *image, const struct dynamic *dyn)
{
	struct gorgon_error *err;

	if (dyn->present[DT_SYMENT] && dyn->value[DT_SYMENT] != sizeof(Elf64_Sym))
		return bad(image, "DT_SYMENT is %lu, expected %zu", dyn->value[DT_SYMENT],
			   sizeof(Elf64_Sym));
	if (dyn->present[DT_HASH] && (err = read_sysv_hash(image, dyn->value[DT_HASH])))
		return err;
	// When both exist DT_HASH's count wins: it also covers trailing undefined symbols.
	if (dyn->gnu_hash) {
		uint32_t count = image->symbol_count;

		if ((err = read_gnu_hash(image, dyn->gnu_hash)))
			return err;
		if (count > image->symbol_count)
			image->symbol_count = count;
		else if (image->sysv.bucket_count && count < image->symbol_count)
			return bad(image, "DT_HASH has %u symbols, DT_GNU_HASH %u", count,
				   image->symbol_count);
	}
	if (!dyn->gnu_hash && !dyn->present[DT_HASH])
		return bad(image, "neither DT_GNU_HASH nor DT_HASH");
	if (!image->gnu.chains && !dyn->present[DT_HASH]) {
		count_referenced(image, dyn->value[DT_RELA], dyn->value[DT_RELASZ]);
		count_referenced(image, dyn->value[DT_JMPREL], dyn->value[DT_PLTRELSZ]);
	}
	image->symbols = dynamic_table(image, dyn->value[DT_SYMTAB], image->symbol_count,
				       sizeof(Elf64_Sym), 8);
	if (!image->symbols || !dyn->present[DT_SYMTAB])
		return bad(image, "DT_SYMTAB: 0x%lx, %u symbols, is in no segment",
			   dyn->value[DT_SYMTAB], image->symbol_count);
	return check_symbols(image);
}

static struct gorgon_error *set_version(struct gorgon_image *image, uint32_t ndx, uint64_t name_off,
					const char *file)
{
	const char *name = dynamic_string(image, name_off);
	uint32_t hash;

	ndx &= 0x7fff;
	if (!name)
		return bad(image, "symbol version %u: name is outside of DT_STRTAB", ndx);
	// The C library crashes when it looks for such a version: its symbols without a version
	// have this hash, and no name.
	hash = gorgon_symbol_sysv_hash(name);
	if (!hash)
		return bad(image,
			   "symbol version %u: its name, '%s', has the hash 0, as no version has",
			   ndx, name);
	if (ndx >= image->version_count) {
		size_t count = ndx + 1;
		struct gorgon_version *grown =
			reallocarray(image->versions, count, sizeof(*grown));

		if (!grown)
			return &gorgon_error_nomem;
		memset(grown + image->version_count, 0,
		       (count - image->version_count) * sizeof(*grown));
		image->versions = grown;
		image->version_count = (uint32_t)count;
	}
	image->versions[ndx] = (struct gorgon_version){
		.name = name, .file = file, .hash = hash};
	return NULL;
}

static struct gorgon_error *read_verdef(struct gorgon_image *image, uint64_t vaddr, uint64_t count)
{
	struct gorgon_error *err;

	for (uint64_t i = 0; i < count; i++) {
		const Elf64_Verdef *def = dynamic_table(image, vaddr, 1, sizeof(*def), 4);
		const Elf64_Verdaux *aux =
			def ? dynamic_table(image, vaddr + def->vd_aux, 1, sizeof(*aux), 4) : NULL;

		if (!aux || def->vd_version != VER_DEF_CURRENT)
			return bad(
				image,
				"DT_VERDEF: entry %lu of %lu is in no segment or of another format",
				i, count);
		// The base definition (index 1) names the file; symbols with it are unversioned.
		if (!(def->vd_flags & VER_FLG_BASE) &&
		    (err = set_version(image, def->vd_ndx, aux->vda_name, NULL)))
			return err;
		if (!def->vd_next)
			break;
		vaddr += def->vd_next;
	}
	image->has_verdef = count > 0;
	return NULL;
}

static struct gorgon_error *read_verneed(struct gorgon_image *image, uint64_t vaddr, uint64_t count)
{
	struct gorgon_version *version;
	struct gorgon_error *err;

	for (uint64_t i = 0; i < count; i++) {
		const Elf64_Verneed *need = dynamic_table(image, vaddr, 1, sizeof(*need), 4);
		const char *file = need ? dynamic_string(image, need->vn_file) : NULL;
		uint64_t at = vaddr;

		if (!file || need->vn_version != VER_NEED_CURRENT)
			return bad(image,
				   "DT_VERNEED: entry %lu of %lu is in no segment or of another "
				   "format",
				   i, count);
		at += need->vn_aux;
		for (unsigned j = 0; j < need->vn_cnt; j++) {
			const Elf64_Vernaux *aux = dynamic_table(image, at, 1, sizeof(*aux), 4);

			if (!aux)
				return bad(image, "DT_VERNEED: need %u of %s is in no segment", j,
					   file);
			if ((err = set_version(image, aux->vna_other, aux->vna_name, file)))
				return err;
			version = &image->versions[aux->vna_other & 0x7fff];
			version->weak = aux->vna_flags & VER_FLG_WEAK;
			// The system's linker finds no such version in any library.
			if (version->hash != aux->vna_hash && !version->weak)
				return bad(image,
					   "DT_VERNEED: version %s of %s has the hash 0x%x, "
					   "expected 0x%x",
					   version->name, file, aux->vna_hash, version->hash);
			if (!aux->vna_next)
				break;
			at += aux->vna_next;
		}
		if (!need->vn_next)
			break;
		vaddr += need->vn_next;
	}
	return NULL;
}

static struct gorgon_error *read_versions(struct gorgon_image *image, const struct dynamic *dyn)
{
	struct gorgon_error *err;

	if (dyn->verdef && (err = read_verdef(image, dyn->verdef, dyn->verdef_count)))
		return err;
	if (dyn->verneed && (err = read_verneed(image, dyn->verneed, dyn->verneed_count)))
		return err;
	if (!dyn->versym)
		return NULL;
	image->versym = dynamic_table(image, dyn->versym, image->symbol_count, 2, 2);
	if (!image->versym)
		return bad(image, "DT_VERSYM: 0x%lx is in no segment", dyn->versym);
	for (uint32_t i = 0; i < image->symbol_count; i++) {
		uint32_t ndx = image->versym[i] & 0x7fff;

		if (ndx > VER_NDX_GLOBAL &&
		    (ndx >= image->version_count || !image->versions[ndx].name))
			return bad(image, "symbol %u: version index %u is not defined", i, ndx);
	}
	return NULL;
}

static struct gorgon_error *check_rela(const struct gorgon_image *image, const Elf64_Rela *rela,
				       uint64_t count, const char *where)
{
	const struct gorgon_segment *seg = NULL;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t type = ELF64_R_TYPE(rela[i].r_info);
		uint64_t off = rela[i].r_offset;
		unsigned width = gorgon_arch_reloc_width(type);

		if (!width && type != GORGON_ARCH_R_NONE)
			return gorgon_error_create(
				GORGON_ERROR_UNSUPPORTED,
				"%s: %s entry %lu: relocation type %u is not supported%s",
				image->path, where, i, type, gorgon_arch_reloc_hint(type));
		if (ELF64_R_SYM(rela[i].r_info) >= image->symbol_count &&
		    ELF64_R_SYM(rela[i].r_info))
			return bad(image, "%s entry %lu: symbol %lu of %u", where, i,
				   ELF64_R_SYM(rela[i].r_info), image->symbol_count);
		if (!width)
			continue;
		if (gorgon_arch_reloc_kind(type) == GORGON_RELOC_IRELATIVE &&
		    !is_code(image, (uint64_t)rela[i].r_addend))
			return bad(image,
				   "%s entry %lu: resolver 0x%lx is in no executable segment",
				   where, i, rela[i].r_addend);
		if (!seg || off < seg->vaddr || off - seg->vaddr > seg->mem_size ||
		    seg->mem_size - (off - seg->vaddr) < width)
			seg = gorgon_image_segment(image, off, width);
		if (!seg || !(seg->prot & PROT_WRITE))
			return bad(image, "%s entry %lu: 0x%lx is in no writable segment", where, i,
				   off);
	}
	return NULL;
}

static struct gorgon_error *check_relr(const struct gorgon_image *image)
{
	struct gorgon_relr_walk walk = {0};
	struct gorgon_relr_step step;

	for (uint64_t i = 0; i < image->relr_count; i++) {
		const struct gorgon_segment *seg;
		uint64_t first, size;

		if (!gorgon_relr_step(&walk, image->relr[i], &step))
			return bad(image, "DT_RELR entry %lu: a bitmap, expected an address first",
				   i);
		if (!step.words)
			continue;
		// From the first to the last set bit.
		first = step.vaddr + 8 * (uint64_t)__builtin_ctzll(step.words);
		size = 8 *
		       (uint64_t)(64 - __builtin_clzll(step.words) - __builtin_ctzll(step.words));
		seg = gorgon_image_segment(image, first, size);
		if (!seg || !(seg->prot & PROT_WRITE) || first % 8)
			return bad(image, "DT_RELR entry %lu: 0x%lx is in no writable segment", i,
				   first);
	}
	return NULL;
}

// What comes behind the last whole entry would be applied by the system's linker and not by us.
static struct gorgon_error *read_table(const struct gorgon_image *image, const struct dynamic *dyn,
				       int64_t tag, int64_t size_tag, size_t entry_size,
				       const char *name, const void **ret, uint64_t *count)
{
	if (!dyn->present[tag])
		return NULL;
	if (dyn->value[size_tag] % entry_size)
		return bad(image, "%s: size 0x%lx is no multiple of %zu", name,
			   dyn->value[size_tag], entry_size);
	*count = dyn->value[size_tag] / entry_size;
	*ret = dynamic_table(image, dyn->value[tag], *count, entry_size, 8);
	return *ret ? NULL
		    : bad(image, "%s: 0x%lx, size 0x%lx, is in no segment", name, dyn->value[tag],
			  dyn->value[size_tag]);
}

static struct gorgon_error *read_relocations(struct gorgon_image *image, const struct dynamic *dyn)
{
	struct gorgon_error *err;

	if (dyn->present[DT_REL])
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: has DT_REL relocations, expected DT_RELA",
					   image->path);
	if (dyn->present[DT_PLTREL] && dyn->value[DT_PLTREL] != DT_RELA)
		return bad(image, "DT_PLTREL is %lu, expected DT_RELA (7)", dyn->value[DT_PLTREL]);
	if (dyn->present[DT_RELAENT] && dyn->value[DT_RELAENT] != sizeof(Elf64_Rela))
		return bad(image, "DT_RELAENT is %lu, expected %zu", dyn->value[DT_RELAENT],
			   sizeof(Elf64_Rela));
	if ((err = read_table(image, dyn, DT_RELA, DT_RELASZ, sizeof(Elf64_Rela), "DT_RELA",
			      (const void **)&image->rela, &image->rela_count)) ||
	    (err = read_table(image, dyn, DT_JMPREL, DT_PLTRELSZ, sizeof(Elf64_Rela), "DT_JMPREL",
			      (const void **)&image->jmprel, &image->jmprel_count)) ||
	    (err = read_table(image, dyn, DT_RELR, DT_RELRSZ, sizeof(uint64_t), "DT_RELR",
			      (const void **)&image->relr, &image->relr_count)))
		return err;
	if ((err = check_rela(image, image->rela, image->rela_count, "DT_RELA")) ||
	    (err = check_rela(image, image->jmprel, image->jmprel_count, "DT_JMPREL")))
		return err;
	return check_relr(image);
}

// An array of functions. One that has a size and no place is none, as with the system's linker.
static struct gorgon_error *read_array(const struct gorgon_image *image, const struct dynamic *dyn,
				       int64_t tag, int64_t size_tag, const char *name,
				       uint64_t *vaddr, uint64_t *count)
{
	if (!dyn->present[tag])
		return NULL;
	*vaddr = dyn->value[tag];
	*count = dyn->value[size_tag] / 8;
	if (*count && (*vaddr % 8 || *count >= image->file_size ||
		       !gorgon_image_segment(image, *vaddr, *count * 8)))
		return bad(image, "%s: 0x%lx is in no segment", name, *vaddr);
	return NULL;
}

static struct gorgon_error *read_init(struct gorgon_image *image, const struct dynamic *dyn)
{
	struct gorgon_error *err;

	image->init = dyn->value[DT_INIT];
	image->fini = dyn->value[DT_FINI];
	if (image->init && !is_code(image, image->init))
		return bad(image, "DT_INIT: 0x%lx is in no executable segment", image->init);
	if (image->fini && !is_code(image, image->fini))
		return bad(image, "DT_FINI: 0x%lx is in no executable segment", image->fini);
	err = read_array(image, dyn, DT_INIT_ARRAY, DT_INIT_ARRAYSZ, "DT_INIT_ARRAY",
			 &image->init_array, &image->init_array_count);
	return err
		       ?: read_array(image, dyn, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, "DT_FINI_ARRAY",
				     &image->fini_array, &image->fini_array_count);
}

struct gorgon_error *gorgon_image_read_dynamic(struct gorgon_image *image, uint64_t vaddr,
					       uint64_t size)
{
	struct gorgon_error *err;
	struct dynamic dyn = {0};

	image->dynamic_vaddr = vaddr;
	if ((err = read_entries(image, &dyn, vaddr, size)) || (err = read_flags(image, &dyn)) ||
	    (err = read_strings(image, &dyn)) || (err = read_names(image, &dyn)) ||
	    (err = read_symbols(image, &dyn)) || (err = read_versions(image, &dyn)) ||
	    (err = read_relocations(image, &dyn)))
		return err;
	return read_init(image, &dyn);
}
