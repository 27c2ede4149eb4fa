// SPDX-License-Identifier: MIT
// The layout of CPython's structures by which copies of a template are made, and the versions that
// have it. Each interpreter of which copies are to be made is compared with it: a dict and a set
// are looked at (template/hashed.c), and the blocks of each pool are counted (template/arenas.c).

#include "layout.h"
#include "image/image.h"
#include "ns/object.h"

#include <sys/mman.h>

static const unsigned known[] = {11, 13};

// What copies need has not moved between these versions.
static const struct gorgon_layout layout = {
	.dict_used = 16,
	.dict_keys = 32,
	.dict_values = 40,
	.dict_size = 48,
	.keys_log2_size = 8,
	.keys_log2_bytes = 9,
	.keys_kind = 10,
	.keys_count = 24,
	.keys_indices = 32,
	.set_fill = 16,
	.set_used = 24,
	.set_mask = 32,
	.set_table = 40,
	.set_hash = 48,
	.set_small = 64,
	.link_hash = 32,
	.link_key = 40,
	.link_size = 56,
	.var_hash = 56,
	.gc_head = 16,
	.state_words = 48,
	.chunk_head = 32,
	.chunk_size = 16384,
	.arena_bits = 20,
	.pool_bits = 14,
	.pool_header = 48,
	.top_shift = 49,
	.middle_shift = 34,
	.middle_bits = 15,
	.bottom_bits = 14,
};

bool gorgon_layout_is_known(unsigned minor)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] == minor)
			return true;
	return false;
}

const struct gorgon_layout *gorgon_layout_of(const struct gorgon_interp *interp)
{
	return gorgon_layout_is_known(interp->python.minor) ? &layout : NULL;
}

uint64_t *gorgon_words_next(const struct gorgon_interp *interp, struct gorgon_words *words)
{
	const struct gorgon_object *libpython = interp->libpython;
	const struct gorgon_image *image = libpython->image;
	const uint64_t relro_end = image->relro_vaddr + image->relro_size;

	while (words->next == words->end) {
		const struct gorgon_segment *segment = &image->segments[words->segment];
		uint64_t start, end;

		if (words->segment++ == image->segment_count)
			return NULL;
		if (!(segment->prot & PROT_WRITE))
			continue;
		start = segment->vaddr;
		end = start + segment->mem_size;
		if (start < relro_end && image->relro_vaddr < end)
			start = relro_end;
		start = (start + 7) & ~UINT64_C(7);
		words->next = (uint64_t *)(uintptr_t)(libpython->bias + start);
		words->end = words->next + (end > start ? (end - start) / 8 : 0);
	}
	return words->next++;
}
