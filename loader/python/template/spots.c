// SPDX-License-Identifier: MIT
// What words of an interpreter may mean: addresses in its zone, what Gorgon keeps for it outside of
// the zone, and numbers that only it has (its main thread's, keys of thread-specific data, modules
// of thread-local storage). Two interpreters that have loaded the same objects have the same places
// in the same order, each at an address of its own.
//
// A value may stand in a word as it is, as the hash that CPython makes of an address, as two digits
// of an int (id(), a thread's identity), or in half a word.

#define _GNU_SOURCE
#include "spots.h"
#include "base/arch.h"
#include "base/thunk.h"
#include "file/grow.h"
#include "image/image.h"
#include "image/zones.h"
#include "ns/ns.h"
#include "ns/thread.h"
#include "ns/tls.h"
#include "process/libc/environment.h"
#include "process/part.h"
#include "python/calls/import_locks.h"
#include "python/calls/thunks.h"

#include <stdlib.h>

#define DIGIT_BITS 30 // of CPython's int
#define DIGIT_MASK ((UINT64_C(1) << DIGIT_BITS) - 1)

static bool add_place(struct gorgon_spots *places, uint64_t start, uint64_t size)
{
	struct gorgon_spot *added = jitreg_add(&places->list, &places->count, sizeof(*added));

	if (added)
		*added = (struct gorgon_spot){start, start ? size : 0};
	return added;
}

static bool add_block(struct gorgon_spots *places, const void *start, size_t size)
{
	return add_place(places, (uintptr_t)start, size);
}

struct gorgon_object *gorgon_spots_object(const struct gorgon_ns *ns,
					   const struct gorgon_image *image)
{
	struct gorgon_object *ret = ns->first;

	while (ret && ret->image != image)
		ret = ret->next;
	return ret;
}

void *gorgon_spots_tls(const struct gorgon_thread *thread, const struct gorgon_object *object)
{
	size_t i = object->tls_module & GORGON_TLS_INDEX_MASK;

	return object->tls_module && i < thread->slot_count &&
			       thread->slots[i].module == object->tls_module
		       ? thread->slots[i].block
		       : NULL;
}

static bool add_object(struct gorgon_spots *places, const struct gorgon_thread *thread,
		       const struct gorgon_object *object)
{
	return add_block(places, object, sizeof(*object)) &&
	       add_place(places, object->tls_module, 1) &&
	       add_block(places, object->tls_indices,
			 object->tls_index_count * sizeof(*object->tls_indices)) &&
	       add_block(places, gorgon_spots_tls(thread, object), object->image->tls.mem_size);
}

bool gorgon_spots_add_key(struct gorgon_spots *places, unsigned number)
{
	return add_place(places, number, 1);
}

bool gorgon_spots_list(const struct gorgon_interp *interp, const struct gorgon_thread *thread,
			struct gorgon_image *const *images, size_t image_count,
			struct gorgon_spots *ret)
{
	const struct gorgon_ns *ns = interp->ns;
	bool done;

	*ret = (struct gorgon_spots){0};
	done = add_place(ret, ns->zone, GORGON_ZONE_SIZE) &&
	       add_block(ret, gorgon_thunks_get(ns->thunks, 0),
			 (ns->first_thunk + GORGON_MODULE_THUNKS) * GORGON_ARCH_THUNK_SIZE) &&
	       add_block(ret, interp, sizeof(*interp)) && add_block(ret, ns, sizeof(*ns)) &&
	       add_block(ret, interp->import_locks, gorgon_import_locks_size()) &&
	       add_block(ret, gorgon_environment_list(ns->environment), sizeof(char **)) &&
	       add_place(ret, (uint64_t)thread->pthread, 1) && add_place(ret, thread->tid, 1);
	for (size_t i = 0; done && gorgon_parts[i]; i++)
		done = add_block(ret, ns->parts[i].state, gorgon_parts[i]->state_size ?: 1);
	for (size_t i = 0; done && i < image_count; i++) {
		const struct gorgon_object *object = gorgon_spots_object(ns, images[i]);

		done = object && add_object(ret, thread, object);
	}
	if (done)
		return true;
	gorgon_spots_free(ret);
	return false;
}

void gorgon_spots_free(struct gorgon_spots *places)
{
	free(places->list);
	*places = (struct gorgon_spots){0};
}

// False: no word of that form.
static bool decode(enum gorgon_form form, uint64_t word, uint64_t *ret)
{
	switch (form) {
	case GORGON_FORM_HASH:
		*ret = word << 4 | word >> 60;
		return true;
	case GORGON_FORM_LONG:
		*ret = word >> 32 << DIGIT_BITS | (word & DIGIT_MASK);
		return !(word >> 62) && !(word >> DIGIT_BITS & 3);
	case GORGON_FORM_LOW:
		*ret = (uint32_t)word;
		return true;
	case GORGON_FORM_HIGH:
		*ret = word >> 32;
		return true;
	default:
		*ret = word;
		return true;
	}
}

int gorgon_spots_find(const struct gorgon_spots *places, enum gorgon_form form, uint64_t word)
{
	uint64_t value;

	if (!decode(form, word, &value))
		return -1;
	for (size_t i = 0; i < places->count; i++)
		if (value - places->list[i].start < places->list[i].size)
			return (int)i;
	return -1;
}

uint64_t gorgon_spots_word(enum gorgon_form form, uint64_t word, const struct gorgon_spot *from,
			    const struct gorgon_spot *to)
{
	uint64_t value = 0;

	decode(form, word, &value);
	value += to->start - from->start;
	switch (form) {
	case GORGON_FORM_HASH:
		return value >> 4 | value << 60;
	case GORGON_FORM_LONG:
		return value >> DIGIT_BITS << 32 | (value & DIGIT_MASK);
	case GORGON_FORM_LOW:
		return word >> 32 << 32 | (uint32_t)value;
	case GORGON_FORM_HIGH:
		return value << 32 | (uint32_t)word;
	default:
		return value;
	}
}

void *gorgon_spots_move(const struct gorgon_spots *from, const struct gorgon_spots *to,
			 const void *addr)
{
	int i = gorgon_spots_find(from, GORGON_FORM_PLAIN, (uintptr_t)addr);

	return (void *)(uintptr_t)(i < 0 ? (uintptr_t)addr
					 : gorgon_spots_word(GORGON_FORM_PLAIN, (uintptr_t)addr,
							      &from->list[i], &to->list[i]));
}
