// SPDX-License-Identifier: MIT
// Whether a definition that the system gave will be its answer the next time, too.
//
// A library in which a name was found for private code stays loaded, because the system's linker
// notes that libgorgon uses it, or because libgorgon has opened it for good. So what the system
// unloads changes no answer. What it loads can: its linker searches its global libraries in the
// order in which they became global. What one of them defines remains the answer. What none of
// them defines may have another answer when a further library with the name becomes global, which
// a library that is there already can do without being counted (dlopen() with RTLD_GLOBAL). So such
// a name is looked for in every library, and again when the system has loaded more.

#define _GNU_SOURCE
#include "global_names.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static int read_counter(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_adds;
	return 1;
}

uint64_t gorgon_global_libraries_count(void)
{
	uint64_t added = 0;

	dl_iterate_phdr(read_counter, &added);
	return added;
}

// What PT_DYNAMIC leads to in memory.
struct tables {
	const uint32_t *gnu_hash;
	const Elf64_Sym *symbols;
	const char *strings;
};

// The system's linker has written addresses there; the kernel's vDSO, which it leaves alone, has
// offsets.
static const void *dynamic_pointer(const struct dl_phdr_info *info, uint64_t value)
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
			ret.gnu_hash = dynamic_pointer(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_SYMTAB)
			ret.symbols = dynamic_pointer(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			ret.strings = dynamic_pointer(info, dyn->d_un.d_ptr);
	}
	return ret;
}

// In any version.
static bool object_defines(const struct tables *tables, const struct gorgon_symbol_query *query)
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

static bool object_contains(const struct dl_phdr_info *info, const void *addr)
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

struct survey {
	struct gorgon_global_name *names;
	size_t count;
	uint64_t added;
};

// Called with the lock under which libraries come and go, so the tables stay while they are read.
static int survey_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct survey *survey = ctx;
	struct tables tables = read_tables(info);

	(void)size;
	survey->added = info->dlpi_adds;
	for (size_t i = 0; i < survey->count; i++) {
		struct gorgon_global_name *name = &survey->names[i];

		if (name->addr && object_contains(info, name->addr))
			name->has_owner = true;
		else if (!name->has_rival && tables.symbols) // a program may have none
			name->has_rival = !tables.gnu_hash || !tables.strings ||
					  object_defines(&tables, &name->query);
	}
	return 0;
}

// Whether the first of the global libraries that has the name has it there.
static bool is_global(void *program, const struct gorgon_symbol_query *query, const void *addr)
{
	void *found = query->version ? dlvsym(program, query->name, query->version)
				     : dlsym(program, query->name);

	if (found != addr)
		found = dlsym(program, query->name); // an interposer without versions
	return found && found == addr;
}

void gorgon_global_names_find(struct gorgon_global_name *names, size_t count)
{
	void *program = dlopen(NULL, RTLD_LAZY);

	for (size_t i = 0; program && i < count; i++)
		names[i].is_global =
			names[i].addr && is_global(program, &names[i].query, names[i].addr);
	if (program)
		dlclose(program);
	dlerror(); // as in gorgon_system_find()
}

uint64_t gorgon_global_names_survey(struct gorgon_global_name *names, size_t count)
{
	struct survey survey = {names, count, 0};

	dl_iterate_phdr(survey_library, &survey);
	return survey.added;
}
