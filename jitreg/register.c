// SPDX-License-Identifier: MIT
/*
 * The public calls for one image: an entry has a listing, which is a symfile, the
 * model that it came from, and a place in the descriptor's list.
 *
 * Registering builds first and links last, so a failure leaves no trace and a
 * debugger never meets half an entry. Unregistering goes the other way: the
 * symfile outlives the rendezvous in which the debugger lets go of it.
 */
#include "jitreg.h"

#include "debugger.h"
#include "descriptor.h"
#include "foreign.h"
#include "group.h"
#include "remains.h"
#include "symfile.h"
#include "models.h"

#include <errno.h>
#include <stdlib.h>

static void list_entry(struct jitreg_entry *entry)
{
	jitreg_lock();
	jitreg_entry_tell(entry);
	jitreg_descriptor_add(&entry->listing->debug);
	jitreg_unlock();
}

static bool is_valid(const struct jitreg_image *image)
{
	return image->size == sizeof(*image) &&
	       !(image->flags & ~(uint32_t)(JITREG_NAMES_ONLY | JITREG_DEFER)) && image->path &&
	       image->path[0] == '/' && image->start < image->end;
}

static enum jitreg_symfile_kind wanted_kind(const struct jitreg_image *image)
{
	return image->flags & JITREG_NAMES_ONLY ? JITREG_SYMFILE_NAMES_ONLY : JITREG_SYMFILE_FULL;
}

/* An image with names only becomes a pack of its own if it can: a pack costs GDB less. */
static int create_first_listing(struct jitreg_entry *entry, const struct jitreg_image *image)
{
	int r;

	if (image->flags & JITREG_NAMES_ONLY && image->group && !jitreg_group_create_single(entry))
		return 0;
	jitreg_model_hold(entry->model);
	r = jitreg_listing_create(entry->model, image, &entry->listing);
	if (r)
		jitreg_model_release(entry->model);
	return r || jitreg_find_listener() != JITREG_TRACER_LLDB
		       ? r
		       : jitreg_listing_add_lines(entry->listing);
}

int jitreg_register(const struct jitreg_image *image, struct jitreg_entry **ret)
{
	struct jitreg_entry *entry;
	int r;

	if (!is_valid(image))
		return -EINVAL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->bias = image->bias;
	entry->start = image->start;
	entry->end = image->end;
	entry->group = image->group;
	entry->symfile_changed = image->symfile_changed;
	entry->ctx = image->ctx;
	r = jitreg_model_acquire(image->path, image->fd, wanted_kind(image), &entry->model);
	if (!r)
		entry->waiting =
			image->flags & JITREG_DEFER && image->group && jitreg_group_can_pack(entry);
	if (!r && !entry->waiting)
		r = create_first_listing(entry, image);
	if (r) {
		jitreg_model_release(entry->model);
		free(entry);
		return r;
	}
	if (entry->group)
		jitreg_group_add(entry);
	if (!entry->waiting) {
		list_entry(entry);
		jitreg_remains_count(entry);
		jitreg_remains_sweep();
	}
	*ret = entry;
	return 0;
}

int jitreg_register_symfile(const void *symfile, uint64_t size, struct jitreg_entry **ret)
{
	struct jitreg_listing *listing = calloc(1, sizeof(*listing));
	struct jitreg_entry *entry = calloc(1, sizeof(*entry));
	int r = -ENOMEM;

	if (listing && entry)
		r = jitreg_foreign_copy(symfile, size, &listing->debug);
	if (r) {
		free(listing);
		free(entry);
		return r;
	}
	listing->image_count = 1;
	entry->listing = listing;
	entry->start = listing->debug.start;
	entry->end = listing->debug.end;
	list_entry(entry);
	*ret = entry;
	return 0;
}

void jitreg_unregister(struct jitreg_entry *entry)
{
	if (!entry)
		return;
	jitreg_remains_leave(entry);
	if (entry->group) {
		jitreg_group_remove(entry);
	} else {
		jitreg_lock();
		jitreg_descriptor_remove(&entry->listing->debug);
		jitreg_descriptor_settle();
		jitreg_unlock();
		jitreg_listing_destroy(entry->listing);
	}
	jitreg_model_release(entry->model);
	free(entry);
}

size_t jitreg_count(void)
{
	size_t count;

	jitreg_lock();
	count = jitreg_debug_root.entry_count - jitreg_remains_listed();
	jitreg_unlock();
	return count;
}

unsigned jitreg_version(void)
{
	return JITREG_VERSION_MAJOR << 16 | JITREG_VERSION_MINOR;
}
