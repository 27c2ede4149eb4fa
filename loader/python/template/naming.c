// SPDX-License-Identifier: MIT
// Whose memory it is for which a template is refused: a library's variable, a block that a library
// has asked for, or an object of Python's, which is libpython's memory, whatever code has made it.

#define _GNU_SOURCE
#include "naming.h"
#include "state.h"
#include "ns/ns.h"
#include "process/memory/zone_heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_LOOKED_AT 16 // at words that are as many steps apart
#define ADDRESSES	(UINT64_C(1) << 47)

// Where the address sanitizer keeps what it knows of each 1 << @scale bytes; of its interface.
void __asan_get_shadow_mapping(uintptr_t *scale, uintptr_t *start) __attribute__((weak));

// Memory without access has nothing that a word could lead to, nor has the address sanitizer's
// shadow. They are so large that half of all numbers of 32 bits are addresses there.
bool gorgon_naming_mapping(uint64_t addr, char *ret, size_t size)
{
	FILE *file;
	char *line = NULL, *name, prot[5];
	unsigned long start, end;
	size_t room = 0;
	uintptr_t scale, shadow;
	bool found = false;
	int at = 0;

	if (__asan_get_shadow_mapping) {
		__asan_get_shadow_mapping(&scale, &shadow);
		if (addr - shadow < ADDRESSES >> scale)
			return false;
	}
	file = fopen("/proc/self/maps", "re");
	while (file && !found && getline(&line, &room, file) > 0) {
		if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &start, &end, prot, &at) < 3 ||
		    addr < start || addr >= end || !strncmp(prot, "---", 3))
			continue;
		found = true;
		name = line + at;
		name[strcspn(name, "\n")] = 0;
		snprintf(ret, size, "%s", *name ? name : "memory of the process");
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

// What asks for memory by the allocator of a template's run (template/zeros.c) is Python.
const char *gorgon_naming_library(const struct gorgon_interp *interp, uint64_t addr)
{
	const struct gorgon_object *object = addr ? gorgon_ns_object_at(interp->ns, addr) : NULL;

	return object ? object->path : interp->python.libpython;
}

// A name, and where the memory ends that has it.
static uint64_t name_word(const struct gorgon_interp *interp,
			  const struct gorgon_template *template, uint64_t offset, char *ret,
			  size_t size)
{
	uint64_t addr = interp->ns->zone + offset, start, caller;
	const struct gorgon_object *object = gorgon_ns_object_at(interp->ns, addr);
	size_t block;

	if (object) {
		snprintf(ret, size, "%s+%#lx", object->path, (unsigned long)(addr - object->bias));
		return object->end;
	}
	start = gorgon_zone_heap_block_at(interp->ns->usage.zone_heap, addr, &block, &caller);
	if (start) {
		snprintf(ret, size, "a block of %zu bytes from malloc() of %s, at +%#lx", block,
			 gorgon_naming_library(interp, caller), (unsigned long)(addr - start));
		return start + block;
	}
	if (gorgon_arenas_have(interp, &template->tables.tree, addr, &start)) {
		snprintf(ret, size, "an object of %s, at +%#lx of its zone",
			 interp->python.libpython, (unsigned long)offset);
		return start;
	}
	snprintf(ret, size, "mapped memory at %#lx, at +%#lx of its zone", (unsigned long)addr,
		 (unsigned long)offset);
	return addr + 1;
}

void gorgon_naming_word(const struct gorgon_interp *interp, const struct gorgon_template *template,
			uint64_t offset, char *ret, size_t size)
{
	name_word(interp, template, offset, ret, size);
}

// Finding a block takes a while, and words may be tens of thousands.
void gorgon_naming_most(const struct gorgon_interp *interp, const struct gorgon_template *template,
			char *ret, size_t size)
{
	const struct gorgon_map *map = &template->map;
	uint64_t end = 0;
	size_t most = 0, count = 0;
	char name[512];

	for (size_t i = 0; i < WORDS_LOOKED_AT; i++) {
		uint64_t offset = map->unknown[i * map->unknown_count / WORDS_LOOKED_AT];

		if (interp->ns->zone + offset >= end) {
			end = name_word(interp, template, offset, name, sizeof(name));
			count = 0;
		}
		if (++count >= most)
			snprintf(ret, size, "%s", name);
		most = count > most ? count : most;
	}
}

void gorgon_naming_difference(const struct gorgon_runs *runs,
			      const struct gorgon_template *template, char *ret, size_t size)
{
	const struct gorgon_interp *first = runs->of[0];

	snprintf(ret, size, "%s", first->python.libpython); // unless a block says more
	for (int i = 1; i < 3; i++) {
		const struct gorgon_interp *other = runs->of[i];
		bool in_other;
		uint64_t offset = gorgon_zone_heap_difference(first->ns->usage.zone_heap,
							      other->ns->usage.zone_heap,
							      &in_other);

		if (!offset)
			continue;
		name_word(in_other ? other : first, template, offset, ret, size);
		return;
	}
}
