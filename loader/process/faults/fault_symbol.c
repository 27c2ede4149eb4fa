// SPDX-License-Identifier: MIT From an address to the object that it is in and the exported
// function around it, in the handler of a fault: without locks, memory or files. dladdr() takes the
// dynamic linker's lock, which the thread that has the fault may have.
//
// Private objects have the symbol table of their image; objects of the system's linker have the
// table that their dynamic section in memory leads to. A function counts only when its size says
// that the address is in it: the nearest name below an address is often another function.

#define _GNU_SOURCE
#include "fault_symbol.h"
#include "ns/ns.h"
#include "ns/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const Elf64_Sym *find_function(const Elf64_Sym *symbols, uint32_t count, uint64_t vaddr)
{
	for (uint32_t i = 1; i < count; i++) {
		const Elf64_Sym *symbol = &symbols[i];
		unsigned type = ELF64_ST_TYPE(symbol->st_info);

		if (symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
		    vaddr >= symbol->st_value && vaddr - symbol->st_value < symbol->st_size)
			return symbol;
	}
	return NULL;
}

static void name_function(struct gorgon_fault_symbol *place, const Elf64_Sym *symbol,
			  const char *strings)
{
	if (!symbol)
		return;
	place->function = strings + symbol->st_name;
	place->function_off = place->object_off - symbol->st_value;
}

// How many symbols there are: one more than the last one in a chain of DT_GNU_HASH.
static uint32_t count_gnu(const uint32_t *hash)
{
	uint32_t bucket_count = hash[0], first = hash[1], bloom_count = hash[2], last = 0;
	const uint32_t *buckets = hash + 4 + 2 * bloom_count, *chains = buckets + bucket_count;

	for (uint32_t i = 0; i < bucket_count; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return first;
	while (!(chains[last - first] & 1))
		last++;
	return last + 1;
}

static void place_in_system(const struct link_map *map, struct gorgon_fault_symbol *ret)
{
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;
	uint32_t count = 0;

	for (const Elf64_Dyn *dyn = map->l_ld; dyn && dyn->d_tag != DT_NULL; dyn++) {
		uint64_t value = dyn->d_un.d_ptr;

		// The C library has made addresses of these, but not in objects whose dynamic
		// section is read-only.
		if (value < map->l_addr)
			value += map->l_addr;
		if (dyn->d_tag == DT_SYMTAB)
			symbols = (const Elf64_Sym *)(uintptr_t)value;
		else if (dyn->d_tag == DT_STRTAB)
			strings = (const char *)(uintptr_t)value;
		else if (dyn->d_tag == DT_GNU_HASH)
			count = count_gnu((const uint32_t *)(uintptr_t)value);
		else if (dyn->d_tag == DT_HASH && !count)
			count = ((const uint32_t *)(uintptr_t)value)[1];
	}
	ret->object = *map->l_name ? map->l_name : program_invocation_name;
	if (symbols && strings)
		name_function(ret, find_function(symbols, count, ret->object_off), strings);
}

void gorgon_fault_symbol_find(uint64_t addr, struct gorgon_fault_symbol *ret)
{
	const struct gorgon_object *object = gorgon_unwind_object_at(addr);
	struct dl_find_object found;

	memset(ret, 0, sizeof(*ret));
	if (object) {
		ret->ns = object->ns;
		ret->object = object->path;
		ret->object_off = addr - object->bias;
		name_function(ret,
			      find_function(object->image->symbols, object->image->symbol_count,
					    ret->object_off),
			      object->image->strtab);
	} else if (!gorgon_unwind_find_object((void *)(uintptr_t)addr, &found)) {
		ret->object_off = addr - found.dlfo_link_map->l_addr;
		place_in_system(found.dlfo_link_map, ret);
	}
}

bool gorgon_fault_symbol_is_in(const struct gorgon_fault_symbol *place, const char *name)
{
	const char *slash = place->object ? strrchr(place->object, '/') : NULL;

	return place->object && !strncmp(slash ? slash + 1 : place->object, name, strlen(name));
}
