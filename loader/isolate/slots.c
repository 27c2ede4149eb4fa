// SPDX-License-Identifier: MIT Binding: an object keeps the addresses of the functions that it
// calls in words of its data, called slots here. This file changes them to addresses of our
// functions (hooks.c), and back.

#define _GNU_SOURCE
#include "linked.h"
#include "image/arch.h"
#include "base/error.h"
#include "ns/ns.h"
#include "file/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool keep_patch(struct gorgon_linked *linked, void **slot)
{
	struct gorgon_patch *added =
		jitreg_add(&linked->patches, &linked->patch_count, sizeof(*added));

	if (added)
		*added = (struct gorgon_patch){slot, *slot};
	return added;
}

static bool is_relro(const struct gorgon_object *object, uint64_t addr, uint64_t page_size)
{
	uint64_t start = object->bias + object->image->relro_vaddr;
	uint64_t end = start + object->image->relro_size;

	// The linker rounds both ends in this way.
	return addr >= (start & -page_size) && addr < (end & -page_size);
}

// Returns false with errno set.
static bool write_slot(const struct gorgon_object *object, void **slot, void *value)
{
	uint64_t page_size = (uint64_t)getpagesize(), page = (uintptr_t)slot & -page_size;

	if (!is_relro(object, (uintptr_t)slot, page_size)) {
		__atomic_store_n(slot, value, __ATOMIC_RELAXED);
		return true;
	}
	if (mprotect((void *)page, page_size, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(slot, value, __ATOMIC_RELAXED);
	return !mprotect((void *)page, page_size, PROT_READ);
}

static struct gorgon_error *bind_list(struct gorgon_object *object, const Elf64_Rela *list,
				      uint64_t count)
{
	const struct gorgon_image *image = object->image;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t type = (uint32_t)ELF64_R_TYPE(list[i].r_info);
		uint64_t symbol = ELF64_R_SYM(list[i].r_info), vaddr = list[i].r_offset;
		void **slot = (void **)(object->bias + vaddr), *hook;
		const struct gorgon_segment *segment;

		if (gorgon_arch_reloc_kind(type) != GORGON_RELOC_SYMBOL ||
		    gorgon_arch_reloc_width(type) != sizeof(*slot) || !symbol ||
		    symbol >= image->symbol_count ||
		    image->symbols[symbol].st_shndx != SHN_UNDEF)
			continue;
		segment = gorgon_image_segment(image, vaddr, sizeof(*slot));
		hook = object->ns->linked->linker->find_hook(
			object, image->strtab + image->symbols[symbol].st_name);
		if (!hook || !segment || !(segment->prot & PROT_WRITE) || vaddr % sizeof(*slot))
			continue;
		if (!keep_patch(object->ns->linked, slot))
			return &gorgon_error_nomem;
		if (!write_slot(object, slot, hook))
			return gorgon_error_create_os(errno, "%s: cannot bind %s", object->path,
						      image->strtab +
							      image->symbols[symbol].st_name);
	}
	return NULL;
}

struct gorgon_error *gorgon_slots_bind(struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	struct gorgon_error *err = bind_list(object, image->rela, image->rela_count);

	return err ?: bind_list(object, image->jmprel, image->jmprel_count);
}

static bool is_in(const struct gorgon_patch *patch, const struct gorgon_object *object)
{
	uint64_t addr = (uintptr_t)patch->slot;

	return addr >= object->start && addr < object->end;
}

void gorgon_slots_unbind(struct gorgon_object *object)
{
	const struct gorgon_linked *linked = object->ns->linked;

	for (size_t i = 0; i < linked->patch_count; i++)
		if (is_in(&linked->patches[i], object))
			write_slot(object, linked->patches[i].slot, linked->patches[i].before);
}

void gorgon_slots_forget(const struct gorgon_object *object)
{
	struct gorgon_linked *linked = object->ns->linked;
	size_t kept = 0;

	for (size_t i = 0; i < linked->patch_count; i++)
		if (!is_in(&linked->patches[i], object))
			linked->patches[kept++] = linked->patches[i];
	linked->patch_count = kept;
}
