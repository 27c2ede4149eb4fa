// SPDX-License-Identifier: MIT
/*
 * Groups: images that one symfile can describe.
 *
 *     image      an object that the caller has registered (struct jitreg_entry)
 *     listing    what debuggers have: a symfile for one image, or for several
 *     group      images that lie at the same distances in other groups; has a pack, or two
 *
 * jitreg_group_pack() replaces the listings of a group's images by one listing, or by two
 * (group_split()). While a debugger is attached the new listing comes before the old listings go,
 * so that no breakpoint is missing for a moment; until then two listings describe the same
 * addresses, which debuggers do not mind. Packs that are there already stay as they are in that
 * case: LLDB forgets the addresses of a section when another section that begins at the same
 * address goes. (Packs of one image and packs of several begin at different addresses; see
 * members.c.)
 *
 * The caller sees to it that functions for one group do not run at the same time; the lock
 * is taken around changes of the list only, because building a symfile reads files.
 *
 * To pack takes three steps, so that a caller can give up a lock of its own in the second step,
 * which takes long:
 *   1. what the packs are to have is noted, and the models are held;
 *   2. the packs are built from these notes alone;
 *   3. the packs are listed if the group is still as it was in step 1. Each change of a group gives
 *      the group a number that no group has had.
 */
#define _GNU_SOURCE 1
#include "group.h"

#include "debugger.h"
#include "pack.h"
#include "models.h"
#include "remains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How far members of a pack can be from the start of their group. */
#define GROUP_SIZE (UINT64_C(1) << 32)

/* From this number of images on a group has two packs, and below it one: see group_split(). */
#define SPLIT_MIN 16

/* While a debugger is attached each change costs the debugger time: fewer images without DWARF are
 * not worth a pack. */
#define TRACED_MIN 8

struct jitreg_group {
	uint64_t base;
	uint64_t state; /* another number after each change */
	struct jitreg_entry *first;
};

static void note_change(struct jitreg_group *group)
{
	static uint64_t last; /* atomic */

	group->state = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

int jitreg_group_create(uint64_t base, struct jitreg_group **ret)
{
	struct jitreg_group *group = calloc(1, sizeof(*group));

	if (!group)
		return -ENOMEM;
	group->base = base;
	note_change(group);
	*ret = group;
	return 0;
}

void jitreg_group_destroy(struct jitreg_group *group)
{
	free(group);
}

void jitreg_group_add(struct jitreg_entry *entry)
{
	entry->next = entry->group->first;
	entry->group->first = entry;
	note_change(entry->group);
}

static bool has_own_symfile(const struct jitreg_entry *entry)
{
	return entry->listing && entry->listing->image_count == 1;
}

bool jitreg_group_can_pack(const struct jitreg_entry *entry)
{
	uint64_t base = entry->group->base;

	return entry->model->packable && entry->start >= base && entry->end - base <= GROUP_SIZE;
}

static int by_address(const void *a, const void *b)
{
	const struct jitreg_entry *x = *(struct jitreg_entry *const *)a;
	const struct jitreg_entry *y = *(struct jitreg_entry *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The entries to pack, sorted by address. */
struct selection {
	struct jitreg_entry **entries;
	size_t count;
};

typedef bool choose_fn(const struct jitreg_entry *entry, const void *ctx);

/* The chosen entries of a group, in the order of their addresses. */
static int select_entries(const struct jitreg_group *group, choose_fn *choose, const void *ctx,
			  struct selection *ret)
{
	size_t capacity = 0;

	for (const struct jitreg_entry *e = group->first; e; e = e->next)
		capacity++;
	*ret = (struct selection){.entries = calloc(capacity + 1, sizeof(*ret->entries))};
	if (!ret->entries)
		return -ENOMEM;
	for (struct jitreg_entry *e = group->first; e; e = e->next)
		if (choose(e, ctx))
			ret->entries[ret->count++] = e;
	qsort(ret->entries, ret->count, sizeof(*ret->entries), by_address);
	return 0;
}

/* All that a pack is built from. */
struct pack_request {
	struct jitreg_member *members; /* their models are held */
	size_t count;		       /* 0: no pack is wanted */
	struct jitreg_image image;
	bool with_lines;
};

static void request_deinit(struct pack_request *request)
{
	for (size_t i = 0; i < request->count; i++)
		jitreg_model_release(request->members[i].model);
	free(request->members);
	*request = (struct pack_request){0};
}

/* The addresses in a pack of one object count from the object, so the pack is the same wherever the
 * object lies. */
static int request_pack(uint64_t base, const struct selection *selection,
			enum jitreg_tracer debugger, struct pack_request *ret)
{
	struct jitreg_entry *const *entries = selection->entries;
	size_t count = selection->count;

	if (count == 1)
		base = entries[0]->bias;
	*ret = (struct pack_request){
		.members = calloc(count, sizeof(*ret->members)),
		.image = {.bias = base, .start = entries[0]->start, .end = entries[count - 1]->end},
		.with_lines = debugger == JITREG_TRACER_LLDB,
	};
	if (!ret->members)
		return -ENOMEM;
	for (; ret->count < count; ret->count++) {
		const struct jitreg_entry *e = entries[ret->count];

		ret->members[ret->count] = (struct jitreg_member){
			.model = e->model,
			.delta = e->bias - base,
			.start = e->start - base,
			.end = e->end - base,
			.primary = !e->next,
		};
		jitreg_model_hold(e->model);
	}
	return 0;
}

/* A listing that is in no list yet. */
static int build_pack(const struct pack_request *request, struct jitreg_listing **ret)
{
	struct jitreg_model *model;
	int r = jitreg_pack_acquire(request->members, request->count, request->with_lines,
				    &model);

	if (r)
		return r;
	r = jitreg_listing_create(model, &request->image, ret);
	if (r)
		jitreg_model_release(model);
	return r || !request->with_lines ? r : jitreg_listing_add_lines(*ret);
}

static int create_pack(uint64_t base, const struct selection *selection,
		       struct jitreg_listing **ret)
{
	struct pack_request request;
	int r = request_pack(base, selection, jitreg_find_listener(), &request);

	if (!r)
		r = build_pack(&request, ret);
	request_deinit(&request);
	return r;
}

int jitreg_group_create_single(struct jitreg_entry *entry)
{
	struct selection selection = {.entries = &entry, .count = 1};

	return jitreg_group_can_pack(entry) ?
		       create_pack(entry->group->base, &selection, &entry->listing) : -ENOTSUP;
}

/* Give entries a new listing, or none. Old listings that no entry has any more are put into @empty.
 */
static void hand_over(const struct selection *selection, struct jitreg_listing *to,
		      struct jitreg_listing **empty)
{
	if (to)
		to->image_count = selection->count;
	for (size_t i = 0; i < selection->count; i++) {
		struct jitreg_entry *e = selection->entries[i];
		struct jitreg_listing *old = e->listing;

		e->listing = to;
		jitreg_entry_tell(e);
		if (--old->image_count)
			continue;
		old->next_empty = *empty;
		*empty = old;
	}
}

/* Take their listings from the chosen entries. What @choose says of an entry must not depend on
 * other entries. */
static void group_forget(const struct jitreg_group *group, choose_fn *choose, const void *ctx,
			 struct jitreg_listing **empty)
{
	for (struct jitreg_entry *e = group->first; e; e = e->next) {
		struct selection single = {.entries = &e, .count = 1};

		if (choose(e, ctx))
			hand_over(&single, NULL, empty);
	}
}

/* The lock is held, and no other change of the list follows. */
static void remove_empty(struct jitreg_listing *empty)
{
	for (struct jitreg_listing *l = empty; l; l = l->next_empty)
		jitreg_descriptor_remove(&l->debug);
	jitreg_descriptor_settle();
}

static void group_drop(struct jitreg_listing *empty)
{
	while (empty) {
		struct jitreg_listing *next = empty->next_empty;

		jitreg_listing_destroy(empty);
		empty = next;
	}
}

static bool is_full(const struct jitreg_entry *entry)
{
	return entry->listing->model->kind == JITREG_SYMFILE_FULL;
}

/* Whether a pack would save debuggers something: the images do not have exactly one pack for
 * themselves, or refer to DWARF, which costs debuggers most. */
static bool is_worth_packing(const struct selection *selection, bool traced)
{
	bool apart = false, full = false;

	for (size_t i = 0; i < selection->count; i++) {
		const struct jitreg_listing *listing = selection->entries[i]->listing;

		apart |= listing != selection->entries[0]->listing ||
			 listing->image_count != selection->count ||
			 listing->model->kind != JITREG_SYMFILE_PACK;
		full |= is_full(selection->entries[i]);
	}
	return full || (apart && (!traced || selection->count >= TRACED_MIN));
}

struct packed_part {
	struct selection selection;
	struct pack_request request;
	struct jitreg_listing *pack;
};

struct jitreg_packing {
	uint64_t state; /* the group's when the packing began */
	enum jitreg_tracer debugger;
	struct packed_part *parts;
	size_t count;
};

static int split_singly(const struct selection *all, struct jitreg_packing *packing)
{
	packing->parts = calloc(all->count + 1, sizeof(*packing->parts));
	for (size_t i = 0; packing->parts && i < all->count; i++) {
		struct selection single = {.count = 1};

		if (!is_full(all->entries[i]))
			continue;
		single.entries = calloc(1, sizeof(*single.entries));
		if (!single.entries)
			return -ENOMEM;
		single.entries[0] = all->entries[i];
		packing->parts[packing->count++].selection = single;
	}
	return packing->parts ? 0 : -ENOMEM;
}

/*
 * A large group is split into the image that was registered first (a libpython, say) and the
 * others: LLDB unwinds the first image in nearly every stack, and reads unwind data of the others
 * only when a stack gets there (pack.c). While a debugger is attached the group is not split, since
 * each object file costs the debugger time.
 */
static int group_split(const struct selection *all, bool traced, struct jitreg_packing *packing)
{
	bool one_part = traced || all->count < SPLIT_MIN;

	packing->parts = calloc(2, sizeof(*packing->parts));
	if (!packing->parts)
		return -ENOMEM;
	packing->count = 2;
	for (size_t i = 0; i < packing->count; i++) {
		struct selection *part = &packing->parts[i].selection;

		part->entries = calloc(all->count + 1, sizeof(*part->entries));
		if (!part->entries)
			return -ENOMEM;
		for (size_t j = 0; j < all->count; j++)
			if ((one_part || !all->entries[j]->next) != i)
				part->entries[part->count++] = all->entries[j];
	}
	return 0;
}

static void list_pack(const struct selection *selection, struct jitreg_listing *pack)
{
	struct jitreg_listing *empty = NULL;

	note_change(selection->entries[0]->group);
	jitreg_lock();
	hand_over(selection, pack, &empty);
	jitreg_descriptor_add(&pack->debug);
	remove_empty(empty);
	jitreg_unlock();
	group_drop(empty);
}

static bool is_waiting(const struct jitreg_entry *entry, const void *ctx)
{
	(void)ctx;
	return entry->waiting;
}

static void list_waiting(const struct selection *selection, struct jitreg_listing *pack)
{
	note_change(selection->entries[0]->group);
	jitreg_lock();
	pack->image_count = selection->count;
	for (size_t i = 0; i < selection->count; i++) {
		selection->entries[i]->listing = pack;
		selection->entries[i]->waiting = false;
		jitreg_entry_tell(selection->entries[i]);
	}
	jitreg_descriptor_add(&pack->debug);
	jitreg_unlock();
	for (size_t i = 0; i < selection->count; i++)
		jitreg_remains_count(selection->entries[i]);
}

/* An image that cannot be described must not keep debuggers from hearing of the others, now or the
 * next time. */
static void list_one_by_one(const struct jitreg_group *group, const struct selection *selection)
{
	for (size_t i = 0; i < selection->count; i++) {
		struct selection single = {.entries = &selection->entries[i], .count = 1};
		struct jitreg_listing *pack;

		selection->entries[i]->waiting = false;
		if (!create_pack(group->base, &single, &pack))
			list_waiting(&single, pack);
	}
}

int jitreg_group_list(struct jitreg_group *group)
{
	struct jitreg_listing *pack;
	struct selection selection;
	int r = select_entries(group, is_waiting, NULL, &selection);

	if (!r && selection.count) {
		r = create_pack(group->base, &selection, &pack);
		if (!r)
			list_waiting(&selection, pack);
		else if (r != -ENOMEM)
			list_one_by_one(group, &selection);
		jitreg_remains_sweep();
	}
	free(selection.entries);
	return r;
}

static bool can_pack_now(const struct jitreg_entry *entry, const void *ctx)
{
	const bool *traced = ctx;

	return entry->listing && jitreg_group_can_pack(entry) &&
	       (!*traced || has_own_symfile(entry));
}

static int plan_packs(const struct jitreg_group *group, bool singly, struct jitreg_packing *packing,
		      bool *any)
{
	bool traced = packing->debugger != JITREG_TRACER_NONE;
	struct selection all;
	int r = select_entries(group, can_pack_now, &traced, &all);

	if (!r)
		r = singly && !traced ? split_singly(&all, packing)
				      : group_split(&all, traced, packing);
	free(all.entries);
	for (size_t i = 0; !r && i < packing->count; i++) {
		struct packed_part *part = &packing->parts[i];

		if (!is_worth_packing(&part->selection, traced))
			continue;
		*any = true;
		r = request_pack(group->base, &part->selection, packing->debugger, &part->request);
	}
	return r;
}

int jitreg_packing_begin(struct jitreg_group *group, bool singly, struct jitreg_packing **ret)
{
	struct jitreg_packing *packing = calloc(1, sizeof(*packing));
	bool any = false;
	int r;

	*ret = NULL;
	if (!packing)
		return -ENOMEM;
	packing->state = group->state;
	packing->debugger = jitreg_find_listener();
	r = plan_packs(group, singly, packing, &any);
	if (r || !any)
		jitreg_packing_destroy(packing);
	else
		*ret = packing;
	return r;
}

int jitreg_packing_build(struct jitreg_packing *packing)
{
	int r = 0;

	for (size_t i = 0; !r && i < packing->count; i++)
		if (packing->parts[i].request.count)
			r = build_pack(&packing->parts[i].request, &packing->parts[i].pack);
	return r;
}

int jitreg_packing_end(struct jitreg_packing *packing, struct jitreg_group *group)
{
	if (packing->state != group->state || packing->debugger != jitreg_find_listener())
		return -EAGAIN;
	for (size_t i = 0; i < packing->count; i++) {
		struct packed_part *part = &packing->parts[i];

		if (part->pack)
			list_pack(&part->selection, part->pack);
		part->pack = NULL;
	}
	return 0;
}

void jitreg_packing_destroy(struct jitreg_packing *packing)
{
	if (!packing)
		return;
	for (size_t i = 0; i < packing->count; i++) {
		jitreg_listing_destroy(packing->parts[i].pack);
		request_deinit(&packing->parts[i].request);
		free(packing->parts[i].selection.entries);
	}
	free(packing->parts);
	free(packing);
}

int jitreg_group_pack(struct jitreg_group *group)
{
	struct jitreg_packing *packing;
	bool again;
	int r;

	do {
		again = false;
		r = jitreg_packing_begin(group, false, &packing);
		if (!r && packing)
			r = jitreg_packing_build(packing);
		if (!r && packing)
			// a debugger has come or gone
			again = jitreg_packing_end(packing, group) == -EAGAIN;
		jitreg_packing_destroy(packing);
	} while (again);
	return r;
}

static bool is_listed(const struct jitreg_entry *entry, const void *ctx)
{
	(void)ctx;
	return entry->listing;
}

void jitreg_group_close(struct jitreg_group *group)
{
	struct jitreg_listing *empty = NULL;

	note_change(group);
	for (struct jitreg_entry *e = group->first; e; e = e->next)
		jitreg_remains_leave(e);
	jitreg_lock();
	group_forget(group, is_listed, NULL, &empty);
	remove_empty(empty);
	jitreg_unlock();
	group_drop(empty);
}

/* --- an image goes ---------------------------------------------------------------------- */

static void unlink_entry(struct jitreg_entry *entry)
{
	struct jitreg_entry **link = &entry->group->first;

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	note_change(entry->group);
}

static bool is_in(const struct jitreg_entry *entry, const void *listing)
{
	return entry->listing == listing;
}

/*
 * Rare: a library was closed while its interpreter goes on. The old pack goes first,
 * because the new pack begins at the same address (see above).
 */
static void remake_pack(struct jitreg_group *group, struct jitreg_listing *listing)
{
	struct jitreg_listing *pack = NULL, *empty = NULL;
	struct selection mates;

	// If there is no memory for a new pack, the remaining images have no listing.
	if (!select_entries(group, is_in, listing, &mates) &&
	    create_pack(group->base, &mates, &pack))
		pack = NULL;
	jitreg_lock();
	jitreg_descriptor_remove(&listing->debug);
	jitreg_descriptor_settle();
	if (pack) {
		hand_over(&mates, pack, &empty);
		jitreg_descriptor_add(&pack->debug);
	} else {
		group_forget(group, is_in, listing, &empty);
	}
	jitreg_unlock();
	jitreg_listing_destroy(listing);
	free(mates.entries);
}

/* An entry that had the listing is gone. */
static void group_leave(struct jitreg_group *group, struct jitreg_listing *listing)
{
	if (--listing->image_count) {
		remake_pack(group, listing);
		return;
	}
	jitreg_lock();
	jitreg_descriptor_remove(&listing->debug);
	jitreg_descriptor_settle();
	jitreg_unlock();
	jitreg_listing_destroy(listing);
}

void jitreg_group_remove(struct jitreg_entry *entry)
{
	struct jitreg_listing *listing = entry->listing;

	unlink_entry(entry);
	entry->listing = NULL;
	if (listing)
		group_leave(entry->group, listing);
}
