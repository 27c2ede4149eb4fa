// SPDX-License-Identifier: MIT
/*
 * One symfile for several objects.
 *
 * Each object file and each section of it costs debuggers time. With many private copies
 * of many libraries that is most of a debugger's time, so all objects of a group can
 * have one symfile:
 *
 *     ELF header            ET_REL, as in model.c
 *     .text, .text.1 ...    NOBITS, each over objects that lie side by side
 *     .eh_frame             unwind data, or .debug_frame, see below
 *     .symtab, .strtab      names, see below
 *     .gnu_debuglink        the companion (companion.c): names and unwind data for GDB
 *     .debug_info           16 zero bytes, against LLDB, as in model.c; lines take their place (relocated_lines.c)
 *
 * The companion is one file for all groups with the same objects at the same distances,
 * and GDB reads it once. GDB would read the contents of the symfile for each group, so they
 * are for LLDB alone:
 *
 *     names        have a binding that only processors may define. GDB takes local, global,
 *                  weak and unique symbols, LLDB all. Only exported names are here, and no names of
 *                  a library with very many (libcrypto), unless it is its group's first: each name
 *                  costs both debuggers 100 bytes and more.
 *     .eh_frame    has the type SHT_NULL, which GDB passes over; LLDB goes by the name. LLDB
 *                  wants a symbol for each function that it unwinds, and makes up a symbol for each
 *                  entry here at which there is none, as soon as it hears of the symfile.
 *                  (Neighbouring functions without a name share an entry, see merge.c, unless
 *                  the symfile has functions and lines: then LLDB counts rules from the start of
 *                  each function.)
 *     .debug_frame the same data instead of .eh_frame, where a group's first library is in another
 *                  symfile (group.c): LLDB reads this section when it first unwinds there. LLDB
 *                  makes up no symbols from it, so the symfile has them: a function without a name
 *                  is called by its library, [libm.so.6].
 *     compressed   are both sections: otherwise LLDB would copy each byte several times, which
 *                  takes longer.
 *     .text        GDB gets a .text that is marked as thread-local: it says where the companion's
 *                  .text belongs and does not stand for addresses itself. Without the mark GDB
 *                  would take it for the .text of the first companion only, and find names in no other.
 *     .plt         of the group's first library, is the same for the companion's .plt.
 *     segments     stand for the addresses in LLDB. Its names count from a .text of type
 *                  SHT_NULL.
 *
 * Without a companion (no folder to write it to) all names that the companion would have are in the
 * pack, with the usual bindings, .eh_frame has its usual type, and each library's procedure linkage
 * table is a section called .plt: GDB steps through the code of such a section, and over other code
 * that has no lines. So GDB misses no function, but shows no lines; it reads the names for each
 * group, which takes longer with hundreds of groups.
 *
 * There is no reference to the libraries' own DWARF: a debugger's script adds that to the copies
 * that matter.
 */
#define _GNU_SOURCE 1
#include "pack.h"

#include "companion.h"
#include "members.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STB_FOR_LLDB STB_LOPROC

/* How many names for LLDB there may be in a pack of several libraries: of a group's first library,
 * and of all others together. GDB keeps 100 bytes for each name, even for those that it passes
 * over: with a thousand interpreters that was half of GDB's memory. */
#define FIRST_NAMES_MAX 4096
#define OTHER_NAMES_MAX 512

/* Of a procedure linkage table, on all machines. */
#define PLT_ENTRY_SIZE 16

/* Above all addresses that processes have. */
#define NOWHERE (UINT64_C(1) << 63)

/* What a library's functions without a name are called: by their library. */
struct label {
	const struct jitreg_model *model;
	uint32_t name;
};

struct pack {
	struct jitreg_model *model;
	const struct jitreg_member *members;
	size_t member_count;
	struct jitreg_range *ranges;
	size_t range_count;
	struct jitreg_range *texts; // as many as members
	size_t plt_count;
	struct jitreg_writer file;
	struct jitreg_symtab symtab;
	struct jitreg_bytes frames;
	uint32_t crc; // of the companion
	uint8_t id[JITREG_COMPANION_ID_SIZE]; // of the companion without lines
	const struct jitreg_member *current; // while its names are added
	struct jitreg_addresses names; // of symbols
	struct label *labels; // as many as members
	size_t label_count;
	// unwind data is in .debug_frame, see above: LLDB does not need it at once
	bool late_frames;
};

static bool has_companion(const struct pack *p)
{
	return p->model->companion.path;
}

static const char *frames_name(const struct pack *p)
{
	return p->late_frames ? ".debug_frame" : ".eh_frame";
}

static bool is_for_lldb(const Elf64_Sym *sym)
{
	return ELF64_ST_BIND(sym->st_info) != STB_LOCAL;
}

static int pack_add_name(struct pack *p, const char *text, size_t text_size, uint64_t vaddr,
			 uint64_t size, uint8_t info)
{
	return jitreg_members_add_name(&p->symtab, p->ranges, p->range_count, text, text_size,
				       vaddr + p->current->delta, true, size, info);
}

static int add_name(void *ctx, const struct jitreg_name *name)
{
	return pack_add_name(ctx, name->text, name->text_size, name->vaddr, name->size,
			     ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(name->info)));
}

static int add_name_for_lldb(void *ctx, const char *text, uint64_t vaddr, const Elf64_Sym *sym)
{
	if (!is_for_lldb(sym))
		return 0;
	return pack_add_name(ctx, text, strlen(text), vaddr, sym->st_size,
			     ELF64_ST_INFO(STB_FOR_LLDB, ELF64_ST_TYPE(sym->st_info)));
}

static int count_name(void *ctx, const char *text, uint64_t vaddr, const Elf64_Sym *sym)
{
	(void)text;
	(void)vaddr;
	*(size_t *)ctx += is_for_lldb(sym);
	return 0;
}

/* A member and how many names it has for LLDB. */
struct share {
	const struct jitreg_member *member;
	size_t count;
};

static int by_rank(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->member->primary != y->member->primary)
		return x->member->primary ? -1 : 1;
	return x->count < y->count ? -1 : x->count > y->count;
}

/*
 * Which names there is room for: a group's first library comes first (an interpreter without
 * libpython's names shows nothing), then the libraries with the fewest names.
 */
static int add_names_for_lldb(struct pack *p)
{
	struct share *shares = calloc(p->member_count, sizeof(*shares));
	size_t first_left = FIRST_NAMES_MAX, others_left = OTHER_NAMES_MAX;
	int r = 0;

	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < p->member_count; i++) {
		shares[i].member = &p->members[i];
		jitreg_members_for_each_name(shares[i].member->model, count_name,
					     &shares[i].count);
	}
	qsort(shares, p->member_count, sizeof(*shares), by_rank);
	for (size_t i = 0; !r && i < p->member_count; i++) {
		size_t *left = shares[i].member->primary ? &first_left : &others_left;

		if (p->member_count > 1 && shares[i].count > *left)
			continue;
		*left -= shares[i].count < *left ? shares[i].count : *left;
		p->current = shares[i].member;
		r = jitreg_members_for_each_name(p->current->model, add_name_for_lldb, p);
	}
	free(shares);
	return r;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_member(const void *key, const void *item)
{
	const uint64_t *address = key;
	const struct jitreg_member *member = item;

	return *address < member->start ? -1 : *address >= member->end;
}

static const struct label *find_label(const struct pack *p, const struct jitreg_model *model)
{
	const struct label *label = p->labels, *end = label + p->label_count;

	while (label < end && label->model != model)
		label++;
	return label < end ? label : NULL;
}

/* The first symbol that is called by its library: [libm.so.6]. */
static int add_first_label(struct pack *p, const struct jitreg_model *model,
			   const Elf64_Sym *sym)
{
	const char *slash = strrchr(model->path, '/');
	char text[NAME_MAX + sizeof("[]")];
	int size = snprintf(text, sizeof(text), "[%s]", slash ? slash + 1 : model->path);
	int r = jitreg_symtab_append(&p->symtab, text, (size_t)size, sym);

	if (!r)
		p->labels[p->label_count++] = (struct label){
			.model = model,
			.name = ((const Elf64_Sym *)(p->symtab.syms.data + p->symtab.syms.size))[-1]
					.st_name,
		};
	return r;
}

/* A symbol for an entry of unwind data at which there is none. */
static int add_label_at(void *ctx, uint64_t start, uint64_t size)
{
	struct pack *p = ctx;
	const struct jitreg_range *range = jitreg_range_find(p->ranges, p->range_count, start);
	const struct jitreg_member *member =
		bsearch(&start, p->members, p->member_count, sizeof(*p->members), by_member);
	Elf64_Sym sym = {.st_info = ELF64_ST_INFO(STB_FOR_LLDB, STT_FUNC), .st_size = size};
	const struct label *label;

	if (!range || !member ||
	    (p->names.count && bsearch(&start, p->names.items, p->names.count,
				       sizeof(*p->names.items), by_value)))
		return 0;
	sym.st_shndx = (Elf64_Section)(range - p->ranges + 1);
	sym.st_value = start - range->start;
	label = find_label(p, member->model);
	if (!label)
		return add_first_label(p, member->model, &sym);
	sym.st_name = label->name;
	return jitreg_bytes_append(&p->symtab.syms, &sym, sizeof(sym)) == UINT32_MAX ? -ENOMEM : 0;
}

/*
 * LLDB would make up a symbol for a whole table, and unwind by the pushes of all entries before the
 * one where a thread is. Where there is no symbol it goes by the rules.
 */
static int add_plt_labels(struct pack *p)
{
	int r = 0;

	for (size_t i = 0; !r && i < p->member_count; i++) {
		struct jitreg_range plt = jitreg_members_find_plts(&p->members[i]);

		r = plt.end ? add_label_at(p, plt.start, PLT_ENTRY_SIZE) : 0;
	}
	return r;
}

static int add_names(struct pack *p)
{
	int r = 0;

	if (has_companion(p))
		return add_names_for_lldb(p) ?: add_plt_labels(p);
	for (size_t i = 0; !r && i < p->member_count; i++) {
		p->current = &p->members[i];
		r = jitreg_members_for_each_known_name(p->current, add_name, p);
	}
	return r;
}

static int find_names(const struct pack *p, struct jitreg_addresses *ret)
{
	const Elf64_Sym *syms = (const Elf64_Sym *)p->symtab.syms.data;
	size_t count = jitreg_members_count_symbols(&p->symtab);

	*ret = (struct jitreg_addresses){.items = calloc(count + 1, sizeof(*ret->items))};
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 1; i < count; i++) // symbol 0 is no symbol
		ret->items[ret->count++] = p->ranges[syms[i].st_shndx - 1].start + syms[i].st_value;
	qsort(ret->items, ret->count, sizeof(*ret->items), by_value);
	return 0;
}

/*
 * The section is not allocated: it must not stand for memory. It has an address all the same,
 * because the offsets in it count from there.
 */
static int add_frames(struct pack *p)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 8};
	int r;

	shdr.sh_addr = p->ranges[p->range_count - 1].end + (p->late_frames ? NOWHERE : 0);
	r = jitreg_members_move_frames(p->members, p->member_count, shdr.sh_addr, JITREG_FRAMES_EH,
				    &p->frames);
	if (!r && has_companion(p) && !(r = find_names(p, &p->names)) && !p->model->with_lines)
		r = jitreg_frames_merge(&p->frames, shdr.sh_addr, &p->names);
	if (!r && p->late_frames) {
		r = jitreg_frames_for_each(&p->frames, shdr.sh_addr, add_label_at, p);
		jitreg_frames_make_debug(&p->frames);
	}
	if (r)
		return r;
	shdr.sh_size = p->frames.size;
	if (has_companion(p))
		return jitreg_writer_add_compressed(&p->file, frames_name(p), &shdr, p->frames.data,
						    1);
	return jitreg_writer_add(&p->file, frames_name(p), &shdr, p->frames.data, ELF_T_BYTE)
		       ? 0
		       : -ENOMEM;
}

/* For LLDB, see above. */
static int add_segments(struct pack *p)
{
	GElf_Phdr *phdrs = calloc(p->range_count, sizeof(*phdrs));
	int r;

	if (!phdrs)
		return -ENOMEM;
	for (size_t i = 0; i < p->range_count; i++)
		phdrs[i] = (GElf_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = p->ranges[i].start,
			.p_memsz = p->ranges[i].end - p->ranges[i].start,
			.p_align = 1,
		};
	r = jitreg_writer_set_segments(&p->file, phdrs, p->range_count);
	free(phdrs);
	return r;
}

/* For GDB, without a companion. */
static int add_plts(struct pack *p)
{
	int r = 0;

	for (size_t i = 0; !r && i < p->member_count; i++) {
		struct jitreg_range plt = jitreg_members_find_plts(&p->members[i]);

		if (!plt.end)
			continue;
		p->plt_count++;
		r = jitreg_members_add_ranges(&p->file, ".plt", &plt, 1, 0)
			    ?: jitreg_members_add_plt_names(
				       &p->symtab, &p->members[i], plt,
				       (Elf64_Section)(p->range_count + p->plt_count), plt.start);
	}
	return r;
}

static int add_sections(struct pack *p)
{
	int r = jitreg_members_add_ranges(&p->file, ".text", p->ranges, p->range_count, 0);
	struct jitreg_range plt;

	if (r || !has_companion(p))
		return r ? r : add_plts(p);
	jitreg_members_find_texts(p->members, p->member_count, p->texts);
	p->plt_count = jitreg_members_find_plt(p->members, p->member_count, &plt) ? 1 : 0;
	if ((r = jitreg_members_add_ranges(&p->file, ".text", p->texts, p->member_count,
					   SHF_TLS)) ||
	    (r = jitreg_members_add_ranges(&p->file, ".plt", &plt, p->plt_count, SHF_TLS)))
		return r;
	return add_segments(p);
}

/*
 * Give the sections for LLDB the types that GDB passes over, see above. This comes last, because
 * libelf would not write the contents of sections with such types. A .text without contents must
 * still lie within the file.
 */
static void hide_from_gdb(const struct pack *p)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)p->model->bytes;
	Elf64_Shdr *shdrs = (Elf64_Shdr *)(p->model->bytes + ehdr->e_shoff);

	for (size_t i = 1; i <= p->range_count; i++) {
		shdrs[i].sh_type = SHT_NULL;
		shdrs[i].sh_offset = 0;
		shdrs[i].sh_size = sizeof(*ehdr);
	}
	((Elf64_Shdr *)jitreg_file_section(p->model->bytes, frames_name(p)))->sh_type = SHT_NULL;
}

static int add_references(struct pack *p)
{
	int r = 0;

	if (has_companion(p))
		r = jitreg_writer_add_debuglink(&p->file, p->model->companion.path, p->crc);
	if (!r && p->model->bare.path)
		r = jitreg_writer_add_build_id(&p->file, p->id, sizeof(p->id));
	return r ? r : jitreg_writer_add_dummy_debug_info(&p->file);
}

static int write_file(struct pack *p)
{
	const Elf64_Ehdr *like = (const Elf64_Ehdr *)p->members[0].model->bytes;
	struct jitreg_model *t = p->model;
	int r;

	if ((r = jitreg_writer_begin(&p->file, ET_REL, like)) ||
	    (r = add_sections(p)) || (r = add_names(p)) || (r = add_frames(p)) ||
	    (r = jitreg_writer_add_symtab(&p->file, &p->symtab)) ||
	    (r = add_references(p)) ||
	    (r = jitreg_writer_finish(&p->file, NULL, &t->private_size, &t->bytes, &t->size)))
		return r;
	if (has_companion(p))
		hide_from_gdb(p);
	t->fixups[JITREG_FIXUP_SECTIONS] = (struct jitreg_fixup){
		.off = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_addr),
		.stride = sizeof(Elf64_Shdr),
		.count = p->range_count + (has_companion(p) ? p->member_count : 0) + p->plt_count +
			 1,
	};
	t->fixups[JITREG_FIXUP_SEGMENTS] = (struct jitreg_fixup){
		.off = p->file.ehdr.e_phoff + offsetof(Elf64_Phdr, p_vaddr),
		.stride = sizeof(Elf64_Phdr),
		.count = p->file.ehdr.e_phnum,
	};
	return 0;
}

static int copy_members(struct jitreg_model *t, const struct jitreg_member *members,
			size_t count)
{
	t->members = calloc(count, sizeof(*t->members));
	if (!t->members)
		return -ENOMEM;
	memcpy(t->members, members, count * sizeof(*members));
	t->member_count = count;
	t->kind = JITREG_SYMFILE_PACK;
	return 0;
}

static bool has_primary(const struct jitreg_member *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (members[i].primary)
			return true;
	return false;
}

int jitreg_pack_create(const struct jitreg_member *members, size_t count, bool with_lines,
		       struct jitreg_model **ret)
{
	struct pack p = {.members = members, .member_count = count};
	int r = 0;

	p.model = calloc(1, sizeof(*p.model));
	p.ranges = calloc(2 * count, sizeof(*p.ranges));
	p.texts = calloc(count, sizeof(*p.texts));
	p.labels = calloc(count, sizeof(*p.labels));
	if (!p.model || !p.ranges || !p.texts || !p.labels)
		r = -ENOMEM;
	if (!r)
		r = copy_members(p.model, members, count);
	if (!r) {
		p.model->with_lines = with_lines;
		p.range_count = jitreg_members_find_ranges(members, count, p.ranges);
		jitreg_companion_find(members, count, &p.model->companion, &p.crc,
				      &p.model->bare, p.id);
		p.late_frames = has_companion(&p) && !has_primary(members, count);
		for (size_t i = 0; !has_companion(&p) && i < count; i++)
			p.range_count = jitreg_members_cut(p.ranges, p.range_count,
							   jitreg_members_find_plts(&members[i]),
							   count > 1);
		r = write_file(&p);
	}
	jitreg_writer_deinit(&p.file);
	jitreg_symtab_deinit(&p.symtab);
	jitreg_bytes_deinit(&p.frames);
	free(p.ranges);
	free(p.texts);
	free(p.labels);
	free(p.names.items);
	if (r && p.model)
		jitreg_model_free(p.model);
	else
		*ret = p.model;
	return r;
}
