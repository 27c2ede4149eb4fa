// SPDX-License-Identifier: MIT
/*
 * The public calls: an entry is a symfile, the template it came from, and a place
 * in the descriptor's list.
 *
 * Registering builds first and links last, so a failure leaves no trace and a
 * debugger never meets half an entry. Unregistering goes the other way: the
 * symfile outlives the rendezvous in which the debugger lets go of it.
 */
#include "jitreg.h"

#include "descriptor.h"
#include "foreign.h"
#include "symfile.h"

#include <errno.h>
#include <stdlib.h>

struct jitreg_entry {
	struct jitreg_debug_entry debug; // first: debuggers know the entry by this address
	struct jitreg_template *template; // NULL: somebody else has made the symfile
	struct jitreg_symfile symfile; // with a template
};

_Static_assert(offsetof(struct jitreg_entry, debug) == 0, "one address for both");

int jitreg_register(const struct jitreg_image *image, struct jitreg_entry **ret)
{
	struct jitreg_entry *entry;
	int r;

	if (image->size != sizeof(*image) || image->flags || !image->path ||
	    image->path[0] != '/' || image->start >= image->end)
		return -EINVAL;

	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	r = jitreg_template_acquire(image->path, image->fd, &entry->template);
	if (!r)
		r = jitreg_symfile_create(entry->template, image, &entry->symfile);
	if (r) {
		jitreg_template_release(entry->template);
		free(entry);
		return r;
	}

	entry->debug.base.symfile_addr = entry->symfile.bytes;
	entry->debug.base.symfile_size = entry->symfile.size;
	entry->debug.bias = image->bias;
	entry->debug.start = image->start;
	entry->debug.end = image->end;
	jitreg_descriptor_add(&entry->debug);
	*ret = entry;
	return 0;
}

int jitreg_register_symfile(const void *symfile, uint64_t size, struct jitreg_entry **ret)
{
	struct jitreg_entry *entry = calloc(1, sizeof(*entry));
	int r;

	if (!entry)
		return -ENOMEM;
	r = jitreg_foreign_copy(symfile, size, &entry->debug);
	if (r) {
		free(entry);
		return r;
	}
	jitreg_descriptor_add(&entry->debug);
	*ret = entry;
	return 0;
}

void jitreg_unregister(struct jitreg_entry *entry)
{
	if (!entry)
		return;
	jitreg_descriptor_remove(&entry->debug);
	if (entry->template)
		jitreg_symfile_destroy(entry->template, &entry->symfile);
	else
		jitreg_foreign_free(&entry->debug);
	jitreg_template_release(entry->template);
	free(entry);
}

void jitreg_entry_get_info(const struct jitreg_entry *entry, struct jitreg_info *ret)
{
	const struct jitreg_debug *debug;

	*ret = (struct jitreg_info){
		.symfile = entry->debug.base.symfile_addr,
		.symfile_size = entry->debug.base.symfile_size,
		.start = entry->debug.start,
		.end = entry->debug.end,
	};
	if (!entry->template)
		return;
	debug = &entry->template->debug;
	ret->debug_kind = debug->kind;
	ret->debug_path = debug->path;
	ret->build_id = debug->build_id_size ? debug->build_id : NULL;
	ret->build_id_size = debug->build_id_size;
}

size_t jitreg_count(void)
{
	size_t count;

	jitreg_lock();
	count = jitreg_debug_root.entry_count;
	jitreg_unlock();
	return count;
}

unsigned jitreg_version(void)
{
	return JITREG_VERSION_MAJOR << 16 | JITREG_VERSION_MINOR;
}
