// SPDX-License-Identifier: MIT
// What an interpreter holds of the memory that it shares with others, so that its end lets
// go of it.
//
// Blocks that numpy has allocated and arrays that were received are given back by the
// destructors of Python objects. Python does not run all of them when it is finalised, and
// none when a program ends in the middle of a thread. What is left is in these lists.
//
// They are under the lock of the namespace's heap, which has the same use and is taken
// around fork().

#define _GNU_SOURCE
#include "array.h"
#include "block.h"
#include "ns/ns.h"
#include "interp.h"

#include <stdlib.h>

void gorgon_shared_refs_init(struct gorgon_shared_refs *holdings)
{
	holdings->blocks.prev = holdings->blocks.next = &holdings->blocks;
	holdings->arrays.prev = holdings->arrays.next = &holdings->arrays;
}

void gorgon_shared_refs_add(struct gorgon_interp *interp, struct gorgon_link *head,
			 struct gorgon_link *link)
{
	pthread_mutex_lock(&interp->ns->heap.lock);
	link->prev = head;
	link->next = head->next;
	link->prev->next = link->next->prev = link;
	pthread_mutex_unlock(&interp->ns->heap.lock);
}

void gorgon_shared_refs_remove(struct gorgon_interp *interp, struct gorgon_link *link)
{
	pthread_mutex_lock(&interp->ns->heap.lock);
	link->prev->next = link->next;
	link->next->prev = link->prev;
	pthread_mutex_unlock(&interp->ns->heap.lock);
}

static bool contains(const struct gorgon_block *block, const void *data)
{
	return (uintptr_t)data - (uintptr_t)block->data < block->size;
}

// What is in a list is held by it, so it can be held once more.
struct gorgon_block *gorgon_shared_refs_find(struct gorgon_interp *interp, const void *data)
{
	struct gorgon_shared_refs *holdings = &interp->shared_refs;
	struct gorgon_block *ret = NULL;
	struct gorgon_link *link;

	pthread_mutex_lock(&interp->ns->heap.lock);
	for (link = holdings->blocks.next; !ret && link != &holdings->blocks; link = link->next)
		if (contains((struct gorgon_block *)link, data))
			ret = (struct gorgon_block *)link;
	for (link = holdings->arrays.next; !ret && link != &holdings->arrays; link = link->next) {
		struct gorgon_block *block = ((struct gorgon_received *)link)->array->block;

		ret = contains(block, data) ? block : NULL;
	}
	if (ret)
		gorgon_block_hold(ret);
	pthread_mutex_unlock(&interp->ns->heap.lock);
	return ret;
}

void gorgon_shared_refs_release(struct gorgon_shared_refs *holdings)
{
	struct gorgon_link *link, *next;

	for (link = holdings->blocks.next; link != &holdings->blocks; link = next) {
		next = link->next;
		gorgon_block_release((struct gorgon_block *)link);
	}
	for (link = holdings->arrays.next; link != &holdings->arrays; link = next) {
		next = link->next;
		gorgon_array_release(((struct gorgon_received *)link)->array);
		free(link);
	}
}
