// SPDX-License-Identifier: MIT
/*
 * Names for the procedure linkage table: function@plt, the entry that a call of another library's
 * function goes through.
 *
 * GDB makes such names up from a library's file, but not from an object in memory: `stepi` into an
 * entry would show `?? ()`. No table says which entry is for which function, so entries are decoded
 * (machine/x86_64.c, machine/aarch64.c): each ends in a jump through a slot of the global offset
 * table, and the slot has a relocation that names the function.
 *
 * The names are local symbols of a .symtab, which GDB does not take for trampolines. That is well:
 * from a trampoline GDB goes on to the function of the first copy. They have no type: LLDB cuts
 * names off at the @, and would take functions of that name for places of a breakpoint by name.
 */
#include "object.h"

#include "machine/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX "@plt"
#define SECTION_MAX ((uint64_t)1 << 24)

struct slot {
	uint64_t vaddr;
	const char *name;
	bool taken;
};

struct slots {
	struct slot *items;
	size_t count;
	size_t text_size; // bytes of all names with their suffixes
};

static int by_vaddr(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static const char *symbol_name(const struct jitreg_object *object, const GElf_Shdr *rela,
			       size_t index)
{
	Elf_Scn *scn = elf_getscn(object->elf, rela->sh_link);
	GElf_Shdr shdr;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_DYNSYM || index > INT32_MAX ||
	    !gelf_getsym(elf_getdata(scn, NULL), (int)index, &sym))
		return NULL;
	return elf_strptr(object->elf, shdr.sh_link, sym.st_name);
}

static int add_slots(const struct jitreg_object *object, Elf_Scn *scn, const GElf_Shdr *shdr,
		     struct slots *slots)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = data ? data->d_size / sizeof(Elf64_Rela) : 0;
	struct slot *items;
	GElf_Rela rela;

	if (count > INT32_MAX)
		return 0;
	items = reallocarray(slots->items, slots->count + count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	slots->items = items;
	for (int i = 0; i < (int)count && gelf_getrela(data, i, &rela); i++) {
		uint64_t type = GELF_R_TYPE(rela.r_info);
		const char *name =
			type == object->machine->jump_slot || type == object->machine->glob_dat
				? symbol_name(object, shdr, GELF_R_SYM(rela.r_info))
				: NULL;

		if (!name || !*name)
			continue;
		items[slots->count++] = (struct slot){rela.r_offset, name, false};
		slots->text_size += strlen(name) + sizeof(SUFFIX);
	}
	return 0;
}

static int find_slots(const struct jitreg_object *object, struct slots *slots)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int r = 0;

	while (!r && (scn = elf_nextscn(object->elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA &&
		    shdr.sh_flags & SHF_ALLOC)
			r = add_slots(object, scn, &shdr, slots);
	if (slots->count)
		qsort(slots->items, slots->count, sizeof(*slots->items), by_vaddr);
	return r;
}

static int add_entry(struct jitreg_names *names, size_t section, uint64_t vaddr, uint64_t size,
		     const struct slot *slot, char **text)
{
	struct jitreg_name name = {
		.text = *text,
		.text_size = strlen(slot->name) + strlen(SUFFIX),
		.vaddr = vaddr,
		.size = size,
		.section = (uint32_t)section + 1,
		.info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE),
	};

	*text = stpcpy(stpcpy(*text, slot->name), SUFFIX) + 1;
	return jitreg_names_add(names, &name);
}

static int add_entries(const struct jitreg_object *object, size_t section, struct slots *slots,
		       struct jitreg_names *names, char **text)
{
	const struct jitreg_section *s = &object->sections[section];
	uint8_t *code;
	int r;

	if (s->size > SECTION_MAX)
		return 0;
	code = malloc(s->size + 1);
	if (!code)
		return -ENOMEM;
	r = jitreg_object_read(object, s->off, code, s->size);
	for (uint64_t at = 0, step; !r && at < s->size; at += step) {
		struct slot key = {0}, *slot;
		uint64_t size;

		step = object->machine->read_plt(code + at, s->size - at, s->entsize, s->vaddr + at,
						 &key.vaddr);
		size = s->size - at < step ? s->size - at : step;
		slot = key.vaddr && slots->count ?
			       bsearch(&key, slots->items, slots->count, sizeof(key), by_vaddr) :
			       NULL;

		if (!slot || slot->taken)
			continue;
		slot->taken = true;
		r = add_entry(names, section, s->vaddr + at, size, slot, text);
	}
	free(code);
	return r;
}

static int add_sections(const struct jitreg_object *object, struct slots *slots,
			struct jitreg_names *names)
{
	char *text = names->plt_text = malloc(slots->text_size + 1);
	int r = text ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < object->section_count; i++)
		if (!strncmp(object->sections[i].name, ".plt", 4) &&
		    object->sections[i].type == SHT_PROGBITS)
			r = add_entries(object, i, slots, names, &text);
	return r;
}

int jitreg_names_add_plt(const struct jitreg_object *object, struct jitreg_names *names)
{
	struct slots slots = {0};
	int r = 0;

	if (object->sectionless)
		return 0;
	r = find_slots(object, &slots);
	if (!r && slots.count)
		r = add_sections(object, &slots, names);
	free(slots.items);
	return r;
}
