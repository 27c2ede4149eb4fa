// SPDX-License-Identifier: MIT
/*
 * The entries of the debuggers' list: a symfile of one image, or of several, and the model that
 * the symfile was made from.
 */
#include "listing.h"

#include "foreign.h"
#include "relocated_lines.h"
#include "models.h"

#include <errno.h>
#include <stdlib.h>

int jitreg_listing_create(struct jitreg_model *model, const struct jitreg_image *image,
			  struct jitreg_listing **ret)
{
	struct jitreg_listing *listing = calloc(1, sizeof(*listing));
	int r;

	if (!listing)
		return -ENOMEM;
	r = jitreg_symfile_create(model, image, &listing->symfile);
	if (r) {
		free(listing);
		return r;
	}
	listing->model = model;
	listing->image_count = 1;
	listing->debug.base.symfile_addr = listing->symfile.bytes;
	listing->debug.base.symfile_size = listing->symfile.size;
	listing->debug.bias = image->bias;
	listing->debug.start = image->start;
	listing->debug.end = image->end;
	*ret = listing;
	return 0;
}

int jitreg_listing_add_lines(struct jitreg_listing *listing)
{
	int r;

	r = jitreg_relocated_lines_create(listing->model, listing->symfile.bytes,
					  listing->debug.bias, &listing->with_lines);
	if (!r) {
		listing->debug.base.symfile_addr = listing->with_lines.bytes;
		listing->debug.base.symfile_size = listing->with_lines.size;
	}
	if (r == -ENOMEM)
		jitreg_listing_destroy(listing);
	return r == -ENOMEM ? r : 0; // otherwise the symfile has no lines
}

void jitreg_listing_destroy(struct jitreg_listing *listing)
{
	if (!listing)
		return;
	if (listing->model)
		jitreg_symfile_destroy(listing->model, &listing->symfile);
	else
		jitreg_foreign_free(&listing->debug);
	jitreg_relocated_destroy(&listing->with_lines);
	jitreg_model_release(listing->model);
	free(listing);
}

void jitreg_entry_tell(struct jitreg_entry *entry)
{
	struct jitreg_info info;

	if (!entry->symfile_changed)
		return;
	jitreg_entry_get_info(entry, &info);
	entry->symfile_changed(entry->ctx, &info);
}

void jitreg_entry_get_info(const struct jitreg_entry *entry, struct jitreg_info *ret)
{
	const struct jitreg_debug *debug;

	*ret = (struct jitreg_info){.start = entry->start, .end = entry->end};
	if (entry->listing) {
		ret->symfile = entry->listing->debug.base.symfile_addr;
		ret->symfile_size = entry->listing->debug.base.symfile_size;
	}
	if (!entry->model)
		return;
	debug = &entry->model->debug;
	ret->debug_kind = debug->kind;
	ret->debug_path = debug->path;
	ret->build_id = debug->build_id_size ? debug->build_id : NULL;
	ret->build_id_size = debug->build_id_size;
	if (entry->listing)
		ret->symfile_kind = entry->listing->model->kind;
}
