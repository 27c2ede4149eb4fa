// SPDX-License-Identifier: MIT
// Thread-local storage of private objects, dynamic models (psABI and "ELF Handling
// For Thread-Local Storage", sections 3 and 4.1).
//
// A private object's module word has the top bit set, which no module of the
// system's linker has:
//
//	63   62........24   23.......0
//	 1   generation     index in the table of modules
//
// Private code calls our __tls_get_addr with the two words of its GOT. Each thread
// has an array of blocks by index; a block counts only when its full module word is
// the one asked for, so an index can be used again after an unload without visiting
// threads for it. The fast path takes no lock.
//
// Words without the top bit belong to libraries that the system loaded and go to the
// real function.
//
// An object whose variables are reached as initial-exec, too, has its block in the
// threads' static TLS (static_tls.c).

#define _GNU_SOURCE
#include "tls.h"
#include "debug_writer.h"
#include "base/error.h"
#include "base/lock.h"
#include "static_tls.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

#define GENERATION_MAX (UINT64_C(1) << 38)

// By index; an entry without an object is free.
static struct module {
	struct gorgon_object *object;
	uint64_t word;
} *modules;
static size_t module_count;
static uint64_t generation;

struct gorgon_error *gorgon_tls_module_create(struct gorgon_object *object)
{
	size_t i = 0;

	if (!object->image->tls.mem_size)
		return NULL;
	while (i < module_count && modules[i].object)
		i++;
	if (i > GORGON_TLS_INDEX_MASK)
		return gorgon_error_create(GORGON_ERROR_UNSUPPORTED,
					   "%s: more than %zu objects with thread-local storage",
					   object->path, module_count);
	if (i == module_count) {
		size_t count = module_count ? 2 * module_count : 16;
		struct module *grown = reallocarray(modules, count, sizeof(*grown));

		if (!grown)
			return &gorgon_error_nomem;
		memset(grown + module_count, 0, (count - module_count) * sizeof(*grown));
		modules = grown;
		module_count = count;
	}
	generation = (generation + 1) % GENERATION_MAX;
	modules[i] = (struct module){object, GORGON_TLS_PRIVATE_BIT |
						     generation << GORGON_TLS_INDEX_BITS | i};
	object->tls_module = modules[i].word;
	object->debug.tls_module = object->tls_module;
	return NULL;
}

static void free_block(const struct gorgon_thread *thread, void *block)
{
	void *base;

	// Blocks in static TLS are the C library's.
	if (!block || gorgon_static_tls_contains(thread->tp, block))
		return;
	memcpy(&base, (char *)block - sizeof(base), sizeof(base));
	free(base);
}

void gorgon_tls_free_blocks(const struct gorgon_thread *thread)
{
	for (size_t i = 0; i < thread->slot_count; i++)
		free_block(thread, thread->slots[i].block);
}

// Every thread's block of a module.
static void drop_blocks(uint64_t module)
{
	for (struct gorgon_thread *thread = gorgon_thread_next(NULL); thread;
	     thread = gorgon_thread_next(thread)) {
		for (size_t i = 0; i < thread->slot_count; i++) {
			if (thread->slots[i].module != module)
				continue;
			free_block(thread, thread->slots[i].block);
			thread->slots[i] = (struct gorgon_tls_slot){0};
		}
	}
}

void gorgon_tls_module_destroy(struct gorgon_object *object)
{
	size_t i = object->tls_module & GORGON_TLS_INDEX_MASK;

	if (!object->tls_module)
		return;
	drop_blocks(object->tls_module);
	gorgon_static_tls_destroy(object);
	modules[i] = (struct module){0};
	object->tls_module = 0;
	for (i = 0; i < module_count; i++)
		if (modules[i].object)
			return;
	free(modules);
	modules = NULL;
	module_count = 0;
}

static bool grow_slots(struct gorgon_thread *thread, size_t index)
{
	size_t count = index + 8;
	struct gorgon_tls_slot *grown;

	if (index < thread->slot_count)
		return true;
	gorgon_debug_begin();
	grown = reallocarray(thread->slots, count, sizeof(*grown));
	if (grown) {
		memset(grown + thread->slot_count, 0,
		       (count - thread->slot_count) * sizeof(*grown));
		thread->slots = grown;
		thread->slot_count = count;
	}
	gorgon_debug_end();
	return grown;
}

// The address from malloc() is kept before the variables. The variables begin at the same distance
// from a multiple of their alignment as in the file; that distance need not be 0.
//
//	|-- padding --|-- base --|-- variables --|
//	^ base, aligned          ^ base + head + misalignment
static void *create_block(const struct gorgon_object *object)
{
	const struct gorgon_image *image = object->image;
	size_t align = image->tls.align < 16 ? 16 : image->tls.align, head = align;
	size_t misalign = image->tls.vaddr % align;
	void *base;
	char *block;

	if (object->static_tls)
		return (char *)__builtin_thread_pointer() +
		       gorgon_static_tls_offset(object->static_tls);
	if (posix_memalign(&base, align, head + misalign + image->tls.mem_size))
		return NULL;
	block = (char *)base + head + misalign;
	memcpy(block - sizeof(base), &base, sizeof(base));
	// Copied from this copy's memory and not from the file: relocations apply to it.
	memcpy(block, (const void *)(uintptr_t)(object->bias + image->tls.vaddr),
	       image->tls.file_size);
	memset(block + image->tls.file_size, 0, image->tls.mem_size - image->tls.file_size);
	return block;
}

void *gorgon_tls_first_access(const struct gorgon_tls_index *index)
{
	size_t i = index->module & GORGON_TLS_INDEX_MASK;
	struct gorgon_thread *thread = gorgon_thread_get();
	void *block = NULL;

	if (thread) {
		gorgon_lock();
		if (i < module_count && modules[i].object && modules[i].word == index->module &&
		    grow_slots(thread, i) && (block = create_block(modules[i].object))) {
			// An older generation's block was freed when its object went.
			thread->slots[i] = (struct gorgon_tls_slot){index->module, block};
		}
		gorgon_unlock();
	}
	if (!block)
		abort();
	return (char *)block + index->offset;
}
