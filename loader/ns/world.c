// SPDX-License-Identifier: MIT
// Whether a definition that the system gave will be its answer the next time, too.
//
// The system's linker searches its global libraries in the order in which they became global. It
// counts what it loads and unloads, and dl_iterate_phdr() tells; but a library that is there can
// become global without being counted (dlopen() with RTLD_GLOBAL). Then it comes last: what a
// global library defines remains the answer. What none defines may have another answer afterwards,
// if a library that is not global has the name. So that is looked for in all of them.

#define _GNU_SOURCE
#include "world.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int read_counters(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct gorgon_world *world = ctx;

	(void)size;
	*world = (struct gorgon_world){info->dlpi_adds, info->dlpi_subs};
	return 1;
}

struct gorgon_world gorgon_world_now(void)
{
	struct gorgon_world world = {0};

	dl_iterate_phdr(read_counters, &world);
	return world;
}

// What PT_DYNAMIC leads to in memory.
struct tables {
	const uint32_t *gnu_hash;
	const Elf64_Sym *symbols;
	const char *strings;
};

// The system's linker has written addresses there; the kernel's vDSO, which it leaves alone, has
// offsets.
static const void *world_pointer(const struct dl_phdr_info *info, uint64_t value)
{
	return (const void *)(uintptr_t)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static struct tables read_tables(const struct dl_phdr_info *info)
{
	struct tables ret = {0};
	const Elf64_Dyn *dyn = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const Elf64_Dyn *)(uintptr_t)(info->dlpi_addr +
							     info->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_GNU_HASH)
			ret.gnu_hash = world_pointer(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_SYMTAB)
			ret.symbols = world_pointer(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			ret.strings = world_pointer(info, dyn->d_un.d_ptr);
	}
	return ret;
}

// In any version.
static bool world_defines(const struct tables *tables, const struct gorgon_symbol_query *query)
{
	const uint32_t *header = tables->gnu_hash, h = query->gnu_hash;
	uint32_t bucket_count = header[0], offset = header[1], bloom_count = header[2],
		 shift = header[3], index;
	const uint64_t *bloom = (const uint64_t *)(header + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + bloom_count),
		       *chains = buckets + bucket_count;
	uint64_t mask = UINT64_C(1) << (h % 64) | UINT64_C(1) << ((h >> shift) % 64);

	if (!bucket_count || (bloom[(h / 64) & (bloom_count - 1)] & mask) != mask)
		return false;
	for (index = buckets[h % bucket_count]; index; index++) {
		uint32_t chain = chains[index - offset];

		if ((chain | 1) == (h | 1) && tables->symbols[index].st_shndx != SHN_UNDEF &&
		    !strcmp(tables->strings + tables->symbols[index].st_name, query->name))
			return true;
		if (chain & 1)
			return false;
	}
	return false;
}

static bool world_contains(const struct dl_phdr_info *info, const void *addr)
{
	uint64_t vaddr = (uintptr_t)addr - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && vaddr >= phdr->p_vaddr &&
		    vaddr - phdr->p_vaddr < phdr->p_memsz)
			return true;
	}
	return false;
}

struct search {
	const struct gorgon_symbol_query *query;
	const void *addr;
};

// 1: another library may define the name.
static int world_look(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const struct search *search = ctx;
	struct tables tables;

	(void)size;
	if (search->addr && world_contains(info, search->addr))
		return 0;
	tables = read_tables(info);
	if (!tables.symbols)
		return 0; // a program without dynamic symbols
	return !tables.gnu_hash || !tables.strings || world_defines(&tables, search->query);
}

// The first of the global libraries that has it.
static bool is_global(const struct gorgon_symbol_query *query, const void *addr)
{
	void *program = dlopen(NULL, RTLD_LAZY), *found = NULL;

	if (program) {
		found = query->version ? dlvsym(program, query->name, query->version)
				       : dlsym(program, query->name);
		if (found != addr)
			found = dlsym(program, query->name); // an interposer without versions
		dlclose(program);
	}
	dlerror(); // as in gorgon_system_find()
	return found && found == addr;
}

bool gorgon_world_is_settled(const struct gorgon_symbol_query *query, const void *addr)
{
	struct search search = {query, addr};
	Dl_info info;

	if (addr && !dladdr(addr, &info))
		return false; // nobody knows what that is
	return (addr && is_global(query, addr)) || !dl_iterate_phdr(world_look, &search);
}
