// SPDX-License-Identifier: MIT
// See elf_builder.h. Parts are appended one after the other, aligned to 8 bytes; the
// dynamic section comes last because it names the places of all others.

#define _GNU_SOURCE
#include "elf_builder.h"
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_SIZE  0x3000
#define PHDR_COUNT 8
#define OFF(vaddr) ((vaddr) % ELF_BUILDER_ALIGN)

struct layout {
	const struct elf_builder *builder;
	struct elf_file *file;
	size_t end;	       // of the parts that are laid out in the read-only segment so far
	size_t str_end;	       // of the strings so far; their table is laid out first
	size_t symbol_count;   // with the null symbol
	size_t first_defined;
	size_t dyn_count;
};

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "elf_builder: %s\n", what);
	abort();
}

static void *place(struct layout *l, enum elf_part part, size_t count, size_t entry_size)
{
	size_t off = (l->end + 7) & ~(size_t)7;

	check(off + count * entry_size <= OFF(ELF_BUILDER_TEXT), "read-only segment is full");
	l->file->part[part].off = off;
	l->file->part[part].count = count;
	l->file->part[part].entry_size = entry_size;
	l->end = off + count * entry_size;
	return l->file->data + off;
}

static uint32_t add_string(struct layout *l, const char *s)
{
	size_t at = l->str_end, size = strlen(s) + 1;

	check(at + size <= l->file->part[ELF_STR].count, "string table is full");
	memcpy(l->file->data + l->file->part[ELF_STR].off + at, s, size);
	l->str_end += size;
	return (uint32_t)at;
}

static void add_dyn(struct layout *l, int64_t tag, uint64_t value)
{
	Elf64_Dyn *dyn = (Elf64_Dyn *)(l->file->data + OFF(ELF_BUILDER_RW));

	check(l->dyn_count < 64, "dynamic section is full");
	dyn[l->dyn_count++] = (Elf64_Dyn){.d_tag = tag, .d_un.d_val = value};
}

static void write_symbols(struct layout *l)
{
	const struct elf_builder_symbol *s = l->builder->symbols;
	Elf64_Sym *sym;

	l->symbol_count = 1;
	while (s && s[l->symbol_count - 1].name)
		l->symbol_count++;
	l->first_defined = l->symbol_count;
	sym = place(l, ELF_SYM, l->symbol_count, sizeof(*sym));
	for (size_t i = 1; i < l->symbol_count; i++, s++) {
		if (!s->undefined && l->first_defined == l->symbol_count)
			l->first_defined = i;
		sym[i] = (Elf64_Sym){
			.st_name = add_string(l, s->name),
			.st_info = s->info ?: ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_other = s->other,
			.st_shndx = s->undefined ? SHN_UNDEF : 1,
			.st_value = s->value,
			.st_size = s->size,
		};
	}
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

static uint32_t sysv_hash(const char *s)
{
	uint32_t h = 0, g;

	while (*s) {
		h = (h << 4) + (unsigned char)*s++;
		g = h & 0xf0000000;
		if (g)
			h ^= g >> 24;
		h &= ~g;
	}
	return h;
}

// One bucket, so that symbols stay in the order of the description.
static void write_gnu_hash(struct layout *l)
{
	size_t hashed = l->symbol_count - l->first_defined;
	uint32_t *words = place(l, ELF_GNU_HASH, 4 + 2 + 1 + hashed, 4);
	uint64_t bloom = 0;

	words[0] = 1;
	words[1] = (uint32_t)l->first_defined;
	words[2] = 1;
	words[3] = 6;
	words[6] = hashed ? (uint32_t)l->first_defined : 0;
	for (size_t i = 0; i < hashed; i++) {
		uint32_t h = gnu_hash(l->builder->symbols[l->first_defined - 1 + i].name);

		bloom |= UINT64_C(1) << (h % 64) | UINT64_C(1) << ((h >> 6) % 64);
		words[7 + i] = (h & ~1u) | (i + 1 == hashed);
	}
	memcpy(words + 4, &bloom, 8);
}

static void write_sysv_hash(struct layout *l)
{
	uint32_t buckets = 3, count = (uint32_t)l->symbol_count;
	uint32_t *words = place(l, ELF_SYSV_HASH, 2 + buckets + count, 4);

	words[0] = buckets;
	words[1] = count;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t *head = &words[2 + sysv_hash(l->builder->symbols[i - 1].name) % buckets];

		words[2 + buckets + i] = *head;
		*head = i;
	}
}

static void write_verdef(struct layout *l)
{
	const char *names[2] = {l->builder->soname ?: "self", l->builder->verdef};
	Elf64_Verdef *def = place(l, ELF_VERDEF, 2, sizeof(*def));
	Elf64_Verdaux *aux = place(l, ELF_VERDAUX, 2, sizeof(*aux));

	for (uint16_t i = 0; i < 2; i++) {
		def[i] = (Elf64_Verdef){
			.vd_version = VER_DEF_CURRENT,
			.vd_flags = i ? 0 : VER_FLG_BASE,
			.vd_ndx = (uint16_t)(i + 1),
			.vd_cnt = 1,
			.vd_hash = sysv_hash(names[i]),
			.vd_aux = (uint32_t)((uint8_t *)&aux[i] - (uint8_t *)&def[i]),
			.vd_next = i ? 0 : sizeof(*def),
		};
		aux[i] = (Elf64_Verdaux){.vda_name = add_string(l, names[i])};
	}
}

static void write_verneed(struct layout *l)
{
	Elf64_Verneed *need = place(l, ELF_VERNEED, 1, sizeof(*need));
	Elf64_Vernaux *aux = place(l, ELF_VERNAUX, 1, sizeof(*aux));

	*need = (Elf64_Verneed){
		.vn_version = VER_NEED_CURRENT,
		.vn_cnt = 1,
		.vn_file = add_string(l, l->builder->verneed_file),
		.vn_aux = (uint32_t)((uint8_t *)aux - (uint8_t *)need),
	};
	*aux = (Elf64_Vernaux){
		.vna_hash = sysv_hash(l->builder->verneed_name),
		.vna_other = 3,
		.vna_name = add_string(l, l->builder->verneed_name),
	};
}

static void write_versions(struct layout *l)
{
	const struct elf_builder *b = l->builder;
	uint16_t *versym;

	if (!b->verdef && !b->verneed_file)
		return;
	versym = place(l, ELF_VERSYM, l->symbol_count, 2);
	for (size_t i = 1; i < l->symbol_count; i++)
		versym[i] = b->symbols[i - 1].version ?: VER_NDX_GLOBAL;
	if (b->verdef)
		write_verdef(l);
	if (b->verneed_file)
		write_verneed(l);
}

static void write_relocations(struct layout *l)
{
	const struct elf_builder *b = l->builder;

	if (b->rela_count)
		memcpy(place(l, ELF_RELA, b->rela_count, sizeof(*b->rela)), b->rela,
		       b->rela_count * sizeof(*b->rela));
	if (b->jmprel_count)
		memcpy(place(l, ELF_JMPREL, b->jmprel_count, sizeof(*b->jmprel)), b->jmprel,
		       b->jmprel_count * sizeof(*b->jmprel));
	if (b->relr_count)
		memcpy(place(l, ELF_RELR, b->relr_count, 8), b->relr, b->relr_count * 8);
}

// Functions that return 1, 2, 3, ...
static void write_code(struct layout *l)
{
	for (uint8_t i = 0; i < ELF_BUILDER_FUNCTIONS; i++) {
		uint8_t *at = l->file->data + OFF(ELF_BUILDER_TEXT) + 16 * i;

		test_write_function(at, (uint8_t)(i + 1));
	}
}

static void add_table(struct layout *l, enum elf_part part, int64_t tag, int64_t size_tag)
{
	if (!l->file->part[part].count)
		return;
	add_dyn(l, tag, l->file->part[part].off);
	if (size_tag)
		add_dyn(l, size_tag, l->file->part[part].count * l->file->part[part].entry_size);
}

// Arrays of functions lie after the dynamic section. Their entries are 0, which a loader skips, unless the
// test adds relative relocations for them.
static void add_arrays(struct layout *l)
{
	uint64_t at = ELF_BUILDER_RW + 0x600;

	if (l->builder->init_count) {
		add_dyn(l, DT_INIT_ARRAY, at);
		add_dyn(l, DT_INIT_ARRAYSZ, 8 * l->builder->init_count);
	}
	if (l->builder->fini_count) {
		add_dyn(l, DT_FINI_ARRAY, at + 0x100);
		add_dyn(l, DT_FINI_ARRAYSZ, 8 * l->builder->fini_count);
	}
}

static void add_versions(struct layout *l)
{
	add_table(l, ELF_VERSYM, DT_VERSYM, 0);
	add_table(l, ELF_VERDEF, DT_VERDEF, 0);
	if (l->builder->verdef)
		add_dyn(l, DT_VERDEFNUM, 2);
	add_table(l, ELF_VERNEED, DT_VERNEED, 0);
	if (l->builder->verneed_file)
		add_dyn(l, DT_VERNEEDNUM, 1);
}

static void write_dynamic(struct layout *l)
{
	const struct elf_builder *b = l->builder;

	for (const char *const *name = b->needed; name && *name; name++)
		add_dyn(l, DT_NEEDED, add_string(l, *name));
	if (b->soname)
		add_dyn(l, DT_SONAME, add_string(l, b->soname));
	if (b->runpath)
		add_dyn(l, DT_RUNPATH, add_string(l, b->runpath));
	add_table(l, ELF_STR, DT_STRTAB, DT_STRSZ);
	add_table(l, ELF_SYM, DT_SYMTAB, 0);
	add_dyn(l, DT_SYMENT, sizeof(Elf64_Sym));
	add_table(l, ELF_GNU_HASH, DT_GNU_HASH, 0);
	add_table(l, ELF_SYSV_HASH, DT_HASH, 0);
	add_versions(l);
	add_table(l, ELF_RELA, DT_RELA, DT_RELASZ);
	if (b->rela_count)
		add_dyn(l, DT_RELAENT, sizeof(Elf64_Rela));
	add_table(l, ELF_JMPREL, DT_JMPREL, DT_PLTRELSZ);
	if (b->jmprel_count)
		add_dyn(l, DT_PLTREL, DT_RELA);
	add_table(l, ELF_RELR, DT_RELR, DT_RELRSZ);
	add_arrays(l);
	for (size_t i = 0; i < b->extra_count; i++)
		add_dyn(l, b->extra[i].d_tag, b->extra[i].d_un.d_val);
	add_dyn(l, DT_NULL, 0);
	l->file->part[ELF_DYN].off = OFF(ELF_BUILDER_RW);
	l->file->part[ELF_DYN].count = l->dyn_count;
	l->file->part[ELF_DYN].entry_size = sizeof(Elf64_Dyn);
}

static Elf64_Phdr load(uint32_t flags, uint64_t at, uint64_t file_size, uint64_t mem_size)
{
	return (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = OFF(at),
		.p_vaddr = at,
		.p_paddr = at,
		.p_filesz = file_size,
		.p_memsz = mem_size,
		.p_align = ELF_BUILDER_ALIGN,
	};
}

static size_t write_phdrs(struct layout *l)
{
	const struct elf_builder *b = l->builder;
	Elf64_Phdr *ph = (Elf64_Phdr *)(l->file->data + sizeof(Elf64_Ehdr));
	size_t n = 0, dyn_size = l->dyn_count * sizeof(Elf64_Dyn);

	ph[n++] = load(PF_R, 0, l->end, l->end);
	ph[n++] = load(PF_R | PF_X, ELF_BUILDER_TEXT, 16 * ELF_BUILDER_FUNCTIONS,
		       16 * ELF_BUILDER_FUNCTIONS);
	ph[n++] = load(PF_R | PF_W, ELF_BUILDER_RW, FILE_SIZE - OFF(ELF_BUILDER_RW), 0x2000);
	ph[n] = load(PF_R | PF_W, ELF_BUILDER_RW, dyn_size, dyn_size);
	ph[n].p_align = 8;
	ph[n++].p_type = PT_DYNAMIC;
	if (b->tls_mem_size) {
		ph[n] = load(PF_R, ELF_BUILDER_TLS, b->tls_file_size, b->tls_mem_size);
		ph[n].p_align = b->tls_align;
		ph[n++].p_type = PT_TLS;
	}
	if (b->relro) {
		ph[n] = load(PF_R, ELF_BUILDER_RW, 0x800, 0x800);
		ph[n++].p_type = PT_GNU_RELRO;
	}
	ph[n++] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
	l->file->part[ELF_PHDR].off = sizeof(Elf64_Ehdr);
	l->file->part[ELF_PHDR].count = n;
	l->file->part[ELF_PHDR].entry_size = sizeof(Elf64_Phdr);
	return n;
}

static void write_ehdr(struct layout *l, size_t phdr_count)
{
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = TEST_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)phdr_count,
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	memcpy(l->file->data, &ehdr, sizeof(ehdr));
	l->file->part[ELF_EHDR].count = 1;
	l->file->part[ELF_EHDR].entry_size = sizeof(ehdr);
}

struct elf_file elf_build(const struct elf_builder *builder)
{
	struct elf_file file = {.data = calloc(1, FILE_SIZE), .size = FILE_SIZE};
	struct layout l = {.builder = builder, .file = &file, .str_end = 1};

	check(file.data, "no memory");
	l.end = sizeof(Elf64_Ehdr) + PHDR_COUNT * sizeof(Elf64_Phdr);
	place(&l, ELF_STR, 512, 1);
	write_symbols(&l);
	if (!builder->no_gnu_hash)
		write_gnu_hash(&l);
	if (builder->sysv_hash)
		write_sysv_hash(&l);
	write_versions(&l);
	write_relocations(&l);
	write_code(&l);
	write_dynamic(&l);
	write_ehdr(&l, write_phdrs(&l));
	return file;
}

void elf_file_deinit(struct elf_file *file)
{
	free(file->data);
	*file = (struct elf_file){0};
}

void elf_set(struct elf_file *file, enum elf_part part, size_t index, size_t offset, size_t size,
	     uint64_t value)
{
	size_t at = file->part[part].off + index * file->part[part].entry_size + offset;

	check(index < file->part[part].count, "no such entry");
	memcpy(file->data + at, &value, size);
}

size_t elf_phdr_index(const struct elf_file *file, uint32_t type)
{
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(file->data + file->part[ELF_PHDR].off);
	size_t i = 0;

	while (i < file->part[ELF_PHDR].count && ph[i].p_type != type)
		i++;
	check(i < file->part[ELF_PHDR].count, "no such program header");
	return i;
}

size_t elf_dyn_index(const struct elf_file *file, int64_t tag)
{
	const Elf64_Dyn *dyn = (const Elf64_Dyn *)(file->data + file->part[ELF_DYN].off);
	size_t i = 0;

	while (i < file->part[ELF_DYN].count && dyn[i].d_tag != tag)
		i++;
	check(i < file->part[ELF_DYN].count, "no such dynamic entry");
	return i;
}

void elf_apply(struct elf_file *file, const struct elf_change *change)
{
	size_t index = (size_t)change->index;

	if (change->by_key)
		index = change->part == ELF_PHDR ? elf_phdr_index(file, (uint32_t)change->index)
						 : elf_dyn_index(file, change->index);
	elf_set(file, change->part, index, change->offset, change->size, change->value);
}
