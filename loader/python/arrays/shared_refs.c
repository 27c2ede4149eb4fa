// SPDX-License-Identifier: MIT
// The shared memory that an interpreter holds, listed, so that the interpreter's end releases it.
//
// Destructors of Python objects release blocks that numpy has allocated, and arrays that were
// received. Python does not run all destructors when it is finalised, and none when a program ends
// in the middle of a thread. Then these lists tell what is left to release.

#define _GNU_SOURCE
#include "array.h"
#include "block.h"
#include "python/calls/interp.h"

#include <stdlib.h>

void gorgon_shared_refs_init(struct gorgon_shared_refs *refs)
{
	pthread_mutex_init(&refs->lock, NULL);
	gorgon_link_init(&refs->blocks);
	gorgon_link_init(&refs->arrays);
	gorgon_link_init(&refs->charges);
}

void gorgon_shared_refs_add(struct gorgon_shared_refs *refs, struct gorgon_link *head,
			    struct gorgon_link *link)
{
	pthread_mutex_lock(&refs->lock);
	gorgon_link_add(head, link);
	pthread_mutex_unlock(&refs->lock);
}

void gorgon_shared_refs_remove(struct gorgon_shared_refs *refs, struct gorgon_link *link)
{
	pthread_mutex_lock(&refs->lock);
	gorgon_link_remove(link);
	pthread_mutex_unlock(&refs->lock);
}

static bool contains(const struct gorgon_block *block, const void *data)
{
	return (uintptr_t)data - (uintptr_t)block->data < block->size;
}

// A listed block is held by the interpreter, so it can be held once more.
struct gorgon_block *gorgon_shared_refs_find(struct gorgon_shared_refs *refs, const void *data)
{
	struct gorgon_block *ret = NULL;
	struct gorgon_link *link;

	pthread_mutex_lock(&refs->lock);
	for (link = refs->blocks.next; !ret && link != &refs->blocks; link = link->next)
		if (contains((struct gorgon_block *)link, data))
			ret = (struct gorgon_block *)link;
	for (link = refs->arrays.next; !ret && link != &refs->arrays; link = link->next) {
		struct gorgon_block *block = ((struct gorgon_received *)link)->array->block;

		ret = contains(block, data) ? block : NULL;
	}
	if (ret)
		gorgon_block_hold(ret);
	pthread_mutex_unlock(&refs->lock);
	return ret;
}

void gorgon_shared_refs_release(struct gorgon_shared_refs *refs)
{
	struct gorgon_link *link, *next;

	for (link = refs->blocks.next; link != &refs->blocks; link = next) {
		next = link->next;
		gorgon_block_release((struct gorgon_block *)link);
	}
	for (link = refs->arrays.next; link != &refs->arrays; link = next) {
		next = link->next;
		gorgon_array_release(((struct gorgon_received *)link)->array);
		free(link);
	}
}
