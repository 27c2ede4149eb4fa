// SPDX-License-Identifier: MIT
/*
 * Groups: images that one symfile can describe.
 *
 *     image      an object that the caller has registered (struct jitreg_entry)
 *     listing    what debuggers have: a symfile for one image, or for several
 *     group      images that lie at the same distances in other groups
 *
 * jitreg_group_pack() replaces the listings of a group's images by one. While a debugger
 * is attached the new one comes before the old ones go, so that no breakpoint is missing
 * for a moment; both describe the same addresses until then, which debuggers do not mind.
 * Packs that are there already stay as they are in that case: LLDB forgets the addresses
 * of a section when another one that begins at the same address goes.
 *
 * The caller sees to it that functions for one group do not run at the same time; the lock
 * is taken around changes of the list only, because building a symfile reads files.
 */
#define _GNU_SOURCE 1
#include "group.h"

#include "pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What members of a pack can be away from the start of their group. */
#define GROUP_SIZE (UINT64_C(1) << 31)

/* While a debugger is attached each change costs it time: not for fewer images. */
#define TRACED_MIN 8

struct jitreg_group {
	uint64_t base;
	struct jitreg_entry *first;
};

int jitreg_group_create(uint64_t base, struct jitreg_group **ret)
{
	struct jitreg_group *group = calloc(1, sizeof(*group));

	if (!group)
		return -ENOMEM;
	group->base = base;
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
}

/* Has a symfile of its own. */
static bool is_loose(const struct jitreg_entry *entry)
{
	return entry->listing && entry->listing->image_count == 1;
}

bool jitreg_group_can_pack(const struct jitreg_entry *entry)
{
	uint64_t base = entry->group->base;

	return entry->template->packable && entry->start >= base && entry->end - base <= GROUP_SIZE;
}

/* The process that traces this one, from /proc/self/status. Not known: as if somebody did. */
static bool is_traced(void)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[2048];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *found;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return true;
	text[n] = '\0';
	found = strstr(text, "\nTracerPid:\t");
	return !found || strncmp(found + strlen("\nTracerPid:\t"), "0\n", 2) != 0;
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

static int allocate_selection(const struct jitreg_group *group, struct selection *ret)
{
	size_t capacity = 0;

	for (const struct jitreg_entry *e = group->first; e; e = e->next)
		capacity++;
	*ret = (struct selection){.entries = calloc(capacity + 1, sizeof(*ret->entries))};
	return ret->entries ? 0 : -ENOMEM;
}

static int select_entries(const struct jitreg_group *group, bool packed_too, struct selection *ret)
{
	if (allocate_selection(group, ret))
		return -ENOMEM;
	for (struct jitreg_entry *e = group->first; e; e = e->next)
		if (e->listing && !e->listing->whole.bytes && jitreg_group_can_pack(e) && (packed_too || is_loose(e)))
			ret->entries[ret->count++] = e;
	qsort(ret->entries, ret->count, sizeof(*ret->entries), by_address);
	return 0;
}

/* The listing for a selection, in no list yet. -ENOENT: there is no such pack and it is not to be built. */
static int create_pack(const struct jitreg_group *group, const struct selection *selection, bool build,
		       struct jitreg_listing **ret)
{
	struct jitreg_member *members = calloc(selection->count, sizeof(*members));
	struct jitreg_template *template;
	struct jitreg_image image = {.bias = group->base};
	int r = 0;

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < selection->count; i++) {
		const struct jitreg_entry *e = selection->entries[i];

		members[i] = (struct jitreg_member){
			.template = e->template,
			.delta = e->bias - group->base,
			.start = e->start - group->base,
			.end = e->end - group->base,
		};
	}
	if (build)
		r = jitreg_pack_acquire(members, selection->count, &template);
	else if (!(template = jitreg_pack_find(members, selection->count)))
		r = -ENOENT;
	free(members);
	if (r)
		return r;
	image.start = selection->entries[0]->start;
	image.end = selection->entries[selection->count - 1]->end;
	r = jitreg_listing_create(template, &image, ret);
	if (r)
		jitreg_template_release(template);
	return r;
}

int jitreg_group_create_single(struct jitreg_entry *entry)
{
	struct selection selection = {.entries = &entry, .count = 1};

	return jitreg_group_can_pack(entry) ? create_pack(entry->group, &selection, true, &entry->listing) : -ENOTSUP;
}

/* Hand the entries over to their new listing; the old ones that nobody has are chained. */
static struct jitreg_listing *hand_over(const struct selection *selection, struct jitreg_listing *to)
{
	struct jitreg_listing *empty = NULL;

	to->image_count = selection->count;
	for (size_t i = 0; i < selection->count; i++) {
		struct jitreg_entry *e = selection->entries[i];
		struct jitreg_listing *old = e->listing;

		e->listing = to;
		jitreg_entry_tell(e);
		if (--old->image_count)
			continue;
		old->next_empty = empty;
		empty = old;
	}
	return empty;
}

static void drop(struct jitreg_listing *empty)
{
	while (empty) {
		struct jitreg_listing *next = empty->next_empty;

		jitreg_listing_destroy(empty);
		empty = next;
	}
}

/* More than one symfile, or one that is no pack. */
static bool is_worth_packing(const struct selection *selection, bool traced)
{
	if (!selection->count || (traced && selection->count < TRACED_MIN))
		return false;
	for (size_t i = 0; i < selection->count; i++) {
		const struct jitreg_entry *e = selection->entries[i];

		if (e->listing != selection->entries[0]->listing ||
		    e->listing->template->kind != JITREG_SYMFILE_PACK)
			return true;
	}
	return false;
}

static int pack(struct jitreg_group *group, bool build)
{
	bool traced = is_traced();
	struct jitreg_listing *pack, *empty;
	struct selection selection;
	int r = select_entries(group, !traced, &selection);

	if (!r && (!is_worth_packing(&selection, traced) || (traced && !build)))
		r = -ENOENT;
	if (!r)
		r = create_pack(group, &selection, build, &pack);
	if (r) {
		free(selection.entries);
		return r == -ENOENT ? 0 : r;
	}
	jitreg_lock();
	empty = hand_over(&selection, pack);
	jitreg_descriptor_add(&pack->debug);
	for (struct jitreg_listing *l = empty; l; l = l->next_empty)
		jitreg_descriptor_remove(&l->debug);
	jitreg_descriptor_settle();
	jitreg_unlock();
	drop(empty);
	free(selection.entries);
	return 0;
}

static int select_waiting(const struct jitreg_group *group, struct selection *ret)
{
	int r = allocate_selection(group, ret);

	for (struct jitreg_entry *e = group->first; !r && e; e = e->next)
		if (e->waiting)
			ret->entries[ret->count++] = e;
	if (!r)
		qsort(ret->entries, ret->count, sizeof(*ret->entries), by_address);
	return r;
}

static void list_waiting(const struct selection *selection, struct jitreg_listing *pack)
{
	jitreg_lock();
	pack->image_count = selection->count;
	for (size_t i = 0; i < selection->count; i++) {
		selection->entries[i]->listing = pack;
		selection->entries[i]->waiting = false;
		jitreg_entry_tell(selection->entries[i]);
	}
	jitreg_descriptor_add(&pack->debug);
	jitreg_unlock();
}

/* One that cannot be described is not to take the others with it, now or the next time. */
static void list_one_by_one(const struct jitreg_group *group, const struct selection *selection)
{
	for (size_t i = 0; i < selection->count; i++) {
		struct selection one = {.entries = &selection->entries[i], .count = 1};
		struct jitreg_listing *pack;

		selection->entries[i]->waiting = false;
		if (!create_pack(group, &one, true, &pack))
			list_waiting(&one, pack);
	}
}

int jitreg_group_list(struct jitreg_group *group)
{
	struct jitreg_listing *pack;
	struct selection selection;
	int r = select_waiting(group, &selection);

	if (!r && selection.count) {
		r = create_pack(group, &selection, true, &pack);
		if (!r)
			list_waiting(&selection, pack);
		else if (r != -ENOMEM)
			list_one_by_one(group, &selection);
	}
	free(selection.entries);
	return r;
}

int jitreg_group_pack(struct jitreg_group *group)
{
	return pack(group, true);
}

int jitreg_group_pack_if_known(struct jitreg_group *group)
{
	return pack(group, false);
}

void jitreg_group_close(struct jitreg_group *group)
{
	struct jitreg_listing *empty = NULL;

	jitreg_lock();
	for (struct jitreg_entry *e = group->first; e; e = e->next) {
		struct jitreg_listing *listing = e->listing;

		if (!listing)
			continue;
		e->listing = NULL;
		jitreg_entry_tell(e);
		if (--listing->image_count)
			continue;
		jitreg_descriptor_remove(&listing->debug);
		listing->next_empty = empty;
		empty = listing;
	}
	jitreg_descriptor_settle();
	jitreg_unlock();
	drop(empty);
}

static void unlink_entry(struct jitreg_entry *entry)
{
	struct jitreg_entry **link = &entry->group->first;

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
}

/* The others of a pack that one has left. */
static int select_mates(const struct jitreg_group *group, const struct jitreg_listing *listing,
			struct selection *ret)
{
	size_t kept = 0;
	int r = select_entries(group, true, ret);

	for (size_t i = 0; !r && i < ret->count; i++)
		if (ret->entries[i]->listing == listing)
			ret->entries[kept++] = ret->entries[i];
	ret->count = kept;
	return r;
}

/*
 * Rare: a library was closed while its interpreter goes on. The old pack goes first,
 * because the new one has the same addresses (see above).
 */
static void remake_pack(struct jitreg_group *group, struct jitreg_listing *listing)
{
	struct jitreg_listing *pack = NULL;
	struct selection selection;

	// Without memory the images that are left are not described any more.
	if (!select_mates(group, listing, &selection) && create_pack(group, &selection, true, &pack))
		pack = NULL;
	jitreg_lock();
	jitreg_descriptor_remove(&listing->debug);
	jitreg_descriptor_settle();
	if (pack) {
		hand_over(&selection, pack);
		jitreg_descriptor_add(&pack->debug);
	} else {
		for (struct jitreg_entry *e = group->first; e; e = e->next) {
			if (e->listing != listing)
				continue;
			e->listing = NULL;
			jitreg_entry_tell(e);
		}
	}
	jitreg_unlock();
	jitreg_listing_destroy(listing);
	free(selection.entries);
}

/* One entry less has the listing. */
static void leave(struct jitreg_group *group, struct jitreg_listing *listing)
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
		leave(entry->group, listing);
}

// The old one goes first: LLDB forgets the addresses of both when it goes second.
void jitreg_entry_list_anew(struct jitreg_entry *entry, struct jitreg_listing *listing)
{
	struct jitreg_listing *old = entry->listing;

	jitreg_lock();
	entry->listing = listing;
	jitreg_entry_tell(entry);
	jitreg_unlock();
	leave(entry->group, old);
	jitreg_lock();
	jitreg_descriptor_add(&listing->debug);
	jitreg_unlock();
}
