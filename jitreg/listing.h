/* SPDX-License-Identifier: MIT */
/* The entries of the debuggers' list. See listing.c. Internal to jitreg. */
#ifndef JITREG_LISTING_H
#define JITREG_LISTING_H

#include "descriptor.h"
#include "jitreg.h"
#include "relocated.h"
#include "symfile.h"

/** An entry of the debuggers' list: the symfile of an image, or of several. */
struct jitreg_listing {
	struct jitreg_debug_entry debug; // first: debuggers know the entry by this address
	struct jitreg_model *model; // NULL: this library has not made the symfile
	struct jitreg_symfile symfile; // made from the model
	// what debuggers read instead of `symfile`, if it has bytes
	struct jitreg_relocated with_lines;
	size_t image_count;
	// in the list of listings that no image has any more, and that go next
	struct jitreg_listing *next_empty;
};

_Static_assert(offsetof(struct jitreg_listing, debug) == 0,
	       "a listing and its entry have one address");

/** A registered image. */
struct jitreg_entry {
	struct jitreg_listing *listing; // NULL: debuggers are not told yet, or not any more
	bool waiting; // for jitreg_group_list()
	bool counted; // in the model's told_count
	// of this image alone; NULL with jitreg_register_symfile()
	struct jitreg_model *model;
	uint64_t bias, start, end;
	struct jitreg_group *group;
	struct jitreg_entry *next; // in the group
	void (*symfile_changed)(void *ctx, const struct jitreg_info *info);
	void *ctx;
};

/** A listing with a symfile of @p model at @p bias, in no list yet. */
int jitreg_listing_create(struct jitreg_model *model, const struct jitreg_image *image,
			  struct jitreg_listing **ret);

/** Give a listing that is in no list yet functions and lines, for LLDB. After -ENOMEM the listing
 * is destroyed. */
int jitreg_listing_add_lines(struct jitreg_listing *listing);

/** Free a listing that is in no list, and release its model. NULL is ignored. */
void jitreg_listing_destroy(struct jitreg_listing *listing);

/** Call symfile_changed of the entry's image. The lock is held. */
void jitreg_entry_tell(struct jitreg_entry *entry);

#endif
