/* SPDX-License-Identifier: MIT */
/* What debuggers have of an image. See listing.c. Internal to jitreg. */
#ifndef JITREG_LISTING_H
#define JITREG_LISTING_H

#include "descriptor.h"
#include "jitreg.h"
#include "relocated.h"
#include "symfile.h"

/** An entry of the debuggers' list: the symfile of an image, or of several. */
struct jitreg_listing {
	struct jitreg_debug_entry debug; // first: debuggers know the entry by this address
	struct jitreg_template *template; // NULL: somebody else has made the symfile
	struct jitreg_symfile symfile; // with a template
	struct jitreg_relocated with_dwarf; // instead of it: with DWARF
	bool has_types; // which was asked for, and is not lines only
	size_t image_count;
	struct jitreg_listing *next_empty; // while it waits to be destroyed
};

_Static_assert(offsetof(struct jitreg_listing, debug) == 0, "one address for both");

/** A registered image. */
struct jitreg_entry {
	struct jitreg_listing *listing; // NULL: it waits, or debuggers have let go of it
	bool waiting; // for jitreg_group_list()
	struct jitreg_template *template; // of this image alone; NULL as above
	uint64_t bias, start, end;
	struct jitreg_group *group;
	struct jitreg_entry *next; // in the group
	void (*symfile_changed)(void *ctx, const struct jitreg_info *info);
	void *ctx;
};

/** A listing with a symfile of @p template at @p bias, in no list yet. */
int jitreg_listing_create(struct jitreg_template *template, const struct jitreg_image *image,
			  struct jitreg_listing **ret);

/** Give a listing that is in no list yet functions and lines, for LLDB. 0 or -ENOMEM; after that the listing is destroyed. */
int jitreg_listing_add_lines(struct jitreg_listing *listing);

/** Debuggers are to read `with_dwarf` from now on. */
void jitreg_listing_use_dwarf(struct jitreg_listing *listing);

/** Free what is in no list. NULL is ignored. Releases the template. */
void jitreg_listing_destroy(struct jitreg_listing *listing);

/** Tell whom it concerns where the symfile is. The lock is held. */
void jitreg_entry_tell(struct jitreg_entry *entry);

#endif
