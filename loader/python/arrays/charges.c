// SPDX-License-Identifier: MIT
// Who is charged for memory that several interpreters hold.
//
// What interpreters allocate for arrays counts for those that hold it: a block's bytes are divided
// by the number of these interpreters. The shares are stored anew whenever an interpreter begins to
// hold the block or ceases to, because malloc() compares a limit with a sum, and has no time to
// compute it. Memory of the host counts for nobody: a program cannot give it back.
//
// Most blocks never have a second holder. They have no list, and the data handler counts them. A
// block gets its list when an array is made over it, which is how others come to it: first with the
// interpreter that has made the block, which finds it in its own memory at that time. An
// interpreter holds a block once as its maker, once for each object of its that refers to it, and
// once for each name that it has given. A name may outlive the interpreter, so holders are known by
// numbers.
//
// The lists are under the lock of held.c. Each interpreter has a list of its charges, which its end
// takes away: names that it has given may be left then, and objects that Python has not given up.

#define _GNU_SOURCE
#include "charges.h"
#include "array.h"
#include "block.h"
#include "ns/ns.h"
#include "python/calls/held.h"
#include "python/calls/interp.h"

#include <stdlib.h>

struct gorgon_charge {
	struct gorgon_link link; // in the interpreter's list
	struct gorgon_charge *next; // of the block
	struct gorgon_block *block;
	struct gorgon_usage *usage;
	uint64_t holder;
	size_t holds;
	size_t bytes; // that it is charged now
};

uint64_t gorgon_charges_holder(const struct gorgon_interp *interp)
{
	// The namespace of a Python that is the host is in no list, and has no number.
	return interp ? interp->ns->debug.id : 0;
}

static struct gorgon_charge **find_charge(struct gorgon_block *block, uint64_t holder)
{
	struct gorgon_charge **at = &block->charges;

	while (*at && (*at)->holder != holder)
		at = &(*at)->next;
	return at;
}

static size_t count_charges(const struct gorgon_block *block)
{
	size_t ret = 0;

	for (const struct gorgon_charge *charge = block->charges; charge; charge = charge->next)
		ret++;
	return ret;
}

// The first one has what the division leaves, so that the shares are the whole.
static void divide(struct gorgon_block *block)
{
	size_t count = count_charges(block);

	for (struct gorgon_charge *charge = block->charges; charge; charge = charge->next) {
		size_t bytes = block->capacity / count +
			       (charge == block->charges ? block->capacity % count : 0);

		__atomic_add_fetch(&charge->usage->block_bytes, bytes - charge->bytes,
				   __ATOMIC_RELAXED);
		charge->bytes = bytes;
	}
}

// @bytes: what it is charged for the block already.
static bool add_charge(struct gorgon_block *block, struct gorgon_interp *interp, size_t bytes)
{
	struct gorgon_charge *charge = malloc(sizeof(*charge));

	if (!charge)
		return false;
	*charge = (struct gorgon_charge){.next = block->charges,
					 .block = block,
					 .usage = &interp->ns->usage,
					 .holder = gorgon_charges_holder(interp),
					 .holds = 1,
					 .bytes = bytes};
	gorgon_link_add(&interp->shared_refs.charges, &charge->link);
	block->charges = charge;
	divide(block);
	return true;
}

static void drop_charge(struct gorgon_charge **at)
{
	struct gorgon_charge *charge = *at;

	*at = charge->next;
	gorgon_link_remove(&charge->link);
	__atomic_sub_fetch(&charge->usage->block_bytes, charge->bytes, __ATOMIC_RELAXED);
	divide(charge->block);
	free(charge);
}

bool gorgon_charges_open(struct gorgon_block *block, struct gorgon_interp *interp)
{
	bool ret = true;

	if (!block->counted || !gorgon_charges_holder(interp))
		return true;
	gorgon_held_lock();
	// A block of others that this interpreter has is charged to it, so it is this interpreter's
	// own.
	if (!block->charges)
		ret = add_charge(block, interp, block->capacity);
	gorgon_held_unlock();
	return ret;
}

static bool enter(struct gorgon_block *block, struct gorgon_interp *interp)
{
	struct gorgon_charge *charge;
	bool ret = true;

	if (!block->counted || !gorgon_charges_holder(interp))
		return true;
	gorgon_held_lock();
	charge = *find_charge(block, gorgon_charges_holder(interp));
	if (charge)
		charge->holds++;
	else
		ret = gorgon_usage_allow(&interp->ns->usage,
					 block->capacity / (count_charges(block) + 1)) &&
		      add_charge(block, interp, 0);
	gorgon_held_unlock();
	return ret;
}

static void leave(struct gorgon_block *block, uint64_t holder)
{
	struct gorgon_charge **at;

	if (!block->counted || !holder)
		return;
	gorgon_held_lock();
	at = find_charge(block, holder);
	// The end of the interpreter may have taken it away.
	if (*at && !--(*at)->holds)
		drop_charge(at);
	gorgon_held_unlock();
}

bool gorgon_charges_enter(struct gorgon_array *array, struct gorgon_interp *interp)
{
	for (struct gorgon_array *at = array; at; at = at->mask) {
		if (enter(at->block, interp))
			continue;
		for (; array != at; array = array->mask)
			leave(array->block, gorgon_charges_holder(interp));
		return false;
	}
	return true;
}

void gorgon_charges_leave(struct gorgon_array *array, uint64_t holder)
{
	for (; array; array = array->mask)
		leave(array->block, holder);
}

void gorgon_charges_close(struct gorgon_block *block, struct gorgon_interp *interp)
{
	if (!block->counted)
		return;
	// Nobody else has it, so nobody changes its list.
	if (__atomic_load_n(&block->count, __ATOMIC_ACQUIRE) == 1 && !block->charges)
		__atomic_sub_fetch(&interp->ns->usage.block_bytes, block->capacity,
				   __ATOMIC_RELAXED);
	else
		leave(block, gorgon_charges_holder(interp));
}

void gorgon_charges_end(void *ctx)
{
	struct gorgon_interp *interp = ctx;
	struct gorgon_link *head = &interp->shared_refs.charges;

	gorgon_held_lock();
	while (head->next != head) {
		struct gorgon_charge *charge = (struct gorgon_charge *)head->next;

		drop_charge(find_charge(charge->block, charge->holder));
	}
	gorgon_held_unlock();
}
