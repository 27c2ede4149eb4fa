// SPDX-License-Identifier: MIT
/*
 * The objects in a pack: their code, names and unwind data at the distances that they have in
 * memory, for the writers of packs (pack.c) and of the files that packs refer to (companion.c).
 */
#define _GNU_SOURCE 1
#include "members.h"

#include "file/debuginfo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t jitreg_members_find_ranges(const struct jitreg_member *members, size_t count,
				  struct jitreg_range *ranges)
{
	size_t margin = count > 1;
	// A gap that another object fits into has a page for the object and a page in between at
	// least.
	uint64_t gap = 2 * (uint64_t)getpagesize();
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n && members[i].start - ranges[n - 1].end < gap)
			ranges[n - 1].end = members[i].end;
		else
			ranges[n++] = (struct jitreg_range){members[i].start, members[i].end};
	}
	// LLDB forgets the section of an address when another section goes that begins there.
	// When a pack of several images has come, the packs of single images go, and begin
	// where it would. So it begins behind the ELF header, which is no code.
	for (size_t i = 0; i < n; i++)
		ranges[i].start += margin * sizeof(Elf64_Ehdr);
	return n;
}

static bool is_code(const Elf64_Shdr *shdr, const char *name)
{
	return (shdr->sh_flags & (SHF_ALLOC | SHF_EXECINSTR | SHF_TLS)) ==
		       (SHF_ALLOC | SHF_EXECINSTR) &&
	       strncmp(name, ".plt", 4) != 0;
}

static struct jitreg_range find_text(const struct jitreg_member *member)
{
	const uint8_t *bytes = member->model->bytes;
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ehdr->e_shoff);
	const char *names = (const char *)bytes + shdrs[ehdr->e_shstrndx].sh_offset;
	struct jitreg_range text = {member->start, member->end};
	const Elf64_Shdr *shdr = jitreg_file_text(bytes);

	if (!shdr)
		return text;
	text.start = text.end = shdr->sh_addr + member->delta;
	for (; shdr < shdrs + ehdr->e_shnum && is_code(shdr, names + shdr->sh_name); shdr++)
		if (shdr->sh_addr + member->delta >= text.end)
			text.end = shdr->sh_addr + shdr->sh_size + member->delta;
	return text;
}

void jitreg_members_find_texts(const struct jitreg_member *members, size_t count,
			    struct jitreg_range *texts)
{
	for (size_t i = 0; i < count; i++)
		texts[i] = find_text(&members[i]);
}

const struct jitreg_member *jitreg_members_find_plt(const struct jitreg_member *members,
						    size_t count, struct jitreg_range *ret)
{
	for (size_t i = 0; i < count; i++) {
		const Elf64_Shdr *shdr = jitreg_file_section(members[i].model->bytes, ".plt");

		if (!members[i].primary || !shdr || !(shdr->sh_flags & SHF_EXECINSTR))
			continue;
		ret->start = shdr->sh_addr + members[i].delta;
		ret->end = ret->start + shdr->sh_size;
		return &members[i];
	}
	return NULL;
}

struct jitreg_range jitreg_members_find_plts(const struct jitreg_member *member)
{
	const uint8_t *bytes = member->model->bytes;
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *shdrs = (const Elf64_Shdr *)(bytes + ehdr->e_shoff);
	const char *names = (const char *)bytes + shdrs[ehdr->e_shstrndx].sh_offset;
	struct jitreg_range ret = {0};

	for (size_t i = 1; i < ehdr->e_shnum; i++) {
		uint64_t start = shdrs[i].sh_addr + member->delta;

		if (!(shdrs[i].sh_flags & SHF_EXECINSTR) ||
		    strncmp(names + shdrs[i].sh_name, ".plt", 4) != 0)
			continue;
		if (!ret.end || start < ret.start)
			ret.start = start;
		if (start + shdrs[i].sh_size > ret.end)
			ret.end = start + shdrs[i].sh_size;
	}
	return ret;
}

size_t jitreg_members_cut(struct jitreg_range *ranges, size_t count, struct jitreg_range plt,
			  size_t margin)
{
	size_t i = 0;

	while (i < count && !(ranges[i].start < plt.start && plt.end < ranges[i].end))
		i++;
	if (i == count)
		return count;
	memmove(&ranges[i + 1], &ranges[i], (count - i) * sizeof(*ranges));
	ranges[i].end = plt.start;
	ranges[i + 1].start = plt.end - margin;
	return count + 1;
}

int jitreg_members_add_plt_names(struct jitreg_symtab *table, const struct jitreg_member *member,
				 struct jitreg_range plt, Elf64_Section shndx, uint64_t start)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	const struct jitreg_model *t = member->model;
	struct jitreg_names names = {0};
	int r = 0;

	if (jitreg_object_open(t->path, -1, &object) ||
	    !jitreg_stat_is_same(&t->st, &object->st) || jitreg_object_read_layout(object) ||
	    jitreg_names_add_plt(object, &names))
		names.count = 0;
	for (size_t i = 0; !r && i < names.count; i++) {
		const struct jitreg_name *name = &names.items[i];
		uint64_t address = name->vaddr + member->delta;
		Elf64_Sym sym = {
			.st_info = name->info,
			.st_shndx = shndx,
			.st_value = address - start,
			.st_size = name->size,
		};

		if (address >= plt.start && address < plt.end)
			r = jitreg_symtab_append(table, name->text, name->text_size, &sym);
	}
	jitreg_names_deinit(&names);
	return r;
}

int jitreg_members_add_ranges(struct jitreg_writer *w, const char *kind,
			      const struct jitreg_range *ranges, size_t count, uint64_t flags)
{
	for (size_t i = 0; i < count; i++) {
		GElf_Shdr shdr = {
			.sh_type = SHT_NOBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR | flags,
			.sh_addr = ranges[i].start,
			.sh_size = ranges[i].end - ranges[i].start,
			.sh_addralign = 1,
		};
		char name[16];

		snprintf(name, sizeof(name), i ? "%s.%u" : "%s", kind, (unsigned)i);
		if (!jitreg_writer_add(w, name, &shdr, NULL, ELF_T_BYTE))
			return -ENOMEM;
	}
	return 0;
}

static int by_range(const void *key, const void *item)
{
	const uint64_t *address = key;
	const struct jitreg_range *range = item;

	return *address < range->start ? -1 : *address >= range->end;
}

const struct jitreg_range *jitreg_range_find(const struct jitreg_range *ranges, size_t count,
					     uint64_t address)
{
	return bsearch(&address, ranges, count, sizeof(*ranges), by_range);
}

int jitreg_members_add_name(struct jitreg_symtab *table, const struct jitreg_range *ranges,
			    size_t count, const char *text, size_t text_size, uint64_t address,
			    bool relative, uint64_t size, uint8_t info)
{
	const struct jitreg_range *range = jitreg_range_find(ranges, count, address);
	Elf64_Sym sym = {.st_info = info, .st_size = size};

	if (!range)
		return 0;
	sym.st_shndx = (Elf64_Section)(range - ranges + 1);
	sym.st_value = relative ? address - range->start : address;
	return jitreg_symtab_append(table, text, text_size, &sym);
}

size_t jitreg_members_count_symbols(const struct jitreg_symtab *table)
{
	return table->syms.size ? table->syms.size / sizeof(Elf64_Sym) : 1;
}

int jitreg_members_for_each_name(const struct jitreg_model *model, jitreg_name_fn fn,
				 void *ctx)
{
	const uint8_t *bytes = model->bytes;
	const Elf64_Shdr *symtab = jitreg_file_symtab(bytes);
	const Elf64_Shdr *shdrs =
		(const Elf64_Shdr *)(bytes + ((const Elf64_Ehdr *)bytes)->e_shoff);
	const char *strtab = (const char *)bytes + shdrs[symtab->sh_link].sh_offset;
	const Elf64_Sym *syms = (const Elf64_Sym *)(bytes + symtab->sh_offset);
	int r = 0;

	for (size_t i = 1; !r && i < symtab->sh_size / sizeof(*syms); i++)
		r = fn(ctx, strtab + syms[i].st_name,
		       shdrs[syms[i].st_shndx].sh_addr + syms[i].st_value, &syms[i]);
	return r;
}

/* For whom the names of a member are, and those of its detached file. */
struct known_names {
	jitreg_known_name_fn fn;
	void *ctx;
	struct jitreg_names detached; // functions, sorted by address
};

static int by_vaddr(const void *a, const void *b)
{
	const struct jitreg_name *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* If the file cannot be read, that is no error: the library's own names are there. */
static struct jitreg_object *read_detached_functions(const struct jitreg_model *model,
						     struct jitreg_names *ret)
{
	struct jitreg_object *object = jitreg_debuginfo_open_detached(&model->debug);
	size_t count = 0;

	*ret = (struct jitreg_names){0};
	if (!object)
		return NULL;
	if (jitreg_object_read_layout(object) || jitreg_names_read(object, ret)) {
		jitreg_object_close(object);
		return NULL;
	}
	for (size_t i = 0; i < ret->count; i++) {
		unsigned type = ELF64_ST_TYPE(ret->items[i].info);

		if (type == STT_FUNC || type == STT_GNU_IFUNC)
			ret->items[count++] = ret->items[i];
	}
	ret->count = count;
	if (count)
		qsort(ret->items, count, sizeof(*ret->items), by_vaddr);
	return object;
}

/* Whether the detached file has this name at this address. */
static bool is_known(const struct jitreg_names *names, const char *text, uint64_t vaddr)
{
	size_t low = 0, high = names->count, size = strlen(text);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->items[middle].vaddr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < names->count && names->items[low].vaddr == vaddr; low++)
		if (names->items[low].text_size == size &&
		    !memcmp(names->items[low].text, text, size))
			return true;
	return false;
}

static int pass_own_name(void *ctx, const char *text, uint64_t vaddr, const Elf64_Sym *sym)
{
	const struct known_names *known = ctx;
	const struct jitreg_name name = {
		.text = text,
		.text_size = strlen(text),
		.vaddr = vaddr,
		.size = sym->st_size,
		.info = sym->st_info,
		.other = sym->st_other,
	};

	return is_known(&known->detached, text, vaddr) ? 0 : known->fn(known->ctx, &name);
}

int jitreg_members_for_each_known_name(const struct jitreg_member *member, jitreg_known_name_fn fn,
				       void *ctx)
{
	__attribute__((cleanup(jitreg_object_closep))) struct jitreg_object *object = NULL;
	struct known_names known = {.fn = fn, .ctx = ctx};
	int r = 0;

	object = read_detached_functions(member->model, &known.detached);
	for (size_t i = 0; !r && i < known.detached.count; i++)
		r = fn(ctx, &known.detached.items[i]);
	if (!r && object && !jitreg_object_is_intact(object))
		r = -EAGAIN; // the names may be another file's
	if (!r)
		r = jitreg_members_for_each_name(member->model, pass_own_name, &known);
	jitreg_names_deinit(&known.detached);
	return r;
}

int jitreg_members_move_frames(const struct jitreg_member *members, size_t count, uint64_t vaddr,
			    enum jitreg_frames_form form, struct jitreg_bytes *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct jitreg_member *m = &members[i];
		const Elf64_Shdr *shdr = jitreg_file_frames(m->model->bytes);
		struct jitreg_frames from = {.delta = m->delta, .start = m->start, .end = m->end};
		int r;

		if (!shdr)
			continue;
		from.data = m->model->bytes + shdr->sh_offset;
		from.size = shdr->sh_size;
		from.vaddr = shdr->sh_addr;
		r = jitreg_frames_append(ret, vaddr, form, &from);
		if (r)
			return r;
	}
	return 0;
}
